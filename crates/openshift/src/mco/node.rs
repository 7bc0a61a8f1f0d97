//! A node as the machine-config controller judges it.

use serde_json::Value;
use windtunnel_core::{Object, condition};

use super::annotations::{
    CONTROL_PLANE_TOPOLOGY, CURRENT_CONFIG, DESIRED_CONFIG, REASON, STATE, UPDATE_IN_PROGRESS,
};

/// The label whose values are taken in order.
const ZONE: &str = "topology.kubernetes.io/zone";

/// What counts of a node for its pool.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is counted for itself")]
pub(super) struct Member {
    /// `desiredConfig`; empty where there is none.
    pub(super) desired: String,
    /// Whether pods may run on it: ready, with room on its disks, with a network, and not cordoned.
    pub(super) ready: bool,
    /// Whether the daemon is through with what is desired.
    pub(super) done: bool,
    /// Whether the daemon failed on the way to what is desired.
    pub(super) failing: bool,
    /// Whether the daemon failed at all.
    pub(super) degraded: bool,
    /// Why it failed.
    pub(super) reason: String,
    /// The same as its MachineConfigNode tells it, if that tells anything.
    pub(super) failure: Option<String>,
    /// Whether it has the taint of nodes that wait for their turn.
    pub(super) tainted: bool,
    /// Whether its daemon was told the topology of the control plane.
    pub(super) knows_topology: bool,
    /// Its zone; `None` goes last.
    zone: Option<String>,
    /// When it was made.
    created: String,
}

impl Member {
    /// What counts of `node`, whose MachineConfigNode tells of this failure.
    pub(super) fn of(node: &Object, failure: Option<String>) -> Self {
        let text = |key: &str| node.annotation(key).unwrap_or_default();
        let (current, desired, state) = (text(CURRENT_CONFIG), text(DESIRED_CONFIG), text(STATE));
        let failed = matches!(state, "Degraded" | "Unreconcilable");
        Self {
            desired: desired.to_owned(),
            ready: is_ready(node),
            done: !desired.is_empty() && current == desired && state == "Done",
            failing: failed && current != desired,
            degraded: failed && !desired.is_empty(),
            reason: text(REASON).to_owned(),
            failure,
            tainted: taints(node).any(|taint| taint["key"] == UPDATE_IN_PROGRESS),
            knows_topology: !text(CONTROL_PLANE_TOPOLOGY).is_empty(),
            zone: node.label(ZONE).map(str::to_owned),
            created: node.text("/metadata/creationTimestamp").to_owned(),
        }
    }

    /// Whether the pool does without it for now.
    pub(super) fn is_unavailable(&self) -> bool {
        !self.ready || !self.done && !self.failing
    }

    /// Whether it has `config` and the daemon is through with it.
    pub(super) fn is_updated(&self, config: &str) -> bool {
        self.done && self.desired == config
    }

    /// The order in which nodes take their turns: by zone, without one last, the oldest first.
    pub(super) fn turn(&self) -> (bool, &Option<String>, &str) {
        (self.zone.is_none(), &self.zone, &self.created)
    }
}

/// The taints of a node.
pub(super) fn taints(node: &Object) -> impl Iterator<Item = &Value> {
    node.list("/spec/taints").iter()
}

/// Conditions that are not there do not count.
fn is_ready(node: &Object) -> bool {
    let is =
        |kind: &str, status: &str| condition::of(node, kind).is_none_or(|found| found["status"] == status);
    is("Ready", "True")
        && is("DiskPressure", "False")
        && is("NetworkUnavailable", "False")
        && node["spec"]["unschedulable"] != true
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn node(current: &str, desired: &str, state: &str, status: &Value) -> Member {
        let annotations = json!({ (CURRENT_CONFIG): current, (DESIRED_CONFIG): desired, (STATE): state });
        Member::of(
            &Object::new(json!({ "metadata": { "annotations": annotations }, "status": status })),
            None,
        )
    }

    fn ready(others: &[(&str, &str)]) -> Value {
        let all = [("Ready", "True")].iter().chain(others);
        json!({ "conditions": all.map(|(kind, status)| json!({ "type": kind, "status": status })).collect::<Vec<_>>() })
    }

    #[test]
    fn a_node_is_unavailable_while_its_daemon_works_and_not_for_having_failed() {
        assert!(!node("a", "a", "Done", &ready(&[])).is_unavailable());
        assert!(node("a", "b", "Done", &ready(&[])).is_unavailable(), "targeted");
        assert!(node("a", "b", "Working", &ready(&[])).is_unavailable());
        let failing = node("a", "b", "Degraded", &ready(&[]));
        assert!(!failing.is_unavailable() && failing.failing && failing.degraded);
        let drifted = node("a", "a", "Degraded", &ready(&[]));
        assert!(drifted.is_unavailable() && !drifted.failing && drifted.degraded);
    }

    #[test]
    fn what_a_node_does_not_say_does_not_make_it_unready() {
        assert!(node("a", "a", "Done", &json!({})).ready);
        let says = |status: &str| json!({ "conditions": [{ "type": "Ready", "status": status }] });
        assert!(["False", "Unknown"].iter().all(|status| !node("a", "a", "Done", &says(status)).ready));
    }

    #[test]
    fn pressure_on_memory_does_not_make_a_node_unready() {
        assert!(node("a", "a", "Done", &ready(&[("MemoryPressure", "True"), ("PIDPressure", "True")])).ready);
        for kind in ["DiskPressure", "NetworkUnavailable"] {
            assert!(!node("a", "a", "Done", &ready(&[(kind, "True")])).ready, "{kind}");
            assert!(!node("a", "a", "Done", &ready(&[(kind, "Unknown")])).ready, "{kind}");
        }
    }
}
