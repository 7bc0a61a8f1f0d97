//! Silent and broken watches: what an actor sees then, and how it lists again.

use windtunnel_core::resources::LEASES;
use windtunnel_core::{Change, ChangeKind, View};

use super::slot::Slot;
use super::{ActorId, Schedule};

/// The annotation of locks that candidates for leadership hold beside a Lease, or once held.
const LEADER: &str = "control-plane.alpha.kubernetes.io/leader";

impl Slot {
    /// Whether the actor receives a change. While its watches are silent it receives only locks, because
    /// candidates for leadership read these without a watch.
    pub(super) fn receives_change(&mut self, change: &Change) -> bool {
        let Some(stale) = &mut self.stale else { return true };
        let is_lock = change.key.is_kind(&LEASES) || change.object.annotation(LEADER).is_some();
        if is_lock {
            stale.apply(change);
        }
        is_lock
    }
}

impl Schedule {
    /// Silences the watches of an actor, which keeps seeing the cluster as it is in `view`.
    pub fn silence_watches(&mut self, id: ActorId, view: &View) {
        if let Some(slot) = self.slots.get_mut(&id) {
            slot.stale.get_or_insert_with(|| Box::new(view.clone()));
        }
    }

    /// Restarts the silent watches of all actors of this name.
    pub fn end_silence(&mut self, name: &str, view: &View) {
        let silent = self.slots.iter().filter(|(_, slot)| slot.stale.is_some() && slot.actor.name() == name);
        for id in silent.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.relist(id, view);
        }
    }

    /// Makes an actor list again, like an informer whose watch ended: it receives a deletion for each object
    /// that is gone, and then each object in `view` as a change of what it knew (`Replaced`).
    pub fn relist(&mut self, id: ActorId, view: &View) {
        let Some(slot) = self.slots.get_mut(&id) else { return };
        let known = slot.stale.take();
        let changes = replaced(known.as_deref().unwrap_or(view), view);
        let relevant = changes.into_iter().filter(|change| self.router.readers(change).contains(&id));
        slot.inbox.changes.extend(relevant);
        self.ready.insert(id);
    }
}

/// The changes that an informer reports when it knew `known` and lists `now`.
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
