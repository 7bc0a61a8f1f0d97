//! Runs an update once, and asks a copy of the cluster at each of its moments to go back.
//!
//! The update runs on the thread of the caller, which copies the cluster at each moment; other threads run the copies
//! to their ends.

mod branch;
mod killing;
mod moments;
mod routine;
mod verdict;

use std::sync::Arc;

use jiff::SignedDuration;
use semver::Version;

pub use self::branch::{Branch, Request};
pub(in crate::engine) use self::branch::{Snapshot, Terms};
pub(in crate::engine) use self::moments::Finder;
pub use self::moments::{Moment, Moments};
pub use self::routine::is_routine;
pub use self::verdict::{NodeStates, RejectedWrite, Verdict, trapped_writes};

pub(in crate::engine) use self::branch::wait_for_arrival;

use super::error::SessionError;
use super::run::{Failure, run_observed};
use super::session::Session;
use super::workers::{guarded, with_workers};
use crate::plan::{Action, Plan, Step, Target};
use crate::record::{Event, Secrets};

/// The questions of a sweep.
#[derive(Debug, Clone)]
pub struct Options {
    /// The moments at which copies of the cluster are asked. Of moments that leave writes out, a sweep searches on between the last
    /// one from which the cluster arrives and the first one from which it does not.
    pub moments: Moments,
    /// The request to them, or the fault in them.
    pub request: Request,
    /// How much cluster time each copy has.
    pub within: SignedDuration,
    /// Whether a copy that went back must be what the cluster was before the update.
    pub must_be_restored: bool,
    /// The number of copies that run at a time.
    pub jobs: usize,
}

/// The result of a sweep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sweep {
    /// A branch for each moment, in the order of time.
    pub branches: Vec<Branch>,
    /// The number of writes of the update.
    pub writes: usize,
    /// How long the update took.
    pub length: SignedDuration,
    /// The failed step of the plan, after which there are no moments.
    pub failure: Option<Failure>,
    /// The values of Secrets, which texts about the branches may contain.
    pub secrets: Arc<Secrets>,
}

/// Runs the plan with a seed in process, and a branch from each of its moments.
///
/// # Errors
/// The cluster could not be set up, or cannot be copied; it has no such component.
pub fn sweep(plan: &Plan, seed: u64, options: &Options) -> Result<Sweep, SessionError> {
    if !plan.cluster.programs.is_empty() {
        let why = "`sweep` copies the cluster, and the `programs` of a scenario cannot be copied";
        return Err(SessionError::Unsupported(why.to_owned()));
    }
    let mut session = Session::start(plan, seed)?;
    if let Request::Kill(component) = &options.request {
        session.component(component)?;
    }
    let (failure, mut branches) = run_with_branches(&mut session, plan, options);
    if let Some(moments) = unsampled(&branches, &options.moments) {
        let mut again = Session::start(plan, seed)?;
        let (_, between) = run_with_branches(&mut again, plan, &Options { moments, ..options.clone() });
        branches.extend(edge(between));
        branches.sort_by_key(|branch| (branch.moment.at, branch.moment.writes));
        branches.dedup_by(|one, other| one.moment == other.moment);
    }
    let (length, secrets) = (session.elapsed(), Arc::clone(session.secrets()));
    let record = session.into_record();
    let in_run = record.entries.iter().filter(|entry| !record.is_set_up(entry));
    let writes = in_run.filter(|entry| matches!(entry.event, Event::Write(_))).count();
    Ok(Sweep { branches, writes, length, failure, secrets })
}

/// Returns all moments between the last sampled one from which the cluster arrives and the first one from which it does not;
/// `None` if it arrives from all, or if nothing was left out.
fn unsampled(branches: &[Branch], moments: &Moments) -> Option<Moments> {
    if matches!(moments, Moments::EveryWrite | Moments::Within(..)) {
        return None;
    }
    let bad = branches.iter().position(|branch| !branch.verdict.arrives())?;
    let from = bad.checked_sub(1).map_or(SignedDuration::ZERO, |good| branches[good].moment.at);
    Some(Moments::Within(from, branches[bad].moment.at))
}

/// The first branch that does not arrive, and the one before it.
fn edge(branches: Vec<Branch>) -> impl Iterator<Item = Branch> {
    let bad = branches.iter().position(|branch| !branch.verdict.arrives()).unwrap_or(branches.len());
    let first = bad.saturating_sub(1);
    branches.into_iter().skip(first).take(bad + 1 - first)
}

/// Runs the plan on this thread, and its branches on others. Returns the failed step, and the branches in the order of
/// time.
fn run_with_branches(
    session: &mut Session,
    plan: &Plan,
    options: &Options,
) -> (Option<Failure>, Vec<Branch>) {
    let release = options.request.release();
    let terms = Terms {
        request: options.request.clone(),
        force: true,
        target: release.cloned().unwrap_or_else(|| last_target(plan)),
        within: options.within,
        goes_back: release == Some(&plan.cluster.release.version),
        must_be_restored: options.must_be_restored,
    };
    let mut finder = Finder::new(options.moments.clone(), release.cloned());
    let (failure, mut branches) = with_workers(
        options.jobs,
        |snapshot: Snapshot| run_branch(&snapshot, &terms),
        |sender| {
            run_observed(session, plan, move |cluster| {
                let moment = finder.look(cluster);
                if let Some(snapshot) = moment.and_then(|moment| Snapshot::of(cluster, moment)) {
                    // The workers live as long as the sender.
                    let _ = sender.send(snapshot);
                }
                finder.next()
            })
        },
    );
    branches.sort_by_key(|branch| (branch.moment.at, branch.moment.writes));
    (failure, branches)
}

/// The last release that the plan updates to.
fn last_target(plan: &Plan) -> Version {
    let updates = plan.timeline.iter().rev().find_map(|planned| match &planned.step {
        Step::Act(Action::Update { to: Target::Version(version), .. }) => Some(version.clone()),
        _ => None,
    });
    updates.unwrap_or_else(|| plan.cluster.release.version.clone())
}

/// Runs a branch to its end.
fn run_branch(snapshot: &Snapshot, terms: &Terms) -> Branch {
    guarded(|| Ok(snapshot.run(terms))).unwrap_or_else(|why| Branch::failed(snapshot.moment.clone(), why))
}
