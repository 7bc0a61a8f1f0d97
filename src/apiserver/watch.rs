//! A watch: a cursor into the history of a kind. It holds no queue, so a slow reader costs nothing but its own 410.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use jiff::SignedDuration;
use serde_json::{Value, json};

use super::kinds::Kind;
use super::selector::Selector;
use super::server::ApiServer;
use super::status::Refused;
use super::store::{self, Event, EventKind};
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
    /// The revision up to which everything was seen.
    cursor: u64,
    /// Lines to send before the first event.
    initial: VecDeque<Bytes>,
    bookmarks: bool,
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
        cursor: u64,
        initial: VecDeque<Bytes>,
    ) -> Self {
        Self {
            kind: Arc::clone(kind),
            namespace: namespace.to_owned(),
            selector,
            cursor,
            initial,
            bookmarks: false,
            next_bookmark: Time::MAX,
            ends: Time::MAX,
        }
    }

    pub(crate) fn with_bookmarks(mut self, bookmarks: bool, now: Time) -> Self {
        self.bookmarks = bookmarks;
        self.next_bookmark = if bookmarks { later(now) } else { Time::MAX };
        self
    }

    pub(crate) fn ending(self, ends: Time) -> Self {
        Self { ends, ..self }
    }
}

impl ApiServer {
    /// What a watch has to send at `now`.
    pub fn poll(&self, watch: &mut Watch, now: Time) -> Poll {
        if !watch.initial.is_empty() {
            let count = watch.initial.len().min(BATCH);
            return Poll::Lines(watch.initial.drain(..count).collect());
        }
        let lines = match self.new_lines(watch) {
            Ok(lines) => lines,
            Err(error) => {
                watch.ends = Time::MIN;
                return Poll::Lines(vec![error]);
            }
        };
        if !lines.is_empty() {
            return Poll::Lines(lines);
        }
        if now >= watch.ends || self.is_replaced(&watch.kind) {
            return Poll::Ended;
        }
        if now >= watch.next_bookmark {
            watch.next_bookmark = later(now);
            return Poll::Lines(vec![bookmark(&watch.kind, self.store.revision(), false)]);
        }
        Poll::PendingUntil(watch.ends.min(watch.next_bookmark))
    }

    /// The lines of up to a batch of events; moves the cursor. The error is the last line of the watch.
    fn new_lines(&self, watch: &mut Watch) -> Result<Vec<Bytes>, Bytes> {
        if watch.ends == Time::MIN {
            return Ok(Vec::new());
        }
        let history = &self.store.table(watch.kind.table).history;
        let (cursor, current) = (watch.cursor, self.store.revision());
        let events = history.since(cursor).map_err(|_| {
            let text = format!("too old resource version: {cursor} ({current})");
            store::line("ERROR", &Refused::expired(text).body())
        })?;
        let mut lines = Vec::new();
        let mut seen = current.max(cursor);
        for event in events {
            // What was written under a later definition is for the watches that begin under it.
            if event.epoch > watch.kind.epoch() {
                break;
            }
            lines.extend(Self::line(watch, event));
            if lines.len() == BATCH {
                seen = event.revision;
                break;
            }
        }
        watch.cursor = seen;
        Ok(lines)
    }

    /// The line of an event as this watch sees it, if it sees it.
    fn line(watch: &Watch, event: &Event) -> Option<Bytes> {
        if !watch.namespace.is_empty() && event.key.namespace != watch.namespace {
            return None;
        }
        let as_written = Self::is_as_written(&watch.kind, event);
        let everything = watch.selector.is_everything();
        if as_written && everything {
            return Some(event.line());
        }
        let object = Self::read_anew(&watch.kind, event, &event.object);
        let is = watch.selector.matches(&object);
        let was = match (&event.old, everything) {
            (_, true) => true,
            (Some(old), false) => watch.selector.matches(&Self::read_anew(&watch.kind, event, old)),
            (None, false) => false,
        };
        match event.kind {
            EventKind::Deleted => was.then(|| store::line("DELETED", &object)),
            EventKind::Added => is.then(|| store::line("ADDED", &object)),
            EventKind::Modified | EventKind::Reread => match (was, is) {
                (true, true) if as_written => Some(event.line()),
                (true, true) => Some(store::line("MODIFIED", &object)),
                (false, true) => Some(store::line("ADDED", &object)),
                (true, false) => Some(Self::left(watch, event)),
                (false, false) => None,
            },
        }
    }

    /// The line of an object that stopped matching: its last matching state, with the revision of the change.
    fn left(watch: &Watch, event: &Event) -> Bytes {
        let old = event.old.as_ref().unwrap_or(&event.object);
        let mut last = (*Self::read_anew(&watch.kind, event, old)).clone();
        last["metadata"]["resourceVersion"] = json!(event.revision.to_string());
        store::line("DELETED", &last)
    }

    /// Whether an event's object is what the watched version reads today.
    fn is_as_written(kind: &Kind, event: &Event) -> bool {
        let custom = kind.custom.as_ref();
        custom.is_none_or(|custom| custom.version.storage && event.epoch == custom.family.epoch)
    }

    fn read_anew(kind: &Kind, event: &Event, object: &Arc<Value>) -> Arc<Value> {
        match &kind.custom {
            Some(custom) if !Self::is_as_written(kind, event) => {
                let group = &kind.resource.group;
                let stored = custom.family.storage.read_stored(object, group);
                Arc::new(if custom.version.storage { stored } else { custom.version.convert(&stored, group) })
            }
            _ => Arc::clone(object),
        }
    }

    /// Whether the definition that the kind came from was replaced or removed.
    fn is_replaced(&self, kind: &Kind) -> bool {
        let resource = &kind.resource;
        let current = self.catalog.find(&resource.group, &resource.version, &resource.plural);
        kind.custom.is_some() && current.is_none_or(|current| current.epoch() != kind.epoch())
    }
}

fn later(now: Time) -> Time {
    now.checked_add(BOOKMARK_INTERVAL).unwrap_or(Time::MAX)
}

/// A BOOKMARK line; `end` marks the end of the initial events.
pub(crate) fn bookmark(kind: &Kind, revision: u64, end: bool) -> Bytes {
    let mut object = json!({
        "kind": kind.resource.kind,
        "apiVersion": kind.resource.api_version(),
        "metadata": { "resourceVersion": revision.to_string() },
    });
    if end {
        object["metadata"]["annotations"] = json!({ "k8s.io/initial-events-end": "true" });
    }
    store::line("BOOKMARK", &object)
}
