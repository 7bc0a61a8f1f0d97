//! Shrinking: makes a case that breaks a rule smaller, until nothing can go.

mod candidates;

use super::case::Case;
use super::finding::Finding;
use super::oracles::Problem;
use super::trial::{SEED, Terms, run};
use crate::engine::run_plan;
use crate::scenario::{self, Releases};

/// The greatest number of runs for one finding.
const RUNS_MAX: u64 = 80;

/// Makes a case smaller as long as it has a problem of the same cause. Returns the finding, and the number of runs.
pub(super) fn shrink(
    case: &Case,
    problem: &Problem,
    releases: &dyn Releases,
    terms: Terms<'_>,
    stop: &(dyn Fn() -> bool + Sync),
) -> (Finding, u64) {
    let cause = problem.cause();
    let mut runs = 0;
    let mut find = |case: &Case| {
        runs += 1;
        run(case, releases, terms).problems.into_iter().find(|found| found.cause() == cause)
    };
    let (mut case, mut found) = (case.clone(), problem.clone());
    let is_comparison = problem.oracle == "same-record";
    // A fork of a cluster may have what a run from the start has not.
    let mut is_reproduced = !is_comparison && find(&case).map(|again| found = again).is_some();
    let is_shrunk = !is_reproduced || smallest(&mut case, &mut found, &mut find, stop);
    let finding = Finding::new(&case, &found);
    if is_reproduced && finding.fails_in_run() && terms.broken.is_none() {
        is_reproduced = fails(&finding, releases);
    }
    (Finding { is_shrunk, is_reproduced, ..finding }, runs)
}

/// Takes the first smaller case that still has the problem, again and again. Returns false if it was stopped before there
/// was none.
fn smallest(
    case: &mut Case,
    problem: &mut Problem,
    find: &mut impl FnMut(&Case) -> Option<Problem>,
    stop: &(dyn Fn() -> bool + Sync),
) -> bool {
    let mut left = RUNS_MAX;
    // The candidates before this one failed for a larger case, and are tried again only once all others have failed.
    let mut first = 0;
    loop {
        let smaller = candidates::smaller(case);
        let order = (first..smaller.len()).chain(0..first.min(smaller.len()));
        let mut taken = None;
        for index in order {
            if stop() {
                return false;
            }
            if left == 0 {
                return true;
            }
            left -= 1;
            if let Some(found) = find(&smaller[index]) {
                taken = Some((index, found));
                break;
            }
        }
        let Some((index, found)) = taken else { return true };
        case.clone_from(&smaller[index]);
        *problem = found;
        first = index;
    }
}

/// Whether the scenario of a finding fails when it runs as any other.
fn fails(finding: &Finding, releases: &dyn Releases) -> bool {
    let parsed = scenario::parse(&finding.file_name(), &finding.scenario(), releases);
    let Ok(plan) = parsed else { return false };
    let outcome = windtunnel_core::panics::catch_panic(|| run_plan(&plan, SEED));
    match outcome {
        Ok(Ok(outcome)) => outcome.failure.is_some(),
        // A panic fails the run as well.
        Ok(Err(_)) | Err(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::explore::case::Moment;

    #[test]
    fn only_what_the_problem_needs_remains() {
        let environment = json!({
            "cluster": { "version": "4.18.1", "insights": true, "nodes": { "control-plane": 3, "workers": 3 } },
            "releases": { "4.18.5": null, "4.19.1": null },
        });
        let fault = |node: &str| json!({ "fault": { "node": node, "is": "not-ready", "for": "45m" } });
        let mut case = Case {
            environment: environment.as_object().cloned().unwrap(),
            moments: vec![
                Moment::new(60, json!({ "update": { "to": "4.18.5", "force": true } })),
                Moment::new(1234, fault("worker-0")),
                Moment::new(2000, json!("clear-update")),
                Moment::new(3000, fault("worker-1")),
            ],
            own_steps: Vec::new(),
        };
        let mut problem = Problem::new("converges", "x");
        // It needs a fault of the second worker, of at least ten minutes.
        let mut find = |case: &Case| {
            let is_there = case.moments.iter().any(|moment| {
                let fault = moment.fault().cloned().unwrap_or_default();
                fault.get("node") == Some(&json!("worker-1"))
                    && ["45m", "20m", "10m"].contains(&fault["for"].as_str().unwrap_or_default())
            });
            (is_there && case.environment["cluster"]["nodes"]["workers"].as_u64() > Some(1))
                .then(|| Problem::new("converges", "x"))
        };
        assert!(smallest(&mut case, &mut problem, &mut find, &|| false));
        assert_eq!(
            case.to_yaml("case", &[]),
            "name: case\ncluster: {version: 4.18.1, nodes: {control-plane: 1, workers: 2}}\ntimeline:\n\
             - fault: {node: worker-1, is: not-ready, for: 10m}\n"
        );
    }
}
