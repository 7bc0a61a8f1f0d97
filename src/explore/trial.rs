//! One run of a case: its steps, the time until the cluster has converged, and the verdicts of all oracles.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use windtunnel_core::panics;

use super::case::Case;
use super::coverage::{self, Seen};
use super::oracles::{self, OracleFinding, Settled};
use crate::engine::mutation::{self, Mutant, Observation};
use crate::engine::{ClusterCopy, Failure, SeededMutant, Session, SessionError, run_after};
use crate::plan::{Plan, Step};
use crate::record::Record;
use crate::scenario::Releases;

/// The seed of every run. A case is data, so nothing of a run depends on another seed.
pub(super) const SEED: u64 = 1;

/// The greatest number of writes in the record of a run. Twelve hours that do not converge have a fifth of it. From 4.19 on an
/// operator that cannot pull a release writes 16,000 an hour, which would fill the memory.
const WRITES_MAX: usize = 100_000;

/// How often a run that should converge is looked at.
const LOOK_EVERY: SignedDuration = SignedDuration::from_mins(10);

/// How long a cluster must stay converged.
const STAYING: SignedDuration = SignedDuration::from_mins(30);

/// How long a converged cluster may still tidy up.
const TIDYING: SignedDuration = SignedDuration::from_hours(1);

/// How long a cluster must then be quiet.
const QUIET: SignedDuration = SignedDuration::from_hours(1);

/// A component that is wrong on purpose.
#[derive(Debug, Clone, Copy)]
pub enum AnyMutant<'a> {
    /// It has a known bug.
    Seeded(&'static SeededMutant),
    /// It is a mutant. A cluster with one cannot be copied.
    Mutant(&'a Mutant),
}

/// The terms of all runs.
#[derive(Debug, Clone, Copy)]
pub struct Terms<'a> {
    /// How much cluster time a case has to converge, after all faults have ended.
    pub within: SignedDuration,
    /// The mutant that replaces a component from the end of the installation on, if there is one.
    pub mutant: Option<AnyMutant<'a>>,
}

impl Terms<'_> {
    /// The same terms for components that work.
    pub(super) fn with_sound_components(self) -> Self {
        Self { mutant: None, ..self }
    }

    /// Installs the cluster of a plan. Returns what a mutant did, if there is one.
    fn start(self, plan: &Plan) -> Result<(Session, Option<Observation>), SessionError> {
        if let Some(AnyMutant::Mutant(mutant)) = self.mutant {
            let (session, observation) = mutation::start_observed(plan, SEED, Some(mutant))?;
            return Ok((session, Some(observation)));
        }
        let mut session = Session::start(&plan.cluster, &plan.name, &plan.ids, SEED)?;
        if let Some(AnyMutant::Seeded(mutant)) = self.mutant {
            session.plant(mutant);
        }
        Ok((session, None))
    }
}

/// How a run went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RunReport {
    /// What the oracles found, without repetition.
    pub(super) oracle_findings: Vec<OracleFinding>,
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
            oracle_findings: Vec::new(),
            seen: Seen::new(),
            alerts: BTreeSet::new(),
            virtual_time: SignedDuration::ZERO,
            cut_short: Some(why),
            hash: String::new(),
        }
    }

    /// The report of a run in which a component panicked.
    fn panicked(panic: &str) -> Self {
        Self {
            oracle_findings: vec![OracleFinding::panic(panic)],
            cut_short: None,
            ..Self::cut(String::new())
        }
    }
}

/// Runs a case from its start.
pub(super) fn run(case: &Case, releases: &dyn Releases, terms: Terms<'_>) -> RunReport {
    let plan = match case.plan(releases) {
        Ok(plan) => plan,
        Err(errors) => return RunReport::cut(errors.to_string()),
    };
    guarded(|| match terms.start(&plan) {
        Ok((session, observation)) => {
            let mut report = Trial { case, plan: &plan, terms }.finish(session, 0, |_| ());
            if observation.is_some_and(|observation| observation.had_effect()) {
                report.seen.insert(coverage::marked(SeededMutant::mark()), SignedDuration::ZERO);
            }
            report
        }
        Err(error) => RunReport::cut(error.to_string()),
    })
}

/// Runs a case without a mutant. Returns the report, and the mutants that the run can notice.
pub(super) fn run_for_mutants(
    case: &Case,
    releases: &dyn Releases,
    terms: Terms<'_>,
) -> (RunReport, Vec<Mutant>) {
    let plan = match case.plan(releases) {
        Ok(plan) => plan,
        Err(errors) => return (RunReport::cut(errors.to_string()), Vec::new()),
    };
    let mut mutants = Vec::new();
    let report = guarded(|| match mutation::start_observed(&plan, SEED, None) {
        Ok((session, observation)) => Trial { case, plan: &plan, terms }
            .finish(session, 0, |record| mutants = observation.mutants(record)),
        Err(error) => RunReport::cut(error.to_string()),
    });
    (report, mutants)
}

