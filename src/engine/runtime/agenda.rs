//! The scheduled changes of faults.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use windtunnel_core::clock::{Time, after};
use windtunnel_core::{Change, View};

use crate::engine::observer::Observer;
use crate::plan::{FaultEvent, FaultTarget, InjectedFault};

/// The begin of a fault.
#[derive(Debug, Clone)]
pub(in crate::engine) struct Beginning {
    pub(in crate::engine) fault: InjectedFault,
    /// Its duration; `None` if it lasts.
    pub(in crate::engine) lasts: Option<SignedDuration>,
    /// The resource version directly before the change at which it begins.
    pub(in crate::engine) since: Option<u64>,
}

/// A fault that begins at a change.
#[derive(Debug, Clone)]
pub(in crate::engine) struct AwaitedFault {
    pub(in crate::engine) event: FaultEvent,
    /// The delay after the change.
    pub(in crate::engine) after: SignedDuration,
    pub(in crate::engine) fault: InjectedFault,
    pub(in crate::engine) lasts: Option<SignedDuration>,
}

impl AwaitedFault {
    /// Counts a change. Returns whether it is the one at which the fault begins.
    fn counts_last(&mut self, change: &Change) -> bool {
        if !self.event.concerns(change.object.text("/kind"), &change.key.name) {
            return false;
        }
        self.event.nth = self.event.nth.saturating_sub(1);
        self.event.nth == 0
    }

    /// The begin at a change.
    fn begin(self, change: &Change) -> ScheduledFault {
        let Self { after, fault, lasts, .. } = self;
        let revision: Option<u64> = change.object.resource_version().parse().ok();
        let since = revision.filter(|_| after.is_zero()).map(|revision| revision.saturating_sub(1));
        ScheduledFault::Begin(Beginning { fault, lasts, since })
    }
}

/// A scheduled change of a fault.
#[derive(Debug, Clone)]
pub(in crate::engine) enum ScheduledFault {
    /// Begins a fault, which may have a duration.
    Begin(Beginning),
    /// Ends a fault.
    End(InjectedFault),
    /// Flips the configuration of a pool.
    Flip(Flips),
}

impl ScheduledFault {
    fn faulty(&self) -> FaultTarget {
        match self {
            Self::Begin(Beginning { fault, .. }) | Self::End(fault) => fault.target(),
            Self::Flip(flips) => FaultTarget::Pool(flips.pool().to_owned()),
        }
    }

    /// The line that announces the change in the timeline.
    pub(in crate::engine) fn text(&self) -> Option<String> {
        match self {
            Self::Begin(Beginning { fault, .. }) => Some(fault.to_string()),
            Self::End(fault) => Some(format!("{} recovers", fault.target())),
            Self::Flip(_) => None,
        }
    }

    /// Whether this entry belongs to an earlier fault of the same target and would end `fault` too early. A
    /// target has one fault at a time, except for processes and for different aspects of a release.
    fn would_end(&self, fault: &InjectedFault) -> bool {
        match (self, fault) {
            (Self::Begin(..), _) | (_, InjectedFault::Process(..)) => false,
            (Self::End(earlier), InjectedFault::Release(..)) => earlier == fault,
            (earlier, _) => earlier.faulty() == fault.target(),
        }
    }
}

/// An entry of the agenda.
#[derive(Debug, Clone)]
pub(in crate::engine) struct Item {
    pub(in crate::engine) later: ScheduledFault,
    /// Whether an earlier attempt failed.
    pub(in crate::engine) is_retry: bool,
}

/// The scheduled changes of faults, in order.
#[derive(Debug, Clone, Default)]
pub(in crate::engine) struct Agenda {
    items: BTreeMap<(Time, u64), Item>,
    awaited: Vec<AwaitedFault>,
    added: u64,
}

impl Agenda {
    /// When the next change is due.
    pub(in crate::engine) fn next(&self) -> Option<Time> {
        self.items.keys().next().map(|(at, _)| *at)
    }

    /// Takes the first change that is due.
    pub(in crate::engine) fn take_due(&mut self, now: Time) -> Option<Item> {
        let due = self.items.first_entry().filter(|due| due.key().0 <= now)?;
        Some(due.remove())
    }

