//! Runs a plan from its first step to its last.

use std::ops::ControlFlow;
use std::sync::Arc;

use jiff::SignedDuration;
use windtunnel_core::View;
use windtunnel_core::clock::Time;

use super::error::SessionError;
use super::runtime::{EmbeddedProgram, Simulation};
use super::session::Session;
use crate::backends::Backend;
use crate::backends::in_process::InProcessBackend;
use crate::backends::programs::Waited;
use crate::plan::{Differences, Plan, PlannedStep, Snapshot};
use crate::record::{Record, Secrets};

/// The outcome of a run.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The history of the run.
    pub record: Record,
    /// The failed step with its place in the scenario file; `None` if the run passed.
    pub failure: Option<Failure>,
    /// Snapshot texts to keep, with their files.
    pub snapshots: Vec<Snapshot>,
    /// The exact texts of the failed step that differ, or why none is replaced; `None` if it has none.
    pub differences: Option<Differences>,
    /// Virtual time that the run covered.
    pub virtual_time: SignedDuration,
    /// How long the run waited for programs of this machine; `None` without any.
    pub waited: Option<Waited>,
    /// The faults that never acted, each with the reason.
    pub idle_faults: Vec<String>,
    /// The values of Secrets, which the record and the failure lack.
    pub secrets: Arc<Secrets>,
}

/// The step that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Line in the scenario file; 0 if the cluster could not be set up.
    pub line: usize,
    /// Column in the scenario file.
    pub column: usize,
    /// The step in one line.
    pub step: String,
    /// The error.
    pub error: SessionError,
}

/// Runs a plan in process with a seed. A failed step ends the run.
///
/// # Errors
/// The cluster could not be set up.
pub fn run_plan(plan: &Plan, seed: u64) -> Result<Outcome, SessionError> {
    run_plan_on(&InProcessBackend, plan, seed)
}

/// Runs a plan on a backend.
///
/// # Errors
/// As [`run_plan`].
pub fn run_plan_on(backend: &dyn Backend, plan: &Plan, seed: u64) -> Result<Outcome, SessionError> {
    let mut session = Session::start_on(backend, plan, seed)?;
    let failure = run_in_session(&mut session, plan);
    Ok(outcome(session, failure))
}

/// Runs a plan in process with programs in Rust. Returns the outcome, and the cluster at the end.
///
/// # Errors
/// As [`run_plan`].
pub fn run_plan_with_programs(
    plan: &Plan,
    seed: u64,
    programs: &[EmbeddedProgram],
) -> Result<(Outcome, View), SessionError> {
    let mut session = Session::start_with_programs(plan, seed, programs)?;
    let failure = run_in_session(&mut session, plan);
    let view = session.view().clone();
    Ok((outcome(session, failure), view))
}

/// Returns the values of the Secrets in a plan, for texts about a run that has not started.
pub fn secrets_of(plan: &Plan) -> Secrets {
    if plan.cluster.shows_secrets { Secrets::shown() } else { Secrets::of_objects(plan.secrets()) }
}

/// Ends a session.
fn outcome(mut session: Session, failure: Option<Failure>) -> Outcome {
    let virtual_time = session.elapsed();
    let snapshots = session.take_snapshots();
    let differences = session.take_differences();
    let waited = session.waited_for_programs();
    let secrets = Arc::clone(session.secrets());
    let idle_faults = session.idle_faults(failure.is_some());
    let record = session.into_record();
    Outcome { record, failure, snapshots, differences, virtual_time, waited, idle_faults, secrets }
}

/// Runs the steps of a plan in a session whose cluster is ready: all, or in a copy of a cluster those from the one that the
/// original was in. Returns the step that failed, which ends the run; `None` also at the session's halt.
pub fn run_in_session(session: &mut Session, plan: &Plan) -> Option<Failure> {
    run_reported(session, plan, &mut |_, _, _| {})
}

/// As [`run_in_session`]; `look` gets the cluster whenever it has settled, and returns when it wants to look again even if
/// nothing happens.
pub(super) fn run_observed(
    session: &mut Session,
    plan: &Plan,
    look: impl FnMut(&Simulation) -> Option<Time> + Send + 'static,
) -> Option<Failure> {
    session.simulation.look = Some(Box::new(look));
    let failure = run_in_session(session, plan);
    session.simulation.look = None;
    failure
}

/// Gets the session, a step and its outcome, after the step.
pub(super) type Report<'r> = dyn FnMut(&Session, &PlannedStep, &Result<(), SessionError>) + 'r;

/// As [`run_in_session`], with a report of each step that ended.
pub(super) fn run_reported(session: &mut Session, plan: &Plan, report: &mut Report<'_>) -> Option<Failure> {
    let mut failure = None;
    run_steps(session, plan, |session, planned, outcome| {
        if outcome == Err(SessionError::Halted) {
            return ControlFlow::Break(());
        }
        report(session, planned, &outcome);
        let Err(error) = outcome else { return ControlFlow::Continue(()) };
        let PlannedStep { line, column, text, .. } = planned;
        let step = session.secrets().hide(text);
        failure = Some(Failure { line: *line, column: *column, step, error });
        ControlFlow::Break(())
    });
    failure
}

/// Runs the steps of a plan. `judge` gets the outcome of each, and says whether the run goes on.
pub(super) fn run_steps(
    session: &mut Session,
    plan: &Plan,
    mut judge: impl FnMut(&mut Session, &PlannedStep, Result<(), SessionError>) -> ControlFlow<()>,
) {
    session.learn_secrets(plan);
    if plan.strict == Some(true) {
        session.be_strict();
    }
    let first = session.simulation.steps.progress.step();
    for (index, planned) in plan.timeline.iter().enumerate().skip(first) {
        session.simulation.steps.progress.set_step(index);
        let outcome = session.run_recorded_step(&planned.text, &planned.step);
        if judge(session, planned, outcome).is_break() {
            break;
        }
    }
}
