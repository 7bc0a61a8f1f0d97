//! Starts the cluster of a session: installs it, or continues a snapshot.

mod snapshots;

use std::sync::Arc;

use jiff::SignedDuration;
use windtunnel_core::clock::{Clock as _, Time, VirtualClock, after};
use windtunnel_core::resources::CLUSTER_VERSIONS;
use windtunnel_core::rng::Streams;
use windtunnel_core::{Identity, Operation, View, Write};
use windtunnel_openshift::environment::Environment;
use windtunnel_openshift::mco;

use self::snapshots::{SnapshotKey, StartPlan};
use super::error::SessionError;
use super::install;
use super::invariants::Invariants;
use super::mutants::Tampering;
use super::runtime::Simulation;
use super::session::Session;
use crate::backends::in_process::InProcessBackend;
use crate::backends::{Backend, BackendError, ClusterConnection, Order};
use crate::plan::ClusterPlan;
use crate::record::{Header, INSTALLER, Record};

/// The default start of a run's clock: 2024-01-15T08:00:00Z.
pub const EPOCH: Time = Time::constant(1_705_305_600, 0);

/// How long before the epoch the cluster is installed. Its components start and settle in that time.
const SETTLING: SignedDuration = SignedDuration::from_mins(2);

/// The parameters of a session besides its plan.
struct StartOptions<'a> {
    scenario: &'a str,
    ids: &'a [String],
    seed: u64,
    epoch: Time,
    /// Whether the session may continue a snapshot of an installed cluster.
    may_use_snapshot: bool,
    /// The mutant of the session, if there is one.
    tampering: Option<&'a Tampering>,
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
            scenario: self.scenario.to_owned(),
            ids: self.ids.to_vec(),
            seed: self.seed,
            epoch,
            windtunnel: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

impl Session {
    /// Installs the planned cluster. Its clock starts when everything is installed.
    ///
    /// # Errors
    /// The API server rejects an object of the plan.
    pub fn start(
        plan: &ClusterPlan,
        scenario: &str,
        ids: &[String],
        seed: u64,
    ) -> Result<Self, SessionError> {
        Self::start_on(&InProcessBackend, plan, scenario, ids, seed)
    }

    /// Starts a session with a mutant in process. The mutant changes nothing before it is activated.
    ///
    /// # Errors
    /// As [`Session::start`].
    pub(in crate::engine) fn start_tampered(
        plan: &ClusterPlan,
        scenario: &str,
        ids: &[String],
        seed: u64,
        tampering: &Tampering,
    ) -> Result<Self, SessionError> {
        let epoch = plan.past.moment.unwrap_or(EPOCH);
        let tampering = Some(tampering);
        let options = StartOptions { scenario, ids, seed, epoch, may_use_snapshot: true, tampering };
        Self::start_with(plan, &options, |minor, clock| InProcessBackend.open(&Order { minor, seed, clock }))
    }

    /// Starts a session on a backend.
    ///
    /// # Errors
    /// As [`Session::start`]; the backend provides no cluster.
    pub fn start_on(
        backend: &dyn Backend,
        plan: &ClusterPlan,
        scenario: &str,
        ids: &[String],
        seed: u64,
    ) -> Result<Self, SessionError> {
        let epoch = backend.epoch().or(plan.past.moment).unwrap_or(EPOCH);
        let may_use_snapshot = backend.is_always_the_same();
        let options = StartOptions { scenario, ids, seed, epoch, may_use_snapshot, tampering: None };
        Self::start_with(plan, &options, |minor, clock| backend.open(&Order { minor, seed, clock }))
    }

    /// Installs the planned cluster behind a cluster connection that the caller creates for a Kubernetes
    /// minor and the cluster's clock. The clock shows `epoch` when everything is installed.
    ///
    /// # Errors
    /// As [`Session::start`].
    pub fn start_with_connection(
        plan: &ClusterPlan,
        seed: u64,
        epoch: Time,
        connect: impl FnOnce(u32, Arc<VirtualClock>) -> Box<dyn ClusterConnection>,
    ) -> Result<Self, SessionError> {
        let (scenario, ids, may_use_snapshot) = ("", &[][..], false);
        let options = StartOptions { scenario, ids, seed, epoch, may_use_snapshot, tampering: None };
        Self::start_with(plan, &options, |minor, clock| Ok(connect(minor, clock)))
    }

