//! Writes that are not durable yet: nobody may see them before they are, and they are taken back if they never will be.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use windtunnel_core::Key;

use super::{Entry, Event, EventKind, Store, TableId};
use crate::storage::Change;

/// What was written and is not durable yet.
#[derive(Debug, Clone)]
pub(super) struct Pending {
    /// The revision up to which everything is durable.
    durable: u64,
    /// What the storage was not given yet.
    fresh: Vec<Change>,
    /// How to take writes back, in the order in which they were made.
    undo: VecDeque<Undo>,
    /// Why the storage takes no writes, as far as is known.
    stalled: Option<Arc<str>>,
}

/// How to take a write back.
#[derive(Debug, Clone)]
struct Undo {
    table: TableId,
    revision: u64,
    key: Key,
    /// The object as it was before the write.
    before: Option<Entry>,
}

impl Pending {
    /// Adds a write.
    pub(super) fn add(&mut self, event: &Event, before: Option<Entry>) {
        let (revision, key) = (event.revision, event.key.clone());
        let object = (event.kind != EventKind::Deleted).then(|| event.object.clone());
        self.fresh.push(Change { key: key.clone(), revision, object });
        self.undo.push_back(Undo { table: event.table, revision, key, before });
    }
}

impl Store {
    /// Keeps what is written from now on until it is durable.
    pub(crate) fn keep_changes(&mut self) {
        let (durable, fresh) = (self.revision, Vec::new());
        self.pending.get_or_insert(Pending { durable, fresh, undo: VecDeque::new(), stalled: None });
    }

    /// What was written since the last call, in order.
    pub(crate) fn take_changes(&mut self) -> Vec<Change> {
        self.pending.as_mut().map(|pending| std::mem::take(&mut pending.fresh)).unwrap_or_default()
    }

    /// Whether anything was written that is not durable yet.
    pub(crate) fn is_pending(&self) -> bool {
        self.pending.as_ref().is_some_and(|pending| !pending.undo.is_empty())
    }

    /// The revision up to which clients may see what was written.
    pub(crate) fn visible(&self) -> u64 {
        self.pending.as_ref().map_or(self.revision, |pending| pending.durable)
    }

    /// The same for the objects of a table.
    pub(crate) fn is_pending_in(&self, table: TableId) -> bool {
        self.pending.as_ref().is_some_and(|pending| pending.undo.iter().any(|undo| undo.table == table))
    }

    /// The revision of what a table holds now: one that clients may see, unless some of it is not durable yet.
    pub(crate) fn shown(&self, table: TableId) -> u64 {
        if self.is_pending_in(table) { self.revision } else { self.visible() }
    }

    /// Why the storage takes no writes, if it took none the last time.
    pub(crate) fn stalled(&self) -> Option<&str> {
        self.pending.as_ref()?.stalled.as_deref()
    }

    /// Everything up to a revision is durable. Tells whether the storage took no writes before.
    pub(crate) fn made_durable(&mut self, revision: u64) -> bool {
        let Some(pending) = &mut self.pending else { return false };
        pending.durable = pending.durable.max(revision);
        while pending.undo.front().is_some_and(|undo| undo.revision <= pending.durable) {
            pending.undo.pop_front();
        }
        pending.stalled.take().is_some()
    }

    /// Takes back everything that is not durable, because the storage takes no writes. Returns the
    /// restored state of the objects concerned, each with its table: the storage may hold the state that was taken back.
    pub(crate) fn rewind(&mut self, why: &str) -> Vec<(TableId, Change)> {
        let Some(pending) = &mut self.pending else { return Vec::new() };
        let durable = pending.durable;
        pending.stalled = Some(why.into());
        pending.fresh.clear();
        let mut concerned = BTreeSet::new();
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
            concerned.insert((table, key));
        }
        self.revision = durable;
        self.all.rewind(durable);
        self.tables.iter_mut().for_each(|table| table.history.rewind(durable));
        let again = |(table, key): (TableId, Key)| {
            let object = self.get(table, &key.namespace, &key.name).map(Entry::stored);
            (table, Change { key, revision: durable, object })
        };
        concerned.into_iter().map(again).collect()
    }
}
