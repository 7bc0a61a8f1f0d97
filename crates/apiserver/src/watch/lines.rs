//! The lines of a watch: the events that concern its client, in the form that the client requested.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::json;
use windtunnel_core::clock::Time;

use crate::faults::Sight;
use crate::kinds::Kind;
use crate::request::clock_skew::ClockSkew;
use crate::request::view::View;
use crate::selector::Selector;
use crate::store::{Event, EventKind, Stored};

/// The objects that a client watches, and the form in which it wants them.
#[derive(Debug)]
pub(crate) struct WatchRequest {
    pub(crate) kind: Arc<Kind>,
    /// The namespace; empty for all.
    pub(crate) namespace: String,
    pub(crate) selector: Selector,
    pub(crate) view: View,
}

/// The lines that a client gets at a moment.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) now: Time,
    /// The difference of the client's clock, because of a fault.
    skew: Option<ClockSkew>,
    /// Whether a line was rendered, here or before. The first line of a Table has the columns.
    pub(super) has_lines: bool,
}

impl Batch {
    pub(super) fn new(sight: Sight, has_lines: bool, now: Time) -> Self {
        Self { now, skew: sight.skew, has_lines }
    }
}

impl WatchRequest {
    /// The ADDED line of an object that existed before the watch; `None` if it does not match.
    pub(super) fn initial_line(&self, object: &Stored, batch: &mut Batch) -> Option<Bytes> {
        self.selector.matches(object).then(|| self.render(EventKind::Added.name(), object, batch))
    }

    /// The line of an event; `None` if the event does not concern this watch.
    pub(super) fn line(&self, event: &Event, batch: &mut Batch) -> Option<Bytes> {
        if !self.namespace.is_empty() && event.key.namespace != self.namespace {
            return None;
        }
        let everything = self.selector.is_everything();
        if everything && is_in_served_form(&self.kind, event) {
            return Some(self.shared_line(event, batch));
        }
        let object = convert_event_object(&self.kind, event, &event.object);
        let matches = self.selector.matches(&object);
        let matched_before = match (&event.old, everything) {
            (_, true) => true,
            (Some(old), false) => self.selector.matches(&convert_event_object(&self.kind, event, old)),
            (None, false) => false,
        };
        let kind = match (event.kind, matched_before, matches) {
            (EventKind::Deleted, true, _) => "DELETED",
            (EventKind::Added, _, true) | (EventKind::Modified | EventKind::Reread, false, true) => "ADDED",
            (EventKind::Modified | EventKind::Reread, true, true) => "MODIFIED",
            (EventKind::Modified | EventKind::Reread, true, false) => {
                return Some(self.no_longer_matching_line(event, batch));
            }
            _ => return None,
        };
        if kind == event.kind.name() && is_in_served_form(&self.kind, event) {
            return Some(self.shared_line(event, batch));
        }
        Some(self.render(kind, &object, batch))
    }

    /// The line of an event without conversion, shared by all watches with the same view.
    fn shared_line(&self, event: &Event, batch: &mut Batch) -> Bytes {
        if self.view == View::default() && batch.skew.is_none() {
            return event.line();
        }
        if !batch.has_lines || batch.skew.is_some() {
            return self.render(event.kind.name(), &event.object, batch);
        }
        let second = if self.view.shows_ages() { batch.now.as_second() } else { 0 };
        event.line_in(self.view, second, || {
            self.view.line(&self.kind, event.kind.name(), &event.object, false, batch.now)
        })
    }

    fn render(&self, kind: &str, object: &Stored, batch: &mut Batch) -> Bytes {
        let first = !std::mem::replace(&mut batch.has_lines, true);
        let skewed = batch.skew.map(|skew| object.skewed(skew));
        self.view.line(&self.kind, kind, skewed.as_ref().unwrap_or(object), first, batch.now)
    }

    /// The DELETED line of an object that stopped matching: its last matching state, with the revision of the change.
    fn no_longer_matching_line(&self, event: &Event, batch: &mut Batch) -> Bytes {
        let old = event.old.as_ref().unwrap_or(&event.object);
        let converted = convert_event_object(&self.kind, event, old);
        let mut last = (*converted).clone();
        last["metadata"]["resourceVersion"] = json!(event.revision.to_string());
        self.render("DELETED", &converted.with(last), batch)
    }

    /// A BOOKMARK line; `end` marks the end of the initial events.
    pub(super) fn bookmark(&self, revision: u64, end: bool, batch: &mut Batch) -> Bytes {
        let mut object = json!({
            "kind": self.kind.resource.kind,
            "apiVersion": self.kind.resource.api_version(),
            "metadata": { "resourceVersion": revision.to_string() },
        });
        if end {
            object["metadata"]["annotations"] = json!({ "k8s.io/initial-events-end": "true" });
        }
        self.render("BOOKMARK", &Stored::new(object, None), batch)
    }
}

/// Whether the object of an event is already in the form that the watched version serves now.
fn is_in_served_form(kind: &Kind, event: &Event) -> bool {
    match &kind.custom {
        Some(custom) => {
            // With a conversion webhook, the event may have an object of an earlier storage version.
            let is_storage_version = custom.version.storage && custom.family.conversion.is_none();
            is_storage_version && event.epoch == custom.family.epoch
        }
        None => kind.is_storage(),
    }
}

/// Converts an object of an event to the form that the kind serves now.
pub(crate) fn convert_event_object(kind: &Kind, event: &Event, object: &Stored) -> Stored {
    match &kind.custom {
        Some(custom) if custom.family.conversion.is_some() => Stored::split(kind.convert(&object.to_value())),
        Some(custom) if !is_in_served_form(kind, event) => {
            let group = &kind.resource.group;
            let stored = custom.family.storage.read_stored(object, group);
            object.with(if custom.version.storage { stored } else { custom.version.convert(&stored, group) })
        }
        Some(_) => object.clone(),
        None => kind.as_served(object),
    }
}
