//! Starts the cluster of a session: installs it, or continues a snapshot.

mod beside;
mod components;
mod snapshots;

use std::sync::Arc;

use jiff::SignedDuration;
use windtunnel_core::clock::{Clock as _, Time, VirtualClock, after};
use windtunnel_core::resources::SECRETS;
use windtunnel_core::rng::Streams;
use windtunnel_core::{Identity, Operation, View, Write};
use windtunnel_openshift::cvo::InstalledPayload;
use windtunnel_openshift::environment::Environment;
use windtunnel_openshift::mco;

pub use self::beside::ComponentsBeside;
pub use self::components::component_names;
use self::snapshots::{SnapshotKey, StartPlan};
use super::error::SessionError;
use super::install;
use super::invariants::Invariants;
use super::mutants::MutantState;
use super::runtime::{Embedded, EmbeddedProgram, Simulation};
use super::session::Session;
use crate::backends::in_process::{ClientsBackend, InProcessBackend};
use crate::backends::{Backend, BackendError, Capabilities, ClusterConnection, Order, Stop, programs};
use crate::plan::{ClusterPlan, Permission, Plan, ProgramPlan};
use crate::record::{Header, INSTALLER, Record, Secrets};

/// The default start of a run's clock: 2024-01-15T08:00:00Z.
pub const EPOCH: Time = Time::constant(1_705_305_600, 0);

/// How long before the epoch the cluster is installed. Its components start and settle in that time.
const SETTLING: SignedDuration = SignedDuration::from_mins(2);

/// The parameters of a session besides its plan.
struct StartOptions<'a> {
    plan: &'a Plan,
    seed: u64,
    epoch: Time,
    /// Whether the session may continue a snapshot of an installed cluster.
    may_use_snapshot: bool,
    /// The mutant of the session, if there is one.
    mutant_state: Option<&'a MutantState>,
    /// The programs in Rust.
    embedded: &'a [EmbeddedProgram],
}

/// Why the programs of a plan do not run in a cluster with these capabilities.
fn without_programs(capabilities: Capabilities) -> SessionError {
    // The clock of the run waits until programs are done, and a connection over HTTPS learns of their writes later.
    if capabilities == Capabilities::OURS && programs::backend().is_some() {
        return SessionError::ProgramNotStarted(
            "the `programs` of a scenario do not run with `--backend served`. Use the default, `--backend in-process`, where \
             they reach the API server over HTTPS as well; or, to use the cluster with other clients meanwhile, \
             `windtunnel serve --scenario FILE --timeline --exit`"
                .to_owned(),
        );
    }
    SessionError::Unsupported(
        "the `programs` of a scenario run only with `run`, `test` and `serve`, and with `--backend in-process`".to_owned(),
    )
}

/// Checks that the user has allowed all programs: this holds for every command, whatever it checks itself.
fn check_permissions(plan: &ClusterPlan) -> Result<(), SessionError> {
    let is_missing = |program: &&ProgramPlan| matches!(program.permission, Permission::Missing { .. });
    let Some(program) = plan.programs.iter().find(is_missing) else { return Ok(()) };
    Err(SessionError::ProgramNotStarted(format!(
        "program `{}`: a file names it, and it may start only with `--allow-programs` of `run`, `test` and `serve`",
        program.name
    )))
}

/// Returns a write that merges an object of the plan into the one that the installer created, as `apply` does.
fn merged_if_there(view: &View, write: Write) -> Write {
    match &write.operation {
        Operation::Create(object) if view.get_key(&write.key()).is_some() => {
            Write::merge_patch(&write.resource, &write.namespace, &write.name, object.clone())
        }
        _ => write,
    }
}

impl StartOptions<'_> {
    fn header(&self, epoch: Time) -> Header {
        Header {
            scenario: self.plan.name.clone(),
            ids: self.plan.ids.clone(),
            seed: self.seed,
            epoch,
            windtunnel: env!("CARGO_PKG_VERSION").to_owned(),
            left_out: self.plan.cluster.past.left_out.iter().map(ToString::to_string).collect(),
        }
    }
}

impl Session {
    /// Installs the planned cluster. Its clock starts when everything is installed.
    ///
    /// # Errors
    /// The API server rejects an object of the plan.
    pub fn start(plan: &Plan, seed: u64) -> Result<Self, SessionError> {
        Self::start_on(&InProcessBackend, plan, seed)
    }

    /// Starts a session with a mutant in process. The mutant changes nothing before it is activated.
    ///
    /// # Errors
    /// As [`Session::start`].
    pub(in crate::engine) fn start_tampered(
        plan: &Plan,
        seed: u64,
        mutant_state: &MutantState,
    ) -> Result<Self, SessionError> {
        let epoch = plan.cluster.past.moment.unwrap_or(EPOCH);
        let mutant_state = Some(mutant_state);
        let options = StartOptions { plan, seed, epoch, may_use_snapshot: true, mutant_state, embedded: &[] };
        Self::start_with(&options, |minor, clock| {
            InProcessBackend.open(&Order { minor, seed, clock, stop: Stop::default() })
        })
    }

