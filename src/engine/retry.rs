//! Steps that keep values for later steps, and steps that are retried until they pass.

use jiff::SignedDuration;
use windtunnel_core::clock::{Time, after};

use super::error::SessionError;
use super::expectations::captures;
use super::session::Session;
use crate::plan::{Keep, PlannedStep, Retry};
use crate::record::Event;

/// The shortest pause between two attempts, and the longest one while nothing is written.
const RETRY_AT_MOST_EVERY: SignedDuration = SignedDuration::from_secs(1);
const RETRY_EVERY: SignedDuration = SignedDuration::from_secs(30);

impl Session {
    /// Keeps a value for later steps.
    ///
    /// # Errors
    /// [`SessionError::ExpectationFailed`]: there is no such object, or no command has run.
    pub fn keep(&mut self, keep: &Keep) -> Result<(), SessionError> {
        let Self { simulation, runtime } = self;
        runtime.block_on(async {
            simulation.settle()?;
            let text = captures::value(simulation, &keep.what).map_err(SessionError::ExpectationFailed)?;
            simulation.steps.kept_values.insert(keep.name.clone(), text);
            Ok(())
        })
    }

    /// Keeps the state of the cluster for later steps.
    ///
    /// # Errors
    /// A component makes no progress.
    pub fn keep_cluster(&mut self, name: &str) -> Result<(), SessionError> {
        let Self { simulation, runtime } = self;
        runtime.block_on(async {
            simulation.settle_with_controllers().await?;
            simulation.observers.states.keep(name, &simulation.view);
            Ok(())
        })
    }

    /// Retries steps until all of them pass: after each write, but at most once a second, and at least every
    /// 30 seconds.
    ///
    /// # Errors
    /// The failure of the last attempt, once the time is over. Errors other than those of checks end the retries at once.
    pub fn retry(&mut self, retry: &Retry) -> Result<(), SessionError> {
        self.simulation.steps.progress.set_retries(true);
        let outcome = self.retry_until_passed(retry);
        self.simulation.steps.progress.set_retries(false);
        outcome
    }

    fn retry_until_passed(&mut self, retry: &Retry) -> Result<(), SessionError> {
        self.simulation.steps.last_actions.forget();
        let deadline = after(self.now(), retry.within);
        loop {
            let begun = self.simulation.record.entries.len();
            let counting = self.simulation.steps.counting.clone();
            let mut failed = None;
            for PlannedStep { text, step, .. } in &retry.steps {
                if let Err(error) = self.run_counted_step(step) {
                    failed = Some((text, error));
                    break;
                }
            }
            let Some((text, error)) = failed else { return Ok(()) };
            if !error.is_unmet() {
                return Err(error);
            }
            if self.now() >= deadline {
                return Err(error.in_step(text));
            }
            self.simulation.steps.counting = counting;
            // The output of failed attempts would only clutter the record.
            let attempt = self.simulation.record.entries.split_off(begun);
            let without_output =
                attempt.into_iter().filter(|entry| !matches!(entry.event, Event::Command { .. }));
            self.simulation.record.entries.extend(without_output);
            self.wait_for_write(deadline)?;
        }
    }

    /// Lets time pass until something is written.
    fn wait_for_write(&mut self, deadline: Time) -> Result<(), SessionError> {
        let Self { simulation, runtime } = self;
        runtime.block_on(async {
            let (now, seen) = (simulation.now(), simulation.record.entries.len());
            let soonest = after(now, RETRY_AT_MOST_EVERY).min(deadline);
            simulation.run_until(soonest, |_| false).await?;
            let latest = after(now, RETRY_EVERY).min(deadline);
            simulation.run_until(latest, |s| s.record.entries.len() > seen).await.map(|_| ())
        })
    }
}
