//! Takes a cluster to other releases and back, and compares it with its state before, and with a second cluster that had
//! the same timeline without the updates.

mod stay;

use jiff::SignedDuration;
use semver::Version;
use windtunnel_core::clock::{Time, after};
use windtunnel_core::resources::CLUSTER_OPERATORS;
use windtunnel_core::{cluster_version, condition, text_of};

use super::error::SessionError;
use super::restored::{Leftover, State, leftovers};
use super::run::{Failure, run_in_session};
use super::runtime::Simulation;
use super::session::Session;
use super::sweep::{Verdict, wait_for_arrival};
use crate::plan::{Action, Plan, Target};
use crate::record::Event;

/// How much cluster time the way back may take.
const WAY_BACK: SignedDuration = SignedDuration::from_hours(6);

/// How long operators may still report progress after the cluster arrived.
const SETTLING: SignedDuration = SignedDuration::from_hours(1);

/// The outcome of a plan that leads to other releases and back.
#[derive(Debug)]
pub enum RoundTrip {
    /// A step of the plan failed.
    Failed(Failure),
    /// The plan requests no other release.
    NoUpdate,
    /// The cluster did not come back.
    Lost(Verdict),
    /// The cluster came back.
    Back(Box<Comparison>),
}

/// The differences of a cluster that came back.
#[derive(Debug)]
pub struct Comparison {
    /// The releases on the way, the first and the last are the same.
    pub releases: Vec<String>,
    /// Whether the plan ended elsewhere, so that the way back was added.
    pub is_rollback_added: bool,
    /// The differences to the state before, unless the cluster that stayed has them as well.
    pub left_over: Vec<Leftover>,
    /// The differences to the state before that the cluster that stayed has as well: they came with time, or with the other
    /// steps of the plan.
    pub drift: Vec<Leftover>,
    /// The differences to the cluster that stayed, where the state before is the same: what the updates prevented.
    pub only_stayed: Vec<Leftover>,
}

/// Runs a plan in process with a seed. If it ends at another release, lets the cluster go back at the end.
///
/// # Errors
/// A cluster could not be set up, or a component makes no progress.
pub fn run(plan: &Plan, seed: u64) -> Result<RoundTrip, SessionError> {
    let mut session = Session::start(plan, seed)?;
    if let Some(failure) = run_in_session(&mut session, plan) {
        return Ok(RoundTrip::Failed(failure));
    }
    let Some(before) = session.simulation.observers.states.first_departure().cloned() else {
        return Ok(RoundTrip::NoUpdate);
    };
    let Ok(home) = before.version().parse::<Version>() else { return Ok(RoundTrip::NoUpdate) };
    let is_rollback_added = target(&session.simulation) != home.to_string();
    if is_rollback_added {
        session.perform(&Action::Update { to: Target::Version(home.clone()), force: true })?;
    }
    match arrive(&mut session, &home)? {
        Verdict::Safe => {}
        other => return Ok(RoundTrip::Lost(other)),
    }
    let end = session.now();
    let stayed = stay::run(plan, seed, &step_times(&session.simulation), end)?;
    let now = State::of(session.view());
    let releases = releases(&session.simulation);
    let environment = session.environment();
    let (to_before, to_stayed) =
        (leftovers(&before, &now, environment), leftovers(&stayed, &now, environment));
    let has = |list: &[Leftover], leftover: &Leftover| list.iter().any(|other| other.is_at(leftover));
    let only_stayed = to_stayed.iter().filter(|leftover| !has(&to_before, leftover)).cloned().collect();
    let (left_over, drift) = to_before.into_iter().partition(|leftover| has(&to_stayed, leftover));
    Ok(RoundTrip::Back(Box::new(Comparison { releases, is_rollback_added, left_over, drift, only_stayed })))
}

/// Waits until the cluster is at a release, and no operator reports progress.
fn arrive(session: &mut Session, home: &Version) -> Result<Verdict, SessionError> {
    let Session { simulation, runtime } = session;
    runtime.block_on(async {
        let (verdict, _) = wait_for_arrival(simulation, home, WAY_BACK, &mut |_| {}).await?;
        if verdict == Verdict::Safe {
            let deadline = after(simulation.now(), SETTLING);
            simulation.run_until(deadline, is_calm).await?;
        }
        Ok(verdict)
    })
}

fn is_calm(simulation: &Simulation) -> bool {
    simulation.view.list(&CLUSTER_OPERATORS).all(|operator| !condition::is_true(operator, "Progressing"))
}

/// The release that ClusterVersion has as its target.
fn target(simulation: &Simulation) -> String {
    let version = simulation.view.cluster_version();
    version.map(|version| cluster_version::desired_version(version).to_owned()).unwrap_or_default()
}

/// The releases in the history, oldest first.
fn releases(simulation: &Simulation) -> Vec<String> {
    let version = simulation.view.cluster_version();
    let history = version.map(|version| version.list("/status/history")).unwrap_or_default();
    history.iter().rev().map(|entry| text_of(entry, "version").to_owned()).collect()
}

/// When each step of the timeline began.
fn step_times(simulation: &Simulation) -> Vec<Time> {
    let entries = simulation.record.entries.iter();
    entries.filter(|entry| matches!(entry.event, Event::Step { .. })).map(|entry| entry.at).collect()
}
