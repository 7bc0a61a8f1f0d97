//! Tracks the phases of nodes as `oc adm upgrade status` shows them, and checks their order.

use std::collections::BTreeMap;

use windtunnel_core::clock::Time;
use windtunnel_core::resources::{MACHINE_CONFIGS, NODES};
use windtunnel_core::{Change, ChangeKind, Object, View};
use windtunnel_openshift::mco::annotations::{
    CONTROL_PLANE_TOPOLOGY, CURRENT_CONFIG, DESIRED_CONFIG, DESIRED_DRAIN, LAST_APPLIED_DRAIN, STATE,
};
use windtunnel_update_status::assessment::node::phase::Phase;
use windtunnel_update_status::status::nodes;

/// The phases of all nodes since the run began.
#[derive(Debug, Clone)]
pub(in crate::engine) struct Phases {
    by_node: BTreeMap<String, Course>,
    /// The start of the run. Of the phases before it, only the last one counts.
    epoch: Time,
}

/// The course of a node.
#[derive(Debug, Clone, Default)]
struct Course {
    /// The initial phase first.
    phases: Vec<Phase>,
    /// The names of the MachineConfigs that the node runs and shall run.
    configs: Vec<String>,
}

/// A node's change to a phase that cannot follow the one before.
#[derive(Debug, Clone)]
pub(in crate::engine) struct PhaseJump {
    pub(in crate::engine) node: String,
    before: Phase,
    phase: Phase,
}

impl std::fmt::Display for PhaseJump {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "it went from {:?} to {:?}", self.before, self.phase)
    }
}

impl Phases {
    /// Starts without phases, for a run whose clock starts at `epoch`.
    pub(in crate::engine) fn new(epoch: Time) -> Self {
        Self { by_node: BTreeMap::new(), epoch }
    }

    /// The phases of a node since the run began, the initial one first.
    pub(in crate::engine) fn phases_of(&self, node: &str) -> &[Phase] {
        self.by_node.get(node).map_or(&[], |course| &course.phases)
    }

    /// Tracks a change that `view` contains already. Returns a node's change to a phase that cannot follow.
    pub(in crate::engine) fn track_change(
        &mut self,
        change: &Change,
        view: &View,
        now: Time,
    ) -> Option<PhaseJump> {
        let new = (change.kind != ChangeKind::Deleted).then_some(&change.object);
        if change.key.is_kind(&NODES) {
            let Some(node) = new else {
                self.by_node.remove(&change.key.name);
                return None;
            };
            if change.old.as_ref().is_some_and(|old| !nodes::can_change_node(old, node)) {
                return None;
            }
            let jump = self.record_phase(node, view, now)?;
            change.old.as_ref().is_some_and(|old| !jump.is_allowed(old, node)).then_some(jump)
        } else if nodes::can_change_all_nodes(&change.key, change.old.as_ref(), new) {
            let nodes = self.nodes_affected_by(change, view);
            let jumps: Vec<PhaseJump> =
                nodes.into_iter().filter_map(|node| self.record_phase(node, view, now)).collect();
            // The nodes are unchanged; another object changed how their phases are computed.
            jumps.into_iter().find(|jump| jump.phase == Phase::Rebooting)
        } else {
            None
        }
    }

    /// The nodes whose phases a change of another object can change. A MachineConfig matters to the nodes that have it.
    fn nodes_affected_by<'v>(&self, change: &Change, view: &'v View) -> Vec<&'v Object> {
        if !change.key.is_kind(&MACHINE_CONFIGS) {
            return view.list(&NODES).collect();
        }
        let with_config = self.by_node.iter().filter(|(_, course)| course.configs.contains(&change.key.name));
        with_config.filter_map(|(node, _)| view.get(&NODES, "", node)).collect()
    }

    fn record_phase(&mut self, node: &Object, view: &View, now: Time) -> Option<PhaseJump> {
        let Course { phases: seen, configs } = self.by_node.entry(node.name().to_owned()).or_default();
        *configs = [CURRENT_CONFIG, DESIRED_CONFIG]
            .iter()
            .filter_map(|key| node.annotation(key))
            .map(str::to_owned)
            .collect();
        let phase = nodes::assess_in_view(node, view)?.state.phase;
        let before = seen.last().copied();
        if before == Some(phase) {
            return None;
        }
        if now < self.epoch {
            seen.clear();
        }
        seen.push(phase);
        let before = before.filter(|_| now >= self.epoch)?;
        Some(PhaseJump { node: node.name().to_owned(), before, phase })
    }
}

