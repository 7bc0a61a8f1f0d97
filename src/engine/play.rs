//! Plays a plan from its first step to its last.

use jiff::SignedDuration;

use super::error::SessionError;
use super::session::Session;
use crate::backends::Backend;
use crate::backends::in_process::Here;
use crate::plan::{Plan, PlannedStep, Snapshot};
use crate::record::Record;

/// How a played plan came out.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// All that happened.
    pub record: Record,
    /// Why it failed, with the place of the step in the scenario's file; `None`: it passed.
    pub failure: Option<Failure>,
    /// Texts to be kept, with their files.
    pub snapshots: Vec<Snapshot>,
    /// Virtual time that the run covered.
    pub virtual_time: SignedDuration,
}

/// The step that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Line in the scenario's file; 0 when the cluster could not be set up.
    pub line: usize,
    /// Column in the scenario's file.
    pub column: usize,
    /// The step in one line.
    pub step: String,
    /// What went wrong.
    pub error: SessionError,
}

/// Plays a plan with a seed. Steps after a failed one are not played.
///
/// # Errors
/// Only when the cluster could not be set up.
pub fn play(plan: &Plan, seed: u64) -> Result<Outcome, SessionError> {
    play_on(&Here, plan, seed)
}

/// The same in another place.
///
/// # Errors
/// As [`play`].
pub fn play_on(backend: &dyn Backend, plan: &Plan, seed: u64) -> Result<Outcome, SessionError> {
    let mut session = Session::start_on(backend, &plan.cluster, &plan.name, &plan.ids, seed)?;
    let failure = play_in(&mut session, plan);
    let virtual_time = session.elapsed();
    let snapshots = session.take_snapshots();
    Ok(Outcome { record: session.into_record(), failure, snapshots, virtual_time })
}

/// Plays the timeline of a plan in a session that has its cluster, up to the moment at which the session is to stop.
pub fn play_in(session: &mut Session, plan: &Plan) -> Option<Failure> {
    let mut failure = None;
    for planned in &plan.timeline {
        session.begin_step(&planned.text);
        let outcome = session.play(&planned.step);
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
