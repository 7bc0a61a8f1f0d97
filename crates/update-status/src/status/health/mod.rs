//! The section `= Update Health =`: problems that affect the update, the worst first.

#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use windtunnel_core::clock::{Time, after};

use super::control_plane::ControlPlane;
use super::go_time::{short, truncate};
use super::nodes::PoolNodes;
use super::{Details, Inputs, Moment, TABLE, go_sort};
use crate::assessment::cluster_version::alerts_count_since;
use crate::assessment::health::{
    Findings, HealthDraft, assess_alerts, assess_excluded_nodes, assess_failing, assess_interrupted,
    assess_node_availability, assess_operator,
};
use crate::assessment::pool::NodeCounts;
use crate::assessment::time::{SECOND, ZERO_TIME, duration_between, round};
use crate::insight::{ImpactLevel, ImpactType};

/// One health message.
#[derive(Debug)]
struct HealthMessage {
    /// The start; [`ZERO_TIME`] if unknown.
    started: Time,
    level: ImpactLevel,
    impact: ImpactType,
    /// One line.
    summary: String,
    /// The full text.
    description: String,
    /// URL of a page with instructions.
    reference: String,
    /// The affected object: `<resource>: <name>`.
    resource: String,
}

impl HealthMessage {
    fn from_draft(draft: HealthDraft) -> Self {
        Self {
            started: draft.since.unwrap_or(ZERO_TIME),
            level: draft.level,
            impact: draft.impact(),
            reference: draft.reference().to_owned(),
            resource: draft.resources.first().map(ToString::to_string).unwrap_or_default(),
            summary: draft.summary,
            description: draft.description,
        }
    }

    /// `oc` hides messages without all three texts.
    fn is_complete(&self) -> bool {
        !self.summary.is_empty() && !self.description.is_empty() && !self.reference.is_empty()
    }

    fn since(&self, now: Time) -> String {
        if self.started == ZERO_TIME {
            return "-".to_owned();
        }
        short(truncate(duration_between(self.started, now), SECOND))
    }

    fn row(&self, now: Time) -> String {
        let Self { level, impact, summary, .. } = self;
        format!("{}\t{level:?}\t{}\t{summary}\n", self.since(now), impact.name())
    }

    fn in_full(&self, now: Time) -> String {
        let mut text = format!("Message: {}\n", self.summary);
        let mut line = |label: &str, value: &str| {
            let _ = writeln!(text, "  {label:<13}{value}");
        };
        line("Since:", &self.since(now));
        line("Level:", &format!("{:?}", self.level));
        line("Impact:", &self.impact.name());
        line("Reference:", &self.reference);
        let _ = writeln!(text, "  Resources:\n    {}", self.resource);
        // The comma is a quirk of the client.
        let description = self.description.replace('\n', "\n               , ");
        let _ = writeln!(text, "  {:<13}{description}", "Description:");
        text
    }
}

/// Renders the section with its title.
pub(super) fn section(
    inputs: &Inputs,
    pools: &[PoolNodes],
    control_plane: &ControlPlane<'_>,
    at: Moment,
    details: Details,
) -> String {
    let started = alerts_count_since(&inputs.cluster_version);
    let messages = sorted(collect(inputs, pools, control_plane, started, at));
    let mut text = "= Update Health =\n".to_owned();
    if details.shows_health() && !messages.is_empty() {
        let entries: Vec<String> = messages.iter().map(|message| message.in_full(at.now)).collect();
        text.push_str(&entries.join("\n"));
        return text;
    }
    let mut rows = "SINCE\tLEVEL\tIMPACT\tMESSAGE\n".to_owned();
    if messages.is_empty() {
        rows.push_str(&all_is_well(started.unwrap_or(ZERO_TIME), at.now).row(at.now));
    }
    rows.extend(messages.iter().map(|message| message.row(at.now)));
    text.push_str(&TABLE.layout(&rows));
    if messages.len() > 1 || messages.first().is_some_and(|message| message.level > ImpactLevel::Info) {
        text.push_str("\nRun with --details=health for additional description and links to related online documentation\n");
    }
    text
}

/// Collects all messages. Their order is visible where two have the same start and level.
fn collect(
    inputs: &Inputs,
    pools: &[PoolNodes],
    control_plane: &ControlPlane<'_>,
    update_started: Option<Time>,
    at: Moment,
) -> Vec<HealthMessage> {
    // `oc` judges the problems of nodes by the wall clock.
    let mut of_nodes = Findings::for_oc(at.wall);
    for PoolNodes { pool, nodes } in pools {
        for (node, status) in nodes {
            assess_node_availability(node, pool, status.state, &mut of_nodes);
        }
        let counts = NodeCounts::from_states(nodes.iter().map(|(_, status)| status.state));
        assess_excluded_nodes(pool, &counts, &mut of_nodes);
    }
    let mut others = Findings::for_oc(at.now);
    assess_alerts(&inputs.alerts.list(), update_started, &mut others);
    assess_failing(&inputs.cluster_version, &mut others);
    for operator in control_plane.operators() {
        assess_operator(operator, &mut others);
    }
    if !control_plane.is_completed() {
        assess_interrupted(&inputs.cluster_version, &mut others);
    }
    let drafts = of_nodes.into_drafts().into_iter().chain(others.into_drafts());
    drafts.map(HealthMessage::from_draft).filter(HealthMessage::is_complete).collect()
}

/// Sorts the worst first, then the newest first.
fn sorted(mut messages: Vec<HealthMessage>) -> Vec<HealthMessage> {
    go_sort::unstable(&mut messages, |one, other| one.started > other.started);
    messages.sort_by_key(|message| std::cmp::Reverse(message.level));
    messages
}

/// Returns the message for an update without problems.
fn all_is_well(update_started: Time, now: Time) -> HealthMessage {
    HealthMessage {
        started: after(now, -round(duration_between(update_started, now), SECOND)),
        level: ImpactLevel::Info,
        impact: ImpactType::None,
        summary: "Update is proceeding well".to_owned(),
        description: String::new(),
        reference: String::new(),
        resource: String::new(),
    }
}
