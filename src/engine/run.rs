//! Runs a plan from its first step to its last.

use jiff::SignedDuration;

use super::error::SessionError;
use super::session::Session;
use crate::backends::Backend;
use crate::backends::in_process::InProcessBackend;
use crate::plan::{Plan, PlannedStep, Snapshot};
use crate::record::Record;

/// The outcome of a run.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The history of the run.
    pub record: Record,
    /// The failed step with its place in the scenario file; `None` if the run passed.
    pub failure: Option<Failure>,
    /// Snapshot texts to keep, with their files.
    pub snapshots: Vec<Snapshot>,
    /// Virtual time that the run covered.
    pub virtual_time: SignedDuration,
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
    let mut session = Session::start_on(backend, &plan.cluster, &plan.name, &plan.ids, seed)?;
    let failure = run_in_session(&mut session, plan);
    let virtual_time = session.elapsed();
    let snapshots = session.take_snapshots();
    Ok(Outcome { record: session.into_record(), failure, snapshots, virtual_time })
}

/// Runs the timeline of a plan in a session whose cluster is ready, at most until the session's halt.
pub fn run_in_session(session: &mut Session, plan: &Plan) -> Option<Failure> {
    let mut failure = None;
    if plan.strict {
        session.be_strict();
    }
    for planned in &plan.timeline {
        session.begin_step(&planned.text);
        let outcome = session.run_step(&planned.step);
        if outcome == Err(SessionError::Halted) {
            break;
        }
        session.end_step(&planned.text, &outcome);
        if let Err(error) = outcome {
            let PlannedStep { line, column, text, .. } = planned;
            failure = Some(Failure { line: *line, column: *column, step: text.clone(), error });
            break;
        }
    }
    failure
}
