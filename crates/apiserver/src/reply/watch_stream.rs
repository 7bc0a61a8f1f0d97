//! A watch: a cursor into the history of a kind. It has no queue of its own, so a slow client uses no memory; if it falls behind
//! the history, it gets 410.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use jiff::SignedDuration;
use serde_json::{Value, json};
use windtunnel_core::Key;
use windtunnel_core::clock::{Time, after};

use crate::faults::{Cut, Reader, Sight};
use crate::kinds::Kind;
use crate::kinds::catalog::Catalog;
use crate::kinds::custom::conversion::ConversionCall;
use crate::outbound::hooks::{HookCall, HookError};
use crate::rejection::BoxedRejection;
use crate::reply::lazy_object::LazyObject;
use crate::request::clock_skew::ClockSkew;
use crate::request::view::View;
use crate::selector::Selector;
use crate::store::{self, Event, EventKind, Store, Stored, TableId};

/// The interval of bookmarks.
const BOOKMARK_INTERVAL: SignedDuration = SignedDuration::from_secs(60);
/// The time between the last bookmark and the end of a watch.
const LAST_BOOKMARK: SignedDuration = SignedDuration::from_secs(2);
/// The most lines of one poll.
const MAX_BATCH: usize = 256;

/// Converts a duration on the clients' clock to one on the server's clock.
fn on_server_clock(span: SignedDuration, speed: f64) -> SignedDuration {
    SignedDuration::try_from_secs_f64(span.as_secs_f64() * speed).unwrap_or(SignedDuration::MAX)
}

/// A watch of a client.
#[derive(Debug)]
pub struct Watch {
    kind: Arc<Kind>,
    namespace: String,
    selector: Selector,
    view: View,
    /// Whether a line was rendered. The first line of a Table has the columns.
    has_lines: bool,
    /// The revision up to which all events were processed.
    cursor: u64,
    /// The lines before the first event.
    initial: VecDeque<Initial>,
    next_bookmark: Time,
    ends: Time,
    /// The seconds on the server's clock per second on the clients' clock.
    speed: f64,
    /// Counts the watch in the metrics until it is dropped.
    _counter: Option<Watching>,
    /// The conversion that the next events wait for.
    pending_conversion: Option<ConversionCall>,
    /// The client, for faults.
    reader: Reader,
    /// The number of the watch among all watches of the server.
    number: u64,
    /// Whether the last lines were events, and not initial lines or a bookmark.
    sent_events: bool,
    /// Whether a fault hid events: only the last one of each object will arrive.
    gap: bool,
    /// The difference of the client's clock, because of a fault.
    skew: Option<ClockSkew>,
}

/// Counts a watch while it lives.
#[derive(Debug)]
pub(crate) struct Watching(Arc<AtomicU64>);

