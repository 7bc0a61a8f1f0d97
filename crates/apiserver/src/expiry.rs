//! Events go by themselves: each write of one gives it its time anew (`--event-ttl`).

use std::collections::BTreeSet;

use jiff::SignedDuration;
use windtunnel_core::clock::{Time, after};
use windtunnel_core::resources::EVENTS;
use windtunnel_core::{ByKey, Key};

use super::server::ApiServer;

/// How long Events stay, and until when each of them does.
#[derive(Debug, Clone)]
pub(crate) struct Expiry {
    stay: SignedDuration,
    at: ByKey<Time>,
    due: BTreeSet<(Time, Key)>,
}

impl Expiry {
    /// No Event yet; each of them stays for so long.
    pub(super) fn after(stay: SignedDuration) -> Self {
        Self { stay, at: ByKey::default(), due: BTreeSet::new() }
    }

    /// An Event was written.
    fn written(&mut self, key: &Key, now: Time) {
        self.removed(key);
        let at = after(now, self.stay);
        self.at.insert(key, at);
        self.due.insert((at, key.clone()));
    }

    /// An Event is gone.
    fn removed(&mut self, key: &Key) {
        if let Some(at) = self.at.remove(key) {
            self.due.remove(&(at, key.clone()));
        }
    }

    /// The next Event whose time is over.
    fn next(&self, now: Time) -> Option<Key> {
        self.due.first().filter(|(at, _)| *at <= now).map(|(_, key)| key.clone())
    }
}

impl ApiServer {
    /// Takes out the Events whose time is over. They stay while the storage takes no writes, for those who only read.
    pub(super) fn expire(&mut self, now: Time) {
        if self.store.stalled().is_some() {
            return;
        }
        while let Some(key) = self.expiry.next(now) {
            self.expiry.removed(&key);
            if let Some(kind) = self.catalog.find(&EVENTS.group, &EVENTS.version, &EVENTS.plural).cloned() {
                self.remove_object(&kind, &key, now);
            }
        }
    }

    /// Events that a storage held stay for a whole time more.
    pub(super) fn events_restored(&mut self, now: Time) {
        let names = self.store.list(self.tables.events, "");
        let keys: Vec<Key> = names.map(|(namespace, name, _)| EVENTS.key(namespace, name)).collect();
        for key in &keys {
            self.expiry.written(key, now);
        }
    }

    /// An object of the kind of Events was written, or is gone.
    pub(super) fn event_written(&mut self, key: &Key, now: Time) {
        let key = EVENTS.key(&key.namespace, &key.name);
        if self.store.get(self.tables.events, &key.namespace, &key.name).is_some() {
            self.expiry.written(&key, now);
        } else {
            self.expiry.removed(&key);
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
    fn an_event_goes_an_hour_after_its_last_write_and_watchers_hear_of_it() {
        let mut server = ApiServer::builder().build(at(0));
        create(&mut server, "a", at(0));
        create(&mut server, "b", at(0));
        let patch = Write::merge_patch(&EVENTS, "default", "b", json!({"count": 2}));
        server.write(&patch, &Identity::admin(), at(30)).unwrap();
        server.expire(at(59));
        assert_eq!(names(&server), ["a", "b"]);
        let before = server.revision();
        // Whoever asks next finds it gone.
        create(&mut server, "c", at(60));
        assert_eq!(names(&server), ["b", "c"]);
        let told = server.events_since(before).unwrap().map(|event| (event.kind, event.key.name.as_str()));
        assert_eq!(told.collect::<Vec<_>>(), [(EventKind::Deleted, "a"), (EventKind::Added, "c")]);
        let delete = Write::delete(&EVENTS, "default", "c");
        server.write(&delete, &Identity::admin(), at(61)).unwrap();
        create(&mut server, "c", at(89));
        server.expire(at(148));
        assert_eq!(names(&server), ["c"]);
        server.expire(at(149));
        assert!(names(&server).is_empty());
    }
}
