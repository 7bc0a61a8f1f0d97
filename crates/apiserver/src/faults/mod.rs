//! Injected faults: errors and lost answers of requests, watches that do not show the present, and clients with a wrong
//! clock. All of them are answers that a real API server may give.
//!
//! * `requests.rs`: errors and lost answers; `sight.rs` has watches in the past
//! * `random.rs`: random faults (`--perturb`)
//! * `killer.rs`: the end of a program at one of its writes
//! * `incidents.rs`: what faults did to clients
//!
//! The faults as data: `crates/core/src/requests/faults/`. The calls of the server: `server/mod.rs`. Wrong clocks:
//! `request/clock_skew.rs`.

mod clock_skew;
mod expired;
mod incidents;
mod killer;
mod random;
mod reader;
mod requests;
mod sight;
mod write_times;

use windtunnel_core::clock::Time;
use windtunnel_core::requests::faults::{FaultEffect, RandomFaults, RequestFault, RequestFilter, WatchFault};

use self::expired::ExpiredWatches;
pub use self::incidents::Incident;
pub(crate) use self::incidents::Incidents;
pub(crate) use self::killer::Killer;
use self::random::FaultDraws;
pub(crate) use self::reader::{Client, Reader};
pub(crate) use self::requests::Verdict;
pub(crate) use self::sight::{Cut, Sight};
use self::write_times::WriteTimes;
use crate::store::Store;

/// A fault that was injected and is not healed yet.
#[derive(Debug, Clone)]
struct Active {
    fault: RequestFault,
    /// The revision at which it began.
    since: u64,
    /// The number of watches that had started then.
    watches: u64,
}

/// The faults of a server.
#[derive(Debug, Clone, Default)]
pub(crate) struct Faults {
    active: Vec<Active>,
    random: Option<FaultDraws>,
    /// The times of writes, for events that arrive later.
    times: WriteTimes,
    expired: ExpiredWatches,
    incidents: Incidents,
    /// Kills programs at their writes.
    killer: Killer,
    /// The number of watches that have started.
    watches: u64,
    /// Counts the changes of what open watches show.
    epoch: u64,
    /// Whether etcd has no quorum.
    has_lost_quorum: bool,
}

impl Faults {
    /// Injects a fault, at a revision of the store.
    pub(crate) fn inject(&mut self, fault: RequestFault, since: u64) {
        self.epoch += u64::from(matches!(fault.effect, FaultEffect::Watch(_)));
        self.active.push(Active { fault, since, watches: self.watches });
    }

    /// Heals the faults of these requests, or all faults (`None`). Random faults continue.
    pub(crate) fn heal(&mut self, requests: Option<&RequestFilter>) {
        self.active.retain(|active| requests.is_some_and(|healed| active.fault.requests != *healed));
        self.epoch += 1;
    }

    /// Makes all requests to stored kinds time out while there is no quorum.
    pub(crate) fn set_quorum(&mut self, has_quorum: bool) {
        self.has_lost_quorum = !has_quorum;
    }

    /// Gives random faults to clients from now on.
    pub(crate) fn perturb(&mut self, random_faults: RandomFaults) {
        self.random = Some(FaultDraws::new(random_faults));
        self.epoch += 1;
    }

    /// Kills programs with `killer` from now on.
    pub(crate) fn kill_with(&mut self, killer: Killer) {
        self.killer = killer;
    }

    /// The last incidents.
    pub(crate) fn incidents(&mut self) -> &mut Incidents {
        &mut self.incidents
    }

    /// Changes whenever open watches may have something else to show without a write.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Whether no request can meet a fault.
    pub(crate) fn is_empty(&self) -> bool {
        self.active.is_empty() && self.random.is_none() && !self.has_lost_quorum
    }

    /// Whether a fault may change what clients see.
    pub(crate) fn change_views(&self) -> bool {
        self.random.is_some() || self.watch_faults().next().is_some() || self.has_skewed_clocks()
    }

    fn watch_faults(&self) -> impl Iterator<Item = (&Active, WatchFault)> {
        self.active.iter().filter_map(|active| match active.fault.effect {
            FaultEffect::Watch(effect) => Some((active, effect)),
            FaultEffect::Error(_)
            | FaultEffect::Lost(_)
            | FaultEffect::Kill(_)
            | FaultEffect::SkewedClock(_) => None,
        })
    }

    /// Returns the number of a watch that starts.
    pub(crate) fn start_watch(&mut self) -> u64 {
        self.watches += 1;
        self.watches
    }

    /// Notes when the last writes were made, if a fault delays their events.
    pub(crate) fn note_writes(&mut self, store: &Store, now: Time) {
        let slow = self.watch_faults().any(|(_, effect)| matches!(effect, WatchFault::Slow(_)));
        if slow || self.random.as_ref().is_some_and(FaultDraws::delay_events) {
            self.times.note(store.revision(), now);
        }
    }
}
