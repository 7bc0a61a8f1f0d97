//! `run --check-restarts`: continues a scenario with a crash of a component after each of its writes.

use crate::cli::args::jobs_or_cores;
use crate::cli::print_notice;
use crate::engine::restarts::{self, Report};
use crate::plan::Plan;

/// The maximum number of differences to report.
const REPORTED_MAX: usize = 10;

/// Returns the differences of the final state after a crash; `None` if there are none.
pub(in crate::cli) fn check(plan: &Plan, seed: u64) -> Option<String> {
    let Report { restarts, differences } = match restarts::check(plan, seed, jobs_or_cores(None)) {
        Ok(report) => report,
        Err(error) => return Some(format!("the cluster could not be installed: {error}")),
    };
    print_notice(&format!(
        "{}: {restarts} restarts, {} with a different final state",
        plan.file,
        differences.len()
    ));
    first_differences(differences.into_iter().map(|(restart, difference)| format!("{restart}: {difference}")))
}

/// Returns the first differences, and the number of the others; `None` if there are none.
pub(super) fn first_differences(mut texts: impl ExactSizeIterator<Item = String>) -> Option<String> {
    let mut reported: Vec<String> = texts.by_ref().take(REPORTED_MAX).collect();
    let more = texts.len();
    reported.extend((more > 0).then(|| format!("and {more} more")));
    (!reported.is_empty()).then(|| reported.join("\n"))
}
