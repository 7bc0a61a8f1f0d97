//! The phases that nodes go through, as `oc adm upgrade status` tells them, and the order that they must keep to.

use std::collections::BTreeMap;

use windtunnel_core::clock::Time;
use windtunnel_core::resources::NODES;
use windtunnel_core::{Change, ChangeKind, Object, View};
use windtunnel_openshift::mco::annotations::{
    CONTROL_PLANE_TOPOLOGY, DESIRED_DRAIN, LAST_APPLIED_DRAIN, STATE,
};
use windtunnel_update_status::node_phase::Phase;
use windtunnel_update_status::status::nodes;

/// The phases of all nodes since the run began.
#[derive(Debug, Clone)]
pub(in crate::engine) struct Phases {
    of: BTreeMap<String, Vec<Phase>>,
    /// What comes before is the set-up, of which only the last phase counts.
    epoch: Time,
}

/// A node that went from one phase to one that cannot follow it.
#[derive(Debug, Clone)]
pub(in crate::engine) struct Leap {
    pub(in crate::engine) node: String,
    before: Phase,
    phase: Phase,
}

impl std::fmt::Display for Leap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "it went from {:?} to {:?}", self.before, self.phase)
    }
}

impl Phases {
    /// None seen yet.
    pub(in crate::engine) fn since(epoch: Time) -> Self {
        Self { of: BTreeMap::new(), epoch }
    }

    /// The phases of a node, the one that it began with first.
    pub(in crate::engine) fn of(&self, node: &str) -> &[Phase] {
        self.of.get(node).map_or(&[], Vec::as_slice)
    }

    /// Takes in a change that `view` has taken in. Tells of a node that went from one phase to one that cannot follow.
    pub(in crate::engine) fn notice(&mut self, change: &Change, view: &View, now: Time) -> Option<Leap> {
        let new = (change.kind != ChangeKind::Deleted).then_some(&change.object);
        if change.key.is(&NODES) {
            let Some(node) = new else {
                self.of.remove(&change.key.name);
                return None;
            };
            if change.old.as_ref().is_some_and(|old| !nodes::moves(old, node)) {
                return None;
            }
            let leap = self.look(node, view, now)?;
            change.old.as_ref().is_some_and(|old| !leap.follows(old, node)).then_some(leap)
        } else if nodes::moves_all(&change.key, change.old.as_ref(), new) {
            let leaps: Vec<Leap> = view.list(&NODES).filter_map(|node| self.look(node, view, now)).collect();
            // Nodes are as they were, and measured by something else.
            leaps.into_iter().find(|leap| leap.phase == Phase::Rebooting)
        } else {
            None
        }
    }

    fn look(&mut self, node: &Object, view: &View, now: Time) -> Option<Leap> {
        let phase = nodes::in_view(node, view)?.phase;
        let seen = self.of.entry(node.name().to_owned()).or_default();
        let before = seen.last().copied();
        if before == Some(phase) {
            return None;
        }
        if now < self.epoch {
            seen.clear();
        }
        seen.push(phase);
        let before = before.filter(|_| now >= self.epoch)?;
        Some(Leap { node: node.name().to_owned(), before, phase })
    }
}

impl Leap {
    /// Whether a node may go on so by itself. `oc` shows a node as `Draining` from the moment at which it gets its target
    /// until its pods are gone, but for nodes that were never drained: these are `Updated` until their daemon begins.
    fn follows(&self, old: &Object, new: &Object) -> bool {
        match self.phase {
            Phase::Rebooting => false,
            Phase::Updating if self.before == Phase::Draining || is_at_work(old) => true,
            Phase::Updating => self.before == Phase::Updated && !was_ever_drained(new),
            Phase::Draining | Phase::Paused | Phase::Pending | Phase::Updated => true,
        }
    }
}

/// Whether the daemon of a node has begun something, which may have failed. Such a node may get another target.
fn is_at_work(node: &Object) -> bool {
    node.annotation(STATE) != Some("Done")
}

/// Whether the daemon of a node asked for a drain or an uncordon before, and got it.
fn was_ever_drained(node: &Object) -> bool {
    [DESIRED_DRAIN, LAST_APPLIED_DRAIN].iter().all(|key| node.annotation(key).is_some())
}

/// Why a machine may not reboot into a MachineConfig: its node was not drained for it. Nodes of a single-node control plane
/// never are.
pub(in crate::engine) fn undrained(node: &Object, config: &str) -> Option<String> {
    let is_single = node.annotation(CONTROL_PLANE_TOPOLOGY) == Some("SingleReplica");
    let drained_for = node.annotation(LAST_APPLIED_DRAIN).and_then(|wish| wish.strip_prefix("drain-"));
    (!is_single && drained_for != Some(config)).then(|| format!("it reboots into {config} without a drain"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A node whose daemon says `state`, after a drain or before its first one.
    fn node(state: &str, was_drained: bool) -> Object {
        let mut annotations = json!({ (STATE): state });
        if was_drained {
            annotations[DESIRED_DRAIN] = json!("uncordon-old");
            annotations[LAST_APPLIED_DRAIN] = json!("uncordon-old");
        }
        Object::new(json!({ "metadata": { "name": "n", "annotations": annotations } }))
    }

    #[test]
    fn a_daemon_that_begins_was_preceded_by_a_draining_node() {
        let follows = |before: Phase, phase: Phase, state: &str, was_drained: bool| {
            let leap = Leap { node: "n".to_owned(), before, phase };
            leap.follows(&node(state, was_drained), &node("Working", was_drained))
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
    fn a_machine_reboots_into_what_its_node_was_drained_for() {
        let found = |annotations: Value| {
            let node = Object::new(json!({ "metadata": { "name": "n", "annotations": annotations } }));
            undrained(&node, "new")
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
