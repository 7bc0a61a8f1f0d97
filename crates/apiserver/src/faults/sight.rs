//! The events of a kind that a client sees.

use windtunnel_core::clock::Time;
use windtunnel_core::requests::faults::{FaultEffect, WatchFault};

use super::{Active, Faults, Incident, Reader};
use crate::request::clock_skew::ClockSkew;
use crate::store::Store;

/// The events of a kind that a client sees.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sight {
    /// The last revision that it sees. A watch that is further stays where it is.
    pub(crate) horizon: u64,
    /// Whether intermediate states after the horizon will be lost.
    pub(crate) gap: bool,
    /// The time at which it sees more without a write.
    pub(crate) changes_at: Time,
    /// The difference of its clock.
    pub(crate) skew: Option<ClockSkew>,
}

/// The end of a watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cut {
    /// The number of lines of the batch that still arrive.
    pub(crate) keep: usize,
    /// Whether the watch ends with 410.
    pub(crate) expired: bool,
}

impl Sight {
    /// The sight of a client without faults.
    pub(crate) fn present(store: &Store) -> Self {
        Self { horizon: store.visible(), gap: false, changes_at: Time::MAX, skew: None }
    }

    /// Restricts the sight.
    pub(super) fn limit(&mut self, horizon: u64, changes_at: Time) {
        self.horizon = self.horizon.min(horizon);
        self.changes_at = self.changes_at.min(changes_at);
    }
}

impl Active {
    fn concerns(&self, reader: &Reader) -> bool {
        self.fault.requests.matches(&reader.attributes())
    }
}

impl Faults {
    /// The events that a client sees now.
    pub(crate) fn sight(&mut self, reader: &Reader, store: &Store, now: Time) -> Sight {
        let mut sight = Sight::present(store);
        sight.skew = self.clock_skew(&reader.kind.resource, || reader.clone());
        for (active, watch_fault) in self.watch_faults().filter(|(active, _)| active.concerns(reader)) {
            match watch_fault {
                WatchFault::Stale => sight.limit(active.since, Time::MAX),
                WatchFault::Gap => {
                    sight.limit(active.since, Time::MAX);
                    sight.gap = true;
                }
                WatchFault::Slow(delay) => {
                    let (arrived, next) = self.times.arrived(store.visible(), delay, now);
                    sight.limit(arrived.max(active.since), next);
                }
                WatchFault::Behind(events) => {
                    sight.limit(store.table(reader.table()).history.before_last(events), Time::MAX);
                }
                WatchFault::Disconnect | WatchFault::Expired | WatchFault::Duplicate => {}
            }
        }
        if let Some(random) = &mut self.random {
            random.limit(&mut sight, reader, store, &self.times, now, &mut self.incidents);
        }
        sight
    }

    /// The revision whose state a read of the cache shows; `None` for the present.
    pub(crate) fn past(&mut self, reader: &Reader, store: &Store, now: Time) -> Option<u64> {
        if !self.change_views() {
            return None;
        }
        let horizon = self.sight(reader, store, now).horizon;
        Some(horizon).filter(|horizon| *horizon < store.table(reader.table()).history.latest())
    }

    /// The end of a watch that needs no event: a fault ends all watches that were open when it began.
    pub(crate) fn cut_at_once(
        &mut self,
        reader: &Reader,
        watch: u64,
        revision: u64,
        now: Time,
    ) -> Option<Cut> {
        let ends = |active: &Active| {
            active.watch_end().filter(|_| active.ends_open_watches() && watch <= active.watches)
        };
        let mut active = self.active.iter().filter(|active| active.concerns(reader));
        let watch_fault = active.find_map(ends)?;
        Some(self.cut(reader, watch_fault, (0, revision), now))
    }

    /// The end of a watch at one of the events that it would deliver next, which are `events` lines.
    pub(crate) fn cut_at_event(
        &mut self,
        reader: &Reader,
        events: usize,
        revision: u64,
        now: Time,
    ) -> Option<Cut> {
        for keep in 0..events {
            let watch_fault = self.count_event(reader);
            let random = self.random.as_mut().and_then(|random| random.end(reader));
            if let Some(watch_fault) = watch_fault.or(random) {
                return Some(self.cut(reader, watch_fault, (keep, revision), now));
            }
        }
        None
    }

    /// Counts an event for the first fault that matches it. Returns the fault that ends the watch there.
    fn count_event(&mut self, reader: &Reader) -> Option<WatchFault> {
        let attributes = reader.attributes();
        let ends = |active: &&mut Active| {
            let requests = &active.fault.requests;
            active.watch_end().is_some() && !active.ends_open_watches() && requests.matches(&attributes)
        };
        let active = self.active.iter_mut().find(ends)?;
        let watch_fault = active.fault.hits.count_match().then(|| active.watch_end()).flatten();
        self.active.retain(|active| !active.fault.hits.is_over());
        watch_fault
    }

    /// Notes the end of a watch before (or for a duplicate, after) an event.
    fn cut(
        &mut self,
        reader: &Reader,
        watch_fault: WatchFault,
        (event, revision): (usize, u64),
        now: Time,
    ) -> Cut {
        let expired = watch_fault != WatchFault::Disconnect;
        if expired {
            self.expired.add(&reader.client, reader.table(), revision);
        }
        let effect = match watch_fault {
            WatchFault::Disconnect => "ended the watch",
            WatchFault::Duplicate => {
                "ended the watch with 410 after an event, so that the client lists again"
            }
            _ => "ended the watch with 410, so that the client lists again",
        };
        let attributes = reader.attributes();
        self.incidents.add(|| {
            Incident::new(now, watch_fault.name(), &attributes, &reader.namespace, effect.to_owned())
        });
        Cut { keep: event + usize::from(watch_fault == WatchFault::Duplicate), expired }
    }

    /// Whether a client has to list again instead of a watch from this revision.
    pub(crate) fn has_expired(&self, reader: &Reader, revision: u64) -> bool {
        self.expired.has(&reader.client, reader.table(), revision)
    }
}

impl Active {
    /// Whether it ends watches at once, and not at an event. A duplicate follows an event.
    fn ends_open_watches(&self) -> bool {
        self.fault.hits.are_all() && self.watch_end() != Some(WatchFault::Duplicate)
    }

    /// How it ends watches, if it does.
    fn watch_end(&self) -> Option<WatchFault> {
        match self.fault.effect {
            FaultEffect::Watch(watch_fault) => {
                Some(watch_fault).filter(|watch_fault| watch_fault.ends_watches())
            }
            _ => None,
        }
    }
}