impl PhaseJump {
    /// Whether a node may enter this phase on its own. `oc` shows a node as `Draining` from the moment it
    /// gets its target until its pods are gone. Nodes that were never drained are `Updated` until their
    /// daemon begins.
    fn is_allowed(&self, old: &Object, new: &Object) -> bool {
        match self.phase {
            Phase::Rebooting => false,
            Phase::Updating if self.before == Phase::Draining || is_at_work(old) => true,
            Phase::Updating => self.before == Phase::Updated && !was_ever_drained(new),
            Phase::Draining | Phase::Paused | Phase::Pending | Phase::Updated => true,
        }
    }
}

/// Whether the daemon of a node has begun an update, which may have failed. Such a node may get another
/// target.
fn is_at_work(node: &Object) -> bool {
    node.annotation(STATE) != Some("Done")
}

/// Whether the daemon of a node has ever requested a drain or an uncordon, and got it.
fn was_ever_drained(node: &Object) -> bool {
    [DESIRED_DRAIN, LAST_APPLIED_DRAIN].iter().all(|key| node.annotation(key).is_some())
}

/// Returns why a machine may not reboot into a MachineConfig: its node was not drained for it. Nodes of a
/// single-node control plane are never drained.
pub(in crate::engine) fn missing_drain(node: &Object, config: &str) -> Option<String> {
    let is_single = node.annotation(CONTROL_PLANE_TOPOLOGY) == Some("SingleReplica");
    let drained_for = node.annotation(LAST_APPLIED_DRAIN).and_then(|wish| wish.strip_prefix("drain-"));
    (!is_single && drained_for != Some(config)).then(|| format!("it reboots into {config} without a drain"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A node whose daemon reports `state`, after a drain or before its first one.
    fn node(state: &str, was_drained: bool) -> Object {
        let mut annotations = json!({ (STATE): state });
        if was_drained {
            annotations[DESIRED_DRAIN] = json!("uncordon-old");
            annotations[LAST_APPLIED_DRAIN] = json!("uncordon-old");
        }
        Object::new(json!({ "metadata": { "name": "n", "annotations": annotations } }))
    }

    #[test]
    fn updating_must_follow_draining() {
        let follows = |before: Phase, phase: Phase, state: &str, was_drained: bool| {
            let jump = PhaseJump { node: "n".to_owned(), before, phase };
            jump.is_allowed(&node(state, was_drained), &node("Working", was_drained))
        };
        assert!(follows(Phase::Draining, Phase::Updating, "Done", true));
        assert!(follows(Phase::Updating, Phase::Draining, "Working", true));
        for before in [Phase::Pending, Phase::Paused, Phase::Updated] {
            assert!(!follows(before, Phase::Updating, "Done", true), "{before:?}");
            assert!(follows(before, Phase::Updating, "Degraded", true), "{before:?}");
        }
        assert!(follows(Phase::Updated, Phase::Updating, "Done", false));
        assert!(!follows(Phase::Pending, Phase::Updating, "Done", false));
        assert!(!follows(Phase::Updating, Phase::Rebooting, "Working", true));
    }

    #[test]
    fn a_machine_may_only_reboot_into_the_config_its_node_was_drained_for() {
        let found = |annotations: Value| {
            let node = Object::new(json!({ "metadata": { "name": "n", "annotations": annotations } }));
            missing_drain(&node, "new")
        };
        assert_eq!(found(json!({ (LAST_APPLIED_DRAIN): "drain-new" })), None);
        assert_eq!(found(json!({ (CONTROL_PLANE_TOPOLOGY): "SingleReplica" })), None);
        for wrong in [
            json!({}),
            json!({ (LAST_APPLIED_DRAIN): "drain-old" }),
            json!({ (LAST_APPLIED_DRAIN): "uncordon-new" }),
        ] {
            assert_eq!(found(wrong), Some("it reboots into new without a drain".to_owned()));
        }
    }
}
