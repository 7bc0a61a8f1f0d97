//! The store of objects: a table per kind, a revision for all of them, and a bounded history.

mod entry;
mod event;
mod history;
mod pending;
mod stored;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use windtunnel_core::Key;

use self::pending::Pending;
use super::metadata;
pub(crate) use entry::{Entry, FieldOwners, KnownOwners};
pub use event::{Event, EventKind};
pub(crate) use history::History;
pub use pending::Change;
pub use stored::Stored;
pub(crate) use stored::joined;

/// The objects of one kind by namespace and name, and their history.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    pub(crate) objects: BTreeMap<String, BTreeMap<String, Entry>>,
    pub(crate) history: History,
}

/// The index of a table.
pub(crate) type TableId = usize;

/// The objects of all kinds.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    revision: u64,
    tables: Vec<Table>,
    /// The history of all kinds.
    history: History,
    limit: usize,
    /// The writes that are not durable yet; `None` without a storage.
    pending: Option<Pending>,
}

/// The revision of a new store; lower resource versions are too old to watch from. The objects that the server itself
/// creates take the next revisions, up to 100.
const FIRST_REVISION: u64 = 90;

impl Store {
    pub(crate) fn new(limit: usize) -> Self {
        let history = History::new(FIRST_REVISION, limit);
        Self { revision: FIRST_REVISION, tables: Vec::new(), history, limit, pending: None }
    }

    pub(crate) fn add_table(&mut self) -> TableId {
        let history = History::new(FIRST_REVISION, self.limit);
        self.tables.push(Table { objects: BTreeMap::new(), history });
        self.tables.len() - 1
    }

    /// Restores an object from a storage or snapshot, without an event.
    pub(crate) fn restore(&mut self, id: TableId, key: &Key, object: &Value) {
        let revision = object["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse().ok());
        let entry = Entry::restored(revision.unwrap_or_default(), object);
        self.tables[id].objects.entry(key.namespace.clone()).or_default().insert(key.name.clone(), entry);
    }

    /// Raises the revision, so that the next write gets a later one.
    pub(crate) fn advance_to(&mut self, revision: u64) {
        self.revision = self.revision.max(revision);
    }

    /// The revision of the last write.
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    pub(crate) fn table(&self, id: TableId) -> &Table {
        &self.tables[id]
    }

    /// The history of all kinds.
    pub(crate) fn history(&self) -> &History {
        &self.history
    }

    pub(crate) fn get(&self, id: TableId, namespace: &str, name: &str) -> Option<&Entry> {
        self.tables[id].objects.get(namespace)?.get(name)
    }

    /// The number of objects in a table.
    pub(crate) fn count(&self, id: TableId) -> usize {
        self.tables[id].objects.values().map(BTreeMap::len).sum()
    }

    /// The number of all objects.
    pub(crate) fn count_all(&self) -> usize {
        (0..self.tables.len()).map(|id| self.count(id)).sum()
    }

    /// The objects of a namespace, or of all namespaces if `namespace` is empty, in order of namespace and name.
    pub(crate) fn list<'a>(
        &'a self,
        id: TableId,
        namespace: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a str, &'a Entry)> {
        let objects = &self.tables[id].objects;
        // Cluster-scoped objects are under the empty namespace, so this returns all of them.
        let chosen = objects.iter().filter(move |(found, _)| namespace.is_empty() || *found == namespace);
        chosen.flat_map(|(namespace, named)| {
            named.iter().map(move |(name, entry)| (namespace.as_str(), name.as_str(), entry))
        })
    }

