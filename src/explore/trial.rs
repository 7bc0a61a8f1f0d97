//! One run of a case: its steps, the time until the cluster has converged, and the verdicts of all oracles.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use windtunnel_core::panics;

use super::case::Case;
use super::coverage::{self, Seen};
use super::oracles::{self, Problem, Settled};
use crate::engine::mutation::{self, Mutant, Observation};
use crate::engine::{Failure, SavedCluster, Session, SessionError, run_after};
use crate::plan::{Plan, Step};
use crate::record::Record;
use crate::scenario::Releases;

/// The seed of every run. A case is data, so nothing of a run depends on another seed.
pub(super) const SEED: u64 = 1;

/// How often a run that should converge is looked at.
const LOOK_EVERY: SignedDuration = SignedDuration::from_mins(10);

/// How long a cluster must stay converged.
const STAYING: SignedDuration = SignedDuration::from_mins(30);

/// How long a converged cluster may still tidy up.
const TIDYING: SignedDuration = SignedDuration::from_hours(1);

/// How long a cluster must then be quiet.
const QUIET: SignedDuration = SignedDuration::from_hours(1);

/// The terms of all runs.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    /// How much cluster time a case has to converge, after all faults have ended.
    pub within: SignedDuration,
}

/// How a run went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RunReport {
    /// What the oracles found, without repetition.
    pub(super) problems: Vec<Problem>,
    /// The states that an observer saw, with the moments at which they were first seen.
    pub(super) seen: Seen,
    /// The alerts that rules of the cluster define.
    pub(super) alerts: BTreeSet<String>,
    /// The cluster time of the run itself, without what a fork has from its origin.
    pub(super) virtual_time: SignedDuration,
    /// Why the run ended before its last step, if an administrator's request failed.
    pub(super) cut_short: Option<String>,
    /// The hash of the record; empty after a panic, and for a case that is not repeated.
    pub(super) hash: String,
}

impl RunReport {
    /// The report of a run that could not begin.
    fn cut(why: String) -> Self {
        Self {
            problems: Vec::new(),
            seen: Seen::new(),
            alerts: BTreeSet::new(),
            virtual_time: SignedDuration::ZERO,
            cut_short: Some(why),
            hash: String::new(),
        }
    }

    /// The report of a run in which a component panicked.
    fn panicked(panic: &str) -> Self {
        Self { problems: vec![Problem::panic(panic)], cut_short: None, ..Self::cut(String::new()) }
    }
}

/// Runs a case from its start.
pub(super) fn run(case: &Case, releases: &dyn Releases, terms: Terms) -> RunReport {
    let plan = match case.plan(releases) {
        Ok(plan) => plan,
        Err(problems) => return RunReport::cut(problems.to_string()),
    };
    guarded(|| match Session::start(&plan.cluster, &plan.name, &plan.ids, SEED) {
        Ok(session) => Trial { case, plan: &plan, terms }.finish(session, 0, |_| ()),
        Err(error) => RunReport::cut(error.to_string()),
    })
}

/// Runs a case with a mutant, or without one to observe its components. Returns the report, and what `look` returns for the
/// record.
pub(super) fn run_observed<T>(
    case: &Case,
    mutant: Option<&Mutant>,
    releases: &dyn Releases,
    terms: Terms,
    look: impl FnOnce(&Observation, &Record) -> T,
) -> (RunReport, Option<T>) {
    let plan = match case.plan(releases) {
        Ok(plan) => plan,
        Err(problems) => return (RunReport::cut(problems.to_string()), None),
    };
    let mut seen = None;
    let report = guarded(|| match mutation::start_observed(&plan, SEED, mutant) {
        Ok((session, observation)) => Trial { case, plan: &plan, terms }
            .finish(session, 0, |record| seen = Some(look(&observation, record))),
        Err(error) => RunReport::cut(error.to_string()),
    });
    (report, seen)
}

/// Runs a case to the last of its steps, and then each of the other cases, which begin with the same steps, from there.
pub(super) fn run_forked(
    prefix: &Case,
    forks: &[Case],
    releases: &dyn Releases,
    terms: Terms,
) -> Vec<RunReport> {
    // The update status controller cannot be copied: a run with it is another one than from the start.
    let has_tasks = prefix.environment.get("cluster").is_some_and(|cluster| cluster["insights"] == true);
    let can_fork = !has_tasks && prefix.own_steps.is_empty();
    let saved =
        can_fork.then(|| panics::catch_panic(|| save_after(prefix, releases)).ok().flatten()).flatten();
    let Some((saved, steps)) = saved else {
        return forks.iter().map(|fork| run(fork, releases, terms)).collect();
    };
    let resumed = |fork: &Case| {
        let Ok(plan) = fork.plan(releases) else { return run(fork, releases, terms) };
        guarded(|| match saved.resume() {
            Ok(session) => Trial { case: fork, plan: &plan, terms }.finish(session, steps, |_| ()),
            Err(error) => RunReport::cut(error.to_string()),
        })
    };
    forks.iter().map(resumed).collect()
}

/// Runs all steps of a case, and saves the cluster. Returns it with the number of steps.
fn save_after(prefix: &Case, releases: &dyn Releases) -> Option<(SavedCluster, usize)> {
    let plan = prefix.plan(releases).ok()?;
    let mut session = Session::start(&plan.cluster, &plan.name, &plan.ids, SEED).ok()?;
    run_after(&mut session, &plan, 0).is_none().then_some(())?;
    Some((session.save()?, plan.timeline.len()))
}

