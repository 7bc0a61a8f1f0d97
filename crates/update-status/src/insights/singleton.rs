//! The one object `UpdateStatus`: whether the cluster has it, and what must be written for it to tell what is known.

use kube::runtime::watcher::Event;
use serde_json::{Value, json};
use windtunnel_core::clock::Time;

use super::cache::{Cache, Change};
use super::informer::Informer;
use super::mirror::Mirror;
use super::update_status::{self, ROOM};
use crate::insight::Insight;
use crate::insight::published::UPDATE_STATUS as NAME;

/// The CustomResourceDefinition without which there is none.
pub(super) const UPDATE_STATUS_CRD: &str = "updatestatuses.update.openshift.io";

/// Where it is in the object.
const STATUS: &str = "/status";

/// Where less room than this is refused as well, it is not the size.
const ROOM_MIN: usize = 8 * 1024;

/// A write that is due.
#[derive(Debug, PartialEq)]
pub(super) enum StatusWrite {
    /// The object is not there.
    Create,
    /// A JSON patch of its status, refused where somebody else wrote it meanwhile.
    Patch(Vec<Value>),
}

/// The object, as far as it was seen.
#[derive(Debug)]
pub(super) struct Singleton {
    /// Whether the kind is served, by the name of its definition.
    definitions: Cache<bool>,
    /// Its status.
    seen: Mirror<Value>,
    /// Whether it could not be watched.
    failed: bool,
    /// Whether its status is known as it was written. API servers leave out what their definition does not know.
    is_guessed: bool,
    /// The state of the informers that it was seen to tell.
    told: Option<[u64; 2]>,
    /// How many bytes its status may have; less where the API server refused more.
    room: usize,
    /// The resource version whose patch was refused, and what informers knew then, until it was read again.
    refused: Option<(String, [u64; 2])>,
    /// Whether no room was small enough.
    is_given_up: bool,
}

impl Default for Singleton {
    fn default() -> Self {
        let (definitions, seen) = (Cache::default(), Mirror::new(NAME));
        Self {
            definitions,
            seen,
            failed: false,
            is_guessed: false,
            told: None,
            room: ROOM,
            refused: None,
            is_given_up: false,
        }
    }
}

impl Singleton {
    /// Takes in what the watch of its definition tells: whether it is served.
    pub(super) fn definition(&mut self, event: Event<(String, bool)>) {
        if self.definitions.take(event) != Change::Nothing {
            (self.room, self.told, self.is_given_up) = (ROOM, None, false);
        }
        if !self.is_served() {
            (self.seen, self.failed) = (Mirror::new(NAME), false);
        }
    }

    /// Takes in what the watch of objects tells: their resource versions.
    pub(super) fn object(&mut self, event: Event<(String, String)>) {
        // Whoever may not look is told nothing but that a list begins.
        self.failed &= matches!(event, Event::Init);
        if self.seen.watched(event) {
            self.told = None;
        }
    }

    /// Whether it has to be read: somebody else wrote it.
    pub(super) fn wants_reading(&self) -> bool {
        self.is_served() && !self.failed && self.seen.wants_reading()
    }

    /// Takes in its resource version and status as they were read; `None`: it is not there.
    pub(super) fn read(&mut self, object: Option<(String, Value)>) {
        let version = object.as_ref().map(|(version, _)| version.clone());
        self.seen.holds(object);
        (self.is_guessed, self.told) = (false, None);
        // What others wrote meanwhile may have been the reason for a refusal, and not the size.
        match self.refused.take() {
            Some((refused, _)) if version != Some(refused.clone()) => {}
            Some((_, revisions)) if self.room / 2 < ROOM_MIN => self.give_up(revisions),
            Some(_) => self.room /= 2,
            None => {}
        }
    }

    /// Somebody else wrote it.
    pub(super) fn lose(&mut self) {
        self.seen.lose();
    }

    /// The watch of objects failed. What is known otherwise does not wait for it.
    pub(super) fn failed(&mut self) {
        self.failed = true;
    }

    /// Whether the cluster has such objects.
    pub(super) fn is_served(&self) -> bool {
        self.definitions.get(UPDATE_STATUS_CRD) == Some(&true)
    }

    /// Whether it is known that it is there, or not.
    pub(super) fn is_synced(&self) -> bool {
        self.definitions.is_synced() && (!self.is_served() || self.failed || self.seen.is_synced())
    }