    fn start_with(
        plan: &ClusterPlan,
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
        let simulation = runtime.block_on(Self::settled(plan, options, connect))?;
        Ok(Self { simulation, runtime })
    }

    /// Returns the planned cluster after its components have started.
    async fn settled(
        plan: &ClusterPlan,
        options: &StartOptions<'_>,
        connect: impl FnOnce(u32, Arc<VirtualClock>) -> Result<Box<dyn ClusterConnection>, BackendError>,
    ) -> Result<Simulation, SessionError> {
        let environment = Arc::new(install::environment(plan));
        let origins = if options.may_use_snapshot {
            SnapshotKey::all(plan, options.seed, options.epoch)
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
                let installed = Self::install(plan, options, environment, connect)?;
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
        if let Some(tampering) = options.tampering {
            simulation.tamper(tampering);
        }
        let epoch = simulation.record.header.epoch;
        simulation.run_until(epoch, |_| false).await?;
        for origin in origins {
            origin.record_validity(&simulation);
        }
        Ok(simulation)
    }

    fn install(
        plan: &ClusterPlan,
        options: &StartOptions<'_>,
        mut environment: Arc<Environment>,
        connect: impl FnOnce(u32, Arc<VirtualClock>) -> Result<Box<dyn ClusterConnection>, BackendError>,
    ) -> Result<Simulation, SessionError> {
        let clock = VirtualClock::starting_at(after(options.epoch, -SETTLING));
        let start = clock.now();
        let epoch = after(start, SETTLING);
        let streams = Streams::new(options.seed);
        let minor = plan.kubernetes_minor.unwrap_or(plan.release.kubernetes_minor);
        let connection = connect(minor, clock.clone())?;
        let capabilities = connection.capabilities();
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
        let record = Record { header: options.header(epoch), entries: Vec::new(), logs: Vec::new() };
        let mut simulation = Simulation::new(connection, clock, Arc::clone(&environment), streams, record);
        simulation.invariants = Invariants::new(plan.invariants.clone(), epoch);
        simulation.pinned = plan.kubernetes_minor.is_some();
        simulation.server_minor = plan.kubernetes_minor.or_else(|| simulation.connection.fixed_kubernetes());
        if !capabilities.any_kubernetes {
            simulation.serve_kubernetes(minor);
        }
        simulation.take_changes();
        let installed = install::payload(plan);
        Self::install_all(&mut simulation, install::first_writes(plan, &installed, start))?;
        let cluster_version = simulation.view.get(&CLUSTER_VERSIONS, "", "version").cloned();
        let cluster_version = cluster_version.ok_or(SessionError::Ended)?;
        let mut rest = install::writes(plan, &installed, &cluster_version, start);
        // The cluster's own DaemonSet controller would run the machines' programs in pods as well.
        rest.retain(|write| !environment.has_controllers || write.key() != mco::daemon_set());
        Self::install_all(&mut simulation, rest)?;
        for (planned, write) in install::planned_writes(plan) {
            let write = merged_if_there(&simulation.view, write);
            let answer = simulation.write(INSTALLER, &Identity::admin(), &write);
            answer.map_err(|refusal| SessionError::refused(&write, refusal).at(planned.place))?;
        }
        for (node, disk, static_pods) in install::machines(plan, &installed) {
            simulation.add_machine(&node, disk, static_pods);
        }
        if !capabilities.controllers {
            let payload = environment.payload_workloads;
            for actor in windtunnel_controllers::kubernetes_with(&streams, payload, simulation.server_minor) {
                simulation.add(actor);
            }
        }
        for actor in windtunnel_openshift::components(&environment, &streams) {
            simulation.add(actor);
        }
        Ok(simulation)
    }

    /// Makes the installer's writes. Skips existing objects, such as the API server's own namespaces.
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
}
