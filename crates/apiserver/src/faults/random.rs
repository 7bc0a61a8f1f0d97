//! Random faults: drawn from a seed, for each client, verb and kind on its own. So the same seed gives the n-th such
//! request of a client the same fault, whatever other clients do.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use windtunnel_core::clock::{Time, after};
use windtunnel_core::requests::faults::{
    RandomFaultKind as Kind, RandomFaults, RequestAttributes, WatchFault,
};
use windtunnel_core::rng::{Stream, Streams};

use super::incidents::Incidents;
use super::{Incident, Reader, Sight, WriteTimes};
use crate::store::Store;

/// The most streams of draws. Further clients and kinds have no random faults.
const LIMIT: usize = 10_000;
/// The number of requests without a fault after one with a fault, so that clients that retry make progress.
const PAUSE: u32 = 2;
/// The times for which a client sees the past, in milliseconds.
const STALE_MS: (u64, u64) = (50, 1_000);
/// The delays of the events of a kind, in milliseconds.
const SLOW_MS: (u64, u64) = (0, 400);
/// The kinds that suites create before they begin, usually without a retry. They have faults only if they are selected.
const OF_SETUP: [&str; 4] = [
    "CustomResourceDefinition",
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
    "APIService",
];

/// The random faults of a server.
#[derive(Debug, Clone)]
pub(super) struct FaultDraws {
    random_faults: RandomFaults,
    streams: Streams,
    requests: BTreeMap<String, RequestDraws>,
    readers: BTreeMap<String, ReaderDraws>,
}

/// The draws for one client, verb and kind.
#[derive(Debug, Clone)]
struct RequestDraws {
    stream: Stream,
    /// The number of next requests without a fault.
    pause: u32,
}

/// The draws for the watches of one client on a kind.
#[derive(Debug, Clone)]
struct ReaderDraws {
    past: Stream,
    /// The number of events until the client sees the past.
    until_past: u64,
    /// The last revision whose events were counted.
    counted: u64,
    hold: Option<Hold>,
    /// The delay of all events.
    delay: SignedDuration,
    ends: Stream,
    /// The number of events until a watch ends.
    until_end: u64,
}

/// A time in which a client sees the past.
#[derive(Debug, Clone, Copy)]
struct Hold {
    revision: u64,
    until: Time,
    gap: bool,
}

impl FaultDraws {
    pub(super) fn new(random_faults: RandomFaults) -> Self {
        let streams = Streams::new(random_faults.seed.unwrap_or_default());
        Self { random_faults, streams, requests: BTreeMap::new(), readers: BTreeMap::new() }
    }

    /// Whether the events of some kinds arrive later.
    pub(super) fn delay_events(&self) -> bool {
        self.random_faults.has(Kind::Slow)
    }

    fn selects(&self, request: &RequestAttributes<'_>) -> bool {
        let wanted = &self.random_faults.requests;
        wanted.matches(request) && (wanted.kind.is_some() || !OF_SETUP.contains(&request.kind))
    }

    /// Draws the fault of a request among those that may happen to it.
    pub(super) fn draw(
        &mut self,
        request: &RequestAttributes<'_>,
        may_be: impl Fn(Kind) -> bool,
    ) -> Option<(Kind, bool)> {
        if !self.selects(request) {
            return None;
        }
        let kinds: Vec<Kind> =
            self.random_faults.kinds.iter().copied().filter(|kind| may_be(*kind)).collect();
        let program = request.agent.split('/').next().unwrap_or_default();
        let RequestAttributes { verb, kind, subresource, user, .. } = request;
        let name = format!("{program} {user} {verb} {kind} {subresource}");
        if kinds.is_empty() || self.requests.len() >= LIMIT && !self.requests.contains_key(&name) {
            return None;
        }
        let stream = || self.streams.stream(&format!("request {name}"));
        let draws =
            self.requests.entry(name.clone()).or_insert_with(|| RequestDraws { stream: stream(), pause: 0 });
        if draws.pause > 0 {
            draws.pause -= 1;
            return None;
        }
        if draws.stream.between(1, 100) > u64::from(self.random_faults.rate) {
            return None;
        }
        draws.pause = PAUSE;
        let index = draws.stream.between(0, kinds.len() as u64 - 1);
        let after_write = draws.stream.between(0, 1) == 1;
        Some((kinds[usize::try_from(index).unwrap_or_default()], after_write))
    }

