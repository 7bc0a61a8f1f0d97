//! A watch: a cursor into the history of a kind. It has no queue of its own, so a slow client uses no memory; if it falls behind
//! the history, it gets 410. `lines.rs` renders its lines.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use jiff::SignedDuration;
use serde_json::Value;
use windtunnel_core::Key;
use windtunnel_core::clock::{Time, after};

use crate::faults::{Cut, Reader, Sight};
use crate::kinds::catalog::Catalog;
use crate::kinds::custom::conversion::ConversionCall;
use crate::kinds::objects::Objects;
use crate::outbound::hooks::HookError;
use crate::rejection::BoxedRejection;
use crate::reply::lazy_object::LazyObject;
use crate::store::{self, Event, Store, TableId};
use crate::watch::lines::{Batch, WatchRequest};

/// The interval of bookmarks.
const BOOKMARK_INTERVAL: SignedDuration = SignedDuration::from_secs(60);
/// The time between the last bookmark and the end of a watch.
const LAST_BOOKMARK: SignedDuration = SignedDuration::from_secs(2);
/// The most lines of one poll.
const MAX_BATCH: usize = 256;

/// A watch of a client.
#[derive(Debug)]
pub struct Watch {
    request: WatchRequest,
    client: WatchClient,
    timer: Timer,
    position: Position,
    /// Whether a line was rendered. The first line of a Table has the columns.
    has_lines: bool,
    state: State,
    /// Counts the watch in the metrics until it is dropped.
    _counter: Watching,
}

/// The phase of a watch.
#[derive(Debug)]
pub(crate) enum State {
    /// It sends the lines before the first event.
    Initial(VecDeque<Initial>),
    /// It sends events and bookmarks.
    Events,
    /// It sends nothing but this error, if any.
    Over(Option<Bytes>),
}

/// An initial line of a watch. Objects are shared with the store, and the selector is applied when they are sent.
#[derive(Debug)]
pub(crate) enum Initial {
    /// An existing object.
    Added(LazyObject),
    /// The bookmark after the existing objects, with its revision.
    End(u64),
}

/// The client of a watch, for faults.
#[derive(Debug)]
pub(crate) struct WatchClient {
    pub(crate) reader: Reader,
    /// The number of the watch among all watches of the server.
    pub(crate) number: u64,
}

/// The position of a watch in the history of its kind.
#[derive(Debug, Clone, Copy)]
struct Position {
    /// The revision up to which all events were processed.
    cursor: u64,
    /// Whether a fault hid events after it: only the last one of each object will arrive.
    gap: bool,
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
    /// Events to send now; a fault may end the watch among them.
    Events(Vec<Bytes>),
    /// The result of a poll without events.
    Poll(Poll),
    /// A webhook has to convert objects first.
    Call(Box<ConversionCall>),
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
    /// A watch of the events after the revision `cursor`.
    pub(crate) fn new(
        request: WatchRequest,
        client: WatchClient,
        timer: Timer,
        (cursor, state): (u64, State),
        counter: Watching,
    ) -> Self {
        let position = Position { cursor, gap: false };
        Self { request, client, timer, position, has_lines: false, state, _counter: counter }
    }

    /// Sets the speed of the server's clock for a watch that starts at `now`, so that its duration and its bookmark intervals
    /// hold on the clients' clock.
    pub(crate) fn set_speed(&mut self, speed: f64, now: Time) {
        self.timer.set_speed(speed, now);
    }

    /// The client, for faults.
    pub(crate) fn client(&self) -> &WatchClient {
        &self.client
    }

