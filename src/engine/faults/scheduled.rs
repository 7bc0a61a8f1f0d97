//! Faults that begin later, and faults that end after a given time.

use jiff::SignedDuration;
use windtunnel_core::clock::after;

use super::render_flips;
use crate::engine::error::SessionError;
use crate::engine::runtime::Simulation;
use crate::engine::runtime::agenda::{Item, ScheduledFault};
use crate::plan::InjectedFault;
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
        self.agenda.forget_earlier(fault);
        self.begin_fault_now(fault)?;
        if let Some(lasts) = lasts {
            self.agenda.add(after(self.now(), lasts), ScheduledFault::End(fault.clone()));
        }
        Ok(())
    }

    /// Applies the changes that are due. Retries requests that fail because of API server trouble.
    pub(in crate::engine) fn run_due_faults(&mut self) -> Result<(), SessionError> {
        let now = self.now();
        while let Some(Item { later, is_retry }) = self.agenda.take_due(now) {
            if let Some(text) = later.text().filter(|_| !is_retry) {
                self.record_event(Event::Fault { text });
            }
            match self.run_scheduled(&later) {
                Err(error) if error.is_retryable() => {
                    self.agenda.retry(after(now, RETRY), later);
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
