//! Notifies subscribers of writes: to one kind, or to all kinds.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use tokio::sync::watch::{self, Receiver, Sender};

use crate::store::TableId;

/// Wakes the subscribers of a table, or of all tables.
#[derive(Debug)]
pub(super) struct ChangeNotifier {
    /// Counts all writes and changes of definitions.
    all: Sender<u64>,
    /// Counts the changes of each table that ever had a subscriber.
    tables: Mutex<BTreeMap<TableId, Sender<u64>>>,
}

impl ChangeNotifier {
    pub(super) fn new(revision: u64) -> Self {
        Self { all: watch::channel(revision).0, tables: Mutex::default() }
    }

    /// A receiver that changes with every write.
    pub(super) fn subscribe(&self) -> Receiver<u64> {
        self.all.subscribe()
    }

    /// A receiver that changes with every write to a table.
    pub(super) fn subscribe_to(&self, table: TableId) -> Receiver<u64> {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        tables.entry(table).or_insert_with(|| watch::channel(0).0).subscribe()
    }

    /// Wakes the subscribers of these tables, or all subscribers if `changed` is `None`.
    pub(super) fn notify(&self, changed: Option<BTreeSet<TableId>>) {
        let Some(changed) = changed else { return self.notify_all() };
        let tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        for sender in changed.iter().filter_map(|table| tables.get(table)) {
            increment(sender);
        }
        increment(&self.all);
    }

    /// Wakes all subscribers.
    pub(super) fn notify_all(&self) {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner).values().for_each(increment);
        increment(&self.all);
    }
}

fn increment(sender: &Sender<u64>) {
    sender.send_modify(|count| *count += 1);
}
