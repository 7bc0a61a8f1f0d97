//! The progress of an update: what has been reached, and when something was reached last.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use windtunnel_core::clock::Time;
use windtunnel_core::resources::{CLUSTER_OPERATORS, CLUSTER_VERSIONS, MACHINE_CONFIG_POOLS, NODES};
use windtunnel_core::{Object, View, cluster_operator, condition, pool};

/// How long the imported cluster settles before the update is requested.
pub(super) const SETTLING: SignedDuration = SignedDuration::from_mins(10);

/// The annotations of a node with its configs. What its daemon reports is no progress: it also reports failures.
const CURRENT: &str = "machineconfiguration.openshift.io/currentConfig";
const DESIRED: &str = "machineconfiguration.openshift.io/desiredConfig";

/// The milestones of an update so far.
#[derive(Debug)]
pub(super) struct Milestones {
    reached: BTreeSet<String>,
    /// When the last one was reached.
    pub(super) last: Time,
}

impl Milestones {
    /// Starts at the request of an update, with everything that holds before.
    pub(super) fn at_request(view: &View, target: &str, now: Time) -> Self {
        let mut milestones = Self { reached: BTreeSet::new(), last: now };
        milestones.note(view, target, now);
        milestones.last = now;
        milestones
    }

    /// Adds what has been reached by now.
    pub(super) fn note(&mut self, view: &View, target: &str, now: Time) {
        let before = self.reached.len();
        self.reached.extend(found(view, target));
        if self.reached.len() > before {
            self.last = now;
        }
    }
}

/// What the cluster has reached of an update to a version.
fn found(view: &View, target: &str) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(version) = view.get(&CLUSTER_VERSIONS, "", "version") {
        if is_accepted(version, target) {
            found.push("accepted".to_owned());
        }
        if is_completed(version, target) {
            found.push("completed".to_owned());
        }
        let message =
            condition::find_in_status(version, "Progressing").map(|found| found["message"].to_string());
        found.extend(message.as_deref().and_then(applied).map(|count| format!("applied {count}")));
    }
    for operator in view.list(&CLUSTER_OPERATORS) {
        if cluster_operator::version_of(operator, "operator") == Some(target) {
            found.push(format!("operator {}", operator.name()));
        }
    }
    for node in view.list(&NODES) {
        let annotation = |name| node.annotation(name).unwrap_or_default();
        let [current, desired] = [CURRENT, DESIRED].map(annotation);
        let is_ready = condition::is_true(node, "Ready");
        found.push(format!("node {}: {current} {desired} {is_ready}", node.name()));
    }
    found
}

/// The number of objects that are applied, in `Working towards 4.18.2: 12 of 880 done (1% complete)`.
fn applied(message: &str) -> Option<u32> {
    let (before, _) = message.split_once(" of ")?;
    before.rsplit(' ').next()?.parse().ok()
}

/// Whether the cluster works towards a version, or has it.
pub(super) fn is_accepted(version: &Object, target: &str) -> bool {
    version.list("/status/history").first().is_some_and(|entry| entry["version"] == target)
}

/// Whether the update to a version is complete: the control plane has it.
pub(super) fn is_completed(version: &Object, target: &str) -> bool {
    let newest = version.list("/status/history").first();
    newest.is_some_and(|entry| entry["version"] == target && entry["state"] == "Completed")
}

/// The pools whose machines do not all have the newest configuration.
pub(super) fn unfinished_pools(view: &View) -> Vec<String> {
    let is_unfinished = |found: &&Object| {
        let machines = found.number("/status/machineCount").unwrap_or_default();
        let updated = found.number("/status/updatedMachineCount").unwrap_or_default();
        machines > 0 && (updated < machines || pool::current_config(found) != pool::desired_config(found))
    };
    view.list(&MACHINE_CONFIG_POOLS).filter(is_unfinished).map(|found| found.name().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_of_applied_objects_is_in_the_message() {
        assert_eq!(applied("Working towards 4.18.2: 12 of 880 done (1% complete)"), Some(12));
        assert_eq!(applied("Cluster version is 4.18.2"), None);
    }
}
