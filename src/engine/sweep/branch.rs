//! One branch of a sweep: a copy of the cluster at a moment, which is asked to go elsewhere.

use jiff::SignedDuration;
use semver::Version;
use windtunnel_core::Object;
use windtunnel_core::clock::{Time, after};

use super::moments::Moment;
use super::verdict::{Judge, NodeStates, RejectedWrite, Verdict, node_states};
use crate::engine::cluster_copy::ClusterCopy;
use crate::engine::error::SessionError;
use crate::engine::restored::{self, Leftover};
use crate::engine::runtime::Simulation;
use crate::engine::session::Session;
use crate::plan::{Action, Target};
use crate::record::Event;

/// How long a cluster must stay arrived. Its status may be outdated at first: an operator that has not yet written that
/// it left reports that it is there.
const STAYING: SignedDuration = SignedDuration::from_mins(10);

/// The request to the copies of the cluster, or the fault in them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// Go to this release: the first one of the cluster, or a third one.
    GoTo(Version),
    /// Continue, after this component was killed.
    Kill(String),
}

impl Request {
    /// The requested release; `None` if the update just continues.
    pub(super) fn release(&self) -> Option<&Version> {
        match self {
            Self::GoTo(version) => Some(version),
            Self::Kill(_) => None,
        }
    }
}

/// The events from one moment on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// The moment.
    pub moment: Moment,
    /// The fate of the cluster.
    pub verdict: Verdict,
    /// How long it took, until it arrived or no more was to be expected.
    pub took: SignedDuration,
    /// The nodes at the moment.
    pub nodes_before: NodeStates,
    /// The nodes in the end.
    pub nodes_after: NodeStates,
    /// `metadata.generation` of ClusterVersion in the end.
    pub generation: i64,
    /// The differences of a cluster that arrived to the cluster before the update. Empty for another request than to go
    /// back.
    pub left_over: Vec<Leftover>,
}

/// A copy of the cluster at a moment, which no runtime runs yet.
pub(in crate::engine) struct Snapshot {
    pub(in crate::engine) moment: Moment,
    pub(in crate::engine) copy: ClusterCopy,
}

/// The terms that all branches of a sweep share.
#[derive(Debug, Clone)]
pub(in crate::engine) struct Terms {
    pub(in crate::engine) request: Request,
    /// `spec.desiredUpdate.force` of a request to go elsewhere.
    pub(in crate::engine) force: bool,
    /// The release that the cluster must reach.
    pub(in crate::engine) target: Version,
    /// How much cluster time each branch has.
    pub(in crate::engine) within: SignedDuration,
    /// Whether copies that arrive are compared with the cluster before the update.
    pub(in crate::engine) goes_back: bool,
    /// Whether they must be equal to it.
    pub(in crate::engine) must_be_restored: bool,
}

impl Snapshot {
    /// Copies a cluster. `None` if its API server cannot be copied.
    pub(in crate::engine) fn of(cluster: &Simulation, moment: Moment) -> Option<Self> {
        Some(Self { moment, copy: ClusterCopy::without_record(cluster)? })
    }

    /// Continues the copy to the end of the branch. The copy itself stays at its moment.
    pub(in crate::engine) fn run(&self, terms: &Terms) -> Branch {
        let Self { moment, copy } = self;
        let moment = moment.clone();
        let nodes_before = node_states(&copy.cluster().view);
        let mut session = match copy.resume() {
            Ok(session) => session,
            Err(error) => return Branch::failed(moment, error.to_string()),
        };
        let (mut verdict, end) = session.go(terms, &mut |_| {});
        let took = end.duration_since(copy.at());
        let nodes_after = node_states(session.view());
        let version = session.view().cluster_version();
        let generation = version.map_or(0, Object::generation);
        let is_back = terms.goes_back && verdict == Verdict::Safe;
        let Simulation { observers, view, environment, .. } = &session.simulation;
        let left_over = if is_back {
            restored::since_first_update(&observers.states, view, environment)
        } else {
            Vec::new()
        };
        if terms.must_be_restored && left_over.iter().any(Leftover::counts) {
            verdict = Verdict::LeftOver;
        }
        Branch { moment, verdict, took, nodes_before, nodes_after, generation, left_over }
    }
}

