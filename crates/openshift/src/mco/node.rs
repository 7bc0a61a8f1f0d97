//! The state of a node for the machine-config controller.

use serde_json::Value;
use windtunnel_core::{Object, node};

use super::annotations::{
    CONTROL_PLANE_TOPOLOGY, CURRENT_CONFIG, CURRENT_IMAGE, DESIRED_CONFIG, DESIRED_IMAGE, REASON, STATE,
    UPDATE_IN_PROGRESS,
};
use super::layering::Layering;

/// The zone label, whose values set the update order.
const ZONE: &str = "topology.kubernetes.io/zone";

/// The effect of the taint of nodes that wait for their update.
pub(super) const UPDATE_EFFECT: &str = "PreferNoSchedule";

/// The target of the nodes of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Target<'a> {
    /// The rendered MachineConfig.
    pub(super) config: &'a str,
    /// The image of the operating system.
    pub(super) image: TargetImage<'a>,
}

/// The image of the operating system that nodes must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TargetImage<'a> {
    /// The image of the release.
    Release,
    /// A custom image.
    Custom(&'a str),
    /// A custom one that does not exist yet.
    Unbuilt,
}

impl<'a> Target<'a> {
    /// The target of a pool with this rendered MachineConfig.
    pub(super) fn new(config: &'a str, layering: Option<&Layering<'a>>) -> Self {
        let image = match layering {
            None => TargetImage::Release,
            Some(layering) if layering.build.is_none() || layering.last_image().is_empty() => {
                TargetImage::Unbuilt
            }
            Some(layering) => TargetImage::Custom(layering.last_image()),
        };
        Self { config, image }
    }
}

/// The properties of a node that its pool depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is counted for itself")]
pub(super) struct NodeState {
    /// `desiredConfig`, or empty.
    pub(super) desired: String,
    /// `desiredImage`, if it has that annotation.
    pub(super) desired_image: Option<String>,
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
    /// The control plane's topology in its annotation.
    pub(super) topology: Option<String>,
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
        let images = [CURRENT_IMAGE, DESIRED_IMAGE].map(|key| node.annotation(key));
        let has_image = match images {
            [None, None] => true,
            [current, desired] => current == desired && current.is_some_and(|image| !image.is_empty()),
        };
        Self {
            desired: desired.to_owned(),
            desired_image: images[1].map(str::to_owned),
            ready: unready_reason(node).is_none(),
            done: !desired.is_empty() && current == desired && has_image && state == "Done",
            failing: failed && current != desired,
            degraded: failed && !desired.is_empty(),
            reason: text(REASON).to_owned(),
            failure,
            has_pinned_images: true,
            tainted: taints(node).any(is_update_taint),
            topology: node.annotation(CONTROL_PLANE_TOPOLOGY).map(str::to_owned),
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

    /// Returns whether the daemon has applied `target`.
    pub(super) fn is_updated(&self, target: Target<'_>) -> bool {
        self.done && self.is_targeted(target)
    }

    /// Returns whether `target` is what the node should apply.
    pub(super) fn is_targeted(&self, target: Target<'_>) -> bool {
        self.desired == target.config
            && match target.image {
                TargetImage::Release => self.desired_image.is_none(),
                TargetImage::Custom(image) => self.desired_image.as_deref() == Some(image),
                TargetImage::Unbuilt => false,
            }
    }

    /// The sort key of the update order: by zone, nodes without a zone last, the oldest first.
    pub(super) fn update_order(&self) -> (bool, &Option<String>, &str) {
        (self.zone.is_none(), &self.zone, &self.created)
    }
}

/// Returns whether a taint is that of nodes that wait for their update. Only key and effect count
/// (`checkIfNodeHasInProgressTaint`).
pub(super) fn is_update_taint(taint: &Value) -> bool {
    taint["key"] == UPDATE_IN_PROGRESS && taint["effect"] == UPDATE_EFFECT
}

pub(super) fn taints(node: &Object) -> impl Iterator<Item = &Value> {
    node::taints(node).iter()
}

/// Why no pods can run on a node. Missing conditions do not make it unready (`checkNodeReady`).
pub(super) fn unready_reason(node: &Object) -> Option<String> {
    let expected = [
        ("Ready", "True", "NotReady"),
        ("DiskPressure", "False", "OutOfDisk"),
        ("NetworkUnavailable", "False", "NetworkUnavailable"),
    ];
    let wrong = node.conditions().iter().find_map(|found| {
        let (_, _, text) =
            expected.iter().find(|(kind, status, _)| found["type"] == *kind && found["status"] != *status)?;
        Some(format!("{text}={}", found["status"].as_str().unwrap_or_default()))
    });
    let wrong = wrong.or_else(|| node::is_unschedulable(node).then(|| "Unschedulable".to_owned()))?;
    Some(format!("node {} is reporting {wrong}", node.name()))
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

    #[test]
    fn a_node_has_its_image_when_the_daemon_has_applied_it() {
        let images = |current: Option<&str>, desired: Option<&str>| {
            let mut annotations = json!({ (CURRENT_CONFIG): "a", (DESIRED_CONFIG): "a", (STATE): "Done" });
            for (key, image) in [(CURRENT_IMAGE, current), (DESIRED_IMAGE, desired)] {
                if let Some(image) = image {
                    annotations[key] = json!(image);
                }
            }
            NodeState::of(&Object::new(json!({ "metadata": { "annotations": annotations } })), None)
        };
        let release = Target { config: "a", image: TargetImage::Release };
        let custom = Target { config: "a", image: TargetImage::Custom("i") };
        let unbuilt = Target { config: "a", image: TargetImage::Unbuilt };
        let updated = |node: &NodeState| [release, custom, unbuilt].map(|target| node.is_updated(target));
        assert_eq!(updated(&images(None, None)), [true, false, false]);
        assert_eq!(updated(&images(Some("i"), Some("i"))), [false, true, false]);
        for (current, desired) in [(None, Some("i")), (Some("h"), Some("i")), (Some("i"), None)] {
            let node = images(current, desired);
            assert_eq!(updated(&node), [false; 3], "{current:?} {desired:?}");
            assert!(node.is_unavailable());
        }
        assert!(images(Some("i"), None).is_targeted(release), "it returns to the image of the release");
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
