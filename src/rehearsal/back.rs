//! The way back: from which moments of the update the cluster arrives at its old release.
//!
//! A copy of the cluster is asked to go back at each moment at which an operator reports another version, and around the first
//! one from which it does not arrive at every write. The causes of the stops are repaired before the update where that is
//! possible, because the way back would meet them as well.

use std::sync::Arc;

use jiff::SignedDuration;
use semver::Version;
use serde_json::{Value, json};
use windtunnel_core::text::short_duration;

use super::milestones::SETTLING;
use super::run::Rehearsed;
use crate::engine::sweep::{Branch, Moments, Options, Request, Verdict, sweep};
use crate::engine::{Session, SessionError};
use crate::plan::{Action, Plan, PlannedStep, Step, Target};
use crate::record::Secrets;

/// How much cluster time each copy has to arrive.
const WITHIN: SignedDuration = SignedDuration::from_hours(6);
/// The most reasons of a point of no return.
const REASONS_MAX: usize = 3;

/// What is known about the way back.
#[derive(Debug, Clone)]
pub struct Back {
    /// The release to which the cluster goes back.
    pub to: Version,
    /// The number of moments at which a copy was asked.
    pub moments: usize,
    /// The first moment from which the cluster does not arrive.
    pub no_return: Option<NoReturn>,
    /// The objects of the updated cluster that the old release rejects or changes.
    pub traps: Vec<String>,
}

impl Back {
    /// The way back as JSON.
    pub(super) fn to_json(&self) -> Value {
        let no_return = self
            .no_return
            .as_ref()
            .map(|found| json!({ "at": short_duration(found.at), "after": found.after, "why": found.why }));
        json!({
            "to": self.to.to_string(),
            "moments": self.moments,
            "pointOfNoReturn": no_return,
            "traps": self.traps,
        })
    }
}

/// The moment after which there is no way back.
#[derive(Debug, Clone)]
pub struct NoReturn {
    /// When, since the request of the update.
    pub at: SignedDuration,
    /// The last write before it.
    pub after: String,
    /// Why the cluster does not arrive.
    pub why: Vec<String>,
}

/// Asks copies of the cluster to go back in the last update of a run.
///
/// # Errors
/// The cluster cannot be set up or copied.
pub fn find_way_back(
    plan: &Plan,
    run: &Rehearsed,
    seed: u64,
    jobs: usize,
) -> Result<Option<Back>, SessionError> {
    let releases: Vec<Version> = run.requests.iter().filter_map(|(to, _)| to.parse().ok()).collect();
    let Some(before) = releases.len().checked_sub(1) else { return Ok(None) };
    let to = before.checked_sub(1).map_or(&plan.cluster.release.version, |index| &releases[index]);
    let update = updated(plan, run, seed)?;
    let options = Options {
        moments: Moments::EachOperator,
        request: Request::GoTo(to.clone()),
        within: WITHIN,
        must_be_restored: false,
        jobs,
    };
    let found = sweep(&update, seed, &options)?;
    let requested = run.requests.last().map_or(SignedDuration::ZERO, |(_, at)| *at);
    let no_return = found.branches.iter().find(|branch| !branch.verdict.arrives());
    Ok(Some(Back {
        to: to.clone(),
        moments: found.branches.len(),
        no_return: no_return.map(|branch| no_return_of(branch, requested, &found.secrets)),
        traps: Vec::new(),
    }))
}

fn no_return_of(branch: &Branch, requested: SignedDuration, secrets: &Arc<Secrets>) -> NoReturn {
    let why: Vec<String> = match &branch.verdict {
        Verdict::Trapped(writes) => {
            writes.iter().map(|write| format!("{}: {}", write.write, write.message)).collect()
        }
        Verdict::Stuck(waiting) => waiting.clone(),
        Verdict::Failed(why) => vec![why.clone()],
        Verdict::Safe | Verdict::LeftOver => Vec::new(),
    };
    NoReturn {
        at: branch.moment.at.saturating_sub(requested),
        after: branch.moment.last_write.clone(),
        why: why.iter().take(REASONS_MAX).map(|text| secrets.hide(text)).collect(),
    }
}

/// The plan of a run with its repairs: before the update where the cluster accepts them, else when the run made them.
fn updated(plan: &Plan, run: &Rehearsed, seed: u64) -> Result<Plan, SessionError> {
    let mut session = Session::start(plan, seed)?;
    for planned in &plan.timeline {
        session.run_step(&planned.step)?;
    }
    session.advance(SETTLING)?;
    let mut steps = vec![Step::Advance(SETTLING)];
    let mut later: Vec<(SignedDuration, Action)> = Vec::new();
    for stop in &run.stops {
        let Some(repair) = &stop.repair else { continue };
        match session.perform(repair.action()) {
            Ok(()) => steps.push(Step::Act(repair.action().clone())),
            Err(_) => later.push((stop.found_at, repair.action().clone())),
        }
    }
    let requests = run.requests.iter().filter_map(|(to, at)| {
        let to = Target::Version(to.parse().ok()?);
        Some((*at, Action::Update { to, force: false }))
    });
    later.extend(requests);
    later.sort_by_key(|(at, _)| *at);
    for (at, action) in later {
        steps.extend([Step::At(at), Step::Act(action)]);
    }
    // Long enough for everything that the run did after its last request.
    let took = run.pools.values().chain(&run.control_plane).max().copied().unwrap_or(WITHIN);
    steps.push(Step::Advance(took));
    let planned = steps.into_iter().map(|step| PlannedStep { line: 1, column: 1, text: String::new(), step });
    let mut plan = plan.clone();
    // A rule that the update breaks ends no way back.
    plan.cluster.invariants.clear();
    plan.timeline.extend(planned);
    Ok(plan)
}
