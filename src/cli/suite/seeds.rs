//! Runs of the same scenarios with several seeds, combined into one result for each scenario.

use std::sync::{Mutex, PoisonError};

use super::Finished;
use crate::report::seeds::SeedRuns;

/// Combines the runs of scenarios with several seeds. Threads share it.
#[derive(Debug)]
pub(in crate::cli) struct Combined {
    scenarios: Mutex<Vec<Runs>>,
    /// The number of runs of each scenario.
    seeds: usize,
}

/// The runs of one scenario so far.
#[derive(Debug, Default)]
struct Runs {
    count: usize,
    result: Option<Finished>,
}

impl Combined {
    /// Starts without results for a number of scenarios that run once per seed.
    pub(in crate::cli) fn new(scenarios: usize, seeds: usize) -> Self {
        let scenarios = std::iter::repeat_with(Runs::default).take(scenarios).collect();
        Self { scenarios: Mutex::new(scenarios), seeds }
    }

    /// Adds a run of the scenario with this index. Calls `complete` with the result after the last run of a scenario.
    pub(in crate::cli) fn add(&self, index: usize, run: Finished, complete: impl FnOnce(&Finished)) {
        let mut scenarios = self.scenarios.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(runs) = scenarios.get_mut(index) else { return };
        let combined = match runs.result.take() {
            None => run,
            Some(others) => combine(others, run),
        };
        let combined = runs.result.insert(combined);
        runs.count += 1;
        if runs.count == self.seeds {
            add_failed_seeds(combined);
            complete(combined);
        }
    }

    /// Returns the results in the order of the scenarios.
    pub(in crate::cli) fn into_results(self) -> Vec<Finished> {
        let scenarios = self.scenarios.into_inner().unwrap_or_else(PoisonError::into_inner);
        let results = scenarios.into_iter().filter_map(|Runs { count, result }| {
            let mut result = result?;
            // The run ended before the last seed.
            if count < self.seeds {
                add_failed_seeds(&mut result);
            }
            Some(result)
        });
        results.collect()
    }
}

/// Combines runs of one scenario. The result is that of the first seed that failed, or else of the first seed that ran.
fn combine(one: Finished, other: Finished) -> Finished {
    let runs = SeedRuns::of(&one.result).and(SeedRuns::of(&other.result));
    let rank = |run: &Finished| (run.result.failure.is_none(), run.result.skipped.is_some(), run.result.seed);
    let (mut kept, dropped) = if rank(&other) < rank(&one) { (other, one) } else { (one, other) };
    kept.result.seed_runs = Some(runs);
    kept.result.virtual_time = kept.result.virtual_time.saturating_add(dropped.result.virtual_time);
    if let (Some(wall), Some(more)) = (&mut kept.result.wall, dropped.result.wall) {
        (wall.started, wall.took) = (wall.started.min(more.started), wall.took + more.took);
    }
    kept
}

/// Adds the seeds that failed to the failure of a scenario that ran with several.
fn add_failed_seeds(Finished { result, .. }: &mut Finished) {
    let failures = result.seed_runs.as_ref().and_then(SeedRuns::failures);
    if let Some((failure, seeds)) = result.failure.as_mut().zip(failures) {
        *failure += &format!("\n{seeds}");
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;
    use crate::report::ScenarioResult;

    fn run(seed: u64, failure: Option<&str>) -> Finished {
        let result = ScenarioResult {
            failure: failure.map(str::to_owned),
            virtual_time: SignedDuration::from_mins(1),
            ..ScenarioResult::not_started("a", "a.yaml", &[], seed)
        };
        Finished::without_record(result)
    }

    /// Adds runs of one scenario. Returns the number of complete results, and the last one.
    fn combined(runs: Vec<Finished>) -> (usize, ScenarioResult) {
        let (scenario, mut complete) = (Combined::new(1, runs.len()), 0);
        for run in runs {
            scenario.add(0, run, |_| complete += 1);
        }
        (complete, scenario.into_results().remove(0).result)
    }

    #[test]
    fn the_result_is_that_of_the_first_seed_that_failed() {
        let runs = vec![run(2, None), run(9, Some("late")), run(4, Some("early")), run(1, None)];
        let (complete, result) = combined(runs);
        assert_eq!((complete, result.seed), (1, 4));
        assert_eq!(result.failure.as_deref(), Some("early\n2 of 4 seeds fail: 4, 9"));
        assert_eq!(result.virtual_time, SignedDuration::from_mins(4));
    }

    #[test]
    fn a_scenario_that_passes_has_the_result_of_the_first_seed_that_ran() {
        let skipped = Finished::without_record(ScenarioResult::skipped("a", "a.yaml", &[], 1, "no"));
        let (complete, result) = combined(vec![run(3, None), skipped, run(2, None)]);
        assert_eq!((complete, result.seed, result.failure), (1, 2, None));
        assert_eq!(result.seed_runs.unwrap().count, 2);
    }

    #[test]
    fn the_only_run_of_a_scenario_stays_unchanged() {
        let (complete, result) = combined(vec![run(5, Some("no"))]);
        assert_eq!((complete, result.failure.as_deref(), result.seed_runs), (1, Some("no"), None));
    }
}
