//! `run --check-restarts`: reruns a scenario with a crash of a component after each of its writes.

use super::side_by_side;
use crate::cli::print_notice;
use crate::engine::restarts::{self, Restart};
use crate::plan::Plan;

/// The maximum number of differences to report.
const MOST: usize = 10;

/// Returns the differences of the final state after a crash; `None` if there are none.
pub(in crate::cli) fn check(plan: &Plan, seed: u64) -> Option<String> {
    let undisturbed = match restarts::run_baseline(plan, seed) {
        Ok(undisturbed) => undisturbed,
        Err(error) => return Some(format!("the cluster could not be installed: {error}")),
    };
    let tried = &undisturbed.restarts;
    let differences = side_by_side(tried, usize::MAX, |restart: &Restart| {
        let found = undisturbed.difference(plan, seed, restart);
        let found = found.unwrap_or_else(|error| Some(error.to_string()));
        found.map(|difference| format!("{restart}: {difference}"))
    });
    let differences: Vec<String> = differences.into_iter().flatten().collect();
    print_notice(&format!(
        "{}: {} restarts, {} with a different final state",
        plan.file,
        tried.len(),
        differences.len()
    ));
    let more = differences.len().saturating_sub(MOST);
    let mut told: Vec<String> = differences.into_iter().take(MOST).collect();
    told.extend((more > 0).then(|| format!("and {more} more")));
    (!told.is_empty()).then(|| told.join("\n"))
}
