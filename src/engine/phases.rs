//! The phases that nodes go through, as `oc adm upgrade status` tells them, and the order that they must keep to.

use std::collections::BTreeMap;

use crate::base::clock::Time;
use crate::model::node_phase::Phase;
use crate::model::resources::{CLUSTER_VERSIONS, MACHINE_CONFIG_POOLS, MACHINE_CONFIGS, NODES};
use crate::model::{Change, ChangeKind, Object, View};
use crate::status::nodes::{self, Target};

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
        if change.key.is(&NODES) {
            if change.kind == ChangeKind::Deleted {
                self.of.remove(&change.key.name);
            } else {
                self.look(&change.object, view, now);
            }
        } else if moves_all(change) {
            for node in view.list(&NODES) {
                self.look(node, view, now);
            }
        }
    }

    fn look(&mut self, node: &Object, view: &View, now: Time) {
        let Some(phase) = phase(node, view) else { return };
        let seen = self.of.entry(node.name().to_owned()).or_default();
        let before = seen.last().copied();
        if before == Some(phase) {
            return;
        }
        if now < self.epoch {
            seen.clear();
        } else if before.is_some_and(|before| !follows(before, phase)) {
            let why = format!("node {} went from {:?} to {phase:?}", node.name(), seen.last());
            self.broken.get_or_insert(why);
        }
        seen.push(phase);
    }
}

/// The phase of a node now; `None` where no pool wants it.
fn phase(node: &Object, view: &View) -> Option<Phase> {
    let cluster_version = view.get(&CLUSTER_VERSIONS, "", "version")?;
    let target = Target::of(cluster_version, view.list(&MACHINE_CONFIGS));
    nodes::find(node, view.list(&MACHINE_CONFIG_POOLS), &target).map(|status| status.phase)
}

/// Whether a change that is not a node's own may change the phases of nodes.
fn moves_all(change: &Change) -> bool {
    let Some(old) = change.old.as_ref().filter(|_| change.kind == ChangeKind::Modified) else {
        return change.key.is(&MACHINE_CONFIGS) || change.key.is(&MACHINE_CONFIG_POOLS);
    };
    let new = &change.object;
    if change.key.is(&CLUSTER_VERSIONS) {
        old["status"]["history"] != new["status"]["history"]
    } else if change.key.is(&MACHINE_CONFIG_POOLS) {
        old["spec"] != new["spec"]
    } else {
        change.key.is(&MACHINE_CONFIGS)
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
    use super::*;

    #[test]
    fn a_disk_is_written_after_a_drain_only() {
        assert!(follows(Phase::Draining, Phase::Updating) && follows(Phase::Updating, Phase::Draining));
        for before in [Phase::Pending, Phase::Paused, Phase::Updated] {
            assert!(!follows(before, Phase::Updating), "{before:?}");
        }
        assert!(!follows(Phase::Updating, Phase::Rebooting));
    }
}
