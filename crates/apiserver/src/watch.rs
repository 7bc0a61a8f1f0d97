//! A watch: a cursor into the history of a kind. It holds no queue, so a slow reader costs nothing but its own 410.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use jiff::SignedDuration;
use serde_json::{Value, json};
use windtunnel_core::clock::{Time, after};

use super::crd::ConversionCall;
use super::held::Held;
use super::hooks::{HookCall, HookError};
use super::kinds::Kind;
use super::kinds::catalog::Catalog;
use super::paths::Watching;
use super::selector::Selector;
use super::status::Refused;
use super::store::{self, Event, EventKind, Store, Stored, TableId};
use super::view::View;

/// How often a watch that asked for bookmarks gets one.
const BOOKMARK_INTERVAL: SignedDuration = SignedDuration::from_secs(60);
/// How long before its end such a watch gets another one.
const LAST_BOOKMARK: SignedDuration = SignedDuration::from_secs(2);
/// How many lines one poll gives at most.
const BATCH: usize = 256;

/// The span of a server's clock in which `span` passes for its clients.
fn stretched(span: SignedDuration, speed: f64) -> SignedDuration {
    SignedDuration::try_from_secs_f64(span.as_secs_f64() * speed).unwrap_or(SignedDuration::MAX)
}

/// A watch that a client began.
#[derive(Debug)]
pub struct Watch {
    kind: Arc<Kind>,
    namespace: String,
    selector: Selector,
    view: View,
    /// Whether a line was sent; the first one tells the columns of Tables.
    begun: bool,
    /// The revision up to which everything was seen.
    cursor: u64,
    /// What to send before the first event.
    initial: VecDeque<Initial>,
    next_bookmark: Time,
    ends: Time,
    /// The seconds that pass on the server's clock in one second of its clients.
    speed: f64,
    /// Counts the watch as long as it is there.
    _counted: Option<Watching>,
    /// The conversions that the next events wait for.
    asked: Option<ConversionCall>,
}

/// How far a watch came.
#[derive(Debug)]
pub(crate) enum Progress {
    /// This is there.
    Poll(Poll),
    /// A webhook has to convert objects first.
    Call(HookCall),
}

/// What a watch begins with. Objects are shared with the store until they are sent, and chosen then.
#[derive(Debug)]
pub(crate) enum Initial {
    /// An object that is there.
    Added(Held),
    /// The end of those, at a revision.
    End(u64),
    /// A watch that cannot be.
    Error(Bytes),
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
        view: View,
        cursor: u64,
        initial: VecDeque<Initial>,
    ) -> Self {
        Self {
            kind: Arc::clone(kind),
            namespace: namespace.to_owned(),
            selector,
            view,
            begun: false,
            cursor,
            initial,
            next_bookmark: Time::MAX,
            ends: Time::MAX,
            speed: 1.0,
            _counted: None,
            asked: None,
        }
    }

    /// Sends bookmarks as time goes by, the last one shortly before the end that is set.
    pub(crate) fn with_bookmarks(mut self, bookmarks: bool, now: Time) -> Self {
        self.next_bookmark = if bookmarks { self.bookmark_after(now) } else { Time::MAX };
        self
    }

    /// Has a watch that begins at `now`, on a clock of this speed, last as many seconds of the wall as its client asked for.
    pub(crate) fn pace(&mut self, speed: f64, now: Time) {
        if speed <= 0.0 || (speed - 1.0).abs() < f64::EPSILON {
            return;
        }
        self.speed = speed;
        if self.ends > now && self.ends < Time::MAX {
            self.ends = after(now, stretched(self.ends.duration_since(now), speed));
        }
        if self.next_bookmark < Time::MAX {
            self.next_bookmark = self.bookmark_after(now);
        }
    }

    fn bookmark_after(&self, now: Time) -> Time {
        let next = after(now, stretched(BOOKMARK_INTERVAL, self.speed));
        let last = after(self.ends, -stretched(LAST_BOOKMARK, self.speed));
        if last > now { next.min(last) } else { next }
    }

    /// Where the objects are that it follows.
    pub(crate) fn table(&self) -> TableId {
        self.kind.table
    }

    pub(crate) fn counted(self, by: Watching) -> Self {
        Self { _counted: Some(by), ..self }
    }

    pub(crate) fn ending(self, ends: Time) -> Self {
        Self { ends, ..self }
    }
}

impl Watch {
    /// What there is to send at `now`.
    pub(crate) fn advance(&mut self, store: &Store, catalog: &Catalog, now: Time) -> Progress {
        let (cursor, begun) = (self.cursor, self.begun);
        let poll = self.poll(store, catalog, now);
        let Some(conversion) = self.kind.conversion() else { return Progress::Poll(poll) };
        let Some(wanted) = conversion.next_call(now) else { return Progress::Poll(poll) };
        conversion.clear_wanted();
        (self.cursor, self.begun) = (cursor, begun);
        let call = wanted.call.clone();
        self.asked = Some(wanted);
        Progress::Call(call)
    }

    /// Goes on with what a webhook said; an answer that is none ends the watch.
    pub(crate) fn answered(&mut self, answer: &Result<Value, HookError>) {
        let (Some(wanted), Some(conversion)) = (self.asked.take(), self.kind.conversion()) else { return };
        if let Err(why) = conversion.cache_answer(&wanted, answer) {
            self.initial.push_back(Initial::Error(store::line("ERROR", &Refused::internal(why).body())));
            self.ends = Time::MIN;
        }
    }

