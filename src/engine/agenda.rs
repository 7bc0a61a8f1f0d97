//! Faults that begin later, and those that end by themselves.

use std::collections::BTreeMap;

use jiff::SignedDuration;

use super::error::SessionError;
use super::simulation::Simulation;
use crate::base::clock::{Time, after};
use crate::model::fault::{Disturbance, Faulty};
use crate::model::{Identity, Write};
use crate::record::{ADMINISTRATOR, Event};

/// What is done later, all for one who fails.
#[derive(Debug, Clone)]
enum Later {
    /// A fault begins, and may end.
    Begin(Disturbance, Option<SignedDuration>),
    /// A fault ends.
    End(Disturbance),
    /// A write of the fault.
    Write(Faulty, Box<Write>),
}

impl Later {
    fn faulty(&self) -> Faulty {
        match self {
            Self::Begin(fault, _) | Self::End(fault) => fault.faulty(),
            Self::Write(faulty, _) => faulty.clone(),
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

/// What is done later, in order.
#[derive(Debug, Clone, Default)]
pub(super) struct Agenda {
    items: BTreeMap<(Time, u64), Later>,
    added: u64,
}

impl Agenda {
    /// When the next one is due.
    pub(super) fn next(&self) -> Option<Time> {
        self.items.keys().next().map(|(at, _)| *at)
    }

    fn add(&mut self, at: Time, later: Later) {
        self.items.insert((at, self.added), later);
        self.added += 1;
    }

    /// Makes a write then, unless who it is for is healed before.
    pub(super) fn write(&mut self, at: Time, faulty: Faulty, write: Write) {
        self.add(at, Later::Write(faulty, Box::new(write)));
    }

    /// Drops everything that is for one who fails.
    pub(super) fn forget(&mut self, faulty: &Faulty) {
        let is_same = |other: &Faulty| match (faulty, other) {
            (Faulty::Api(None), Faulty::Api(_)) => true,
            _ => faulty == other,
        };
        self.items.retain(|_, later| !is_same(&later.faulty()));
    }
}

impl Simulation {
    /// Has a fault begin now or later, and end if it does.
    pub(super) fn plan_fault(
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
        self.agenda.items.retain(|_, later| !later.would_end(fault));
        self.disturb(fault)?;
        if let Some(lasts) = lasts {
            self.agenda.add(after(self.now(), lasts), Later::End(fault.clone()));
        }
        Ok(())
    }

    /// Does what is due.
    pub(super) fn keep_agenda(&mut self) -> Result<(), SessionError> {
        let now = self.now();
        while let Some(item) = self.agenda.items.first_entry().filter(|item| item.key().0 <= now) {
            match item.remove() {
                Later::Begin(fault, lasts) => {
                    self.note(Event::Fault { text: fault.to_string() });
                    self.begin_fault(&fault, lasts)?;
                }
                Later::End(fault) => {
                    self.note(Event::Fault { text: format!("{} recovers", fault.faulty()) });
                    self.end_fault(&fault)?;
                }
                Later::Write(_, write) => {
                    let answer = self.write(ADMINISTRATOR, &Identity::admin(), &write);
                    answer.map_err(|refusal| SessionError::refused(&write, refusal))?;
                }
            }
        }
        Ok(())
    }
}