    /// Whether it sends nothing but the lines that it has already.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.state, State::Over(_))
    }

    /// The table of its kind.
    pub(crate) fn table(&self) -> TableId {
        self.request.kind.table
    }

    /// Ends the watch with 410.
    pub(crate) fn expire(&mut self, current: u64) {
        self.state = State::Over(Some(self.expired_line(current)));
    }

    /// Ends the watch within its next lines.
    pub(crate) fn cut(&mut self, mut lines: Vec<Bytes>, cut: Cut, current: u64) -> Poll {
        lines.truncate(cut.keep);
        if cut.expired {
            lines.push(self.expired_line(current));
        }
        self.state = State::Over(None);
        if lines.is_empty() { Poll::Ended } else { Poll::Lines(lines) }
    }

    /// The line of a watch that cannot continue at its position.
    fn expired_line(&self, current: u64) -> Bytes {
        let text = format!("too old resource version: {} ({current})", self.position.cursor);
        store::error_line(&BoxedRejection::expired(text).body())
    }

    /// The lines to send at `now`, or the conversion that they need first.
    pub(crate) fn advance(&mut self, objects: Objects<'_>, sight: Sight, now: Time) -> Progress {
        let before = self.position;
        let mut batch = Batch::new(sight, self.has_lines, now);
        let progress = self.poll(objects, sight, &mut batch);
        if let Some(conversion) = self.request.kind.conversion()
            && let Some(mut wanted) = conversion.next_call(now)
        {
            conversion.clear_wanted();
            // Poll the same events again after the conversion.
            self.position = before;
            wanted.call = objects.with_service_endpoint(wanted.call);
            return Progress::Call(Box::new(wanted));
        }
        self.has_lines = batch.has_lines;
        progress
    }

    /// Records the answer to a call of a conversion webhook. An error ends the watch.
    pub(crate) fn record_answer(&mut self, wanted: &ConversionCall, answer: &Result<Value, HookError>) {
        let Some(conversion) = self.request.kind.conversion() else { return };
        if let Err(why) = conversion.cache_answer(wanted, answer) {
            self.state = State::Over(Some(store::error_line(&BoxedRejection::internal(why).body())));
        }
    }

    fn poll(&mut self, objects: Objects<'_>, sight: Sight, batch: &mut Batch) -> Progress {
        match &mut self.state {
            State::Initial(initial) => {
                let lines = initial_lines(&self.request, initial, batch);
                if initial.is_empty() {
                    self.state = State::Events;
                }
                // The selector may match no initial object.
                if !lines.is_empty() {
                    return Progress::Poll(Poll::Lines(lines));
                }
            }
            State::Events => {}
            State::Over(error) => {
                let error = error.take();
                return Progress::Poll(error.map_or(Poll::Ended, |error| Poll::Lines(vec![error])));
            }
        }
        match self.new_lines(objects.store, sight, batch) {
            Ok(lines) if !lines.is_empty() => Progress::Events(lines),
            Ok(_) => Progress::Poll(self.wait(sight, objects.catalog, batch)),
            Err(error) => {
                self.state = State::Over(None);
                Progress::Poll(Poll::Lines(vec![error]))
            }
        }
    }

    /// The result of a poll without new events.
    fn wait(&mut self, sight: Sight, catalog: &Catalog, batch: &mut Batch) -> Poll {
        if batch.now >= self.timer.ends || self.is_replaced(catalog) {
            return Poll::Ended;
        }
        if self.timer.take_bookmark(batch.now) {
            let revision = sight.horizon.max(self.position.cursor);
            return Poll::Lines(vec![self.request.bookmark(revision, false, batch)]);
        }
        Poll::PendingUntil(self.timer.next())
    }

    /// The lines of the next batch of events; advances the cursor. The error is the last line of the watch.
    fn new_lines(&mut self, store: &Store, sight: Sight, batch: &mut Batch) -> Result<Vec<Bytes>, Bytes> {
        let history = &store.table(self.request.kind.table).history;
        let (cursor, current) = (self.position.cursor, sight.horizon);
        let events = history.since(cursor).map_err(|_| self.expired_line(store.visible()))?;
        if sight.gap {
            self.position.gap = true;
        } else if std::mem::take(&mut self.position.gap) {
            return Ok(self.lines_after_gap(events.take_while(|event| event.revision <= current), batch));
        }
        let mut lines = Vec::new();
        let mut new_cursor = current.max(cursor);
        for event in events.take_while(|event| event.revision <= current) {
            // Events under a later definition are for watches that start under it. This watch ends.
            if event.epoch > self.request.kind.epoch() {
                break;
            }
            lines.extend(self.request.line(event, batch));
            if lines.len() == MAX_BATCH {
                new_cursor = event.revision;
                break;
            }
        }
        self.position.cursor = new_cursor;
        Ok(lines)
    }

    /// The lines after a gap: the last event of each object, as if nothing had happened in between; advances the cursor.
    fn lines_after_gap<'e>(
        &mut self,
        events: impl Iterator<Item = &'e Arc<Event>>,
        batch: &mut Batch,
    ) -> Vec<Bytes> {
        let mut objects: BTreeMap<&Key, (&Arc<Event>, &Arc<Event>)> = BTreeMap::new();
        for event in events.take_while(|event| event.epoch <= self.request.kind.epoch()) {
            objects.entry(&event.key).and_modify(|(_, last)| *last = event).or_insert((event, event));
            self.position.cursor = event.revision;
        }
        let mut last: Vec<_> = objects.into_values().collect();
        last.sort_by_key(|(_, last)| last.revision);
        let merged = last.into_iter().filter_map(|(first, last)| first.merged_with(last));
        merged.filter_map(|event| self.request.line(&event, batch)).collect()
    }

    /// Whether the definition of the kind was replaced or removed.
    fn is_replaced(&self, catalog: &Catalog) -> bool {
        let kind = &self.request.kind;
        let resource = &kind.resource;
        let current = catalog.find(&resource.group, &resource.version, &resource.plural);
        kind.custom.is_some() && current.is_none_or(|current| current.epoch() != kind.epoch())
    }
}

