//! Writes that are not durable yet. Clients may only see durable writes, so the store reverts writes that the storage
//! rejects.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use windtunnel_core::Key;

use super::{Entry, Event, EventKind, Store, Stored, TableId};

/// A write to be stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The object.
    pub key: Key,
    /// The revision of the server after the write.
    pub revision: u64,
    /// The object after the write, in its storage version; `None` if it was removed.
    pub object: Option<Stored>,
}

/// The writes that are not durable yet.
#[derive(Debug, Clone)]
pub(super) struct Pending {
    /// The revision up to which everything is durable.
    durable: u64,
    /// The changes that the storage has not received yet.
    unsent: Vec<Change>,
    /// The information to revert writes, in the order of the writes.
    undo: VecDeque<Undo>,
    /// Why the storage rejected a commit; `None` if it accepted all.
    stalled: Option<Arc<str>>,
}

/// The information to revert a write.
#[derive(Debug, Clone)]
struct Undo {
    table: TableId,
    revision: u64,
    key: Key,
    /// The object before the write.
    before: Option<Entry>,
}

impl Pending {
    /// Adds a write.
    pub(super) fn add(&mut self, event: &Event, before: Option<Entry>) {
        let (revision, key) = (event.revision, event.key.clone());
        let object = (event.kind != EventKind::Deleted).then(|| event.object.clone());
        self.unsent.push(Change { key: key.clone(), revision, object });
        self.undo.push_back(Undo { table: event.table, revision, key, before });
    }
}

impl Store {
    /// Starts to track writes for a storage.
    pub(crate) fn track_changes(&mut self) {
        let (durable, unsent) = (self.revision, Vec::new());
        self.pending.get_or_insert(Pending { durable, unsent, undo: VecDeque::new(), stalled: None });
    }

    /// The changes since the last call, in order.
    pub(crate) fn take_changes(&mut self) -> Vec<Change> {
        self.pending.as_mut().map(|pending| std::mem::take(&mut pending.unsent)).unwrap_or_default()
    }

    /// Whether any write is not durable yet.
    pub(crate) fn is_pending(&self) -> bool {
        self.pending.as_ref().is_some_and(|pending| !pending.undo.is_empty())
    }

    /// The revision up to which clients may see writes.
    pub(crate) fn visible(&self) -> u64 {
        self.pending.as_ref().map_or(self.revision, |pending| pending.durable)
    }

    /// Whether any write to a table is not durable yet.
    pub(crate) fn is_pending_in(&self, table: TableId) -> bool {
        self.pending.as_ref().is_some_and(|pending| pending.undo.iter().any(|undo| undo.table == table))
    }

    /// The revision of the current state of a table. Clients may see it unless the table has writes that are not durable yet.
    pub(crate) fn table_revision(&self, table: TableId) -> u64 {
        if self.is_pending_in(table) { self.revision } else { self.visible() }
    }

    /// Why the storage rejected a commit; `None` if it accepted all.
    pub(crate) fn stalled(&self) -> Option<&str> {
        self.pending.as_ref()?.stalled.as_deref()
    }

    /// Marks all writes up to a revision as durable.
    pub(crate) fn mark_durable(&mut self, revision: u64) {
        let Some(pending) = &mut self.pending else { return };
        pending.durable = pending.durable.max(revision);
        while pending.undo.front().is_some_and(|undo| undo.revision <= pending.durable) {
            pending.undo.pop_front();
        }
    }

    /// Reverts all writes that are not durable, because the storage rejects them. Returns the affected objects.
    pub(crate) fn rewind(&mut self, why: &str) -> Vec<(TableId, Key)> {
        let Some(pending) = &mut self.pending else { return Vec::new() };
        let durable = pending.durable;
        pending.stalled = Some(why.into());
        pending.unsent.clear();
        let mut reverted = BTreeSet::new();
        for Undo { table, key, before, .. } in std::mem::take(&mut pending.undo).into_iter().rev() {
            let objects = &mut self.tables[table].objects;
            let named = objects.entry(key.namespace.clone()).or_default();
            match before {
                Some(before) => named.insert(key.name.clone(), before),
                None => named.remove(&key.name),
            };
            if named.is_empty() {
                objects.remove(&key.namespace);
            }
            reverted.insert((table, key));
        }
        self.revision = durable;
        self.history.rewind(durable);
        self.tables.iter_mut().for_each(|table| table.history.rewind(durable));
        reverted.into_iter().collect()
    }
}