    /// Schedules a change.
    pub(in crate::engine) fn add(&mut self, at: Time, later: ScheduledFault) {
        self.insert(at, Item { later, is_retry: false });
    }

    /// Schedules the begin of a fault at a later change.
    pub(in crate::engine) fn wait_for(&mut self, fault: AwaitedFault) {
        self.awaited.push(fault);
    }

    /// Schedules another attempt of a change.
    pub(in crate::engine) fn retry(&mut self, at: Time, later: ScheduledFault) {
        self.insert(at, Item { later, is_retry: true });
    }

    fn insert(&mut self, at: Time, item: Item) {
        self.items.insert((at, self.added), item);
        self.added += 1;
    }

    /// Schedules `times` flips of a pool's configuration, the first one at `at`.
    pub(in crate::engine) fn flip(&mut self, at: Time, pool: &str, times: u32) {
        self.add(at, ScheduledFault::Flip(Flips::new(pool, times)));
    }

    /// Drops the ends of earlier faults that would end `fault` too early.
    pub(in crate::engine) fn forget_earlier(&mut self, fault: &InjectedFault) {
        self.items.retain(|_, item| !item.later.would_end(fault));
    }

    /// Drops all scheduled changes of a target.
    pub(in crate::engine) fn forget(&mut self, faulty: &FaultTarget) {
        self.items.retain(|_, item| !faulty.includes(&item.later.faulty()));
        self.awaited.retain(|awaited| !faulty.includes(&awaited.fault.target()));
    }

    /// The faults that have not begun, each with its moment or the change for which it waits.
    pub(in crate::engine) fn unbegun(
        &self,
    ) -> impl Iterator<Item = (&InjectedFault, Result<Time, &FaultEvent>)> {
        let scheduled = self.items.iter().filter_map(|((at, _), item)| match &item.later {
            ScheduledFault::Begin(beginning) => Some((&beginning.fault, Ok(*at))),
            ScheduledFault::End(_) | ScheduledFault::Flip(_) => None,
        });
        scheduled.chain(self.awaited.iter().map(|awaited| (&awaited.fault, Err(&awaited.event))))
    }

    /// Whether a change of a target is scheduled.
    pub(in crate::engine) fn has(&self, faulty: &FaultTarget) -> bool {
        self.items.values().any(|item| faulty.includes(&item.later.faulty()))
            || self.awaited.iter().any(|awaited| faulty.includes(&awaited.fault.target()))
    }
}

impl Observer for Agenda {
    /// Counts a change of the cluster, and schedules the faults that begin there.
    fn on_change(&mut self, change: &Change, _: &View, now: Time) {
        let begins = self.awaited.extract_if(.., |awaited| awaited.counts_last(change));
        let begins: Vec<AwaitedFault> = begins.collect();
        for awaited in begins {
            self.add(after(now, awaited.after), awaited.begin(change));
        }
    }
}

/// The remaining changes of a pool, including the next one. With an even number left, the next change creates
/// the MachineConfig; with an uneven number, it deletes it.
#[derive(Debug, Clone)]
pub(in crate::engine) struct Flips {
    pool: String,
    left: u32,
}

impl Flips {
    /// A MachineConfig that is created and deleted `times` times.
    pub(in crate::engine) fn new(pool: &str, times: u32) -> Self {
        Self { pool: pool.to_owned(), left: times.saturating_mul(2) }
    }

    pub(in crate::engine) fn pool(&self) -> &str {
        &self.pool
    }

    /// Whether no change is left.
    pub(in crate::engine) fn is_over(&self) -> bool {
        self.left == 0
    }

    /// Whether the next change deletes the MachineConfig.
    pub(in crate::engine) fn deletes_next(&self) -> bool {
        self.left % 2 == 1
    }

    /// The changes after the next one, if there are any.
    pub(in crate::engine) fn rest(&self) -> Option<Self> {
        (self.left > 1).then(|| Self { pool: self.pool.clone(), left: self.left - 1 })
    }
}
