//! Crashes in copies of a cluster, after which the plan continues.

use std::sync::{Arc, Mutex, PoisonError};

use windtunnel_core::requests::faults::{Hits, RequestFilter};

use super::Restart;
use crate::engine::cluster_copy::ClusterCopy;
use crate::engine::error::SessionError;
use crate::engine::final_state::{End, difference, end_of};
use crate::engine::restored::changed_objects;
use crate::engine::run::run_in_session;
use crate::engine::runtime::crashes::{Crash, CrashMoment};
use crate::engine::session::Session;
use crate::engine::workers::guarded;
use crate::plan::Plan;

/// The cluster from which a run with a crash begins.
#[derive(Clone)]
pub(super) enum Origin {
    /// The cluster before the first step.
    Start,
    /// A later moment of the run.
    Copy(Arc<Mutex<ClusterCopy>>),
}

/// Crashes at writes that follow each other.
pub(super) struct CrashBatch {
    /// The cluster before all of the writes.
    pub(super) origin: Origin,
    /// The restarts, each with the number of the write since the origin, from 1.
    pub(super) restarts: Vec<(Restart, u32)>,
}

impl CrashBatch {
    /// Runs the rest of the plan with each of the crashes. Returns how its end differs, if it does.
    pub(super) fn differences(self, plan: &Plan, seed: u64, end: &End) -> Vec<(Restart, Option<String>)> {
        let Self { origin, restarts } = self;
        let of_restart = |(restart, write): (Restart, u32)| {
            let found = match guarded(|| origin.run(plan, seed, &restart.process, write)) {
                Ok(other) => difference(end, &other, |without, with| {
                    changed_objects(without, with).next().map(|object| object.text("the restart"))
                }),
                Err(why) => Some(why),
            };
            (restart, found)
        };
        restarts.into_iter().map(of_restart).collect()
    }
}

impl Origin {
    /// Runs the rest of the plan, in which a process crashes right after this write.
    fn run(&self, plan: &Plan, seed: u64, process: &str, write: u32) -> Result<End, SessionError> {
        let mut session = match self {
            Self::Start => Session::start(plan, seed)?,
            Self::Copy(copy) => copy.lock().unwrap_or_else(PoisonError::into_inner).resume()?,
        };
        session.simulation.crashes.add(Crash {
            process: process.to_owned(),
            writes: RequestFilter::default(),
            moment: CrashMoment::After,
            hits: Hits::new(write, Some(1)),
        });
        let failure = run_in_session(&mut session, plan);
        Ok(end_of(&session, failure))
    }
}
