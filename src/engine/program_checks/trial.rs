//! One run of a plan with faults, from its start.

use std::sync::Arc;

use jiff::SignedDuration;

use super::placed_fault::PlacedFault;
use crate::backends::Stop;
use crate::backends::in_process::StoppableInProcess;
use crate::engine::error::SessionError;
use crate::engine::final_state::{End, end_of};
use crate::engine::run::{Failure, run_in_session};
use crate::engine::runtime::reads::Reads;
use crate::engine::session::Session;
use crate::plan::Plan;
use crate::record::{Entry, Secrets};

/// How long a cluster may settle after the last step, before its state is compared.
pub(super) const SETTLING: SignedDuration = SignedDuration::from_mins(1);

/// A run, with all that the search for faults needs.
pub(super) struct Trial {
    /// The end: the cluster, or the step that failed.
    pub(super) end: End,
    /// The record from the first step on.
    pub(super) entries: Vec<Entry>,
    /// The reads of programs and other clients.
    pub(super) reads: Reads,
    /// The values of Secrets.
    pub(super) secrets: Arc<Secrets>,
}

/// Runs a plan with faults, and lets the cluster settle. `stop` ends the run early.
///
/// # Errors
/// The cluster or a program could not be started.
pub(super) fn run(
    plan: &Plan,
    seed: u64,
    faults: &[PlacedFault],
    stop: &Stop,
) -> Result<Trial, SessionError> {
    let plan = PlacedFault::inserted_in(plan, faults);
    let mut session = Session::start_on(&StoppableInProcess(stop.clone()), &plan, seed)?;
    let first = session.record().entries.len();
    let failure = run_in_session(&mut session, &plan).or_else(|| {
        let error = session.advance(SETTLING).err()?;
        Some(Failure { line: 0, column: 0, step: "the minute after the last step".to_owned(), error })
    });
    let end = end_of(&session, failure);
    let entries = session.record().entries.get(first..).unwrap_or_default().to_vec();
    let (reads, secrets) = (std::mem::take(&mut session.simulation.reads), Arc::clone(session.secrets()));
    Ok(Trial { end, entries, reads, secrets })
}
