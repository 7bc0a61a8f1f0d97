//! The condition Upgradeable: reasons against an update to another minor or major release.

mod checks;
mod gates;
pub(super) mod precondition;
pub(super) mod risks;
#[cfg(test)]
mod tests;

use jiff::SignedDuration;
use serde_json::Value;
use windtunnel_core::clock::{Time, parse_rfc3339};
use windtunnel_core::condition::{self, Condition};
use windtunnel_core::{Change, ChangeKind, Object, View};

use super::behaviour::{Behaviour, UpgradeableStyle};

/// The condition, and the prefix of the types of all conditions that this module owns.
const KIND: &str = "Upgradeable";
/// The interval of the checks.
const CHECK_INTERVAL: SignedDuration = SignedDuration::from_mins(2);
/// The interval while preconditions rejected a payload recently, so that a fix takes effect soon.
const CHECK_INTERVAL_AFTER_REJECTION: SignedDuration = SignedDuration::from_secs(15);
/// How long a rejection is recent.
const RECENT: SignedDuration = SignedDuration::from_mins(2);

/// The last result.
#[derive(Debug, Clone, Default)]
pub(super) struct Upgradeable {
    conditions: Vec<Condition>,
    checked_at: Option<Time>,
    outdated: bool,
}

impl Upgradeable {
    /// Makes the checks due because the acknowledgements changed.
    pub(super) fn outdated(&mut self) {
        self.outdated = true;
    }

    /// Runs the checks if they are due. They use the ClusterVersion that was read before the status update,
    /// so the condition lags one status behind Progressing. `deletions` are objects that the payload deletes
    /// and that still exist.
    pub(super) fn run_checks(
        &mut self,
        behaviour: Behaviour,
        cluster_version: &Object,
        deletions: &[String],
        view: &View,
        now: Time,
    ) {
        let conditions = match behaviour.upgradeable {
            UpgradeableStyle::Risks => risks::conditions(behaviour, cluster_version, deletions, view),
            UpgradeableStyle::Checks { .. } if !self.is_due(cluster_version, now) => return,
            UpgradeableStyle::Checks { .. } => {
                checks::conditions(behaviour, cluster_version, deletions, view)
            }
        };
        *self = Self { conditions, checked_at: Some(now), outdated: false };
    }

    /// Updates the result in a list of conditions and removes obsolete ones.
    pub(super) fn write_conditions(&self, list: &mut Vec<Value>, now: Time) {
        if self.checked_at.is_none() {
            return;
        }
        let found = |kind: &str| self.conditions.iter().any(|condition| condition.kind == kind);
        list.retain(|entry| entry["type"].as_str().is_none_or(|kind| !kind.starts_with(KIND) || found(kind)));
        for condition in &self.conditions {
            condition::set(list, condition, now);
        }
    }

    fn is_due(&self, cluster_version: &Object, now: Time) -> bool {
        let interval = if was_rejected_recently(cluster_version, now) {
            CHECK_INTERVAL_AFTER_REJECTION
        } else {
            CHECK_INTERVAL
        };
        self.outdated || self.checked_at.is_none_or(|at| now.duration_since(at) >= interval)
    }
}

fn was_rejected_recently(cluster_version: &Object, now: Time) -> bool {
    condition::find_in_status(cluster_version, "ReleaseAccepted").is_some_and(|accepted| {
        let rejected_at = accepted["lastTransitionTime"].as_str().and_then(parse_rfc3339);
        accepted["status"] == "False"
            && accepted["reason"] == "PreconditionChecks"
            && rejected_at.is_some_and(|at| now.duration_since(at) < RECENT)
    })
}

/// Returns whether the spec excludes an object from the operator's management.
fn has_overrides(cluster_version: &Object) -> bool {
    cluster_version.list("/spec/overrides").iter().any(|entry| entry["unmanaged"] == true)
}

/// The last completed version, or the version being installed, or empty if that is unknown.
pub(super) fn completed_version(cluster_version: &Object) -> &str {
    let history = cluster_version.list("/status/history");
    let completed = history.iter().find(|entry| entry["state"] == "Completed").or(history.last());
    completed.and_then(|entry| entry["version"].as_str()).unwrap_or_default()
}

/// Name and condition of each ClusterOperator with Upgradeable=False, by name.
fn not_upgradeable_operators(view: &View) -> Vec<(String, Condition)> {
    view.list(&windtunnel_core::resources::CLUSTER_OPERATORS)
        .filter_map(|operator| {
            upgradeable_false(operator).map(|condition| (operator.name().to_owned(), condition))
        })
        .collect()
}

/// The condition of a ClusterOperator with Upgradeable=False.
fn upgradeable_false(operator: &Object) -> Option<Condition> {
    Some(Condition::from_value(condition::find_in_status(operator, KIND)?))
        .filter(|condition| condition.status == "False")
}

/// Returns whether the Upgradeable=False condition of a ClusterOperator appeared, disappeared or changed.
pub(super) fn has_changed(change: &Change) -> bool {
    let new = upgradeable_false(&change.object);
    match change.kind {
        ChangeKind::Deleted => new.is_some(),
        _ => change.old.as_ref().and_then(upgradeable_false) != new,
    }
}
