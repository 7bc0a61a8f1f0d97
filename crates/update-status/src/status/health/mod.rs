//! The section `= Update Health =`: problems that affect the update, the worst first.

mod alerts;
mod cluster_version;
mod nodes;
mod operators;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use windtunnel_core::clock::{Time, after};
use windtunnel_core::condition;

use super::control_plane::ControlPlane;
use super::go_sort;
use super::go_time::{SECOND, ZERO_TIME, moment, round, short, since, truncate};
use super::history::History;
use super::nodes::Pool;
use super::{Details, Inputs, Moment, TABLE};

/// Base URL of the runbooks for cluster operators.
const RUNBOOKS: &str = "https://github.com/openshift/runbooks/blob/master/alerts/cluster-monitoring-operator";

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Info,
    Warning,
    Error,
    Critical,
}

/// The effect on the update or the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Impact {
    None,
    Unknown,
    ApiAvailability,
    UpdateSpeed,
    UpdateStalled,
}

impl Impact {
    fn as_str(self) -> &'static str {
        match self {
            Self::None => "None",
            Self::Unknown => "Unknown",
            Self::ApiAvailability => "API Availability",
            Self::UpdateSpeed => "Update Speed",
            Self::UpdateStalled => "Update Stalled",
        }
    }
}

/// One health message.
#[derive(Debug)]
struct Insight {
    /// The start; [`ZERO_TIME`] if unknown.
    started: Time,
    level: Level,
    impact: Impact,
    /// One line.
    summary: String,
    /// The full text.
    description: String,
    /// URL of a page with instructions.
    reference: String,
    /// The affected object: `<resource>: <name>`.
    resource: String,
}

impl Insight {
    /// `oc` hides insights without all three texts.
    fn is_complete(&self) -> bool {
        !self.summary.is_empty() && !self.description.is_empty() && !self.reference.is_empty()
    }

    fn since(&self, now: Time) -> String {
        if self.started == ZERO_TIME {
            return "-".to_owned();
        }
        short(truncate(since(now, self.started), SECOND))
    }

    fn row(&self, now: Time) -> String {
        let Self { level, impact, summary, .. } = self;
        format!("{}\t{level:?}\t{}\t{summary}\n", self.since(now), impact.as_str())
    }

    fn in_full(&self, now: Time) -> String {
        let mut text = format!("Message: {}\n", self.summary);
        let mut line = |label: &str, value: &str| {
            let _ = writeln!(text, "  {label:<13}{value}");
        };
        line("Since:", &self.since(now));
        line("Level:", &format!("{:?}", self.level));
        line("Impact:", self.impact.as_str());
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
    pools: &[Pool<'_>],
    control_plane: &ControlPlane<'_>,
    at: Moment,
    details: Details,
) -> String {
    let started = update_started(inputs);
    let insights = sorted(collect(inputs, pools, control_plane, started, at));
    let mut text = "= Update Health =\n".to_owned();
    if details.of_health() && !insights.is_empty() {
        let entries: Vec<String> = insights.iter().map(|insight| insight.in_full(at.now)).collect();
        text.push_str(&entries.join("\n"));
        return text;
    }
    let mut rows = "SINCE\tLEVEL\tIMPACT\tMESSAGE\n".to_owned();
    if insights.is_empty() {
        rows.push_str(&all_is_well(started, at.now).row(at.now));
    }
    rows.extend(insights.iter().map(|insight| insight.row(at.now)));
    text.push_str(&TABLE.layout(&rows));
    if insights.len() > 1 || insights.first().is_some_and(|insight| insight.level > Level::Info) {
        text.push_str("\nRun with --details=health for additional description and links to related online documentation\n");
    }
    text
}

/// Returns the start of the update; without a history, the last transition of `Progressing`.
fn update_started(inputs: &Inputs) -> Time {
    let cluster_version = &inputs.cluster_version;
    let progressing = || condition::of(cluster_version, "Progressing");
    History::of(cluster_version)
        .started()
        .or_else(|| progressing().map(|found| moment(found, "lastTransitionTime")))
        .unwrap_or(ZERO_TIME)
}

/// Collects all insights. Their order is visible where two have the same start and level.
fn collect(
    inputs: &Inputs,
    pools: &[Pool<'_>],
    control_plane: &ControlPlane<'_>,
    update_started: Time,
    at: Moment,
) -> Vec<Insight> {
    let mut insights = Vec::new();
    for pool in pools {
        nodes::of_pool(pool, at.wall, &mut insights);
    }
    insights.extend(inputs.alerts.list().iter().filter_map(|alert| alerts::of_alert(alert, update_started)));
    insights.extend(cluster_version::failing(&inputs.cluster_version, at.now));
    for operator in control_plane.operators() {
        operators::of_operator(operator, at.now, &mut insights);
    }
    if !control_plane.is_completed() {
        insights.extend(cluster_version::interrupted(&inputs.cluster_version));
    }
    insights.retain(Insight::is_complete);
    insights
}

/// Sorts the worst first, then the newest first.
fn sorted(mut insights: Vec<Insight>) -> Vec<Insight> {
    go_sort::unstable(&mut insights, |one, other| one.started > other.started);
    insights.sort_by_key(|insight| std::cmp::Reverse(insight.level));
    insights
}

/// Returns the message for an update without problems.
fn all_is_well(update_started: Time, now: Time) -> Insight {
    Insight {
        started: after(now, -round(since(now, update_started), SECOND)),
        level: Level::Info,
        impact: Impact::None,
        summary: "Update is proceeding well".to_owned(),
        description: String::new(),
        reference: String::new(),
        resource: String::new(),
    }
}