    /// Starts a session on a backend.
    ///
    /// # Errors
    /// As [`Session::start`]; the backend provides no cluster.
    pub fn start_on(backend: &dyn Backend, plan: &Plan, seed: u64) -> Result<Self, SessionError> {
        let epoch = backend.epoch().or(plan.cluster.past.moment).unwrap_or(EPOCH);
        let stop = backend.stop();
        let backend = Self::backend_for(&plan.cluster, backend);
        let may_use_snapshot = backend.is_always_the_same();
        let options = StartOptions { plan, seed, epoch, may_use_snapshot, mutant_state: None, embedded: &[] };
        Self::start_with(&options, |minor, clock| backend.open(&Order { minor, seed, clock, stop }))
    }

    /// Starts a session in process with programs in Rust. They start when the clock of the run does, or with their
    /// containers.
    ///
    /// # Errors
    /// As [`Session::start`].
    pub fn start_with_programs(
        plan: &Plan,
        seed: u64,
        embedded: &[EmbeddedProgram],
    ) -> Result<Self, SessionError> {
        let epoch = plan.cluster.past.moment.unwrap_or(EPOCH);
        let (may_use_snapshot, mutant_state) = (false, None);
        let options = StartOptions { plan, seed, epoch, may_use_snapshot, mutant_state, embedded };
        let serving = programs::backend().filter(|_| !plan.cluster.programs.is_empty());
        let backend = serving.unwrap_or(&ClientsBackend);
        Self::start_with(&options, |minor, clock| {
            backend.open(&Order { minor, seed, clock, stop: Stop::default() })
        })
    }

