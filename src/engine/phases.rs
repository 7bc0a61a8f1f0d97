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
        } else if before.is_some_and(|before| !follows(before, phase)) {
            let why = format!("node {} went from {:?} to {phase:?}", node.name(), seen.last());
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
