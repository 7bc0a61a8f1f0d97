//! Checks of programs of the user's machine: runs a plan once for each fault that may happen to a program at one of its
//! writes or events, and compares the ends.
//!
//! Processes cannot be copied, so each run begins at the start of the plan.

mod candidates;
mod deviation;
mod placed_fault;
mod trial;

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

use self::deviation::Deviation;
pub use self::placed_fault::PlacedFault;
use super::error::SessionError;
use crate::plan::Plan;

/// What happens to the programs of a plan.
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
#[derive(Debug, Clone, Copy)]
pub struct CheckSettings {
    /// The greatest number of runs with faults; `None` for all. An even sample is tried.
    pub runs_max: Option<usize>,
    /// The number of runs at a time.
    pub jobs: usize,
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
    /// The faults, none of which can be left out.
    pub faults: Vec<PlacedFault>,
    /// The difference, in words.
    pub difference: String,
    /// Steps in YAML that fail at the end of a run with the faults; empty if a step of the plan fails.
    pub last_steps: Vec<String>,
}

/// Runs a plan without faults, then once for each possible fault of this check.
///
/// # Errors
/// The cluster or a program could not be started, or the plan fails without faults.
pub fn check(
    plan: &Plan,
    seed: u64,
    what: ProgramCheck,
    settings: &CheckSettings,
) -> Result<CheckReport, SessionError> {
    let undisturbed = trial::run(plan, seed, &[])?;
    if let Err(failure) = &undisturbed.end {
        return Err(failure.error.clone());
    }
    let possible = candidates::find(plan, &undisturbed, what);
    let tried = sample(&possible, settings.runs_max);
    let findings = in_parallel(&tried, settings.jobs, |faults| {
        let difference = |faults: &[PlacedFault]| {
            trial::run(plan, seed, faults)
                .map_or_else(|error| Some(error.into()), |run| Deviation::find(&undisturbed.end, &run.end))
        };
        let found = difference(faults)?;
        Some(shrink(faults.clone(), found, difference))
    });
    Ok(CheckReport { runs: tried.len(), possible: possible.len(), findings })
}

/// Leaves out each fault without which there is still a difference.
fn shrink(
    mut faults: Vec<PlacedFault>,
    mut found: Deviation,
    difference: impl Fn(&[PlacedFault]) -> Option<Deviation>,
) -> Finding {
    let mut index = 0;
    while index < faults.len() && faults.len() > 1 {
        let mut fewer = faults.clone();
        fewer.remove(index);
        match difference(&fewer) {
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

/// Calls `work` with each item on some threads. Returns its results in the order of the items, without those that are
/// `None`.
pub(crate) fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    jobs: usize,
    work: impl Fn(&T) -> Option<R> + Sync,
) -> Vec<R> {
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, items.len().max(1)) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else { break };
                    if let Some(result) = work(item) {
                        found.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
                    }
                }
            });
        }
    });
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_by_key(|(index, _)| *index);
    found.into_iter().map(|(_, result)| result).collect()
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

    #[test]
    fn results_keep_the_order_of_the_items() {
        let items: Vec<u32> = (0..50).collect();
        let even = in_parallel(&items, 4, |item| (item % 2 == 0).then_some(*item));
        assert_eq!(even, (0..50).step_by(2).collect::<Vec<u32>>());
    }
}
