//! Mutation tests of plans: one run without mutants, and one for each mutant that it could notice.

mod candidates;

use std::ops::ControlFlow;

use jiff::SignedDuration;

use self::candidates::{candidates, shuffle};
use super::error::SessionError;
pub use super::mutants::Mutant;
use super::mutants::{MutantState, Observed};
use super::run::{Failure, run_reported, run_steps};
use super::session::Session;
use super::step_state::StepState;
use super::workers::guarded;
use crate::plan::{Expectation, ExpectedTime, Plan, PlannedStep, Step};
use crate::record::Record;

/// How much longer a run with a mutant may be than the one without.
const TIME_FACTOR: i32 = 3;
/// The longest step ends before the run is stopped.
const SLACK: SignedDuration = SignedDuration::from_mins(1);
/// How many more turns a component may take as a mutant than without, and the number that it may take in any
/// case.
const TURNS_FACTOR: u64 = 20;
const TURNS_MIN: u64 = 20_000;
/// The number of turns of a mutant in a session that others run.
const OBSERVED_TURNS_MAX: u64 = 200_000;

/// A step of a plan that checks something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// The index of the step in the timeline.
    pub index: usize,
    /// Whether it held since before the last actions.
    pub held_before: bool,
}

/// The run of a plan without mutants, and the mutants that it can notice.
#[derive(Debug, Clone)]
pub struct Baseline {
    /// The hash of its record.
    pub hash: String,
    /// The steps that check something, in order.
    pub checks: Vec<Check>,
    /// All mutants, by name.
    pub mutants: Vec<Mutant>,
    length: SignedDuration,
    observed: Observed,
}

/// The outcome of a run with a mutant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Expectations failed that hold without the mutant.
    Killed,
    /// A strict run: an expectation has held since before the last actions.
    HeldBefore,
    /// The run could not be judged, and why.
    Stuck(String),
    /// The run passed.
    Survived,
    /// The mutant changed nothing before the run was over.
    NoEffect,
}

/// A run with a mutant.
#[derive(Debug, Clone)]
pub struct MutantRun {
    /// The outcome.
    pub verdict: Verdict,
    /// The steps that failed, by their indices in the timeline.
    pub broken: Vec<usize>,
    /// The number of steps that ran.
    pub reached: usize,
}

/// What the components of a session did, and what its mutant did to them.
pub struct Observation(MutantState);

impl Observation {
    /// The mutants that a run with this record can notice.
    pub fn mutants(&self, record: &Record) -> Vec<Mutant> {
        candidates(record, &self.0.lock().observed)
    }

    /// Whether the mutant changed anything.
    pub fn had_effect(&self) -> bool {
        self.0.lock().observed.hits > 0
    }
}

/// Starts a session with a mutant, or one without whose components are observed.
///
/// # Errors
/// The cluster could not be set up.
pub fn start_observed(
    plan: &Plan,
    seed: u64,
    mutant: Option<&Mutant>,
) -> Result<(Session, Observation), SessionError> {
    let mutant_state = MutantState::new(mutant.cloned(), OBSERVED_TURNS_MAX);
    let session = start(plan, seed, &mutant_state)?;
    Ok((session, Observation(mutant_state)))
}

/// Runs a plan without mutants.
///
/// # Errors
/// The cluster could not be set up.
pub fn run_baseline(plan: &Plan, seed: u64) -> Result<Result<Baseline, Failure>, SessionError> {
    let mutant_state = MutantState::new(None, 0);
    let mut session = start(plan, seed, &mutant_state)?;
    let mut checks = Vec::new();
    let failure = run_reported(&mut session, plan, &mut |session, planned, outcome| {
        if outcome.is_ok() && is_check(&planned.step) {
            let StepState { progress, last_actions, .. } = &session.simulation.steps;
            checks.push(Check { index: progress.step(), held_before: last_actions.held_before });
        }
    });
    if let Some(failure) = failure {
        return Ok(Err(failure));
    }
    let observed = mutant_state.lock().observed.clone();
    let length = session.elapsed();
    let record = session.into_record();
    let mutants = candidates(&record, &observed);
    Ok(Ok(Baseline { hash: record.hash(), checks, mutants, length, observed }))
}

