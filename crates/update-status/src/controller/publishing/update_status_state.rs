//! The singleton `UpdateStatus`: whether the cluster has it, and what must be written to bring it up to date.

use kube::runtime::watcher::Event;
use serde_json::{Value, json};
use windtunnel_core::clock::Time;

use super::informer::Informer;
use super::update_status::{self, ROOM};
use crate::controller::watch::UPDATE_STATUS_CRD;
use crate::controller::watch::cache::{Cache, Change};
use crate::controller::watch::mirror::Mirror;
use crate::insight::Insight;
use crate::insight::published::UPDATE_STATUS as NAME;

/// The path of the status in the object.
const STATUS: &str = "/status";

/// If less than this is rejected as well, size is not the reason.
const ROOM_MIN: usize = 8 * 1024;

/// The revisions of the informers: of the control plane, of the nodes, and of the producers.
pub(in crate::controller) type Revisions = [u64; 3];

/// A write that is due.
#[derive(Debug, PartialEq)]
pub(in crate::controller) enum StatusWrite {
    /// Creates the missing object.
    Create,
    /// A JSON patch of the status, rejected if another client has written the object meanwhile.
    Patch(Vec<Value>),
}

/// The object as last observed.
#[derive(Debug)]
pub(in crate::controller) struct UpdateStatusState {
    /// Whether the kind is served, by the name of its CRD.
    definitions: Cache<bool>,
    /// The status.
    seen: Mirror<Value>,
    /// Whether the watch failed.
    failed: bool,
    /// Whether the known status is what was written rather than what was read. API servers prune fields that
    /// the CRD does not define.
    is_guessed: bool,
    /// The revisions of the informers that the object is up to date with.
    published_revisions: Option<Revisions>,
    /// The size limit of the status in bytes. It shrinks when the API server rejects a write.
    room: usize,
    /// The resource version of a rejected patch, and the informers' revisions at that time, until the object
    /// is read again.
    refused: Option<(String, Revisions)>,
    /// Whether even the smallest size was rejected.
    is_given_up: bool,
}

impl Default for UpdateStatusState {
    fn default() -> Self {
        let (definitions, seen) = (Cache::default(), Mirror::new(NAME));
        Self {
            definitions,
            seen,
            failed: false,
            is_guessed: false,
            published_revisions: None,
            room: ROOM,
            refused: None,
            is_given_up: false,
        }
    }
}

impl UpdateStatusState {
    /// Applies an event of the watch of the CRD: whether the kind is served.
    pub(in crate::controller) fn apply_crd_event(&mut self, event: Event<(String, bool)>) {
        if self.definitions.apply(event) != Change::Nothing {
            (self.room, self.published_revisions, self.is_given_up) = (ROOM, None, false);
        }
        if !self.is_served() {
            (self.seen, self.failed) = (Mirror::new(NAME), false);
        }
    }

    /// Applies an event of the watch of objects: their resource versions.
    pub(in crate::controller) fn apply_object_event(&mut self, event: Event<(String, String)>) {
        // Without permission to list, the only event is the start of a list.
        self.failed &= matches!(event, Event::Init);
        if self.seen.apply_event(event) {
            self.published_revisions = None;
        }
    }

    /// Returns whether the object must be read because another client wrote it.
    pub(in crate::controller) fn wants_reading(&self) -> bool {
        self.is_served() && !self.failed && self.seen.wants_reading()
    }

    /// Stores the resource version and status after reading; `None` if the object does not exist.
    pub(in crate::controller) fn set_object(&mut self, object: Option<(String, Value)>) {
        let version = object.as_ref().map(|(version, _)| version.clone());
        self.seen.set_content(object);
        (self.is_guessed, self.published_revisions) = (false, None);
        // If another client wrote the object meanwhile, that may be why the write was rejected, rather than
        // its size.
        match self.refused.take() {
            Some((refused, _)) if version != Some(refused.clone()) => {}
            Some((_, revisions)) if self.room / 2 < ROOM_MIN => self.give_up(revisions),
            Some(_) => self.room /= 2,
            None => {}
        }
    }

    /// Notes that another client wrote the object.
    pub(in crate::controller) fn discard(&mut self) {
        self.seen.discard();
    }

    /// Notes that the watch of objects failed. Other insights do not wait for it.
    pub(in crate::controller) fn failed(&mut self) {
        self.failed = true;
    }

    pub(in crate::controller) fn is_served(&self) -> bool {
        self.definitions.get(UPDATE_STATUS_CRD) == Some(&true)
    }

    /// Returns whether its content or its absence is known.
    pub(in crate::controller) fn is_synced(&self) -> bool {
        self.definitions.is_synced() && (!self.is_served() || self.failed || self.seen.is_synced())
    }

