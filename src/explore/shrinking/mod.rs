//! Shrinking: makes a case that breaks a rule smaller, until nothing can go.

mod candidates;
mod changed;
mod environment;
mod minimise;
mod names;
mod steps;

use std::collections::BTreeSet;

use self::candidates::Scope;
pub use self::minimise::{Minimised, minimise};
use super::case::Case;
use super::finding::Finding;
use super::oracles::OracleFinding;
use super::place::Place;
use super::trial::{SEED, Terms, run};
use crate::engine::{Outcome, run_plan};
use crate::scenario::{self, Releases};

/// The greatest number of runs for one finding.
const RUNS_MAX: u64 = 100;

/// The rules that hold also while faults are in effect, besides the invariants.
const DURING_FAULTS: [&str; 5] = ["panic", "hot-loop", "rbac", "history", "budget"];

/// Whether a rule holds also while faults are in effect. Under any other rule, a fault without an end excuses what it breaks.
fn holds_during_faults(oracle: &str) -> bool {
    DURING_FAULTS.contains(&oracle) || oracle.starts_with("invariant/")
}

/// Makes a case smaller as long as it has a finding of the same cause. Returns the finding, and the number of runs.
pub(super) fn shrink(
    case: &Case,
    oracle_finding: &OracleFinding,
    releases: &dyn Releases,
    terms: Terms<'_>,
    stop: &(dyn Fn() -> bool + Sync),
) -> (Finding, u64) {
    let cause = oracle_finding.cause();
    let mut runs = 0;
    let mut find = |case: &Case| {
        runs += 1;
        run(case, releases, terms).oracle_findings.into_iter().find(|found| found.cause() == cause)
    };
    let (mut case, mut found) = (case.clone(), oracle_finding.clone());
    let is_comparison = oracle_finding.oracle == "same-record";
    // A fork of a cluster may have what a run from the start has not.
    let is_reproduced = !is_comparison && find(&case).map(|again| found = again).is_some();
    let scope = Scope { has_own_steps: false, needs_ends: !holds_during_faults(&oracle_finding.oracle) };
    let is_shrunk =
        !is_reproduced || Shrinking::new(scope, RUNS_MAX).smallest(&mut case, &mut found, &mut find, stop);
    let finding = Finding { is_shrunk, is_reproduced, ..Finding::new(&case, &found) };
    // The scenario of a broken component passes without it.
    let is_whole = terms.mutant.is_none();
    (if is_reproduced && is_whole { verified(finding, releases) } else { finding }, runs)
}

/// Runs the scenario of a finding as any other. Returns the finding with the place at which it shows, and whether
/// the scenario fails.
fn verified(finding: Finding, releases: &dyn Releases) -> Finding {
    let ran = run_text(&finding.file_name(), &finding.scenario(), releases);
    let fails = match &ran {
        Ran::Ended(outcome) => outcome.failure.is_some(),
        Ran::Panicked(_) => true,
        Ran::Invalid => false,
    };
    let place = match &ran {
        Ran::Ended(outcome) => {
            Place::find(&outcome.record, &finding.oracle, &finding.text, &finding.last_steps)
        }
        Ran::Panicked(_) | Ran::Invalid => None,
    };
    let is_reproduced = fails || !finding.fails_in_run();
    Finding { place, is_reproduced, ..finding }
}

/// How a scenario ran.
enum Ran {
    Ended(Box<Outcome>),
    /// A component panicked, with this message.
    Panicked(String),
    /// It has mistakes, or its cluster could not be set up.
    Invalid,
}

/// Runs a scenario as `windtunnel run` does.
fn run_text(file: &str, text: &str, releases: &dyn Releases) -> Ran {
    let Ok(plan) = scenario::parse(file, text, releases) else { return Ran::Invalid };
    match windtunnel_core::panics::catch_panic(|| run_plan(&plan, SEED)) {
        Ok(Ok(outcome)) => Ran::Ended(Box::new(outcome)),
        Ok(Err(_)) => Ran::Invalid,
        Err(panic) => Ran::Panicked(panic),
    }
}

/// The search for the smallest case.
struct Shrinking {
    scope: Scope,
    /// The number of runs that are left.
    left: u64,
    /// The cases that have run already.
    tried: BTreeSet<String>,
}

impl Shrinking {
    fn new(scope: Scope, runs: u64) -> Self {
        Self { scope, left: runs, tried: BTreeSet::new() }
    }

    /// Takes the first smaller case that still has the finding, again and again. Returns false if it was stopped before
    /// there was none.
    fn smallest<P>(
        &mut self,
        case: &mut Case,
        oracle_finding: &mut P,
        find: &mut impl FnMut(&Case) -> Option<P>,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> bool {
        // The candidates before this one failed for a larger case, and are tried again only once all others have failed.
        let mut first = 0;
        loop {
            let smaller = candidates::smaller(case, self.scope);
            let order = (first..smaller.len()).chain(0..first.min(smaller.len()));
            let mut taken = None;
            for index in order.filter(|index| self.tried.insert(text_of(&smaller[*index]))) {
                if stop() {
                    return false;
                }
                if self.left == 0 {
                    return true;
                }
                self.left -= 1;
                if let Some(found) = find(&smaller[index]) {
                    taken = Some((index, found));
                    break;
                }
            }
            let Some((index, found)) = taken else { return true };
            case.clone_from(&smaller[index]);
            *oracle_finding = found;
            first = index;
        }
    }
}

/// A text that is the same for equal cases.
fn text_of(case: &Case) -> String {
    case.to_yaml("case", &[])
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
        let mut oracle_finding = OracleFinding::new("converges", "x");
        // It needs a fault of the second worker, of at least ten minutes.
        let mut find = |case: &Case| {
            let is_there = case.moments.iter().any(|moment| {
                let fault = moment.fault().cloned().unwrap_or_default();
                fault.get("node") == Some(&json!("worker-1"))
                    && ["45m", "20m", "10m"].contains(&fault["for"].as_str().unwrap_or_default())
            });
            (is_there && case.environment["cluster"]["nodes"]["workers"].as_u64() > Some(1))
                .then(|| OracleFinding::new("converges", "x"))
        };
        let scope = Scope { has_own_steps: false, needs_ends: true };
        assert!(
            Shrinking::new(scope, RUNS_MAX).smallest(&mut case, &mut oracle_finding, &mut find, &|| false)
        );
        assert_eq!(
            case.to_yaml("case", &[]),
            "name: case\ncluster: {version: 4.18.1, nodes: {control-plane: 1, workers: 2}}\ntimeline:\n\
             - fault: {node: worker-1, is: not-ready, for: 10m}\n"
        );
    }
}
