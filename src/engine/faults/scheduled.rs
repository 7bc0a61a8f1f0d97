//! Faults that begin later, and faults that end after a given time.

use jiff::SignedDuration;
use windtunnel_core::clock::after;

use super::render_flips;
use crate::engine::error::SessionError;
use crate::engine::runtime::Simulation;
use crate::engine::runtime::agenda::{AwaitedFault, Beginning, Item, ScheduledFault};
use crate::plan::{FaultEvent, InjectedFault};
use crate::record::Event;

/// The pause before a fault retries a request that failed because of API server trouble.
const RETRY: SignedDuration = SignedDuration::from_secs(5);

impl Simulation {
    /// Begins a fault now or after `pause`, and ends it after `lasts`.
    pub(in crate::engine) fn plan_fault(
        &mut self,
        fault: &InjectedFault,
        pause: SignedDuration,
        lasts: Option<SignedDuration>,
    ) -> Result<(), SessionError> {
        self.check_faulty(&fault.target())?;
        let beginning = Beginning { fault: fault.clone(), lasts, since: None };
        if pause.is_zero() {
            return self.begin_fault(&beginning);
        }
        self.observers.agenda.add(after(self.now(), pause), ScheduledFault::Begin(beginning));
        Ok(())
    }

    /// Begins a fault at a change of an object, or after a pause from there on, and ends it after `lasts`.
    pub(in crate::engine) fn await_fault(
        &mut self,
        event: &FaultEvent,
        fault: &InjectedFault,
        pause: SignedDuration,
        lasts: Option<SignedDuration>,
    ) -> Result<(), SessionError> {
        self.check_faulty(&fault.target())?;
        let (event, fault) = (event.clone(), fault.clone());
        self.observers.agenda.wait_for(AwaitedFault { event, after: pause, fault, lasts });
        Ok(())
    }

    fn begin_fault(&mut self, beginning: &Beginning) -> Result<(), SessionError> {
        let Beginning { fault, lasts, since } = beginning;
        self.observers.agenda.forget_earlier(fault);
        self.begin_fault_now(fault, *since)?;
        if let Some(lasts) = *lasts {
            self.observers.agenda.add(after(self.now(), lasts), ScheduledFault::End(fault.clone()));
        }
        Ok(())
    }

    /// Applies the changes that are due. Retries requests that fail because of API server trouble.
    pub(in crate::engine) fn run_due_faults(&mut self) -> Result<(), SessionError> {
        let now = self.now();
        while let Some(Item { later, is_retry }) = self.observers.agenda.take_due(now) {
            if let Some(text) = later.text().filter(|_| !is_retry) {
                self.record_event(Event::Fault { text });
            }
            match self.run_scheduled(&later) {
                Err(error) if error.is_retryable() => {
                    self.observers.agenda.retry(after(now, RETRY), later);
                }
                outcome => outcome?,
            }
        }
        Ok(())
    }

    fn run_scheduled(&mut self, later: &ScheduledFault) -> Result<(), SessionError> {
        match later {
            ScheduledFault::Begin(beginning) => self.begin_fault(beginning),
            ScheduledFault::End(fault) => self.end_fault(fault),
            ScheduledFault::Flip(flips) => {
                self.flip(flips)?;
                if let Some(rest) = flips.rest() {
                    self.observers
                        .agenda
                        .add(after(self.now(), render_flips::PAUSE), ScheduledFault::Flip(rest));
                }
                Ok(())
            }
        }
    }
}