impl Watching {
    /// Counts one more watch until the value is dropped.
    pub(crate) fn new(open: &Arc<AtomicU64>) -> Self {
        open.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(open))
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The progress of a watch.
#[derive(Debug)]
pub(crate) enum Progress {
    /// The result of a poll.
    Poll(Poll),
    /// A webhook has to convert objects first.
    Call(HookCall),
}

/// An initial line of a watch. Objects are shared with the store, and the selector is applied when they are sent.
#[derive(Debug)]
pub(crate) enum Initial {
    /// An existing object.
    Added(LazyObject),
    /// The bookmark after the existing objects, with its revision.
    End(u64),
    /// An error, which ends the watch.
    Error(Bytes),
}

/// The result of a poll.
#[derive(Debug, PartialEq, Eq)]
pub enum Poll {
    /// Lines to send now; there may be more.
    Lines(Vec<Bytes>),
    /// No lines until the server's revision changes, or until this time.
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
            has_lines: false,
            cursor,
            initial,
            next_bookmark: Time::MAX,
            ends: Time::MAX,
            speed: 1.0,
            _counter: None,
            pending_conversion: None,
            reader: Reader::unknown(kind),
            number: 0,
            sent_events: false,
            gap: false,
            skew: None,
        }
    }

    /// Sets the client, and the number of the watch.
    pub(crate) fn read_by(self, reader: Reader, number: u64) -> Self {
        Self { reader, number, ..self }
    }

    /// Sends bookmarks at intervals, and a last one shortly before the end. Set the end first.
    pub(crate) fn with_bookmarks(mut self, bookmarks: bool, now: Time) -> Self {
        self.next_bookmark = if bookmarks { self.bookmark_after(now) } else { Time::MAX };
        self
    }

    /// Sets the speed of the server's clock for a watch that starts at `now`, so that its duration and its bookmark intervals
    /// hold on the clients' clock.
    pub(crate) fn set_speed(&mut self, speed: f64, now: Time) {
        if speed <= 0.0 || (speed - 1.0).abs() < f64::EPSILON {
            return;
        }
        self.speed = speed;
        if self.ends > now && self.ends < Time::MAX {
            self.ends = after(now, on_server_clock(self.ends.duration_since(now), speed));
        }
        if self.next_bookmark < Time::MAX {
            self.next_bookmark = self.bookmark_after(now);
        }
    }

    fn bookmark_after(&self, now: Time) -> Time {
        let next = after(now, on_server_clock(BOOKMARK_INTERVAL, self.speed));
        let last = after(self.ends, -on_server_clock(LAST_BOOKMARK, self.speed));
        if last > now { next.min(last) } else { next }
    }

    /// The client.
    pub(crate) fn reader(&self) -> &Reader {
        &self.reader
    }

    /// The number of the watch among all watches of the server.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Whether the last lines were events, and not initial lines or a bookmark.
    pub(crate) fn sent_events(&self) -> bool {
        self.sent_events
    }

    /// Whether it sends nothing but the lines that it has already.
    pub(crate) fn is_over(&self) -> bool {
        self.ends == Time::MIN
    }

    /// Ends the watch with 410.
    pub(crate) fn expire(&mut self, current: u64) {
        self.initial = VecDeque::from([Initial::Error(self.expired_line(current))]);
        self.ends = Time::MIN;
    }

    /// Ends the watch within its next lines.
    pub(crate) fn cut(&mut self, mut lines: Vec<Bytes>, cut: Cut, current: u64) -> Poll {
        lines.truncate(cut.keep);
        if cut.expired {
            lines.push(self.expired_line(current));
        }
        self.initial.clear();
        self.ends = Time::MIN;
        if lines.is_empty() { Poll::Ended } else { Poll::Lines(lines) }
    }

    /// The line of a watch that cannot continue at its position.
    fn expired_line(&self, current: u64) -> Bytes {
        let text = format!("too old resource version: {} ({current})", self.cursor);
        store::error_line(&BoxedRejection::expired(text).body())
    }

    /// The table of its kind.
    pub(crate) fn table(&self) -> TableId {
        self.kind.table
    }

    /// Counts the watch in the metrics until it is dropped.
    pub(crate) fn with_counter(self, counter: Watching) -> Self {
        Self { _counter: Some(counter), ..self }
    }

    pub(crate) fn ending_at(self, ends: Time) -> Self {
        Self { ends, ..self }
    }
}

impl Watch {
    /// The lines to send at `now`, or the conversion that they need first.
    pub(crate) fn advance(&mut self, store: &Store, sight: Sight, catalog: &Catalog, now: Time) -> Progress {
        let (cursor, has_lines, gap) = (self.cursor, self.has_lines, self.gap);
        let poll = self.poll(store, sight, catalog, now);
        let Some(conversion) = self.kind.conversion() else { return Progress::Poll(poll) };
        let Some(wanted) = conversion.next_call(now) else { return Progress::Poll(poll) };
        conversion.clear_wanted();
        // Poll the same events again after the conversion.
        (self.cursor, self.has_lines, self.gap) = (cursor, has_lines, gap);
        let call = wanted.call.clone();
        self.pending_conversion = Some(wanted);
        Progress::Call(call)
    }

    /// Records the answer of a conversion webhook. An error ends the watch.
    pub(crate) fn record_answer(&mut self, answer: &Result<Value, HookError>) {
        let (Some(wanted), Some(conversion)) = (self.pending_conversion.take(), self.kind.conversion())
        else {
            return;
        };
        if let Err(why) = conversion.cache_answer(&wanted, answer) {
            self.initial.push_back(Initial::Error(store::error_line(&BoxedRejection::internal(why).body())));
            self.ends = Time::MIN;
        }
    }

    fn poll(&mut self, store: &Store, sight: Sight, catalog: &Catalog, now: Time) -> Poll {
        self.sent_events = false;
        self.skew = sight.skew;
        if !self.initial.is_empty() {
            let lines = self.initial_lines(now);
            // The selector may match no initial object.
            if !lines.is_empty() {
                return Poll::Lines(lines);
            }
        }
        let lines = match self.new_lines(store, sight, now) {
            Ok(lines) => lines,
            Err(error) => {
                self.ends = Time::MIN;
                return Poll::Lines(vec![error]);
            }
        };
        if !lines.is_empty() {
            self.sent_events = true;
            return Poll::Lines(lines);
        }
        if now >= self.ends || self.is_replaced(catalog) {
            return Poll::Ended;
        }
        if now >= self.next_bookmark {
            self.next_bookmark = self.bookmark_after(now);
            return Poll::Lines(vec![self.bookmark(sight.horizon.max(self.cursor), false, now)]);
        }
        Poll::PendingUntil(self.ends.min(self.next_bookmark))
    }

