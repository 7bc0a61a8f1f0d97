//! One run of a rehearsal.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use semver::Version;
use windtunnel_core::clock::Time;
use windtunnel_core::cluster_operator::version_of;
use windtunnel_core::resources::{CLUSTER_OPERATORS, CLUSTER_VERSIONS, MACHINE_CONFIG_POOLS, PODS};
use windtunnel_core::{Object, View};

use super::cause::{self, Blamed, Found, Phase};
use super::milestones::{Milestones, SETTLING, is_accepted, is_completed, unfinished_pools};
use super::repair::Repair;
use crate::engine::{Session, SessionError};
use crate::plan::{Action, Plan, Target};
use crate::record::Record;

/// How often the rehearsal looks at the cluster.
const STEP: SignedDuration = SignedDuration::from_mins(1);
/// How long an update may make no progress, beside the grace periods of pods. It is longer than the first hour of a drain, after
/// which the machine-config operator reports it, and than any reboot.
const PATIENCE: SignedDuration = SignedDuration::from_mins(75);
/// The longest grace period that is waited for.
const GRACE_MAX: SignedDuration = SignedDuration::from_hours(24);
/// The most stops of a run. A cluster with more is not repaired step by step.
const STOPS_MAX: usize = 20;

/// A moment at which the update makes no progress any more.
#[derive(Debug, Clone)]
pub struct Stop {
    /// When the last progress was made, since the request of the update and without the time at earlier stops.
    pub at: SignedDuration,
    /// The release to which the cluster was updated.
    pub to: String,
    /// Where the update was: `accept`, `control-plane`, or `pool NAME`.
    pub phase: String,
    /// Who waits for what.
    pub waits: String,
    /// The object to blame; `None` if nothing explains the stop.
    pub cause: Option<Blamed>,
    /// The message that an administrator sees.
    pub message: String,
    /// What is half done.
    pub half_done: String,
    /// How to go on; `None` if the rehearsal ends here.
    pub repair: Option<Repair>,
    /// When the stop was found and repaired, since the start of the run.
    pub found_at: SignedDuration,
}

/// The result of one run.
#[derive(Debug, Clone, Default)]
pub struct Rehearsed {
    /// The stops, in the order in which the update met them.
    pub stops: Vec<Stop>,
    /// Whether the update was complete in the end, with all pools.
    pub is_complete: bool,
    /// From the request until the ClusterVersion was complete, without the time at stops.
    pub control_plane: Option<SignedDuration>,
    /// From the request until each pool was up to date, without the time at stops.
    pub pools: BTreeMap<String, SignedDuration>,
    /// When each update was requested, since the start of the run.
    pub requests: Vec<(String, SignedDuration)>,
}

/// Updates the cluster of a plan to each of these versions in turn, and goes on from each stop.
///
/// # Errors
/// The cluster cannot be set up; a component makes no progress in no time, which is a defect of windtunnel.
pub fn rehearse(plan: &Plan, targets: &[Version], seed: u64) -> Result<(Rehearsed, Record), SessionError> {
    let mut session = Session::start(plan, seed)?;
    for planned in &plan.timeline {
        session.run_recorded_step(&planned.text, &planned.step)?;
    }
    session.advance(SETTLING)?;
    let mut run = Run::new(session);
    for target in targets {
        run.request(target)?;
        run.finish()?;
        if !run.result.is_complete {
            break;
        }
    }
    Ok((run.result, run.session.into_record()))
}

/// A run after its request.
struct Run {
    session: Session,
    target: String,
    requested: Time,
    patience: SignedDuration,
    milestones: Milestones,
    /// The time at stops so far.
    stopped: SignedDuration,
    result: Rehearsed,
}

impl Run {
    fn new(session: Session) -> Self {
        let now = session.now();
        Self {
            patience: PATIENCE.saturating_add(longest_grace(session.view())),
            milestones: Milestones::at_request(session.view(), "", now),
            session,
            target: String::new(),
            requested: now,
            stopped: SignedDuration::ZERO,
            result: Rehearsed::default(),
        }
    }

    /// Requests the update to a version.
    fn request(&mut self, target: &Version) -> Result<(), SessionError> {
        let now = self.session.now();
        self.target = target.to_string();
        self.milestones = Milestones::at_request(self.session.view(), &self.target, now);
        let Rehearsed { stops, mut requests, .. } = std::mem::take(&mut self.result);
        requests.push((self.target.clone(), self.session.elapsed()));
        self.result = Rehearsed { stops, requests, ..Rehearsed::default() };
        self.session.note(&format!("update to {target}"), None);
        self.session.perform(&Action::Update { to: Target::Version(target.clone()), force: false })
    }

