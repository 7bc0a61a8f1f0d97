//! Who is told that something was written: those who follow one kind, and those who follow all.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use tokio::sync::watch::{self, Receiver, Sender};

use crate::store::TableId;

/// What moved, for those who wait for it.
#[derive(Debug)]
pub(super) struct Moved {
    /// Counts what may concern anybody: writes, and changes of what is served.
    all: Sender<u64>,
    /// The same by table, for as many tables as were ever watched.
    tables: Mutex<BTreeMap<TableId, Sender<u64>>>,
}

impl Moved {
    pub(super) fn new(revision: u64) -> Self {
        Self { all: watch::channel(revision).0, tables: Mutex::default() }
    }

    /// Tells of everything.
    pub(super) fn subscribe(&self) -> Receiver<u64> {
        self.all.subscribe()
    }

    /// Tells of what concerns one table.
    pub(super) fn subscribe_to(&self, table: TableId) -> Receiver<u64> {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        tables.entry(table).or_insert_with(|| watch::channel(0).0).subscribe()
    }

    /// Wakes those who follow these tables; everybody, if there are none.
    pub(super) fn tell(&self, moved: Option<BTreeSet<TableId>>) {
        let Some(moved) = moved else { return self.tell_all() };
        let tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        for sender in moved.iter().filter_map(|table| tables.get(table)) {
            count(sender);
        }
        count(&self.all);
    }

    /// Wakes everybody.
    pub(super) fn tell_all(&self) {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner).values().for_each(count);
        count(&self.all);
    }
}

fn count(sender: &Sender<u64>) {
    sender.send_modify(|count| *count += 1);
}
