//! The state of a node for the machine-config controller.

use serde_json::Value;
use windtunnel_core::{Object, condition};

use super::annotations::{
    CONTROL_PLANE_TOPOLOGY, CURRENT_CONFIG, DESIRED_CONFIG, REASON, STATE, UPDATE_IN_PROGRESS,
};

/// The zone label, whose values set the update order.
const ZONE: &str = "topology.kubernetes.io/zone";

/// The properties of a node that its pool depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is counted for itself")]
pub(super) struct NodeState {
    /// `desiredConfig`, or empty.
    pub(super) desired: String,
    /// Whether pods can run on it: ready, no disk pressure, network available, and not cordoned.
    pub(super) ready: bool,
    /// Whether the daemon has applied the desired config.
    pub(super) done: bool,
    /// Whether the daemon failed to apply the desired config.
    pub(super) failing: bool,
    /// Whether the daemon has failed for any reason.
    pub(super) degraded: bool,
    /// Why it failed.
    pub(super) reason: String,
    /// The failure in its MachineConfigNode. `None` if that has no such condition.
    pub(super) failure: Option<String>,
    /// Whether it has all pinned images of its pool.
    pub(super) has_pinned_images: bool,
    /// Whether it has the taint of nodes that wait for their update.
    pub(super) tainted: bool,
    /// Whether it has the annotation with the control plane's topology.
    pub(super) knows_topology: bool,
    /// Its zone. Nodes without one come last.
    zone: Option<String>,
    /// Its creation time.
    created: String,
}

impl NodeState {
    /// The properties of `node` with this failure in its MachineConfigNode.
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
            has_pinned_images: true,
            tainted: taints(node).any(|taint| taint["key"] == UPDATE_IN_PROGRESS),
            knows_topology: !text(CONTROL_PLANE_TOPOLOGY).is_empty(),
            zone: node.label(ZONE).map(str::to_owned),
            created: node.text("/metadata/creationTimestamp").to_owned(),
        }
    }

    /// The same node, with or without all its pinned images.
    pub(super) fn with_pinned_images(self, has_pinned_images: bool) -> Self {
        Self { has_pinned_images, ..self }
    }

    /// Returns whether it counts as unavailable in its pool.
    pub(super) fn is_unavailable(&self) -> bool {
        !self.ready || !self.done && !self.failing
    }

    /// Returns whether the daemon has applied `config`.
    pub(super) fn is_updated(&self, config: &str) -> bool {
        self.done && self.desired == config
    }

    /// The sort key of the update order: by zone, nodes without a zone last, the oldest first.
    pub(super) fn update_order(&self) -> (bool, &Option<String>, &str) {
        (self.zone.is_none(), &self.zone, &self.created)
    }
}

pub(super) fn taints(node: &Object) -> impl Iterator<Item = &Value> {
    node.list("/spec/taints").iter()
}

/// Returns whether a node is ready. Missing conditions do not make it unready.
fn is_ready(node: &Object) -> bool {
    let is = |kind: &str, status: &str| {
        condition::find_in_status(node, kind).is_none_or(|found| found["status"] == status)
    };
    is("Ready", "True")
        && is("DiskPressure", "False")
        && is("NetworkUnavailable", "False")
        && node["spec"]["unschedulable"] != true
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn node(current: &str, desired: &str, state: &str, status: &Value) -> NodeState {
        let annotations = json!({ (CURRENT_CONFIG): current, (DESIRED_CONFIG): desired, (STATE): state });
        NodeState::of(
            &Object::new(json!({ "metadata": { "annotations": annotations }, "status": status })),
            None,
        )
    }

    fn ready(others: &[(&str, &str)]) -> Value {
        let all = [("Ready", "True")].iter().chain(others);
        json!({ "conditions": all.map(|(kind, status)| json!({ "type": kind, "status": status })).collect::<Vec<_>>() })
    }

    #[test]
    fn a_node_is_unavailable_while_its_daemon_works_but_not_after_a_failed_update() {
        assert!(!node("a", "a", "Done", &ready(&[])).is_unavailable());
        assert!(node("a", "b", "Done", &ready(&[])).is_unavailable(), "targeted");
        assert!(node("a", "b", "Working", &ready(&[])).is_unavailable());
        let failing = node("a", "b", "Degraded", &ready(&[]));
        assert!(!failing.is_unavailable() && failing.failing && failing.degraded);
        let drifted = node("a", "a", "Degraded", &ready(&[]));
        assert!(drifted.is_unavailable() && !drifted.failing && drifted.degraded);
    }

    #[test]
    fn a_node_without_conditions_is_ready() {
        assert!(node("a", "a", "Done", &json!({})).ready);
        let ready = |status: &str| json!({ "conditions": [{ "type": "Ready", "status": status }] });
        assert!(["False", "Unknown"].iter().all(|status| !node("a", "a", "Done", &ready(status)).ready));
    }

    #[test]
    fn memory_and_pid_pressure_do_not_make_a_node_unready() {
        assert!(node("a", "a", "Done", &ready(&[("MemoryPressure", "True"), ("PIDPressure", "True")])).ready);
        for kind in ["DiskPressure", "NetworkUnavailable"] {
            assert!(!node("a", "a", "Done", &ready(&[(kind, "True")])).ready, "{kind}");
            assert!(!node("a", "a", "Done", &ready(&[(kind, "Unknown")])).ready, "{kind}");
        }
    }
}