    fn poll(&mut self, store: &Store, catalog: &Catalog, now: Time) -> Poll {
        if !self.initial.is_empty() {
            let lines = self.initial_lines(now);
            // There may be none that the selector matches.
            if !lines.is_empty() {
                return Poll::Lines(lines);
            }
        }
        let lines = match self.new_lines(store, now) {
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
            self.next_bookmark = self.bookmark_after(now);
            return Poll::Lines(vec![self.bookmark(store.visible(), false, now)]);
        }
        Poll::PendingUntil(self.ends.min(self.next_bookmark))
    }

    /// The lines of up to a batch of what the watch begins with.
    fn initial_lines(&mut self, now: Time) -> Vec<Bytes> {
        let mut lines = Vec::new();
        while let Some(next) = self.initial.pop_front() {
            lines.extend(match next {
                Initial::Added(object) => {
                    let object = object.tree();
                    self.selector.matches(&object).then(|| self.shown("ADDED", &object, now))
                }
                Initial::End(revision) => Some(self.bookmark(revision, true, now)),
                Initial::Error(line) => Some(line),
            });
            if lines.len() == BATCH {
                break;
            }
        }
        lines
    }

    /// The lines of up to a batch of events; moves the cursor. The error is the last line of the watch.
    fn new_lines(&mut self, store: &Store, now: Time) -> Result<Vec<Bytes>, Bytes> {
        if self.ends == Time::MIN {
            return Ok(Vec::new());
        }
        let history = &store.table(self.kind.table).history;
        let (cursor, current) = (self.cursor, store.visible());
        let events = history.since(cursor).map_err(|_| {
            let text = format!("too old resource version: {cursor} ({current})");
            store::line("ERROR", &Refused::expired(text).body())
        })?;
        let mut lines = Vec::new();
        let mut seen = current.max(cursor);
        for event in events.take_while(|event| event.revision <= current) {
            // What was written under a later definition is for the watches that begin under it.
            if event.epoch > self.kind.epoch() {
                break;
            }
            lines.extend(self.line(event, now));
            if lines.len() == BATCH {
                seen = event.revision;
                break;
            }
        }
        self.cursor = seen;
        Ok(lines)
    }

    /// The line of an event as this watch sees it, if it sees it.
    fn line(&mut self, event: &Event, now: Time) -> Option<Bytes> {
        if !self.namespace.is_empty() && event.key.namespace != self.namespace {
            return None;
        }
        let everything = self.selector.is_everything();
        if everything && is_as_written(&self.kind, event) {
            return Some(self.shared(event, now));
        }
        let object = read_anew(&self.kind, event, &event.object);
        let is = self.selector.matches(&object);
        let was = match (&event.old, everything) {
            (_, true) => true,
            (Some(old), false) => self.selector.matches(&read_anew(&self.kind, event, old)),
            (None, false) => false,
        };
        let kind = match (event.kind, was, is) {
            (EventKind::Deleted, true, _) => "DELETED",
            (EventKind::Added, _, true) | (EventKind::Modified | EventKind::Reread, false, true) => "ADDED",
            (EventKind::Modified | EventKind::Reread, true, true) => "MODIFIED",
            (EventKind::Modified | EventKind::Reread, true, false) => return Some(self.left(event, now)),
            _ => return None,
        };
        if kind == event.kind.name() && is_as_written(&self.kind, event) {
            return Some(self.shared(event, now));
        }
        Some(self.shown(kind, &object, now))
    }

    /// The line of an event as it was written, shared with all who see it in the same view.
    fn shared(&mut self, event: &Event, now: Time) -> Bytes {
        if self.view == View::default() {
            return event.line();
        }
        if !self.begun {
            return self.shown(event.kind.name(), &event.object, now);
        }
        let second = if self.view.shows_ages() { now.as_second() } else { 0 };
        event.line_in(self.view, second, || {
            self.view.line(&self.kind, event.kind.name(), &event.object, false, now)
        })
    }

    fn shown(&mut self, kind: &str, object: &Stored, now: Time) -> Bytes {
        let first = !self.begun;
        self.begun = true;
        self.view.line(&self.kind, kind, object, first, now)
    }

    /// The line of an object that stopped matching: its last matching state, with the revision of the change.
    fn left(&mut self, event: &Event, now: Time) -> Bytes {
        let old = event.old.as_ref().unwrap_or(&event.object);
        let shown = read_anew(&self.kind, event, old);
        let mut last = (*shown).clone();
        last["metadata"]["resourceVersion"] = json!(event.revision.to_string());
        self.shown("DELETED", &shown.with(last), now)
    }

    /// A BOOKMARK line; `end` marks the end of the initial events.
    fn bookmark(&mut self, revision: u64, end: bool, now: Time) -> Bytes {
        let mut object = json!({
            "kind": self.kind.resource.kind,
            "apiVersion": self.kind.resource.api_version(),
            "metadata": { "resourceVersion": revision.to_string() },
        });
        if end {
            object["metadata"]["annotations"] = json!({ "k8s.io/initial-events-end": "true" });
        }
        self.shown("BOOKMARK", &Stored::new(object, None), now)
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
    match &kind.custom {
        Some(custom) => {
            // With a webhook, events are of the version that the object was stored in.
            let of_storage = custom.version.storage && custom.family.conversion.is_none();
            of_storage && event.epoch == custom.family.epoch
        }
        None => kind.is_storage(),
    }
}

/// An object of an event as the kind reads it today.
pub(crate) fn read_anew(kind: &Kind, event: &Event, object: &Stored) -> Stored {
    match &kind.custom {
        Some(custom) if custom.family.conversion.is_some() => Stored::split(kind.convert(&object.to_value())),
        Some(custom) if !is_as_written(kind, event) => {
            let group = &kind.resource.group;
            let stored = custom.family.storage.read_stored(object, group);
            object.with(if custom.version.storage { stored } else { custom.version.convert(&stored, group) })
        }
        Some(_) => object.clone(),
        None => kind.as_served(object),
    }
}
