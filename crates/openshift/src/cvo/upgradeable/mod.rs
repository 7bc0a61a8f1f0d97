//! The condition Upgradeable: what speaks against an update to another minor or major release.

mod checks;
mod gates;
pub(super) mod precondition;
pub(super) mod risks;
#[cfg(test)]
mod tests;

use jiff::SignedDuration;
use serde_json::Value;
use windtunnel_core::clock::{Time, parse_rfc3339};
use windtunnel_core::condition;
use windtunnel_core::condition::Condition;
use windtunnel_core::{Change, ChangeKind, Object, View};

use super::behaviour::Behaviour;

/// All types of conditions that begin like this are ours.
const KIND: &str = "Upgradeable";
/// How long a result of the checks stands before they are run again.
const CHECK_INTERVAL: SignedDuration = SignedDuration::from_mins(2);
/// The same for as long as a payload was refused by its preconditions recently: who waits for one gets to know soon.
const CHECK_INTERVAL_REFUSED: SignedDuration = SignedDuration::from_secs(15);
/// What counts as recently.
const REFUSED_RECENTLY: SignedDuration = SignedDuration::from_mins(2);

/// How a release's operator comes to the condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// By checks with conditions of their own, run now and then.
    Checks {
        /// Whether an update that is under way is one of them (from 4.19).
        update_in_progress: bool,
    },
    /// By risks, weighed anew for each status (from 4.23).
    Risks,
}

/// What the last look came to.
#[derive(Debug, Clone, Default)]
pub(super) struct Upgradeable {
    conditions: Vec<Condition>,
    looked_at: Option<Time>,
    outdated: bool,
}

impl Upgradeable {
    /// What administrators agree to has changed: the next look is not put off.
    pub(super) fn outdated(&mut self) {
        self.outdated = true;
    }

    /// Looks at the cluster, if it is time to. The ClusterVersion is the one that was read last, so the condition is
    /// always one status behind Progressing.
    /// `deletions` is what a payload wants removed and is still there.
    pub(super) fn look(
        &mut self,
        behaviour: Behaviour,
        cluster_version: &Object,
        deletions: &[String],
        view: &View,
        now: Time,
    ) {
        let conditions = match behaviour.upgradeable {
            Style::Risks => risks::conditions(behaviour, cluster_version, deletions, view),
            Style::Checks { .. } if !self.is_due(cluster_version, now) => return,
            Style::Checks { .. } => checks::conditions(behaviour, cluster_version, deletions, view),
        };
        *self = Self { conditions, looked_at: Some(now), outdated: false };
    }

    /// Puts what was found into a list of conditions, and takes out what no longer holds.
    pub(super) fn put(&self, list: &mut Vec<Value>, now: Time) {
        if self.looked_at.is_none() {
            return;
        }
        let found = |kind: &str| self.conditions.iter().any(|condition| condition.kind == kind);
        list.retain(|entry| entry["type"].as_str().is_none_or(|kind| !kind.starts_with(KIND) || found(kind)));
        for condition in &self.conditions {
            condition::set(list, condition, now);
        }
    }

    fn is_due(&self, cluster_version: &Object, now: Time) -> bool {
        let interval =
            if refused_recently(cluster_version, now) { CHECK_INTERVAL_REFUSED } else { CHECK_INTERVAL };
        self.outdated || self.looked_at.is_none_or(|at| now.duration_since(at) >= interval)
    }
}

fn refused_recently(cluster_version: &Object, now: Time) -> bool {
    condition::of(cluster_version, "ReleaseAccepted").is_some_and(|accepted| {
        let since = accepted["lastTransitionTime"].as_str().and_then(parse_rfc3339);
        accepted["status"] == "False"
            && accepted["reason"] == "PreconditionChecks"
            && since.is_some_and(|since| now.duration_since(since) < REFUSED_RECENTLY)
    })
}

/// Whether spec takes some object out of the operator's hands.
fn has_overrides(cluster_version: &Object) -> bool {
    cluster_version.list("/spec/overrides").iter().any(|entry| entry["unmanaged"] == true)
}

/// The version that was applied in full last, or while there is none the one that is being installed; empty before that
/// is known.
pub(super) fn completed_version(cluster_version: &Object) -> &str {
    let history = cluster_version.list("/status/history");
    let completed = history.iter().find(|entry| entry["state"] == "Completed").or(history.last());
    completed.and_then(|entry| entry["version"].as_str()).unwrap_or_default()
}

/// Name and condition of each ClusterOperator that says it must not be taken further, by name.
fn refusing_operators(view: &View) -> Vec<(String, Condition)> {
    view.list(&windtunnel_core::resources::CLUSTER_OPERATORS)
        .filter_map(|operator| refusal(operator).map(|said| (operator.name().to_owned(), said)))
        .collect()
}

/// What a ClusterOperator says when it must not be taken further.
fn refusal(operator: &Object) -> Option<Condition> {
    Some(Condition::read(condition::of(operator, KIND)?)).filter(|said| said.status == "False")
}

/// Whether a ClusterOperator began to refuse with this change, stopped, or refuses in other words.
pub(super) fn has_changed(change: &Change) -> bool {
    let told = refusal(&change.object);
    match change.kind {
        ChangeKind::Deleted => told.is_some(),
        _ => change.old.as_ref().and_then(refusal) != told,
    }
}