    /// Returns its insights of an informer; `None` if it does not exist.
    pub(in crate::controller) fn insights(&self, informer: &str) -> Option<Vec<Insight>> {
        self.seen.get().map(|(_, status)| update_status::insights(status, informer))
    }

    /// Returns whether the object may be out of date.
    pub(in crate::controller) fn is_stale(&self, revisions: Revisions) -> bool {
        self.is_served() && self.seen.is_synced() && self.published_revisions != Some(revisions)
    }

    /// Returns the write that publishes the insights of `informers` at these revisions.
    pub(in crate::controller) fn write(
        &mut self,
        informers: [&Informer; 3],
        revisions: Revisions,
        now: Time,
    ) -> Option<StatusWrite> {
        let Some((version, before)) = self.seen.get() else { return Some(StatusWrite::Create) };
        let status = update_status::status(informers, before, self.room, now);
        let mut operations = status.map(|status| status.changes(STATUS, before)).unwrap_or_default();
        if operations.is_empty() {
            self.published_revisions = Some(revisions);
            return None;
        }
        // Rejects the patch if another client wrote the object meanwhile.
        operations.insert(0, json!({"op": "replace", "path": "/metadata/resourceVersion", "value": version}));
        Some(StatusWrite::Patch(operations))
    }

    /// Applies the written operations to the known status, and notes its resource version and the informers'
    /// revisions.
    pub(in crate::controller) fn written(
        &mut self,
        version: String,
        operations: Vec<Value>,
        revisions: Revisions,
    ) {
        (self.is_guessed, self.published_revisions, self.is_given_up) = (true, Some(revisions), false);
        if let Some(status) = self.seen.written(version) {
            let mut object = json!({"metadata": {"resourceVersion": ""}});
            object["status"] = status.take();
            let operations = serde_json::from_value::<json_patch::Patch>(Value::Array(operations));
            let done = operations.is_ok_and(|operations| json_patch::patch(&mut object, &operations).is_ok());
            *status = object["status"].take();
            if !done {
                self.seen.discard();
            }
        }
    }

    /// Handles a write that the API server rejected as too large or invalid. If the status was only guessed,
    /// the patch may not have fit it, so it is just read again. Otherwise a smaller status may be accepted;
    /// if not, the object is left alone until the informers' `revisions` change.
    pub(in crate::controller) fn handle_rejection(&mut self, revisions: Revisions) {
        match self.seen.get() {
            Some((version, _)) => {
                self.refused = (!self.is_guessed).then(|| (version.to_owned(), revisions));
                self.discard();
            }
            // An object without insights cannot become smaller.
            None => self.give_up(revisions),
        }
    }

    fn give_up(&mut self, revisions: Revisions) {
        (self.room, self.published_revisions, self.is_given_up) = (ROOM, Some(revisions), true);
    }

    pub(in crate::controller) fn is_given_up(&self) -> bool {
        self.is_served() && self.is_given_up
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: Revisions = [1, 1, 0];

    /// A singleton that was read at version 1.
    fn read() -> UpdateStatusState {
        let mut state = UpdateStatusState::default();
        state.apply_crd_event(Event::Init);
        state.apply_crd_event(Event::InitApply((UPDATE_STATUS_CRD.to_owned(), true)));
        state.apply_crd_event(Event::InitDone);
        state.apply_object_event(Event::Init);
        state.apply_object_event(Event::InitApply((NAME.to_owned(), "1".to_owned())));
        state.apply_object_event(Event::InitDone);
        state.set_object(Some(("1".to_owned(), json!({}))));
        state
    }

    #[test]
    fn a_rejection_shrinks_the_limit_only_if_the_object_is_unchanged() {
        let mut state = read();
        state.handle_rejection(KNOWN);
        assert!(state.wants_reading());
        state.set_object(Some(("2".to_owned(), json!({}))));
        assert_eq!(state.room, ROOM, "another client had written it");
        state.handle_rejection(KNOWN);
        state.set_object(Some(("2".to_owned(), json!({}))));
        assert_eq!(state.room, ROOM / 2);
    }

    #[test]
    fn retries_with_the_full_limit_after_new_insights() {
        let mut state = read();
        let tries = (1..=100).find(|_| {
            state.handle_rejection(KNOWN);
            state.set_object(Some(("1".to_owned(), json!({}))));
            state.is_given_up()
        });
        assert_eq!(tries, Some(7));
        assert!(!state.is_stale(KNOWN) && state.is_stale([1, 2, 0]));
        assert_eq!(state.room, ROOM);
        state.written("2".to_owned(), Vec::new(), [1, 2, 0]);
        assert!(!state.is_given_up());
    }
}
