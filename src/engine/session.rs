//! A session: one simulated cluster on its own paused runtime, driven by commands. Between two commands time stands
//! still.

use std::sync::Arc;

use jiff::SignedDuration;

use super::error::SessionError;
use super::installed::{Beginning, Origin};
use super::invariants::Invariants;
use super::simulation::{Pending, Simulation};
use super::{act, check, check_status, command, install, kept};
use crate::actors::{self, Actor};
use crate::backends::in_process::Here;
use crate::backends::{Backend, BackendError, Door, Order};
use crate::base::clock::{Clock as _, Time, VirtualClock, after};
use crate::base::rng::Streams;
use crate::base::text::short_duration;
use crate::model::resources::CLUSTER_VERSIONS;
use crate::model::{Identity, View, Write};
use crate::record::{Event, Header, INSTALLER, Record};
use crate::scenario::plan::{Action, Attempt, ClusterPlan, Expectation, Run, Snapshot, Step, When};

/// When the clock of every run starts: 2024-01-15T08:00:00Z.
pub const EPOCH: Time = Time::constant(1_705_305_600, 0);

/// How long before that the cluster is installed: its components start and settle meanwhile.
const SETTLING: SignedDuration = SignedDuration::from_mins(2);

/// What a session begins with beside its plan.
struct Begin<'a> {
    scenario: &'a str,
    ids: &'a [String],
    seed: u64,
    epoch: Time,
    /// Whether it may go on from a cluster that was installed before.
    remembers: bool,
}

