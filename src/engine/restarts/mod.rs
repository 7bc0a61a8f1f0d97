//! Continues a plan once per write in a copy of the cluster, with a crash of the process after that write, and compares
//! the final clusters.

mod batch;
#[cfg(test)]
mod continuation;
mod finder;

use self::batch::CrashBatch;
use self::finder::{Finder, Origins};
use super::error::SessionError;
use super::final_state::end_of;
use super::run::run_in_session;
use super::session::Session;
use super::workers::with_workers;
use crate::plan::Plan;

/// A crash of a process right after one of its writes, before it sees the answer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Restart {
    /// The process, by its name in the timeline.
    pub process: String,
    /// The number of the write since the run began, from 1.
    pub write: u32,
}

impl std::fmt::Display for Restart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} restarted after write {}", self.process, self.write)
    }
}

/// The result of all restarts of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The number of restarts, one for each write of a simulated process.
    pub restarts: usize,
    /// The restarts after which the plan ends in another way, each with the difference.
    pub differences: Vec<(Restart, String)>,
}

/// Runs a plan in process with a seed, then again with a copy of the cluster for each write of a simulated process. The
/// process crashes in the copy right after the write, and the copy runs the rest of the plan, on one of `jobs` threads.
///
/// # Errors
/// The cluster could not be set up.
pub fn check(plan: &Plan, seed: u64, jobs: usize) -> Result<Report, SessionError> {
    check_with(plan, seed, jobs, Origins::Copies)
}

fn check_with(plan: &Plan, seed: u64, jobs: usize, origins: Origins) -> Result<Report, SessionError> {
    let mut session = Session::start(plan, seed)?;
    let failure = run_in_session(&mut session, plan);
    let end = end_of(&session, failure);
    let processes = session.simulation.schedule.names().map(|(_, name)| name.to_owned()).collect();
    let mut session = Session::start(plan, seed)?;
    let difference = |batch: CrashBatch| batch.differences(plan, seed, &end);
    let ((), found) = with_workers(jobs, difference, |sender| {
        let finder = Finder::new(&session.simulation, processes, origins, sender);
        finder::find_in(&mut session, plan, finder);
    });
    let mut found: Vec<_> = found.into_iter().flatten().collect();
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    let restarts = found.len();
    let differences =
        found.into_iter().filter_map(|(restart, difference)| Some((restart, difference?))).collect();
    Ok(Report { restarts, differences })
}
