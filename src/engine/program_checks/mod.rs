//! Checks of programs of the user's machine: runs a plan once for each fault that may happen to a program at one of its
//! writes or events, and compares the ends.
//!
//! Processes cannot be copied, so each run begins at the start of the plan.

mod candidates;
mod deviation;
mod placed_fault;
mod trial;

use self::deviation::Deviation;
pub use self::placed_fault::PlacedFault;
use super::error::SessionError;
use super::final_state::difference;
use super::workers::{guarded, map_in_parallel};
use crate::backends::{BackendError, INTERRUPTED, Stop};
use crate::plan::Plan;

/// The faults of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramCheck {
    /// A program is killed before or after one of its writes.
    Restarts,
    /// A program does not see an event for a while, and may be killed meanwhile.
    Staleness,
    /// A program does not see an intermediate state of an object.
    Gaps,
}

impl ProgramCheck {
    /// The faults in words, such as `restarts`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Restarts => "restarts",
            Self::Staleness => "stale views",
            Self::Gaps => "gaps",
        }
    }
}

/// How much a check tries.
#[derive(Debug, Clone)]
pub struct CheckSettings {
    /// The greatest number of runs with faults; `None` for all. An even sample is tried.
    pub runs_max: Option<usize>,
    /// The number of runs at a time.
    pub jobs: usize,
    /// Ends the check early.
    pub stop: Stop,
}

/// The result of a check.
#[derive(Debug, Clone)]
pub struct CheckReport {
    /// The number of runs with faults.
    pub runs: usize,
    /// The number of possible runs.
    pub possible: usize,
    /// The runs that end in another way.
    pub findings: Vec<Finding>,
}

/// Faults after which a plan ends in another way.
#[derive(Debug, Clone)]
pub struct Finding {
    /// The faults. Without any one of them there is no difference.
    pub faults: Vec<PlacedFault>,
    /// The difference, in words.
    pub difference: String,
    /// Steps in YAML that fail at the end of a run with the faults; empty if a step of the plan fails.
    pub last_steps: Vec<String>,
}

/// Runs a plan without faults, then once for each possible fault of this check.
///
/// # Errors
/// The cluster or a program could not be started, the plan fails without faults, or the check was stopped.
pub fn check(
    plan: &Plan,
    seed: u64,
    kind: ProgramCheck,
    settings: &CheckSettings,
) -> Result<CheckReport, SessionError> {
    let undisturbed = trial::run(plan, seed, &[], &settings.stop)?;
    if let Err(failure) = &undisturbed.end {
        return Err(failure.error.clone());
    }
    let possible = candidates::find(plan, &undisturbed, kind);
    let tried = sample(&possible, settings.runs_max);
    let deviation = |faults: &[PlacedFault]| match guarded(|| trial::run(plan, seed, faults, &settings.stop))
    {
        Ok(run) => difference(&undisturbed.end, &run.end, Deviation::of_clusters)
            .map(|found| found.without_secrets(&run.secrets)),
        Err(why) => Some(Deviation::from(why)),
    };
    let findings = map_in_parallel(&tried, settings.jobs, |faults| {
        let found = deviation(faults).filter(|_| !settings.stop.is_requested())?;
        Some(shrink(faults.clone(), found, deviation))
    });
    if settings.stop.is_requested() {
        return Err(BackendError::Failed(INTERRUPTED.to_owned()).into());
    }
    let findings = findings.into_iter().flatten().collect();
    Ok(CheckReport { runs: tried.len(), possible: possible.len(), findings })
}

/// Leaves out each fault without which there is still a difference.
fn shrink(
    mut faults: Vec<PlacedFault>,
    mut found: Deviation,
    deviation: impl Fn(&[PlacedFault]) -> Option<Deviation>,
) -> Finding {
    let mut index = 0;
    while index < faults.len() && faults.len() > 1 {
        let mut fewer = faults.clone();
        fewer.remove(index);
        match deviation(&fewer) {
            Some(other) => (faults, found) = (fewer, other),
            None => index += 1,
        }
    }
    Finding { faults, difference: found.text, last_steps: found.last_steps }
}

/// At most `most` items, evenly spread.
fn sample<T: Clone>(items: &[T], most: Option<usize>) -> Vec<T> {
    let most = most.unwrap_or(items.len()).min(items.len());
    (0..most).filter_map(|index| items.get(index * items.len() / most).cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_even() {
        let items: Vec<u32> = (0..10).collect();
        assert_eq!(sample(&items, Some(4)), [0, 2, 5, 7]);
        assert_eq!(sample(&items, None), items);
        assert_eq!(sample(&items, Some(20)), items);
        assert!(sample(&items, Some(0)).is_empty());
    }
}