impl Begin<'_> {
    fn header(&self, epoch: Time) -> Header {
        Header {
            scenario: self.scenario.to_owned(),
            ids: self.ids.to_vec(),
            seed: self.seed,
            epoch,
            windtunnel: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

/// One simulated cluster and its time.
pub struct Session {
    pub(super) simulation: Simulation,
    // Dropped last: tasks of the simulation belong to it.
    pub(super) runtime: tokio::runtime::Runtime,
}

impl Session {
    /// Installs the planned cluster; its clock starts when everything is installed.
    ///
    /// # Errors
    /// An object of the plan that the API server refuses.
    pub fn start(
        plan: &ClusterPlan,
        scenario: &str,
        ids: &[String],
        seed: u64,
    ) -> Result<Self, SessionError> {
        Self::start_on(&Here, plan, scenario, ids, seed)
    }

    /// The same in another place.
    ///
    /// # Errors
    /// As [`Session::start`], and why there is no cluster.
    pub fn start_on(
        backend: &dyn Backend,
        plan: &ClusterPlan,
        scenario: &str,
        ids: &[String],
        seed: u64,
    ) -> Result<Self, SessionError> {
        let epoch = backend.epoch().or(plan.past.moment).unwrap_or(EPOCH);
        let begin = Begin { scenario, ids, seed, epoch, remembers: backend.is_always_the_same() };
        Self::begin(plan, &begin, |minor, clock| backend.open(&Order { minor, seed, clock }))
    }

    /// Installs the planned cluster behind a door that the caller makes of the Kubernetes minor and the cluster's clock;
    /// that shows `epoch` when everything is installed.
    ///
    /// # Errors
    /// As [`Session::start`].
    pub fn start_behind(
        plan: &ClusterPlan,
        seed: u64,
        epoch: Time,
        door: impl FnOnce(u32, Arc<VirtualClock>) -> Box<dyn Door>,
    ) -> Result<Self, SessionError> {
        let begin = Begin { scenario: "", ids: &[], seed, epoch, remembers: false };
        Self::begin(plan, &begin, |minor, clock| Ok(door(minor, clock)))
    }

    fn begin(
        plan: &ClusterPlan,
        begin: &Begin<'_>,
        door: impl FnOnce(u32, Arc<VirtualClock>) -> Result<Box<dyn Door>, BackendError>,
    ) -> Result<Self, SessionError> {
        // kube-runtime's back-off draws from this thread-local generator.
        fastrand::seed(begin.seed);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .map_err(|_| SessionError::Ended)?;
        let simulation = runtime.block_on(Self::settled(plan, begin, door))?;
        Ok(Self { simulation, runtime })
    }

    /// The planned cluster when all that it begins with has started.
    async fn settled(
        plan: &ClusterPlan,
        begin: &Begin<'_>,
        door: impl FnOnce(u32, Arc<VirtualClock>) -> Result<Box<dyn Door>, BackendError>,
    ) -> Result<Simulation, SessionError> {
        let origin = Origin { plan: plan.clone(), seed: begin.seed, epoch: begin.epoch };
        let origin = Some(origin).filter(|origin| begin.remembers && origin.is_small());
        let beginning = origin.as_ref().map(|origin| origin.begin(begin.header(begin.epoch)));
        let (mut simulation, keep_at) = match beginning {
            Some(Beginning::GoOn(copy)) => (*copy, None),
            Some(Beginning::Keep(at)) => (Self::install(plan, begin, door)?, Some(at)),
            Some(Beginning::Install) | None => (Self::install(plan, begin, door)?, None),
        };
        let epoch = simulation.record.header.epoch;
        if let (Some(origin), Some(at)) = (&origin, keep_at) {
            simulation.run_until(at, |_| false).await?;
            origin.keep(&simulation, at);
        }
        simulation.run_until(epoch, |_| false).await?;
        if let Some(origin) = origin {
            origin.remember(&simulation);
        }
        Ok(simulation)
    }

    fn install(
        plan: &ClusterPlan,
        begin: &Begin<'_>,
        door: impl FnOnce(u32, Arc<VirtualClock>) -> Result<Box<dyn Door>, BackendError>,
    ) -> Result<Simulation, SessionError> {
        let clock = VirtualClock::starting_at(after(begin.epoch, -SETTLING));
        let start = clock.now();
        let epoch = after(start, SETTLING);
        let streams = Streams::new(begin.seed);
        let minor = plan.kubernetes_minor.unwrap_or(plan.release.kubernetes_minor);
        let door = door(minor, clock.clone())?;
        let capabilities = door.capabilities();
        if plan.kubernetes_minor.is_some() && !capabilities.any_kubernetes {
            return Err(SessionError::Unable(format!(
                "the scenario is about Kubernetes 1.{minor}, and this cluster's API server cannot be chosen"
            )));
        }
        let mut world = install::world(plan);
        if capabilities.controllers {
            // Whoever watches over nodes there does so by their Leases, in the time of the wall.
            world.node_leases = true;
            world.node_lease_stretch = capabilities.speed;
        }
        let world = Arc::new(world);
        let record = Record { header: begin.header(epoch), entries: Vec::new() };
        let mut simulation = Simulation::new(door, clock, Arc::clone(&world), streams, record);
        simulation.invariants = Invariants::of(plan.invariants.clone(), epoch);
        simulation.pinned = plan.kubernetes_minor.is_some();
        if !capabilities.any_kubernetes {
            simulation.serve_kubernetes(minor);
        }
        simulation.take_changes();
        let installed = install::payload(plan);
        Self::install_all(&mut simulation, install::first_writes(plan, &installed, start))?;
        let cluster_version = simulation.view.get(&CLUSTER_VERSIONS, "", "version").cloned();
        let cluster_version = cluster_version.ok_or(SessionError::Ended)?;
        let rest = install::writes(plan, &installed, &cluster_version, start);
        Self::install_all(&mut simulation, rest)?;
        for (planned, write) in install::planned_writes(plan) {
            let answer = simulation.write(INSTALLER, &Identity::admin(), &write);
            answer.map_err(|refusal| SessionError::refused(&write, refusal).at(planned.place))?;
        }
        for (node, disk, static_pods) in install::machines(plan, &installed) {
            simulation.add_machine(&node, disk, static_pods);
        }
        if !capabilities.controllers {
            for actor in actors::kubernetes(&streams) {
                simulation.add(actor);
            }
        }
        for actor in actors::controllers(&world, &streams) {
            simulation.add(actor);
        }
        Ok(simulation)
    }

    /// Makes the installer's writes; what is there already, such as the API server's own namespaces, stays.
    fn install_all(simulation: &mut Simulation, writes: Vec<Write>) -> Result<(), SessionError> {
        for write in writes {
            if write.verb() == "create" && simulation.view.get_key(&write.key()).is_some() {
                continue;
            }
            let answer = simulation.write(INSTALLER, &Identity::admin(), &write);
            answer.map_err(|refusal| SessionError::refused(&write, refusal))?;
        }
        Ok(())
    }

    /// Has time stand still for good when so much of it has passed since the start: whatever goes on then ends with
    /// [`SessionError::Halted`].
    pub fn halt_after(&mut self, span: SignedDuration) {
        self.simulation.halt = Some(after(self.simulation.record.header.epoch, span));
    }

    /// Adds a component to those that a cluster has anyway.
    pub fn add(&mut self, actor: Box<dyn Actor>) {
        self.simulation.add(actor);
    }

    /// The current virtual moment.
    pub fn now(&self) -> Time {
        let _guard = self.runtime.enter();
        self.simulation.now()
    }

    /// Virtual time since the start.
    pub fn elapsed(&self) -> SignedDuration {
        self.now().duration_since(self.simulation.record.header.epoch)
    }

    /// The cluster as it is now.
    pub fn view(&self) -> &View {
        &self.simulation.view
    }

    /// What each component waits for, those that wait for something.
    pub fn pending(&self) -> Vec<Pending> {
        self.simulation.pending()
    }

    /// What happened so far.
    pub fn record(&self) -> &Record {
        &self.simulation.record
    }

    /// Takes the texts that expectations asked to be kept so far ([`Snapshot`] without a text).
    pub fn take_snapshots(&mut self) -> Vec<Snapshot> {
        std::mem::take(&mut self.simulation.snapshots)
    }

    /// Ends the run and gives its record.
    pub fn into_record(self) -> Record {
        self.simulation.record
    }

    /// Plays one step of a timeline.
    ///
    /// # Errors
    /// As [`Session::act`], [`Session::attempt`], [`Session::run`], [`Session::advance`] and [`Session::expect`].
    /// [`SessionError::Broken`]: an invariant that the plan holds was broken meanwhile.
    pub fn play(&mut self, step: &Step) -> Result<(), SessionError> {
        self.play_plainly(step).map_err(|error| self.simulation.blamed(error))
    }

    /// The same for a step that may be played again: what fails is not yet what came of it.
    pub(super) fn play_plainly(&mut self, step: &Step) -> Result<(), SessionError> {
        let filled = kept::filled(step, &self.simulation.kept).map_err(SessionError::Unmet)?;
        match &*filled {
            Step::Act(action) => self.act(action),
            Step::Try(attempt) => self.attempt(attempt),
            Step::Run(run) => self.run(run),
            Step::Advance(span) => self.advance(*span),
            Step::At(span) => self.advance_to(*span),
            Step::Expect(expectation) => self.expect(expectation),
            Step::Keep(keep) => self.keep(keep),
            Step::Retry(retry) => self.retry(retry),
        }?;
        match self.simulation.invariants.broken() {
            None => Ok(()),
            Some(why) => Err(SessionError::Broken(why.to_owned())),
        }
    }

    /// Lets virtual time pass.
    ///
    /// # Errors
    /// A component that makes no progress.
    pub fn advance(&mut self, span: SignedDuration) -> Result<(), SessionError> {
        let Self { simulation, runtime } = self;
        runtime.block_on(async {
            let deadline = after(simulation.now(), span);
            simulation.run_until(deadline, |_| false).await.map(|_| ())
        })
    }

    /// Lets virtual time pass until so much of it has passed since the start.
    ///
    /// # Errors
    /// As [`Session::advance`]; [`SessionError::Unmet`] if more has passed.
    pub fn advance_to(&mut self, span: SignedDuration) -> Result<(), SessionError> {
        let passed = self.elapsed();
        if passed > span {
            let passed = short_duration(passed);
            return Err(SessionError::Unmet(format!("that is over: {passed} have passed since the start")));
        }
        self.advance(span - passed)
    }

    /// Lets virtual time pass until it is `moment`; what others wrote meanwhile is seen even if that is past.
    ///
    /// # Errors
    /// As [`Session::advance`].
    pub fn run_to(&mut self, moment: Time) -> Result<(), SessionError> {
        let Self { simulation, runtime } = self;
        runtime.block_on(simulation.run_until(moment, |_| false)).map(|_| ())
    }

    /// When a component wants to look again by itself.
    pub fn due(&self) -> Option<Time> {
        self.simulation.due()
    }

    /// Forgets the record so far, for runs without end.
    pub fn forget(&mut self) {
        self.simulation.record.entries.clear();
    }

    /// Does what an administrator does.
    ///
    /// # Errors
    /// The API server's refusal, or a release that this run does not have.
    pub fn act(&mut self, action: &Action) -> Result<(), SessionError> {
        let Self { simulation, runtime } = self;
        runtime.block_on(async {
            simulation.settle()?;
            act::act(simulation, action)?;
            simulation.settle()
        })
    }

    /// Tries what the API server must refuse.
    ///
    /// # Errors
    /// [`SessionError::Unmet`] if it is not refused, or with other words.
    pub fn attempt(&mut self, attempt: &Attempt) -> Result<(), SessionError> {
        match self.act(&attempt.action) {
            Ok(()) => Err(SessionError::Unmet("the API server did not refuse it".to_owned())),
            Err(SessionError::Refused { message, .. }) => {
                match attempt.refused.iter().find(|text| !text.fits(&message)) {
                    None => Ok(()),
                    Some(text) => {
                        Err(SessionError::Unmet(format!("expected a refusal with {text}; it is: {message}")))
                    }
                }
            }
            Err(other) => Err(other),
        }
    }

    /// Runs a command of an administrator, and checks what came of it.
    ///
    /// # Errors
    /// [`SessionError::Unmet`] tells what it printed instead.
    pub fn run(&mut self, run: &Run) -> Result<(), SessionError> {
        let Self { simulation, runtime } = self;
        runtime.block_on(async {
            simulation.settle()?;
            let said = command::run(simulation, &run.command).await;
            simulation.settle()?;
            command::check(&said, &run.checks).map_err(SessionError::Unmet)
        })
    }

    /// Checks an expectation, now or while time passes.
    ///
    /// # Errors
    /// [`SessionError::Unmet`] tells what was seen instead and what the run is waiting for.
    pub fn expect(&mut self, expectation: &Expectation) -> Result<(), SessionError> {
        let Self { simulation, runtime } = self;
        let what = &expectation.what;
        check::can_be_known(simulation, what)?;
        runtime.block_on(async {
            let start = simulation.now();
            match expectation.when {
                When::Now => {
                    simulation.settle()?;
                    check_status::keep(simulation, what);
                    check::check(simulation, what, None).map_err(|why| check::unmet(simulation, &why))
                }
                When::Within(span) => {
                    let met = simulation
                        .run_until(after(start, span), |s| check::check(s, what, None).is_ok())
                        .await?;
                    if met {
                        return Ok(());
                    }
                    let why = check::check(simulation, what, None).err().unwrap_or_default();
                    Err(check::unmet(simulation, &why))
                }
                When::Throughout(span) => {
                    simulation.settle()?;
                    let baseline = simulation.view.clone();
                    let mut broken = None;
                    simulation
                        .run_until(after(start, span), |s| {
                            broken = check::check(s, what, Some(&baseline)).err();
                            broken.is_some()
                        })
                        .await?;
                    broken.map_or(Ok(()), |why| Err(check::unmet(simulation, &why)))
                }
            }
        })
    }

    /// Writes into the record that a step of the scenario begins.
    pub fn begin_step(&mut self, text: &str) {
        let _guard = self.runtime.enter();
        self.simulation.note(Event::Step { text: text.to_owned() });
    }

    /// Writes into the record how a step of the scenario ended.
    pub fn end_step(&mut self, text: &str, outcome: &Result<(), SessionError>) {
        let _guard = self.runtime.enter();
        let failure = outcome.as_ref().err().map(ToString::to_string);
        self.simulation.note(Event::Outcome { text: text.to_owned(), failure });
    }
}