impl Baseline {
    /// Returns at most `count` of these mutants, in the order of their names. The seed chooses among those that
    /// concern what the plan checks, and then among all.
    pub fn sample(plan: &Plan, mutants: &[Mutant], count: usize, seed: u64) -> Vec<Mutant> {
        let checks = plan.timeline.iter().filter(|planned| is_check(&planned.step));
        let checks: Vec<&str> = checks.map(|planned| planned.text.as_str()).collect();
        let mut sample = mutants.to_vec();
        shuffle(&mut sample, &checks, seed);
        sample.truncate(count);
        sample.sort_by_cached_key(ToString::to_string);
        sample
    }

    /// Runs the plan with a mutant: until the first failed expectation, or to its end (`goes_on`).
    pub fn run_mutant(&self, plan: &Plan, seed: u64, mutant: &Mutant, goes_on: bool) -> MutantRun {
        let run = guarded(|| self.run_unguarded(plan, seed, mutant, goes_on));
        run.unwrap_or_else(|why| MutantRun { verdict: Verdict::Stuck(why), broken: Vec::new(), reached: 0 })
    }

    fn run_unguarded(
        &self,
        plan: &Plan,
        seed: u64,
        mutant: &Mutant,
        goes_on: bool,
    ) -> Result<MutantRun, SessionError> {
        let turns = self.observed.turns.get(&mutant.component).copied().unwrap_or(0);
        let mutant_state = MutantState::new(Some(mutant.clone()), (turns * TURNS_FACTOR).max(TURNS_MIN));
        let (mut broken, mut held, mut stuck, mut reached) = (Vec::new(), false, None, 0);
        let mut session = start(plan, seed, &mutant_state)?;
        session.halt_after(self.length * TIME_FACTOR + longest_wait(plan) + SLACK);
        run_steps(&mut session, plan, |session, planned, outcome| {
            let index = session.simulation.steps.progress.step();
            reached += 1;
            match outcome {
                Ok(()) => {}
                Err(error) if error.is_unmet() && is_check(&planned.step) => broken.push(index),
                Err(SessionError::HeldBefore) => held = true,
                // The step passed, and later ones may show whether the plan itself notices.
                Err(SessionError::InvariantBroken(why)) => {
                    stuck.get_or_insert(format!("{}: {why}", planned.text));
                    session.ignore_invariants();
                }
                Err(error) => {
                    stuck = Some(format!("{}: {}", planned.text, one_line(&error)));
                    return ControlFlow::Break(());
                }
            }
            if !goes_on && (held || !broken.is_empty()) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        let mut observed = mutant_state.lock().observed.clone();
        if self.observed.rejection.is_some() {
            // Writes are rejected without the mutant as well.
            observed.rejection = None;
        }
        let verdict = verdict(&observed, stuck, held, &broken);
        Ok(MutantRun { verdict, broken, reached })
    }
}

fn verdict(observed: &Observed, stuck: Option<String>, held: bool, broken: &[usize]) -> Verdict {
    if observed.hits == 0 && broken.is_empty() && stuck.is_none() {
        return Verdict::NoEffect;
    }
    if let Some(rejection) = &observed.rejection {
        return Verdict::Stuck(format!("the API server rejected the mutant's write: {rejection}"));
    }
    if observed.is_endless {
        return Verdict::Stuck("the component took turns without end".to_owned());
    }
    match (broken, stuck, held) {
        ([_, ..], _, _) => Verdict::Killed,
        (_, Some(why), _) => Verdict::Stuck(why),
        (_, _, true) => Verdict::HeldBefore,
        _ => Verdict::Survived,
    }
}

fn start(plan: &Plan, seed: u64, mutant_state: &MutantState) -> Result<Session, SessionError> {
    let session = Session::start_tampered(plan, seed, mutant_state)?;
    mutant_state.activate(&session.simulation.view);
    Ok(session)
}

fn one_line(error: &SessionError) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

/// Returns whether a step checks something.
fn is_check(step: &Step) -> bool {
    match step {
        Step::Expect(_) | Step::Try(_) | Step::Retry(_) => true,
        Step::Run(run) => !run.checks.is_empty(),
        Step::Act(_) | Step::Advance(_) | Step::At(_) | Step::Keep(_) | Step::KeepCluster(_) => false,
    }
}

/// Returns the longest time that a step of the plan may wait.
fn longest_wait(plan: &Plan) -> SignedDuration {
    let wait = |planned: &PlannedStep| match &planned.step {
        Step::Expect(Expectation { when: ExpectedTime::Within(span), .. }) => Some(*span),
        _ => None,
    };
    plan.timeline.iter().filter_map(wait).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use windtunnel_core::resources::CLUSTER_VERSIONS;
    use windtunnel_openshift::release::Release;

    use super::*;
    use crate::engine::run_plan;
    use crate::plan::{
        Action, Check as PlannedCheck, ClusterPlan, ExpectedState, ObjectRef, ReleasePlan, Target, TextMatch,
    };

    /// Updates a cluster with insights, then takes these steps.
    fn update_and(steps: Vec<Step>) -> Plan {
        let find = |version: &str| Release::find(&version.parse().unwrap()).unwrap();
        let mut cluster = ClusterPlan { insights: true, worker_nodes: 1, ..ClusterPlan::new(find("4.20.1")) };
        cluster.releases = vec![ReleasePlan::plain(find("4.20.5"))];
        let step = |step| PlannedStep { line: 1, column: 1, text: "step".to_owned(), step };
        let update = Action::Update { to: Target::Version(find("4.20.5").version), force: false };
        Plan::new(cluster, [Step::Act(update)].into_iter().chain(steps).map(step).collect())
    }

    /// Expects a status of the condition `Progressing` of the ClusterVersion.
    fn expect_progressing(status: &str, when: ExpectedTime) -> Step {
        let (namespace, name) = (String::new(), "version".to_owned());
        let object = ObjectRef { resource: CLUSTER_VERSIONS, namespace, name };
        let kind = "Progressing".to_owned();
        let status = Some(TextMatch::Equals(status.to_owned()));
        let check = PlannedCheck::Condition { kind, status, reason: None, message: None };
        Step::Expect(Expectation { what: ExpectedState::Object(object, vec![check]), when })
    }

    /// Returns how a plan with a mutant of this name ends.
    #[track_caller]
    fn verdict(plan: &Plan, baseline: &Baseline, name: &str) -> Verdict {
        let mutant = baseline.mutants.iter().find(|mutant| mutant.to_string() == name);
        let mutant = mutant.unwrap_or_else(|| panic!("no mutant {name}"));
        baseline.run_mutant(plan, 1, mutant, false).verdict
    }

    #[test]
    fn false_answers_and_repeated_writes_have_consequences() {
        let plan = update_and(vec![
            expect_progressing("True", ExpectedTime::Within(SignedDuration::from_mins(5))),
            expect_progressing("True", ExpectedTime::Throughout(SignedDuration::from_mins(20))),
            expect_progressing("False", ExpectedTime::Within(SignedDuration::from_hours(3))),
        ]);
        let baseline = run_baseline(&plan, 1).unwrap().unwrap();
        let verdict = |name: &str| verdict(&plan, &baseline, &format!("cluster-version-operator: {name}"));
        let killed = [
            "ClusterVersion condition Progressing: old value again after 10 minutes",
            "writes of ClusterVersion: fail with 500",
            "changes of ClusterVersion: seen 10 minutes late",
        ];
        for name in killed {
            assert_eq!(verdict(name), Verdict::Killed, "{name}");
        }
        // The operator repeats a write whose answer is an error.
        for name in ["the first fails with 409", "the answer to the first is lost"] {
            assert_eq!(verdict(&format!("writes of ClusterVersion: {name}")), Verdict::Survived, "{name}");
        }
    }

    #[test]
    fn wrapped_components_without_a_mutant_leave_the_same_record() {
        let plan = update_and(vec![Step::Advance(SignedDuration::from_hours(1))]);
        let plain = run_plan(&plan, 1).unwrap().record.hash();
        // The third run starts from a copy of the second one's cluster.
        for _ in 0..3 {
            let baseline = run_baseline(&plan, 1).unwrap().unwrap();
            assert_eq!(baseline.hash, plain);
            assert!(baseline.mutants.len() > 100 && baseline.checks.is_empty());
        }
        assert_eq!(run_plan(&plan, 1).unwrap().record.hash(), plain, "no copy kept a wrapper");
    }
}