    /// The insights that it has of an informer, if it is there.
    pub(super) fn insights(&self, informer: &str) -> Option<Vec<Insight>> {
        self.seen.get().map(|(_, status)| update_status::insights(status, informer))
    }

    /// Whether it may not tell what is known.
    pub(super) fn is_stale(&self, revisions: [u64; 2]) -> bool {
        self.is_served() && self.seen.is_synced() && self.told != Some(revisions)
    }

    /// What has to be written for it to tell what `informers` know, whose state is `revisions`.
    pub(super) fn write(
        &mut self,
        informers: [&Informer; 2],
        revisions: [u64; 2],
        now: Time,
    ) -> Option<StatusWrite> {
        let Some((version, before)) = self.seen.get() else { return Some(StatusWrite::Create) };
        let status = update_status::status(informers, before, self.room, now);
        let mut operations = status.map(|status| status.changes(STATUS, before)).unwrap_or_default();
        if operations.is_empty() {
            self.told = Some(revisions);
            return None;
        }
        // Whoever else wrote it meanwhile is not overwritten.
        operations.insert(0, json!({"op": "replace", "path": "/metadata/resourceVersion", "value": version}));
        Some(StatusWrite::Patch(operations))
    }

    /// These operations were done. It is of this resource version now, and tells what informers in this state know.
    pub(super) fn written(&mut self, version: String, operations: Vec<Value>, revisions: [u64; 2]) {
        (self.is_guessed, self.told, self.is_given_up) = (true, Some(revisions), false);
        if let Some(status) = self.seen.written(version) {
            let mut object = json!({"metadata": {"resourceVersion": ""}});
            object["status"] = status.take();
            let operations = serde_json::from_value::<json_patch::Patch>(Value::Array(operations));
            let done = operations.is_ok_and(|operations| json_patch::patch(&mut object, &operations).is_ok());
            *status = object["status"].take();
            if !done {
                self.seen.lose();
            }
        }
    }

    /// The API server refused a write as too large, or as something that its definition does not allow, unless what was to be
    /// changed is not there. With less in it, it may do; if not, it is left alone until something else is known, by `revisions`.
    pub(super) fn refused(&mut self, revisions: [u64; 2]) {
        match self.seen.get() {
            Some((version, _)) => {
                self.refused = (!self.is_guessed).then(|| (version.to_owned(), revisions));
                self.lose();
            }
            // Nothing could be left out of an object without insights.
            None => self.give_up(revisions),
        }
    }

    fn give_up(&mut self, revisions: [u64; 2]) {
        (self.room, self.told, self.is_given_up) = (ROOM, Some(revisions), true);
    }

    /// Whether it is left alone.
    pub(super) fn is_given_up(&self) -> bool {
        self.is_served() && self.is_given_up
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [u64; 2] = [1, 1];

    /// One that was read at version 1.
    fn read() -> Singleton {
        let mut singleton = Singleton::default();
        singleton.definition(Event::Init);
        singleton.definition(Event::InitApply((UPDATE_STATUS_CRD.to_owned(), true)));
        singleton.definition(Event::InitDone);
        singleton.object(Event::Init);
        singleton.object(Event::InitApply((NAME.to_owned(), "1".to_owned())));
        singleton.object(Event::InitDone);
        singleton.read(Some(("1".to_owned(), json!({}))));
        singleton
    }

    #[test]
    fn only_what_is_refused_as_it_was_read_takes_room() {
        let mut singleton = read();
        singleton.refused(KNOWN);
        assert!(singleton.wants_reading());
        singleton.read(Some(("2".to_owned(), json!({}))));
        assert_eq!(singleton.room, ROOM, "somebody else had written it");
        singleton.refused(KNOWN);
        singleton.read(Some(("2".to_owned(), json!({}))));
        assert_eq!(singleton.room, ROOM / 2);
    }

    #[test]
    fn what_is_left_alone_is_tried_again_with_all_its_room_once_something_else_is_known() {
        let mut singleton = read();
        let tries = (1..=100).find(|_| {
            singleton.refused(KNOWN);
            singleton.read(Some(("1".to_owned(), json!({}))));
            singleton.is_given_up()
        });
        assert_eq!(tries, Some(7));
        assert!(!singleton.is_stale(KNOWN) && singleton.is_stale([1, 2]));
        assert_eq!(singleton.room, ROOM);
        singleton.written("2".to_owned(), Vec::new(), [1, 2]);
        assert!(!singleton.is_given_up());
    }
}