/// The next batch of initial lines.
fn initial_lines(request: &WatchRequest, initial: &mut VecDeque<Initial>, batch: &mut Batch) -> Vec<Bytes> {
    let mut lines = Vec::new();
    while let Some(next) = initial.pop_front() {
        lines.extend(match next {
            Initial::Added(object) => request.initial_line(&object.load(), batch),
            Initial::End(revision) => Some(request.bookmark(revision, true, batch)),
        });
        if lines.len() == MAX_BATCH {
            break;
        }
    }
    lines
}

/// When a watch sends bookmarks, and when it ends, on the server's clock.
#[derive(Debug)]
pub(crate) struct Timer {
    ends: Time,
    /// The time of the next bookmark; `None` if the client wants none.
    next_bookmark: Option<Time>,
    /// The seconds on the server's clock per second on the clients' clock.
    speed: f64,
}

impl Timer {
    /// The times of a watch that starts at `now`. With bookmarks, it sends some at intervals, and a last one shortly before its
    /// end.
    pub(crate) fn new(ends: Time, bookmarks: bool, now: Time) -> Self {
        let mut timer = Self { ends, next_bookmark: None, speed: 1.0 };
        timer.next_bookmark = bookmarks.then(|| timer.bookmark_after(now));
        timer
    }

    fn set_speed(&mut self, speed: f64, now: Time) {
        if speed <= 0.0 || (speed - 1.0).abs() < f64::EPSILON {
            return;
        }
        self.speed = speed;
        if self.ends > now && self.ends < Time::MAX {
            self.ends = after(now, self.on_server_clock(self.ends.duration_since(now)));
        }
        self.next_bookmark = self.next_bookmark.map(|_| self.bookmark_after(now));
    }

    /// Whether a bookmark is due. Sets the time of the next one.
    fn take_bookmark(&mut self, now: Time) -> bool {
        let is_due = self.next_bookmark.is_some_and(|next| now >= next);
        if is_due {
            self.next_bookmark = Some(self.bookmark_after(now));
        }
        is_due
    }

    /// The time at which the watch has something to do without an event.
    fn next(&self) -> Time {
        self.next_bookmark.map_or(self.ends, |next| next.min(self.ends))
    }

    fn bookmark_after(&self, now: Time) -> Time {
        let next = after(now, self.on_server_clock(BOOKMARK_INTERVAL));
        let last = after(self.ends, -self.on_server_clock(LAST_BOOKMARK));
        if last > now { next.min(last) } else { next }
    }

    /// Converts a duration on the clients' clock to one on the server's clock.
    fn on_server_clock(&self, span: SignedDuration) -> SignedDuration {
        SignedDuration::try_from_secs_f64(span.as_secs_f64() * self.speed).unwrap_or(SignedDuration::MAX)
    }
}