    fn finish(&mut self) -> Result<(), SessionError> {
        while !self.is_complete() {
            self.session.advance(STEP)?;
            let now = self.session.now();
            self.milestones.note(self.session.view(), &self.target, now);
            self.note_times(now);
            if now.duration_since(self.milestones.last) > self.patience && !self.go_on(now) {
                return Ok(());
            }
        }
        self.result.is_complete = true;
        Ok(())
    }

    fn is_complete(&self) -> bool {
        let view = self.session.view();
        let version = view.get(&CLUSTER_VERSIONS, "", "version");
        version.is_some_and(|version| is_completed(version, &self.target))
            && unfinished_pools(view).is_empty()
    }

    /// Notes when the control plane and the pools were done.
    fn note_times(&mut self, now: Time) {
        let view = self.session.view();
        let passed = now.duration_since(self.requested).saturating_sub(self.stopped);
        let version = view.get(&CLUSTER_VERSIONS, "", "version");
        if version.is_none_or(|version| !is_completed(version, &self.target)) {
            return;
        }
        self.result.control_plane.get_or_insert(passed);
        let unfinished = unfinished_pools(view);
        let pools = view.list(&MACHINE_CONFIG_POOLS);
        for pool in pools.filter(|pool| pool.number("/status/machineCount").unwrap_or_default() > 0) {
            if !unfinished.iter().any(|name| name == pool.name()) {
                self.result.pools.entry(pool.name().to_owned()).or_insert(passed);
            }
        }
    }

    /// Notes a stop, and repairs its cause. Returns false if the run ends here.
    fn go_on(&mut self, now: Time) -> bool {
        let phase = self.phase();
        let since = self.milestones.last;
        let found = cause::find(&self.session, &phase, since);
        let is_known =
            |stop: &Stop| found.blamed.is_some() && stop.cause == found.blamed && stop.to == self.target;
        let is_repeated = self.result.stops.iter().any(is_known);
        let Found { blamed, waits, message, repair } = found;
        let half_done = self.half_done();
        let cause = blamed.as_ref().map_or_else(|| "an unknown cause".to_owned(), ToString::to_string);
        let number = self.result.stops.len() + 1;
        self.session.note(&format!("stop {number}, at {phase}: {cause}"), Some(&message));
        let found_at = self.session.elapsed();
        let may_go_on = !is_repeated && self.result.stops.len() + 1 < STOPS_MAX;
        // A change that the copy refuses ends the rehearsal at this stop.
        let repair = repair.filter(|repair| may_go_on && self.session.perform(repair.action()).is_ok());
        let at = since.duration_since(self.requested).saturating_sub(self.stopped);
        self.result.stops.push(Stop {
            at,
            to: self.target.clone(),
            phase: phase.to_string(),
            waits,
            cause: blamed,
            message,
            half_done,
            repair,
            found_at,
        });
        self.stopped = self.stopped.saturating_add(now.duration_since(since));
        self.milestones.last = now;
        self.result.stops.last().is_some_and(|stop| stop.repair.is_some())
    }

    fn phase(&self) -> Phase {
        let view = self.session.view();
        let version = view.get(&CLUSTER_VERSIONS, "", "version");
        if version.is_none_or(|version| !is_accepted(version, &self.target)) {
            return Phase::Accept;
        }
        if version.is_none_or(|version| !is_completed(version, &self.target)) {
            return Phase::ControlPlane;
        }
        Phase::Pool(unfinished_pools(view).into_iter().next().unwrap_or_default())
    }

    /// What an administrator would find half done.
    fn half_done(&self) -> String {
        let view = self.session.view();
        let pools = unfinished_pools(view);
        let version = view.get(&CLUSTER_VERSIONS, "", "version");
        if version.is_none_or(|version| !is_accepted(version, &self.target)) {
            return "nothing: the release is not accepted".to_owned();
        }
        let operators: Vec<&Object> = view.list(&CLUSTER_OPERATORS).collect();
        let is_done = |operator: &&&Object| version_of(operator, "operator") == Some(self.target.as_str());
        let done = operators.iter().filter(is_done).count();
        let pools = match pools.as_slice() {
            [] => "no pool is unfinished".to_owned(),
            [pool] => format!("pool {pool} is unfinished"),
            pools => format!("pools {} are unfinished", pools.join(", ")),
        };
        format!("{done} of {} operators have {}; {pools}", operators.len(), self.target)
    }
}

/// The longest grace period of a pod, at most a day.
fn longest_grace(view: &View) -> SignedDuration {
    let grace = view.list(&PODS).filter_map(|pod| pod.number("/spec/terminationGracePeriodSeconds"));
    SignedDuration::from_secs(grace.max().unwrap_or_default()).min(GRACE_MAX)
}