    /// The backend for a plan. A cluster in process needs another one if it has programs.
    fn backend_for<'a>(plan: &ClusterPlan, backend: &'a dyn Backend) -> &'a dyn Backend {
        let is_in_process = backend.is_always_the_same();
        let serving = programs::backend().filter(|_| is_in_process && !plan.programs.is_empty());
        serving.unwrap_or(backend)
    }

    /// Installs the planned cluster behind a cluster connection that the caller creates for a Kubernetes
    /// minor and the cluster's clock. The clock shows `epoch` when everything is installed.
    ///
    /// # Errors
    /// As [`Session::start`]; the caller creates no cluster.
    pub fn start_with_connection(
        plan: &ClusterPlan,
        seed: u64,
        epoch: Time,
        connect: impl FnOnce(u32, Arc<VirtualClock>) -> Result<Box<dyn ClusterConnection>, BackendError>,
    ) -> Result<Self, SessionError> {
        let plan = &Plan::new(plan.clone(), Vec::new());
        let options =
            StartOptions { plan, seed, epoch, may_use_snapshot: false, mutant_state: None, embedded: &[] };
        Self::start_with(&options, connect)
    }

    fn start_with(
        options: &StartOptions<'_>,
        connect: impl FnOnce(u32, Arc<VirtualClock>) -> Result<Box<dyn ClusterConnection>, BackendError>,
    ) -> Result<Self, SessionError> {
        // kube-runtime's back-off draws from this thread-local generator.
        fastrand::seed(options.seed);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .map_err(|_| SessionError::Ended)?;
        let simulation = runtime.block_on(Self::settled(options, connect))?;
        Ok(Self { simulation, runtime })
    }

    /// Returns the planned cluster after its components have started.
    async fn settled(
        options: &StartOptions<'_>,
        connect: impl FnOnce(u32, Arc<VirtualClock>) -> Result<Box<dyn ClusterConnection>, BackendError>,
    ) -> Result<Simulation, SessionError> {
        let environment = Arc::new(install::environment(&options.plan.cluster));
        let origins = if options.may_use_snapshot {
            SnapshotKey::all(&options.plan.cluster, options.seed, options.epoch)
        } else {
            Vec::new()
        };
        let (mut found, mut to_keep) = (None, Vec::new());
        for origin in &origins {
            let StartPlan { copy, keep_at } = origin.look_up(options.header(options.epoch), &environment);
            to_keep.extend(keep_at.map(|at| (at, origin)));
            found = copy;
            if found.is_some() {
                break;
            }
        }
        let mut simulation = match found {
            Some(copy) => *copy,
            None => {
                let installed = Self::install(options, environment, connect)?;
                // Most clusters share this origin.
                if let Some(origin) = origins.last() {
                    origin.keep(&installed, installed.now());
                }
                installed
            }
        };
        to_keep.sort_by_key(|(at, _)| *at);
        for (at, origin) in to_keep {
            simulation.run_until(at, |_| false).await?;
            origin.keep(&simulation, at);
        }
        // No copy is kept from here on, and no task runs beside the engine yet.
        if let Some(mutant_state) = options.mutant_state {
            simulation.tamper(mutant_state);
        }
        let epoch = simulation.record.header.epoch;
        simulation.run_until(epoch, |_| false).await?;
        simulation.start_programs_beside()?;
        simulation.start_embedded_beside();
        // They are ready before the first step.
        simulation.settle_with_controllers().await?;
        for origin in origins {
            origin.record_validity(&simulation);
        }
        simulation.observers.states.begin(&simulation.view);
        Ok(simulation)
    }

    fn install(
        options: &StartOptions<'_>,
        mut environment: Arc<Environment>,
        connect: impl FnOnce(u32, Arc<VirtualClock>) -> Result<Box<dyn ClusterConnection>, BackendError>,
    ) -> Result<Simulation, SessionError> {
        let plan = &options.plan.cluster;
        let clock = VirtualClock::starting_at(after(options.epoch, -SETTLING));
        let start = clock.now();
        let epoch = after(start, SETTLING);
        let streams = Streams::new(options.seed);
        let minor = plan.kubernetes_minor.unwrap_or(plan.release.kubernetes_minor);
        let mut connection = connect(minor, clock.clone())?;
        let capabilities = connection.capabilities();
        if !plan.programs.is_empty() && connection.programs().is_none() {
            return Err(without_programs(capabilities));
        }
        check_permissions(plan)?;
        if plan.kubernetes_minor.is_some() && !capabilities.any_kubernetes {
            return Err(SessionError::Unsupported(format!(
                "the scenario needs Kubernetes 1.{minor}, but this cluster's API server has a fixed version"
            )));
        }
        if capabilities.controllers {
            // The cluster's own controllers judge nodes by their Leases and the wall clock.
            let environment = Arc::make_mut(&mut environment);
            environment.has_controllers = true;
            environment.node_leases = true;
            environment.node_lease_stretch = capabilities.speed;
        }
        if !plan.programs.is_empty() || !options.embedded.is_empty() {
            connection.note_rights();
        }
        let record = Record::new(options.header(epoch), Vec::new());
        let mut simulation = Simulation::new(connection, clock, Arc::clone(&environment), streams, record);
        if plan.shows_secrets {
            simulation.observers.secrets = Arc::new(Secrets::shown());
        }
        // The reason of an earlier object that is rejected may contain them.
        let secrets = plan.objects.iter().map(|planned| &planned.object);
        let secrets = secrets.filter(|object| SECRETS.is_kind_of(object));
        secrets.for_each(|secret| simulation.observers.secrets.learn_secret(secret));
        simulation.observers.invariants = Invariants::new(plan.invariants.clone(), epoch);
        simulation.programs.plans = plan.programs.clone().into();
        simulation.embedded = Embedded::new(options.embedded.to_vec());
        simulation.api_server.is_pinned = plan.kubernetes_minor.is_some();
        simulation.api_server.minor =
            plan.kubernetes_minor.or_else(|| simulation.connection.fixed_kubernetes());
        if !capabilities.any_kubernetes {
            simulation.serve_kubernetes(minor);
        }
        simulation.take_changes();
        let installed = install::payload(plan);
        Self::install_objects(&mut simulation, plan, &installed, start)?;
        for (planned, write) in install::planned_writes(plan) {
            let write = merged_if_there(&simulation.view, write);
            Self::install_object(&mut simulation, &write).map_err(|error| error.at(planned.place))?;
        }
        simulation.take_over(&plan.past.objects)?;
        for (node, disk, static_pods) in install::machines(plan, &installed) {
            simulation.add_machine(&node, disk, static_pods);
        }
        for actor in components::of(&environment, streams, &simulation)? {
            simulation.add(actor);
        }
        Ok(simulation)
    }

    /// Creates the objects that the installer leaves, apart from those of the plan.
    fn install_objects(
        simulation: &mut Simulation,
        plan: &ClusterPlan,
        installed: &InstalledPayload<'_>,
        start: Time,
    ) -> Result<(), SessionError> {
        Self::install_all(simulation, install::first_writes(plan, installed, start))?;
        let cluster_version = simulation.view.cluster_version().cloned();
        let cluster_version = cluster_version.ok_or(SessionError::Ended)?;
        let mut rest = install::writes(plan, installed, &cluster_version, start);
        // The cluster's own DaemonSet controller would run the machines' programs in pods as well.
        let has_controllers = simulation.environment.has_controllers;
        rest.retain(|write| !has_controllers || write.key() != mco::daemon_set());
        Self::install_all(simulation, rest)?;
        let rendered = install::rendered_configs(plan, installed, &simulation.view);
        Self::install_all(simulation, rendered)
    }

    /// Makes the installer's writes. Skips existing objects, such as the API server's own namespaces.
    fn install_all(simulation: &mut Simulation, writes: Vec<Write>) -> Result<(), SessionError> {
        for write in writes {
            if write.verb() == "create" && simulation.view.get_key(&write.key()).is_some() {
                continue;
            }
            Self::install_object(simulation, &write)?;
        }
        Ok(())
    }

    /// Makes a write of the installer.
    fn install_object(simulation: &mut Simulation, write: &Write) -> Result<(), SessionError> {
        let answer = simulation.write(INSTALLER, &Identity::admin(), write);
        answer.map(drop).map_err(|rejection| {
            SessionError::refused(write, rejection)
                .redact_with(|text| simulation.observers.secrets.hide(text))
        })
    }
}
