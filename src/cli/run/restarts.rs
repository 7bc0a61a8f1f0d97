//! `run --check-restarts`: reruns a scenario with a crash of a component after each of its writes.

use crate::cli::args::jobs_or_cores;
use crate::cli::parallel::in_parallel;
use crate::cli::print_notice;
use crate::engine::restarts::{self, Restart};
use crate::plan::Plan;

/// The maximum number of differences to report.
const REPORTED_MAX: usize = 10;

/// Returns the differences of the final state after a crash; `None` if there are none.
pub(in crate::cli) fn check(plan: &Plan, seed: u64) -> Option<String> {
    let baseline = match restarts::run_baseline(plan, seed) {
        Ok(baseline) => baseline,
        Err(error) => return Some(format!("the cluster could not be installed: {error}")),
    };
    let crashes = &baseline.restarts;
    let differences = in_parallel(crashes, jobs_or_cores(None), |restart: &Restart| {
        let found = baseline.difference(plan, seed, restart);
        let found = found.unwrap_or_else(|error| Some(error.to_string()));
        found.map(|difference| format!("{restart}: {difference}"))
    });
    let differences: Vec<String> = differences.into_iter().flatten().collect();
    print_notice(&format!(
        "{}: {} restarts, {} with a different final state",
        plan.file,
        crashes.len(),
        differences.len()
    ));
    let more = differences.len().saturating_sub(REPORTED_MAX);
    let mut reported: Vec<String> = differences.into_iter().take(REPORTED_MAX).collect();
    reported.extend((more > 0).then(|| format!("and {more} more")));
    (!reported.is_empty()).then(|| reported.join("\n"))
}
