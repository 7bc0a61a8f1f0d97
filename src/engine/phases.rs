//! The phases that nodes go through, as `oc adm upgrade status` tells them, and the order that they must keep to.

use std::collections::BTreeMap;

use crate::base::clock::Time;
use crate::model::node_phase::Phase;
use crate::model::resources::NODES;
use crate::model::{Change, ChangeKind, Object, View};
use crate::status::nodes;

/// The phases of all nodes since the run began.
#[derive(Debug)]
pub(super) struct Phases {
    of: BTreeMap<String, Vec<Phase>>,
    /// What comes before is the set-up, of which only the last phase counts.
    epoch: Time,
    broken: Option<String>,
}

impl Phases {
    /// None seen yet.
    pub(super) fn since(epoch: Time) -> Self {
        Self { of: BTreeMap::new(), epoch, broken: None }
    }

    /// The phases of a node, the one that it began with first.
    pub(super) fn of(&self, node: &str) -> &[Phase] {
        self.of.get(node).map_or(&[], Vec::as_slice)
    }

    /// The first time that a node went from one phase to one that cannot follow.
    pub(super) fn broken(&self) -> Option<&str> {
        self.broken.as_deref()
    }

    /// Takes in a change that `view` has taken in.
    pub(super) fn notice(&mut self, change: &Change, view: &View, now: Time) {
        let new = (change.kind != ChangeKind::Deleted).then_some(&change.object);
        if change.key.is(&NODES) {
            match new {
                None => _ = self.of.remove(&change.key.name),
                Some(node) => self.look(node, view, now),
            }
        } else if nodes::moves_all(&change.key, change.old.as_ref(), new) {
            for node in view.list(&NODES) {
                self.look(node, view, now);
            }
        }
    }

    fn look(&mut self, node: &Object, view: &View, now: Time) {
        let Some(phase) = nodes::in_view(node, view).map(|status| status.phase) else { return };
        let seen = self.of.entry(node.name().to_owned()).or_default();
        let before = seen.last().copied();
        if before == Some(phase) {
            return;
        }
        if now < self.epoch {
            seen.clear();
        } else if let Some(before) = before.filter(|before| !follows(*before, phase)) {
            let why = format!("node {} went from {before:?} to {phase:?}", node.name());
            self.broken.get_or_insert(why);
        }
        seen.push(phase);
    }
}

/// Whether a node may be in one phase right after the other. The daemon drains before it writes the disk, whatever there is to
/// drain, and never says that it reboots.
fn follows(before: Phase, after: Phase) -> bool {
    match after {
        Phase::Rebooting => false,
        Phase::Updating => before == Phase::Draining,
        Phase::Draining | Phase::Paused | Phase::Pending | Phase::Updated => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::model::Resource;
    use crate::model::resources::{CLUSTER_VERSIONS, MACHINE_CONFIG_POOLS, MACHINE_CONFIGS};

    /// Puts an object into the view, and has the phases take notice.
    fn put(phases: &mut Phases, view: &mut View, resource: &Resource, object: Value) {
        let key = resource.key_of(&object);
        let old = view.get_key(&key).cloned();
        let kind = if old.is_some() { ChangeKind::Modified } else { ChangeKind::Added };
        let change = Change { key, kind, object: Object::new(object), old };
        view.apply(&change);
        phases.notice(&change, view, Time::UNIX_EPOCH);
    }

    /// A worker whose daemon says this, on its way from `old` to `desired`.
    fn node(desired: &str, state: &str, wish: &str) -> Value {
        let key = |name: &str| format!("machineconfiguration.openshift.io/{name}");
        json!({ "metadata": {
            "name": "w0",
            "labels": { "node-role.kubernetes.io/worker": "" },
            "annotations": {
                (key("currentConfig")): "old", (key("desiredConfig")): desired, (key("state")): state,
                (key("desiredDrain")): wish, (key("lastAppliedDrain")): "uncordon-old",
            },
        } })
    }

    /// A cluster with one worker, on its way from 4.18.3 to 4.18.7.
    fn cluster() -> (Phases, View) {
        let (mut phases, mut view) = (Phases::since(Time::UNIX_EPOCH), View::default());
        let history = json!([{ "version": "4.18.7", "state": "Partial" }, { "version": "4.18.3", "state": "Completed" }]);
        let version = json!({ "metadata": { "name": "version" }, "status": { "history": history } });
        put(&mut phases, &mut view, &CLUSTER_VERSIONS, version);
        for (name, version) in [("old", "4.18.3"), ("new", "4.18.7")] {
            let annotations = json!({ "machineconfiguration.openshift.io/release-image-version": version });
            let config = json!({ "metadata": { "name": name, "annotations": annotations } });
            put(&mut phases, &mut view, &MACHINE_CONFIGS, config);
        }
        let selector = json!({ "matchLabels": { "node-role.kubernetes.io/worker": "" } });
        let spec = json!({ "nodeSelector": selector, "configuration": { "name": "new" } });
        put(
            &mut phases,
            &mut view,
            &MACHINE_CONFIG_POOLS,
            json!({ "metadata": { "name": "worker" }, "spec": spec }),
        );
        (phases, view)
    }

    #[test]
    fn a_disk_that_is_written_without_a_drain_is_noticed() {
        let (mut phases, mut view) = cluster();
        let mut say = |node: Value| put(&mut phases, &mut view, &NODES, node);
        say(node("old", "Done", "uncordon-old"));
        say(node("new", "Working", "drain-new"));
        say(node("new", "Working", "uncordon-old"));
        assert_eq!(phases.of("w0"), [Phase::Pending, Phase::Draining, Phase::Updating]);
        assert_eq!(phases.broken(), None);

        let (mut phases, mut view) = cluster();
        put(&mut phases, &mut view, &NODES, node("old", "Done", "uncordon-old"));
        put(&mut phases, &mut view, &NODES, node("new", "Working", "uncordon-old"));
        assert_eq!(phases.broken(), Some("node w0 went from Pending to Updating"));
    }

    #[test]
    fn a_disk_is_written_after_a_drain_only() {
        assert!(follows(Phase::Draining, Phase::Updating) && follows(Phase::Updating, Phase::Draining));
        for before in [Phase::Pending, Phase::Paused, Phase::Updated] {
            assert!(!follows(before, Phase::Updating), "{before:?}");
        }
        assert!(!follows(Phase::Updating, Phase::Rebooting));
    }
}
