//! Events expire some time after their last write (`--event-ttl`).

use std::collections::BTreeSet;

use jiff::SignedDuration;
use windtunnel_core::clock::{Time, after};
use windtunnel_core::resources::EVENTS;
use windtunnel_core::{ByKey, Key};

use crate::server::ApiServer;
use crate::server::change::{Change, Derived, Reload};
use crate::store::{Store, TableId};

/// The time to live of Events, and when each Event expires.
#[derive(Debug, Clone)]
pub(crate) struct Expiry {
    ttl: SignedDuration,
    expires: ByKey<Time>,
    /// The Events in order of expiry.
    due: BTreeSet<(Time, Key)>,
}

impl Expiry {
    /// An expiry without Events.
    pub(crate) fn after(ttl: SignedDuration) -> Self {
        Self { ttl, expires: ByKey::default(), due: BTreeSet::new() }
    }

    /// Restarts the time to live of an Event.
    fn renew(&mut self, key: &Key, now: Time) {
        self.remove(key);
        let expires = after(now, self.ttl);
        self.expires.insert(key, expires);
        self.due.insert((expires, key.clone()));
    }

    /// Removes a deleted Event.
    fn remove(&mut self, key: &Key) {
        if let Some(expires) = self.expires.remove(key) {
            self.due.remove(&(expires, key.clone()));
        }
    }

    /// Takes the next expired Event.
    fn take(&mut self, now: Time) -> Option<Key> {
        let key = self.due.first().filter(|(at, _)| *at <= now).map(|(_, key)| key.clone())?;
        self.remove(&key);
        Some(key)
    }

    /// Restarts the time to live of a written Event, or removes the expiry of a deleted one. `events` is the table of Events.
    fn follow(&mut self, store: &Store, events: TableId, key: &Key, now: Time) {
        let key = EVENTS.key(&key.namespace, &key.name);
        if store.get(events, &key.namespace, &key.name).is_some() {
            self.renew(&key, now);
        } else {
            self.remove(&key);
        }
    }
}

/// Removes expired Events. While the storage rejects writes they stay, so that reads succeed.
pub(crate) fn expire(server: &mut ApiServer, now: Time) {
    if server.store.stalled().is_some() {
        return;
    }
    while let Some(key) = server.expiry.take(now) {
        if let Some(kind) = server.catalog.find(&EVENTS.group, &EVENTS.version, &EVENTS.plural).cloned() {
            server.remove_object(&kind, &key, now);
        }
    }
}

/// Follows the writes of Events.
pub(super) struct EventExpiry;

impl Derived for EventExpiry {
    fn follow(&self, server: &mut ApiServer, change: &Change<'_>) {
        if change.kind.table == server.tables.events {
            server.expiry.follow(&server.store, change.kind.table, change.key, change.now);
        }
    }

    fn follow_reload(&self, server: &mut ApiServer, reload: &Reload<'_>) {
        if reload.kind.table == server.tables.events {
            for key in reload.keys {
                server.expiry.follow(&server.store, reload.kind.table, key, reload.now);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windtunnel_core::{Identity, Write};

    use super::*;
    use crate::EventKind;

    fn at(minutes: i64) -> Time {
        Time::from_second(1_700_000_000 + minutes * 60).unwrap()
    }

    fn create(server: &mut ApiServer, name: &str, now: Time) {
        let event = json!({
            "metadata": {"namespace": "default", "name": name},
            "involvedObject": {"namespace": "default"},
        });
        server.write(&Write::create(&EVENTS, event), &Identity::admin(), now).unwrap();
    }

    fn names(server: &ApiServer) -> Vec<&str> {
        server.store.list(server.tables.events, "").map(|(_, name, _)| name).collect()
    }

    #[test]
    fn event_is_deleted_an_hour_after_its_last_write() {
        let mut server = ApiServer::builder().build(at(0));
        create(&mut server, "a", at(0));
        create(&mut server, "b", at(0));
        let patch = Write::merge_patch(&EVENTS, "default", "b", json!({"count": 2}));
        server.write(&patch, &Identity::admin(), at(30)).unwrap();
        expire(&mut server, at(59));
        assert_eq!(names(&server), ["a", "b"]);
        let before = server.revision();
        // The next request removes it.
        create(&mut server, "c", at(60));
        assert_eq!(names(&server), ["b", "c"]);
        let events = server.events_since(before).unwrap().map(|event| (event.kind, event.key.name.as_str()));
        assert_eq!(events.collect::<Vec<_>>(), [(EventKind::Deleted, "a"), (EventKind::Added, "c")]);
        let delete = Write::delete(&EVENTS, "default", "c");
        server.write(&delete, &Identity::admin(), at(61)).unwrap();
        create(&mut server, "c", at(89));
        expire(&mut server, at(148));
        assert_eq!(names(&server), ["c"]);
        expire(&mut server, at(149));
        assert!(names(&server).is_empty());
    }
}
