//! Steps of a session that keep something for later ones, and steps that are played until they pass.

use jiff::SignedDuration;
use windtunnel_core::clock::Time;
use windtunnel_core::clock::after;

use super::error::SessionError;
use super::expectations::captures;
use super::session::Session;
use crate::plan::{Keep, PlannedStep, Retry};
use crate::record::Event;

/// How long steps that are played again wait at least, and at most while nothing is written.
const RETRY_AT_MOST_EVERY: SignedDuration = SignedDuration::from_secs(1);
const RETRY_EVERY: SignedDuration = SignedDuration::from_secs(30);

impl Session {
    /// Keeps something for later steps.
    ///
    /// # Errors
    /// [`SessionError::Unmet`]: there is nothing like this to be kept.
    pub fn keep(&mut self, keep: &Keep) -> Result<(), SessionError> {
        let Self { simulation, runtime } = self;
        runtime.block_on(async {
            simulation.settle()?;
            let text = captures::value(simulation, &keep.what).map_err(SessionError::Unmet)?;
            simulation.kept.insert(keep.name.clone(), text);
            Ok(())
        })
    }

    /// Plays steps again and again until all of them pass: whenever something was written meanwhile, at most once a second
    /// and at least every half a minute.
    ///
    /// # Errors
    /// What failed the last time, when the time is over.
    pub fn retry(&mut self, retry: &Retry) -> Result<(), SessionError> {
        let deadline = after(self.now(), retry.within);
        loop {
            let begun = self.simulation.record.entries.len();
            let mut failed = None;
            for PlannedStep { text, step, .. } in &retry.steps {
                if let Err(error) = self.play_plainly(step) {
                    failed = Some((text, error));
                    break;
                }
            }
            let Some((text, error)) = failed else { return Ok(()) };
            let SessionError::Unmet(why) = error else { return Err(error) };
            if self.now() >= deadline {
                return Err(SessionError::Unmet(format!("{text}: {why}")));
            }
            // What commands printed in vain tells nothing.
            let attempt = self.simulation.record.entries.split_off(begun);
            let told = attempt.into_iter().filter(|entry| !matches!(entry.event, Event::Command { .. }));
            self.simulation.record.entries.extend(told);
            self.await_news(deadline)?;
        }
    }

    /// Lets time pass until something is written.
    fn await_news(&mut self, deadline: Time) -> Result<(), SessionError> {
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
