//! A watch: a cursor into the history of a kind. It holds no queue, so a slow reader costs nothing but its own 410.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use jiff::SignedDuration;
use serde_json::{Value, json};

use super::accept::Shape;
use super::kinds::Kind;
use super::kinds::catalog::Catalog;
use super::selector::Selector;
use super::status::Refused;
use super::store::{self, Event, EventKind, Store};
use crate::base::clock::Time;

/// How often a watch that asked for bookmarks gets one.
const BOOKMARK_INTERVAL: SignedDuration = SignedDuration::from_secs(60);
/// How many lines one poll gives at most.
const BATCH: usize = 256;

/// A watch that a client began.
#[derive(Debug)]
pub struct Watch {
    kind: Arc<Kind>,
    namespace: String,
    selector: Selector,
    shape: Shape,
    /// The revision up to which everything was seen.
    cursor: u64,
    /// Lines to send before the first event.
    initial: VecDeque<Bytes>,
    next_bookmark: Time,
    ends: Time,
}

/// What a poll gives.
#[derive(Debug, PartialEq, Eq)]
pub enum Poll {
    /// Lines to send now; there may be more.
    Lines(Vec<Bytes>),
    /// Nothing until the server's revision moves, or until this moment.
    PendingUntil(Time),
    /// The watch is over.
    Ended,
}

impl Watch {
    pub(crate) fn new(
        kind: &Arc<Kind>,
        namespace: &str,
        selector: Selector,
        shape: Shape,
        cursor: u64,
        initial: VecDeque<Bytes>,
    ) -> Self {
        Self {
            kind: Arc::clone(kind),
            namespace: namespace.to_owned(),
            selector,
            shape,
            cursor,
            initial,
            next_bookmark: Time::MAX,
            ends: Time::MAX,
        }
    }

    pub(crate) fn with_bookmarks(mut self, bookmarks: bool, now: Time) -> Self {
        self.next_bookmark = if bookmarks { later(now) } else { Time::MAX };
        self
    }

    pub(crate) fn ending(self, ends: Time) -> Self {
        Self { ends, ..self }
    }
}

impl Watch {
    /// What there is to send at `now`.
    pub(crate) fn poll(&mut self, store: &Store, catalog: &Catalog, now: Time) -> Poll {
        if !self.initial.is_empty() {
            let count = self.initial.len().min(BATCH);
            return Poll::Lines(self.initial.drain(..count).collect());
        }
        let lines = match self.new_lines(store) {
            Ok(lines) => lines,
            Err(error) => {
                self.ends = Time::MIN;
                return Poll::Lines(vec![error]);
            }
        };
        if !lines.is_empty() {
            return Poll::Lines(lines);
        }
        if now >= self.ends || self.is_replaced(catalog) {
            return Poll::Ended;
        }
        if now >= self.next_bookmark {
            self.next_bookmark = later(now);
            return Poll::Lines(vec![bookmark(&self.kind, self.shape, store.revision(), false)]);
        }
        Poll::PendingUntil(self.ends.min(self.next_bookmark))
    }

    /// The lines of up to a batch of events; moves the cursor. The error is the last line of the watch.
    fn new_lines(&mut self, store: &Store) -> Result<Vec<Bytes>, Bytes> {
        if self.ends == Time::MIN {
            return Ok(Vec::new());
        }
        let history = &store.table(self.kind.table).history;
        let (cursor, current) = (self.cursor, store.revision());
        let events = history.since(cursor).map_err(|_| {
            let text = format!("too old resource version: {cursor} ({current})");
            store::line("ERROR", &Refused::expired(text).body())
        })?;
        let mut lines = Vec::new();
        let mut seen = current.max(cursor);
        for event in events {
            // What was written under a later definition is for the watches that begin under it.
            if event.epoch > self.kind.epoch() {
                break;
            }
            lines.extend(self.line(event));
            if lines.len() == BATCH {
                seen = event.revision;
                break;
            }
        }
        self.cursor = seen;
        Ok(lines)
    }

    /// The line of an event as this watch sees it, if it sees it.
    fn line(&self, event: &Event) -> Option<Bytes> {
        if !self.namespace.is_empty() && event.key.namespace != self.namespace {
            return None;
        }
        let shared = self.shape == Shape::Whole && is_as_written(&self.kind, event);
        let everything = self.selector.is_everything();
        if shared && everything {
            return Some(event.line());
        }
        let object = read_anew(&self.kind, event, &event.object);
        let is = self.selector.matches(&object);
        let was = match (&event.old, everything) {
            (_, true) => true,
            (Some(old), false) => self.selector.matches(&read_anew(&self.kind, event, old)),
            (None, false) => false,
        };
        let line = |kind: &str| Some(self.shape.line(kind, &object));
        match (event.kind, was, is) {
            (EventKind::Deleted, true, _) => line("DELETED"),
            (EventKind::Added, _, true) | (EventKind::Modified | EventKind::Reread, false, true) => {
                line("ADDED")
            }
            (EventKind::Modified | EventKind::Reread, true, true) if shared => Some(event.line()),
            (EventKind::Modified | EventKind::Reread, true, true) => line("MODIFIED"),
            (EventKind::Modified | EventKind::Reread, true, false) => Some(self.left(event)),
            _ => None,
        }
    }

    /// The line of an object that stopped matching: its last matching state, with the revision of the change.
    fn left(&self, event: &Event) -> Bytes {
        let old = event.old.as_ref().unwrap_or(&event.object);
        let mut last = (*read_anew(&self.kind, event, old)).clone();
        last["metadata"]["resourceVersion"] = json!(event.revision.to_string());
        self.shape.line("DELETED", &last)
    }

    /// Whether the definition that the kind came from was replaced or removed.
    fn is_replaced(&self, catalog: &Catalog) -> bool {
        let resource = &self.kind.resource;
        let current = catalog.find(&resource.group, &resource.version, &resource.plural);
        self.kind.custom.is_some() && current.is_none_or(|current| current.epoch() != self.kind.epoch())
    }
}

/// Whether an event's object is what the watched version reads today.
fn is_as_written(kind: &Kind, event: &Event) -> bool {
    let custom = kind.custom.as_ref();
    custom.is_none_or(|custom| custom.version.storage && event.epoch == custom.family.epoch)
}

/// An object of an event as the kind reads it today.
pub(crate) fn read_anew(kind: &Kind, event: &Event, object: &Arc<Value>) -> Arc<Value> {
    match &kind.custom {
        Some(custom) if !is_as_written(kind, event) => {
            let group = &kind.resource.group;
            let stored = custom.family.storage.read_stored(object, group);
            Arc::new(if custom.version.storage { stored } else { custom.version.convert(&stored, group) })
        }
        _ => Arc::clone(object),
    }
}

fn later(now: Time) -> Time {
    now.checked_add(BOOKMARK_INTERVAL).unwrap_or(Time::MAX)
}

/// A BOOKMARK line; `end` marks the end of the initial events.
pub(crate) fn bookmark(kind: &Kind, shape: Shape, revision: u64, end: bool) -> Bytes {
    let mut object = json!({
        "kind": kind.resource.kind,
        "apiVersion": kind.resource.api_version(),
        "metadata": { "resourceVersion": revision.to_string() },
    });
    if end {
        object["metadata"]["annotations"] = json!({ "k8s.io/initial-events-end": "true" });
    }
    shape.line("BOOKMARK", &object)
}
