//! Runs a timeline at the pace of the clock that clients of a served cluster see.

use std::sync::Arc;

use windtunnel_core::clock::Time;
use windtunnel_openshift::monitoring::History;

use super::error::SessionError;
use super::run::{Failure, run_reported};
use super::runtime::Simulation;
use super::session::Session;
use crate::backends::Pace;
use crate::plan::{Plan, PlannedStep};

impl Session {
    /// Runs the timeline of a plan at the pace of a clock, and stores the samples of a scrape every 30 seconds. `report` gets
    /// the session, each step that ended and its outcome. Returns the failed step, which ends the timeline; `None` also if
    /// the pace was stopped.
    pub fn run_at_pace(
        &mut self,
        plan: &Plan,
        pace: Arc<dyn Pace>,
        mut report: impl FnMut(&Self, &PlannedStep, &Result<(), SessionError>),
    ) -> Option<Failure> {
        self.simulation.client_pace = Some(pace);
        let scrapes = scrapes(&self.simulation);
        self.simulation.look = Some(Box::new(scrapes));
        let failure = run_reported(self, plan, &mut report);
        self.simulation.client_pace = None;
        self.simulation.look = None;
        failure
    }
}

/// Returns an observer that stores the samples of all metrics at the moments of a scrape.
fn scrapes(simulation: &Simulation) -> impl FnMut(&Simulation) -> Option<Time> + Send + use<> {
    let mut next = History::next_scrape(simulation.now());
    move |simulation| {
        let now = simulation.now();
        if now >= next {
            simulation.observers.exports.scrape(&simulation.environment, &simulation.view, now);
            next = History::next_scrape(now);
        }
        Some(next)
    }
}