fn guarded(work: impl FnOnce() -> RunReport) -> RunReport {
    panics::catch_panic(work).unwrap_or_else(|panic| RunReport::panicked(&panic))
}

/// A case and the terms of its run.
struct Trial<'c> {
    case: &'c Case,
    plan: &'c Plan,
    terms: Terms,
}

impl Trial<'_> {
    /// Runs the steps from `first` on, and judges the run. `look` gets its record.
    fn finish(&self, mut session: Session, first: usize, look: impl FnOnce(&Record)) -> RunReport {
        let start = session.elapsed();
        let failure = run_after(&mut session, self.plan, first);
        let (mut problems, mut cut_short) = (Vec::new(), None);
        match failure {
            Some(failure) => match Problem::of_failure(&failure, session.elapsed(), self.is_own()) {
                Some(problem) => problems.push(problem),
                None => cut_short = Some(format!("{}: {}", failure.step, failure.error)),
            },
            None => match self.settle(&mut session) {
                Ok(settled) => problems.extend(oracles::judge_settled(&session, &settled, self.terms.within)),
                Err(error) => {
                    let failure = Failure { line: 0, column: 0, step: String::new(), error };
                    problems.extend(Problem::of_failure(&failure, session.elapsed(), self.is_own()));
                }
            },
        }
        let virtual_time = session.elapsed() - start;
        let record = session.into_record();
        look(&record);
        problems.extend(oracles::judge_record(&record));
        RunReport {
            problems,
            seen: coverage::seen(&record),
            alerts: coverage::defined_alerts(&record),
            virtual_time,
            cut_short,
            hash: if self.case.is_repeated() { record.hash() } else { String::new() },
        }
    }

    fn is_own(&self) -> bool {
        !self.case.own_steps.is_empty()
    }

    /// Lets time pass until the cluster has converged, and then for as long as it must be quiet.
    fn settle(&self, session: &mut Session) -> Result<Settled, SessionError> {
        if self.is_own() {
            // The user's expectations decide, and the user's steps may leave anything.
            return Ok(Settled::Unknown);
        }
        let deadline = self.case.end().max(session.elapsed()).saturating_add(self.terms.within);
        advance_to(session, self.case.end())?;
        while session.elapsed() < deadline {
            if oracles::has_converged(session.view()) {
                advance(session, STAYING)?;
                if oracles::has_converged(session.view()) {
                    advance(session, TIDYING)?;
                    let entries = session.record().entries.len();
                    advance(session, QUIET)?;
                    return Ok(Settled::Converged { quiet_from: entries });
                }
            }
            advance(session, LOOK_EVERY)?;
        }
        Ok(Settled::Unconverged)
    }
}

/// Lets time pass as a step does, so that invariants are checked.
fn advance(session: &mut Session, span: SignedDuration) -> Result<(), SessionError> {
    session.run_step(&Step::Advance(span))
}

fn advance_to(session: &mut Session, moment: SignedDuration) -> Result<(), SessionError> {
    let rest = moment - session.elapsed();
    if rest > SignedDuration::ZERO { advance(session, rest) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windtunnel_openshift::release::Release;

    use super::*;
    use crate::explore::case::Moment;
    use crate::explore::invention;

    const TERMS: Terms = Terms { within: SignedDuration::from_hours(1) };

    fn case(moments: Vec<Moment>) -> Case {
        let environment =
            json!({ "cluster": { "version": "4.20.1", "nodes": { "control-plane": 1, "workers": 1 } } });
        Case { environment: environment.as_object().cloned().unwrap(), moments, own_steps: Vec::new() }
    }

    fn not_ready(at: u64, length: Option<&str>) -> Moment {
        let mut fault = json!({ "node": "worker-0", "is": "not-ready" });
        if let Some(length) = length {
            fault["for"] = json!(length);
        }
        Moment::new(at, json!({ "fault": fault }))
    }

    #[test]
    fn a_run_from_a_copy_is_the_run_from_the_start() {
        let origin = case(vec![not_ready(60, Some("5m"))]);
        let prefix = invention::prefix(&origin, 90);
        let fork = |at, length| {
            let mut fork = prefix.clone();
            fork.moments.push(not_ready(at, Some(length)));
            fork
        };
        let forks = (600..)
            .map(|at| fork(at, if at % 2 == 0 { "3m" } else { "1m" }))
            .filter(Case::is_repeated)
            .take(2);
        let forks: Vec<Case> = forks.collect();
        let reports = run_forked(&prefix, &forks, &Release::find, TERMS);
        for (fork, report) in forks.iter().zip(reports) {
            let whole = run(fork, &Release::find, TERMS);
            assert!(report.virtual_time < whole.virtual_time, "the copy has less to run");
            assert!(!report.hash.is_empty(), "the records are compared");
            assert_eq!((report.hash, report.problems, report.seen), (whole.hash, whole.problems, whole.seen));
        }
    }

    #[test]
    fn a_fault_without_an_end_keeps_a_cluster_from_converging_and_one_with_an_end_does_not() {
        let found = run(&case(vec![not_ready(60, None)]), &Release::find, TERMS);
        let causes: Vec<String> = found.problems.iter().map(Problem::cause).collect();
        assert_eq!(causes.len(), 1, "{causes:?}");
        assert!(causes[0].starts_with("converges: Node worker-# has Ready=False"), "{causes:?}");
        let ended = run(&case(vec![not_ready(60, Some("5m"))]), &Release::find, TERMS);
        assert_eq!((ended.problems, ended.cut_short), (Vec::new(), None));
    }
}
