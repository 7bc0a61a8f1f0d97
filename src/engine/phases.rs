//! The phases that nodes go through, as `oc adm upgrade status` tells them, and the order that they must keep to.

use std::collections::BTreeMap;

use crate::base::clock::Time;
use crate::model::node_phase::Phase;
use crate::model::resources::NODES;
use crate::model::{Change, ChangeKind, Object, View};
use crate::status::nodes;

/// The phases of all nodes since the run began.
#[derive(Debug, Clone)]
pub(super) struct Phases {
    of: BTreeMap<String, Vec<Phase>>,
    /// What comes before is the set-up, of which only the last phase counts.
    epoch: Time,
}

/// A node that went from one phase to one that cannot follow it.
#[derive(Debug, Clone)]
pub(super) struct Leap {
    pub(super) node: String,
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
    pub(super) fn since(epoch: Time) -> Self {
        Self { of: BTreeMap::new(), epoch }
    }

    /// The phases of a node, the one that it began with first.
    pub(super) fn of(&self, node: &str) -> &[Phase] {
        self.of.get(node).map_or(&[], Vec::as_slice)
    }

    /// Takes in a change that `view` has taken in. Tells of a node that went from one phase to one that cannot follow.
    pub(super) fn notice(&mut self, change: &Change, view: &View, now: Time) -> Option<Leap> {
        let new = (change.kind != ChangeKind::Deleted).then_some(&change.object);
        if change.key.is(&NODES) {
            let Some(node) = new else {
                self.of.remove(&change.key.name);
                return None;
            };
            if change.old.as_ref().is_some_and(|old| !nodes::moves(old, node)) {
                return None;
            }
            self.look(node, view, now)
        } else if nodes::moves_all(&change.key, change.old.as_ref(), new) {
            let leaps: Vec<Leap> = view.list(&NODES).filter_map(|node| self.look(node, view, now)).collect();
            leaps.into_iter().next()
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
        let before = before.filter(|before| now >= self.epoch && !follows(*before, phase))?;
        Some(Leap { node: node.name().to_owned(), before, phase })
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
