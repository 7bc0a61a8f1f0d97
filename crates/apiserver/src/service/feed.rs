//! The changes of a server since the last call, as informers report them.

use std::collections::BTreeMap;

use windtunnel_core::{Change, ChangeKind, Key, Object, View};

use super::Shared;
use crate::server::ApiServer;
use crate::store::{Event, EventKind};

/// Follows all objects of a server.
#[derive(Debug, Clone)]
pub struct Feed {
    shared: Shared,
    /// The revision up to which changes were returned.
    seen: u64,
}

impl Feed {
    /// Follows a server from its first object.
    pub fn from_start(shared: Shared) -> Self {
        Self { shared, seen: 0 }
    }

    /// Follows a server from the oldest revision of its history.
    pub fn from_oldest(shared: Shared) -> Self {
        let seen = shared.with(|server| server.oldest_revision());
        Self { shared, seen }
    }

    /// Follows a copy of the server from the position of this feed.
    #[must_use]
    pub fn of_copy(&self, shared: Shared) -> Self {
        Self { shared, seen: self.seen }
    }

    /// The server.
    pub fn shared(&self) -> &Shared {
        &self.shared
    }

    /// The changes since the last call, oldest first. `known` is the result of all earlier changes: if the server's history
    /// no longer has all changes, the feed returns the difference between `known` and the server's objects.
    pub fn changes(&mut self, known: &View) -> Vec<Change> {
        let seen = self.seen;
        let events = self.shared.with(|server| {
            let revision = server.visible_revision();
            let events = server.events_since(seen).ok()?;
            let visible = events.take_while(|event| event.revision <= revision);
            Some((revision, visible.map(|event| change(event)).collect()))
        });
        let all = || self.shared.with_durable(|server| (server.revision(), difference(server, known)));
        let (revision, changes) = events.unwrap_or_else(all);
        self.seen = revision;
        changes
    }
}

/// Removes `metadata.managedFields`, which simulated components and recordings do not use.
pub fn without_owners(object: Object) -> Object {
    if object["metadata"]["managedFields"].is_null() {
        return object;
    }
    let mut value = object.to_value();
    if let Some(metadata) = value["metadata"].as_object_mut() {
        metadata.remove("managedFields");
    }
    Object::new(value)
}

fn change(event: &Event) -> Change {
    let kind = match event.kind {
        EventKind::Added => ChangeKind::Added,
        EventKind::Modified | EventKind::Reread => ChangeKind::Modified,
        EventKind::Deleted => ChangeKind::Deleted,
    };
    Change {
        key: event.key.clone(),
        kind,
        object: Object::from(event.object.tree()),
        old: event.old.as_ref().map(|old| Object::from(old.tree())),
    }
}

/// The changes that turn `known` into the objects of the server.
fn difference(server: &ApiServer, known: &View) -> Vec<Change> {
    let now: BTreeMap<Key, Object> =
        server.objects().map(|(key, object)| (key, without_owners(object))).collect();
    let deleted = known.objects().filter(|(key, _)| !now.contains_key(key)).map(|(key, old)| Change {
        key,
        kind: ChangeKind::Deleted,
        object: old.clone(),
        old: Some(old.clone()),
    });
    let mut changes: Vec<Change> = deleted.collect();
    for (key, object) in now {
        let old = known.get_key(&key).cloned();
        let kind = match &old {
            None => ChangeKind::Added,
            Some(old) if *old != object => ChangeKind::Modified,
            Some(_) => continue,
        };
        changes.push(Change { key, kind, object, old });
    }
    changes
}