    /// Restricts what a client sees of a kind.
    pub(super) fn limit(
        &mut self,
        sight: &mut Sight,
        reader: &Reader,
        store: &Store,
        times: &WriteTimes,
        now: Time,
        incidents: &mut Incidents,
    ) {
        let kinds = [Kind::Stale, Kind::Gap].into_iter().filter(|kind| self.random_faults.has(*kind));
        let (kinds, rate): (Vec<Kind>, u32) = (kinds.collect(), self.random_faults.rate);
        let slow = self.delay_events();
        let Some(draws) = self.reader(reader, store) else { return };
        if slow {
            let (arrived, next) = times.arrived(store.visible(), draws.delay, now);
            sight.limit(arrived, next);
        }
        if kinds.is_empty() {
            return;
        }
        let was_held = draws.hold.is_some_and(|hold| now < hold.until);
        if let Some(hold) = draws.hold(&kinds, rate, reader, store, now) {
            sight.limit(hold.revision, hold.until);
            sight.gap |= hold.gap;
            if !was_held {
                incidents.add(|| hold.incident(reader, now));
            }
        }
    }

    /// Draws whether a watch ends at the next event.
    pub(super) fn end(&mut self, reader: &Reader) -> Option<WatchFault> {
        let ends = [
            (Kind::Disconnect, WatchFault::Disconnect),
            (Kind::Expired, WatchFault::Expired),
            (Kind::Duplicate, WatchFault::Duplicate),
        ];
        let ends = ends.into_iter().filter(|(kind, _)| self.random_faults.has(*kind));
        let ends: Vec<WatchFault> = ends.map(|(_, effect)| effect).collect();
        let rate = self.random_faults.rate;
        let draws = self.readers.get_mut(&name(reader)).filter(|_| !ends.is_empty())?;
        draws.until_end = draws.until_end.saturating_sub(1);
        if draws.until_end > 0 {
            return None;
        }
        draws.until_end = interval(&mut draws.ends, rate);
        let index = draws.ends.between(0, ends.len() as u64 - 1);
        ends.get(usize::try_from(index).unwrap_or_default()).copied()
    }

    /// The draws for a reader; `None` if it has no faults.
    fn reader(&mut self, reader: &Reader, store: &Store) -> Option<&mut ReaderDraws> {
        // Reads of a cache see what the watches of the client see.
        if !self.selects(&RequestAttributes { verb: "watch", ..reader.attributes() }) {
            return None;
        }
        let name = name(reader);
        if self.readers.len() >= LIMIT && !self.readers.contains_key(&name) {
            return None;
        }
        let (streams, rate) = (self.streams, self.random_faults.rate);
        Some(self.readers.entry(name).or_insert_with_key(|name| {
            let stream = |what: &str| streams.stream(&format!("{what} {name}"));
            let (mut past, mut ends) = (stream("past"), stream("end"));
            let delay = stream("delay").between(SLOW_MS.0, SLOW_MS.1);
            ReaderDraws {
                until_past: interval(&mut past, rate),
                until_end: interval(&mut ends, rate),
                past,
                ends,
                counted: store.visible(),
                hold: None,
                delay: SignedDuration::from_millis(i64::try_from(delay).unwrap_or_default()),
            }
        }))
    }
}

/// The name of the streams of a reader.
fn name(reader: &Reader) -> String {
    format!("{} {} {}", reader.client.program(), reader.client.user, reader.kind.resource.kind)
}

/// Draws a number of events, on average as many as the rate asks for.
fn interval(stream: &mut Stream, rate: u32) -> u64 {
    stream.between(1, (200 / u64::from(rate.max(1))).max(2) - 1)
}

impl ReaderDraws {
    /// The time in which the client sees the past, if it is now. Counts new events, and each of them may begin it.
    fn hold(&mut self, kinds: &[Kind], rate: u32, reader: &Reader, store: &Store, now: Time) -> Option<Hold> {
        if let Some(hold) = self.hold.filter(|hold| now < hold.until) {
            return Some(hold);
        }
        if self.hold.take().is_some() {
            self.counted = store.visible();
        }
        let counted = std::mem::replace(&mut self.counted, store.visible());
        let events = store.table(reader.table()).history.since(counted).ok()?;
        for event in events.take_while(|event| event.revision <= store.visible()) {
            self.until_past = self.until_past.saturating_sub(1);
            if self.until_past > 0 {
                continue;
            }
            self.until_past = interval(&mut self.past, rate);
            let index = self.past.between(0, kinds.len() as u64 - 1);
            let span = self.past.between(STALE_MS.0, STALE_MS.1);
            let span = SignedDuration::from_millis(i64::try_from(span).unwrap_or_default());
            let gap = kinds.get(usize::try_from(index).unwrap_or_default()) == Some(&Kind::Gap);
            self.hold = Some(Hold { revision: event.revision - 1, until: after(now, span), gap });
            break;
        }
        self.hold
    }
}

impl Hold {
    fn incident(self, reader: &Reader, now: Time) -> Incident {
        let (fault, more) = if self.gap {
            (Kind::Gap, ", and then only the last state of each object")
        } else {
            (Kind::Stale, "")
        };
        let (revision, span) = (self.revision, self.until.duration_since(now).as_millis());
        let effect = format!("saw nothing after revision {revision} for {span} ms{more}");
        let attributes = RequestAttributes { verb: "watch", name: "", ..reader.attributes() };
        Incident::new(now, fault.name(), &attributes, "", effect)
    }
}