/// Runs a case to the last of its steps, and then each of the other cases, which begin with the same steps, from there.
pub(super) fn run_forked(
    prefix: &Case,
    forks: &[Case],
    releases: &dyn Releases,
    terms: Terms<'_>,
) -> Vec<RunReport> {
    // A run with the update status controller cannot continue from a copy: it need not get that far.
    let has_tasks = prefix.environment.get("cluster").is_some_and(|cluster| cluster["insights"] == true);
    let can_fork =
        !has_tasks && prefix.own_steps.is_empty() && !matches!(terms.mutant, Some(AnyMutant::Mutant(_)));
    let saved = can_fork
        .then(|| panics::catch_panic(|| save_after(prefix, releases, terms)).ok().flatten())
        .flatten();
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
fn save_after(prefix: &Case, releases: &dyn Releases, terms: Terms<'_>) -> Option<(ClusterCopy, usize)> {
    let plan = prefix.plan(releases).ok()?;
    let (mut session, _) = terms.start(&plan).ok()?;
    run_after(&mut session, &plan, 0).is_none().then_some(())?;
    let saved = session.save().filter(|saved| !saved.restarts_programs())?;
    Some((saved, plan.timeline.len()))
}

fn guarded(work: impl FnOnce() -> RunReport) -> RunReport {
    panics::catch_panic(work).unwrap_or_else(|panic| RunReport::panicked(&panic))
}

/// A case and the terms of its run.
struct Trial<'c> {
    case: &'c Case,
    plan: &'c Plan,
    terms: Terms<'c>,
}

impl Trial<'_> {
    /// Runs the steps from `first` on, and judges the run. `look` gets its record.
    fn finish(&self, mut session: Session, first: usize, look: impl FnOnce(&Record)) -> RunReport {
        let start = session.elapsed();
        session.limit_writes(WRITES_MAX);
        let failure = run_after(&mut session, self.plan, first);
        let (mut oracle_findings, mut cut_short) = (Vec::new(), None);
        match failure {
            Some(failure) => match OracleFinding::of_failure(&failure, session.elapsed(), self.is_own()) {
                Some(oracle_finding) => oracle_findings.push(oracle_finding),
                None => cut_short = Some(format!("{}: {}", failure.step, failure.error)),
            },
            None => match self.settle(&mut session) {
                Ok(settled) => {
                    oracle_findings.extend(oracles::judge_settled(&session, &settled, self.terms.within));
                }
                Err(error) => {
                    let failure = Failure { line: 0, column: 0, step: String::new(), error };
                    match OracleFinding::of_failure(&failure, session.elapsed(), self.is_own()) {
                        Some(oracle_finding) => oracle_findings.push(oracle_finding),
                        None => cut_short = Some(failure.error.to_string()),
                    }
                }
            },
        }
        let (virtual_time, now) = (session.elapsed() - start, session.elapsed());
        let marks = session.marks().clone();
        let record = session.into_record();
        look(&record);
        oracle_findings.extend(oracles::judge_record(&record, self.calm_from(), now));
        RunReport {
            oracle_findings,
            seen: coverage::seen(&record, &marks),
            alerts: coverage::defined_alerts(&record),
            virtual_time,
            cut_short,
            hash: if self.case.is_repeated() { record.hash() } else { String::new() },
        }
    }

    /// When all faults have ended; those of a scenario of the user are only in the record.
    fn calm_from(&self) -> Option<SignedDuration> {
        (!self.is_own()).then(|| self.case.end())
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

    const TERMS: Terms<'_> = Terms { within: SignedDuration::from_hours(1), mutant: None };

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
            assert_eq!(
                (report.hash, report.oracle_findings, report.seen),
                (whole.hash, whole.oracle_findings, whole.seen)
            );
        }
    }

    #[test]
    fn a_case_whose_steps_start_the_update_status_controller_runs_from_the_start() {
        let features = json!({ "feature-set": { "name": "DevPreviewNoUpgrade", "quick": true } });
        let prefix = case(vec![Moment::new(60, features), Moment::new(120, json!({ "advance": "30m" }))]);
        let fork = |at| {
            let mut fork = prefix.clone();
            fork.moments.push(not_ready(at, Some("3m")));
            fork
        };
        let fork = (2_000..3_000).map(fork).find(Case::is_repeated).unwrap();
        let whole = run(&fork, &Release::find, TERMS);
        let reports = run_forked(&prefix, std::slice::from_ref(&fork), &Release::find, TERMS);
        assert!(!whole.hash.is_empty());
        assert_eq!(reports, [whole], "a copy would start the controller again");
    }

    #[test]
    fn a_fault_without_an_end_keeps_a_cluster_from_converging_and_one_with_an_end_does_not() {
        let found = run(&case(vec![not_ready(60, None)]), &Release::find, TERMS);
        let causes: Vec<String> = found.oracle_findings.iter().map(OracleFinding::cause).collect();
        assert_eq!(causes.len(), 1, "{causes:?}");
        assert!(causes[0].starts_with("converges: Node worker-# has Ready=False"), "{causes:?}");
        let ended = run(&case(vec![not_ready(60, Some("5m"))]), &Release::find, TERMS);
        assert_eq!((ended.oracle_findings, ended.cut_short), (Vec::new(), None));
    }
}