impl Branch {
    /// A branch that could not continue.
    pub(super) fn failed(moment: Moment, why: String) -> Self {
        Self {
            moment,
            verdict: Verdict::Failed(why),
            took: SignedDuration::ZERO,
            nodes_before: NodeStates::new(),
            nodes_after: NodeStates::new(),
            generation: 0,
            left_over: Vec::new(),
        }
    }
}

/// The verdict about a cluster that rejects the request itself, or that cannot continue.
fn failure(session: &Session, error: &SessionError) -> Verdict {
    let last = session.record().entries.iter().rev().find_map(|entry| match &entry.event {
        Event::Write(write) => Some(write),
        _ => None,
    });
    match (error, last) {
        (SessionError::Refused { .. }, Some(write)) => {
            Verdict::Trapped(vec![RejectedWrite { times: 1, ..RejectedWrite::of(write) }])
        }
        _ => Verdict::Failed(error.to_string()),
    }
}

impl Session {
    /// Copies the cluster at this moment. `None` if its API server cannot be copied.
    pub(in crate::engine) fn snapshot(&self, moment: Moment) -> Option<Snapshot> {
        // The clock of the cluster shows its time on its runtime only.
        let _guard = self.runtime.enter();
        Snapshot::of(&self.simulation, moment)
    }

    /// Makes the request, and waits until the fate of the cluster is known. Returns it with the time when the cluster
    /// arrived, or when no more was to be expected. `look` gets the settled cluster after each of its writes.
    pub(in crate::engine) fn go(
        &mut self,
        terms: &Terms,
        look: &mut dyn FnMut(&Simulation),
    ) -> (Verdict, Time) {
        go(self, terms, look).unwrap_or_else(|error| (failure(self, &error), self.now()))
    }
}

fn go(
    session: &mut Session,
    terms: &Terms,
    look: &mut dyn FnMut(&Simulation),
) -> Result<(Verdict, Time), SessionError> {
    match &terms.request {
        Request::GoTo(version) => {
            let to = Target::Version(version.clone());
            session.perform(&Action::Update { to, force: terms.force })?;
        }
        Request::Kill(component) => session.kill(component)?,
    }
    let Session { simulation, runtime } = session;
    runtime.block_on(wait_for_arrival(simulation, &terms.target, terms.within, look))
}

/// Waits until the fate of a cluster on its way to a release is known. Returns it with the time when the cluster arrived,
/// or when no more was to be expected. `look` gets the settled cluster after each of its writes.
///
/// # Errors
/// The cluster cannot continue.
pub(in crate::engine) async fn wait_for_arrival(
    simulation: &mut Simulation,
    target: &Version,
    within: SignedDuration,
    look: &mut dyn FnMut(&Simulation),
) -> Result<(Verdict, Time), SessionError> {
    let mut judge = Judge::new(target.clone(), simulation.now());
    let deadline = after(simulation.now(), within);
    loop {
        let is_decided = |cluster: &Simulation| {
            look(cluster);
            judge.is_decided(cluster)
        };
        simulation.run_until(deadline, is_decided).await?;
        let decided_at = simulation.now();
        if !judge.has_arrived(simulation) {
            return Ok((judge.verdict(simulation), decided_at));
        }
        let has_left = |cluster: &Simulation| {
            look(cluster);
            !judge.has_arrived(cluster)
        };
        let has_left = simulation.run_until(after(decided_at, STAYING), has_left).await?;
        if !has_left {
            return Ok((Verdict::Safe, decided_at));
        }
        if simulation.now() >= deadline {
            return Ok((judge.verdict(simulation), simulation.now()));
        }
    }
}
