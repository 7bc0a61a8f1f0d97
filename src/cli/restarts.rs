//! `run --check-restarts`: a scenario again and again, each time with the death of another program.

use super::hint;
use super::run::side_by_side;
use crate::engine::restarts::{self, Restart};
use crate::plan::Plan;

/// So many differences are told.
const MOST: usize = 10;

/// What differs at the end where a program died after one of its writes; `None`: nothing.
pub(super) fn check(plan: &Plan, seed: u64) -> Option<String> {
    let undisturbed = match restarts::undisturbed(plan, seed) {
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
    hint(&format!("{}: {} restarts, {} of them with another end", plan.file, tried.len(), differences.len()));
    let more = differences.len().saturating_sub(MOST);
    let mut told: Vec<String> = differences.into_iter().take(MOST).collect();
    told.extend((more > 0).then(|| format!("and {more} more")));
    (!told.is_empty()).then(|| told.join("\n"))
}
