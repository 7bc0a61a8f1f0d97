//! Watches that are silent or break: what an actor sees then, and how it lists anew.

use windtunnel_core::resources::LEASES;
use windtunnel_core::{Change, ChangeKind, View};

use super::router::ActorId;
use super::simulation::Simulation;
use super::slot::Slot;

/// The annotation of what candidates for leadership hold beside a Lease, or once held.
const LEADER: &str = "control-plane.alpha.kubernetes.io/leader";

impl Slot {
    /// Whether its actor is told of a change. While its watches are silent it is told of locks alone, since candidates for
    /// leadership read these themselves.
    pub(super) fn hears_of(&mut self, change: &Change) -> bool {
        let Some(stale) = &mut self.stale else { return true };
        let is_lock = change.key.is(&LEASES) || change.object.annotation(LEADER).is_some();
        if is_lock {
            stale.apply(change);
        }
        is_lock
    }
}

impl Simulation {
    /// The watches of an actor tell of nothing more.
    pub(super) fn silence_watches(&mut self, id: ActorId) {
        let view = &self.view;
        if let Some(slot) = self.slots.get_mut(&id) {
            slot.stale.get_or_insert_with(|| Box::new(view.clone()));
        }
    }

    /// The watches of all actors of this name that are silent begin anew.
    pub(super) fn end_silence(&mut self, name: &str) {
        let silent = self.slots.iter().filter(|(_, slot)| slot.stale.is_some() && slot.actor.name() == name);
        for id in silent.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.relist(id);
        }
    }

    /// An actor lists anew, as an informer does whose watch ended: it is told of what is gone, and then of each object that
    /// there is, as a change of what it knew (`Replaced`).
    pub(super) fn relist(&mut self, id: ActorId) {
        let Some(slot) = self.slots.get_mut(&id) else { return };
        let known = slot.stale.take();
        let changes = replaced(known.as_deref().unwrap_or(&self.view), &self.view);
        let meant = changes.into_iter().filter(|change| self.router.readers(change).contains(&id));
        slot.changes.extend(meant);
        self.ready.insert(id);
    }
}

/// What an informer that knew of `known` tells of when it has listed `now`.
fn replaced(known: &View, now: &View) -> Vec<Change> {
    let gone = known.objects().filter(|(key, _)| now.get_key(key).is_none());
    let mut changes: Vec<Change> = gone
        .map(|(key, old)| Change {
            key,
            kind: ChangeKind::Deleted,
            object: old.clone(),
            old: Some(old.clone()),
        })
        .collect();
    changes.extend(now.objects().map(|(key, object)| {
        let old = known.get_key(&key).cloned();
        let kind = if old.is_none() { ChangeKind::Added } else { ChangeKind::Modified };
        Change { key, kind, object: object.clone(), old }
    }));
    changes
}