    /// The next batch of initial lines.
    fn initial_lines(&mut self, now: Time) -> Vec<Bytes> {
        let mut lines = Vec::new();
        while let Some(next) = self.initial.pop_front() {
            lines.extend(match next {
                Initial::Added(object) => {
                    let object = object.load();
                    self.selector.matches(&object).then(|| self.render_line("ADDED", &object, now))
                }
                Initial::End(revision) => Some(self.bookmark(revision, true, now)),
                Initial::Error(line) => Some(line),
            });
            if lines.len() == MAX_BATCH {
                break;
            }
        }
        lines
    }

    /// The lines of the next batch of events; advances the cursor. The error is the last line of the watch.
    fn new_lines(&mut self, store: &Store, sight: Sight, now: Time) -> Result<Vec<Bytes>, Bytes> {
        if self.ends == Time::MIN {
            return Ok(Vec::new());
        }
        let history = &store.table(self.kind.table).history;
        let (cursor, current) = (self.cursor, sight.horizon);
        let events = history.since(cursor).map_err(|_| self.expired_line(store.visible()))?;
        if sight.gap {
            self.gap = true;
        } else if std::mem::take(&mut self.gap) {
            return Ok(self.lines_after_gap(events.take_while(|event| event.revision <= current), now));
        }
        let mut lines = Vec::new();
        let mut new_cursor = current.max(cursor);
        for event in events.take_while(|event| event.revision <= current) {
            // Events under a later definition are for watches that start under it. This watch ends.
            if event.epoch > self.kind.epoch() {
                break;
            }
            lines.extend(self.line(event, now));
            if lines.len() == MAX_BATCH {
                new_cursor = event.revision;
                break;
            }
        }
        self.cursor = new_cursor;
        Ok(lines)
    }

    /// The lines after a gap: the last event of each object, as if nothing had happened in between; advances the cursor.
    fn lines_after_gap<'e>(&mut self, events: impl Iterator<Item = &'e Arc<Event>>, now: Time) -> Vec<Bytes> {
        let mut objects: BTreeMap<&Key, (&Arc<Event>, &Arc<Event>)> = BTreeMap::new();
        for event in events.take_while(|event| event.epoch <= self.kind.epoch()) {
            objects.entry(&event.key).and_modify(|(_, last)| *last = event).or_insert((event, event));
            self.cursor = event.revision;
        }
        let mut last: Vec<_> = objects.into_values().collect();
        last.sort_by_key(|(_, last)| last.revision);
        let merged = last.into_iter().filter_map(|(first, last)| first.merged_with(last));
        merged.filter_map(|event| self.line(&event, now)).collect()
    }

    /// The line of an event; `None` if the event does not concern this watch.
    fn line(&mut self, event: &Event, now: Time) -> Option<Bytes> {
        if !self.namespace.is_empty() && event.key.namespace != self.namespace {
            return None;
        }
        let everything = self.selector.is_everything();
        if everything && is_in_served_form(&self.kind, event) {
            return Some(self.shared_line(event, now));
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
                return Some(self.no_longer_matching_line(event, now));
            }
            _ => return None,
        };
        if kind == event.kind.name() && is_in_served_form(&self.kind, event) {
            return Some(self.shared_line(event, now));
        }
        Some(self.render_line(kind, &object, now))
    }

    /// The line of an event without conversion, shared by all watches with the same view.
    fn shared_line(&mut self, event: &Event, now: Time) -> Bytes {
        if self.view == View::default() && self.skew.is_none() {
            return event.line();
        }
        if !self.has_lines || self.skew.is_some() {
            return self.render_line(event.kind.name(), &event.object, now);
        }
        let second = if self.view.shows_ages() { now.as_second() } else { 0 };
        event.line_in(self.view, second, || {
            self.view.line(&self.kind, event.kind.name(), &event.object, false, now)
        })
    }

    fn render_line(&mut self, kind: &str, object: &Stored, now: Time) -> Bytes {
        let first = !self.has_lines;
        self.has_lines = true;
        let skewed = self.skew.map(|skew| object.skewed(skew));
        self.view.line(&self.kind, kind, skewed.as_ref().unwrap_or(object), first, now)
    }

    /// The DELETED line of an object that stopped matching: its last matching state, with the revision of the change.
    fn no_longer_matching_line(&mut self, event: &Event, now: Time) -> Bytes {
        let old = event.old.as_ref().unwrap_or(&event.object);
        let converted = convert_event_object(&self.kind, event, old);
        let mut last = (*converted).clone();
        last["metadata"]["resourceVersion"] = json!(event.revision.to_string());
        self.render_line("DELETED", &converted.with(last), now)
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
        self.render_line("BOOKMARK", &Stored::new(object, None), now)
    }

    /// Whether the definition of the kind was replaced or removed.
    fn is_replaced(&self, catalog: &Catalog) -> bool {
        let resource = &self.kind.resource;
        let current = catalog.find(&resource.group, &resource.version, &resource.plural);
        self.kind.custom.is_some() && current.is_none_or(|current| current.epoch() != self.kind.epoch())
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
