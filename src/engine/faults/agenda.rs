//! Faults that begin later, and those that end by themselves.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use windtunnel_core::clock::{Time, after};

use super::render_flips;
use super::render_flips::Flips;
use crate::engine::error::SessionError;
use crate::engine::runtime::Simulation;
use crate::plan::{Disturbance, Faulty};
use crate::record::Event;

/// The pause before a fault repeats a request that met trouble of the API server.
const RETRY: SignedDuration = SignedDuration::from_secs(5);

/// What is done later, all for one who fails.
#[derive(Debug, Clone)]
enum Later {
    /// A fault begins, and may end.
    Begin(Disturbance, Option<SignedDuration>),
    /// A fault ends.
    End(Disturbance),
    /// The configuration of a pool flips.
    Flip(Flips),
}

impl Later {
    fn faulty(&self) -> Faulty {
        match self {
            Self::Begin(fault, _) | Self::End(fault) => fault.faulty(),
            Self::Flip(flips) => Faulty::Pool(flips.pool().to_owned()),
        }
    }

    /// The line of the timeline that announces it.
    fn text(&self) -> Option<String> {
        match self {
            Self::Begin(fault, _) => Some(fault.to_string()),
            Self::End(fault) => Some(format!("{} recovers", fault.faulty())),
            Self::Flip(_) => None,
        }
    }

    /// Whether it is of a fault before this one, and would end this one too early: there is one at a time, but of programs and of
    /// the sides of a release.
    fn would_end(&self, fault: &Disturbance) -> bool {
        match (self, fault) {
            (Self::Begin(..), _) | (_, Disturbance::Process(..)) => false,
            (Self::End(earlier), Disturbance::Release(..)) => earlier == fault,
            (earlier, _) => earlier.faulty() == fault.faulty(),
        }
    }
}

/// An item of the agenda.
#[derive(Debug, Clone)]
struct Item {
    later: Later,
    /// Whether it was tried before, in vain.
    is_retry: bool,
}

/// What is done later, in order.
#[derive(Debug, Clone, Default)]
pub(in crate::engine) struct Agenda {
    items: BTreeMap<(Time, u64), Item>,
    added: u64,
}

impl Agenda {
    /// When the next one is due.
    pub(in crate::engine) fn next(&self) -> Option<Time> {
        self.items.keys().next().map(|(at, _)| *at)
    }

    fn add(&mut self, at: Time, later: Later) {
        self.insert(at, Item { later, is_retry: false });
    }

    fn insert(&mut self, at: Time, item: Item) {
        self.items.insert((at, self.added), item);
        self.added += 1;
    }

    /// Has the configuration of a pool flip so many times from then on.
    pub(in crate::engine) fn flip(&mut self, at: Time, pool: &str, times: u32) {
        self.add(at, Later::Flip(Flips::new(pool, times)));
    }

    /// Drops everything that is for one who fails.
    pub(in crate::engine) fn forget(&mut self, faulty: &Faulty) {
        let is_same = |other: &Faulty| match (faulty, other) {
            (Faulty::Api(None), Faulty::Api(_)) => true,
            _ => faulty == other,
        };
        self.items.retain(|_, item| !is_same(&item.later.faulty()));
    }
}

impl Simulation {
    /// Has a fault begin now or later, and end if it does.
    pub(in crate::engine) fn plan_fault(
        &mut self,
        fault: &Disturbance,
        pause: SignedDuration,
        lasts: Option<SignedDuration>,
    ) -> Result<(), SessionError> {
        self.check_faulty(&fault.faulty())?;
        if pause.is_zero() {
            return self.begin_fault(fault, lasts);
        }
        self.agenda.add(after(self.now(), pause), Later::Begin(fault.clone(), lasts));
        Ok(())
    }

    fn begin_fault(
        &mut self,
        fault: &Disturbance,
        lasts: Option<SignedDuration>,
    ) -> Result<(), SessionError> {
        self.agenda.items.retain(|_, item| !item.later.would_end(fault));
        self.disturb(fault)?;
        if let Some(lasts) = lasts {
            self.agenda.add(after(self.now(), lasts), Later::End(fault.clone()));
        }
        Ok(())
    }

    /// Does what is due. Requests that meet trouble of the API server are repeated until they get through.
    pub(in crate::engine) fn keep_agenda(&mut self) -> Result<(), SessionError> {
        let now = self.now();
        while let Some(due) = self.agenda.items.first_entry().filter(|due| due.key().0 <= now) {
            let Item { later, is_retry } = due.remove();
            if let Some(text) = later.text().filter(|_| !is_retry) {
                self.note(Event::Fault { text });
            }
            match self.do_later(&later) {
                Err(error) if error.may_pass() => {
                    self.agenda.insert(after(now, RETRY), Item { later, is_retry: true });
                }
                outcome => outcome?,
            }
        }
        Ok(())
    }

    fn do_later(&mut self, later: &Later) -> Result<(), SessionError> {
        match later {
            Later::Begin(fault, lasts) => self.begin_fault(fault, *lasts),
            Later::End(fault) => self.end_fault(fault),
            Later::Flip(flips) => {
                self.flip(flips)?;
                if let Some(rest) = flips.rest() {
                    self.agenda.add(after(self.now(), render_flips::PAUSE), Later::Flip(rest));
                }
                Ok(())
            }
        }
    }
}
