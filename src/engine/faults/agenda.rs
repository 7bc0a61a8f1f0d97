//! Faults that begin later, and faults that end after a given time.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use windtunnel_core::clock::{Time, after};

use super::render_flips::{self, Flips};
use crate::engine::error::SessionError;
use crate::engine::runtime::Simulation;
use crate::plan::{FaultTarget, InjectedFault};
use crate::record::Event;

/// The pause before a fault retries a request that failed because of API server trouble.
const RETRY: SignedDuration = SignedDuration::from_secs(5);

/// A scheduled change of a fault.
#[derive(Debug, Clone)]
enum ScheduledFault {
    /// Begins a fault, which may have a duration.
    Begin(InjectedFault, Option<SignedDuration>),
    /// Ends a fault.
    End(InjectedFault),
    /// Flips the configuration of a pool.
    Flip(Flips),
}

impl ScheduledFault {
    fn faulty(&self) -> FaultTarget {
        match self {
            Self::Begin(fault, _) | Self::End(fault) => fault.target(),
            Self::Flip(flips) => FaultTarget::Pool(flips.pool().to_owned()),
        }
    }

    /// The line that announces the change in the timeline.
    fn text(&self) -> Option<String> {
        match self {
            Self::Begin(fault, _) => Some(fault.to_string()),
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

#[derive(Debug, Clone)]
struct Item {
    later: ScheduledFault,
    /// Whether an earlier attempt failed.
    is_retry: bool,
}

/// The scheduled changes of faults, in order.
#[derive(Debug, Clone, Default)]
pub(in crate::engine) struct Agenda {
    items: BTreeMap<(Time, u64), Item>,
    added: u64,
}

impl Agenda {
    /// When the next change is due.
    pub(in crate::engine) fn next(&self) -> Option<Time> {
        self.items.keys().next().map(|(at, _)| *at)
    }

    fn add(&mut self, at: Time, later: ScheduledFault) {
        self.insert(at, Item { later, is_retry: false });
    }

    fn insert(&mut self, at: Time, item: Item) {
        self.items.insert((at, self.added), item);
        self.added += 1;
    }

    /// Schedules `times` flips of a pool's configuration, the first one at `at`.
    pub(in crate::engine) fn flip(&mut self, at: Time, pool: &str, times: u32) {
        self.add(at, ScheduledFault::Flip(Flips::new(pool, times)));
    }

    /// Drops all scheduled changes of a target.
    pub(in crate::engine) fn forget(&mut self, faulty: &FaultTarget) {
        let is_same = |other: &FaultTarget| match (faulty, other) {
            (FaultTarget::Api(None), FaultTarget::Api(_)) => true,
            _ => faulty == other,
        };
        self.items.retain(|_, item| !is_same(&item.later.faulty()));
    }
}

impl Simulation {
    /// Begins a fault now or after `pause`, and ends it after `lasts`.
    pub(in crate::engine) fn plan_fault(
        &mut self,
        fault: &InjectedFault,
        pause: SignedDuration,
        lasts: Option<SignedDuration>,
    ) -> Result<(), SessionError> {
        self.check_faulty(&fault.target())?;
        if pause.is_zero() {
            return self.begin_fault(fault, lasts);
        }
        self.agenda.add(after(self.now(), pause), ScheduledFault::Begin(fault.clone(), lasts));
        Ok(())
    }

    fn begin_fault(
        &mut self,
        fault: &InjectedFault,
        lasts: Option<SignedDuration>,
    ) -> Result<(), SessionError> {
        self.agenda.items.retain(|_, item| !item.later.would_end(fault));
        self.begin_fault_now(fault)?;
        if let Some(lasts) = lasts {
            self.agenda.add(after(self.now(), lasts), ScheduledFault::End(fault.clone()));
        }
        Ok(())
    }

    /// Applies the changes that are due. Retries requests that fail because of API server trouble.
    pub(in crate::engine) fn run_due_faults(&mut self) -> Result<(), SessionError> {
        let now = self.now();
        while let Some(due) = self.agenda.items.first_entry().filter(|due| due.key().0 <= now) {
            let Item { later, is_retry } = due.remove();
            if let Some(text) = later.text().filter(|_| !is_retry) {
                self.record_event(Event::Fault { text });
            }
            match self.run_scheduled(&later) {
                Err(error) if error.is_retryable() => {
                    self.agenda.insert(after(now, RETRY), Item { later, is_retry: true });
                }
                outcome => outcome?,
            }
        }
        Ok(())
    }

    fn run_scheduled(&mut self, later: &ScheduledFault) -> Result<(), SessionError> {
        match later {
            ScheduledFault::Begin(fault, lasts) => self.begin_fault(fault, *lasts),
            ScheduledFault::End(fault) => self.end_fault(fault),
            ScheduledFault::Flip(flips) => {
                self.flip(flips)?;
                if let Some(rest) = flips.rest() {
                    self.agenda.add(after(self.now(), render_flips::PAUSE), ScheduledFault::Flip(rest));
                }
                Ok(())
            }
        }
    }
}