    /// The objects with a name, in one namespace or in all namespaces if `namespace` is empty.
    pub(crate) fn named<'a>(
        &'a self,
        id: TableId,
        namespace: &'a str,
        name: &str,
    ) -> impl Iterator<Item = (&'a str, &'a str, &'a Entry)> {
        let objects = &self.tables[id].objects;
        let chosen = objects.iter().filter(move |(found, _)| namespace.is_empty() || *found == namespace);
        chosen.filter_map(move |(namespace, named)| {
            let (name, entry) = named.get_key_value(name)?;
            Some((namespace.as_str(), name.as_str(), entry))
        })
    }

    /// Stores an object under the next revision, with the owners of its fields.
    pub(crate) fn put(
        &mut self,
        id: TableId,
        key: &Key,
        epoch: u64,
        mut object: Value,
        owners: FieldOwners,
    ) -> Stored {
        self.revision += 1;
        metadata::metadata_mut(&mut object)
            .insert("resourceVersion".to_owned(), json!(self.revision.to_string()));
        let object = Stored::new(object, owners.entries);
        let entry = Entry::new(self.revision, epoch, object.clone()).with_owners(owners.known);
        let named = self.tables[id].objects.entry(key.namespace.clone()).or_default();
        let before = named.insert(key.name.clone(), entry);
        let old = before.as_ref().map(Entry::served);
        let kind = if old.is_some() { EventKind::Modified } else { EventKind::Added };
        self.record(Event::new(id, self.revision, kind, key.clone(), object.clone(), old, epoch), before);
        object
    }

    /// Stores an object under the next revision, with the current owners of its fields.
    pub(crate) fn rewrite(&mut self, id: TableId, key: &Key, epoch: u64, object: Value) -> Stored {
        let owners = self.get(id, &key.namespace, &key.name).map(Entry::field_owners).unwrap_or_default();
        self.put(id, key, epoch, object, owners)
    }

    /// Removes an object. Watchers get its last state with the revision of the removal.
    pub(crate) fn remove(&mut self, id: TableId, key: &Key, epoch: u64) -> Option<Stored> {
        let named = self.tables[id].objects.get_mut(&key.namespace)?;
        let entry = named.remove(&key.name)?;
        if named.is_empty() {
            self.tables[id].objects.remove(&key.namespace);
        }
        self.revision += 1;
        let served = entry.served();
        let mut object = (*served).clone();
        object["metadata"]["resourceVersion"] = json!(self.revision.to_string());
        let object = served.with(object);
        let old = Some(served);
        let kind = EventKind::Deleted;
        let event = Event::new(id, self.revision, kind, key.clone(), object.clone(), old, epoch);
        self.record(event, Some(entry));
        Some(object)
    }

    /// Rereads all objects of a table after their schema was replaced. The history of all kinds gets an event for each object
    /// that reads differently. The history of the kind needs none, because its watches end.
    pub(crate) fn reread(
        &mut self,
        id: TableId,
        epoch: u64,
        key: impl Fn(&str, &str) -> Key,
        read: impl Fn(&Value) -> Value,
    ) {
        let revision = self.revision;
        for (namespace, named) in &mut self.tables[id].objects {
            for (name, entry) in named {
                let (stored, old) = (entry.stored(), entry.served());
                let served = stored.with(read(&stored));
                if served == old {
                    continue;
                }
                entry.set_served(served.clone());
                let (kind, key) = (EventKind::Reread, key(namespace, name));
                self.history.push(Arc::new(Event::new(id, revision, kind, key, served, Some(old), epoch)));
            }
        }
    }

    /// Drops the history up to now, as a compaction of etcd does.
    pub(crate) fn compact(&mut self) {
        let revision = self.revision;
        self.history.compact(revision);
        self.tables.iter_mut().for_each(|table| table.history.compact(revision));
    }

    /// Adds an event to the histories; `before` is the object before the change.
    fn record(&mut self, event: Event, before: Option<Entry>) {
        if let Some(pending) = &mut self.pending {
            pending.add(&event, before);
        }
        let event = Arc::new(event);
        if let Some(dropped) = self.history.push(Arc::clone(&event)) {
            self.make_text(&dropped);
        }
        self.tables[event.table].history.push(event);
    }

    /// Converts an object to text if the dropped event was its last write.
    fn make_text(&mut self, event: &Event) {
        let named = self.tables[event.table].objects.get_mut(&event.key.namespace);
        let entry = named.and_then(|named| named.get_mut(&event.key.name));
        if let Some(entry) = entry.filter(|entry| entry.revision == event.revision) {
            entry.make_text(event.object_text());
        }
    }
}

pub(crate) use event::{error_line, watch_line};
