//! Components that run beside an API server without a cluster, in which only other clients create nodes.

use std::collections::BTreeSet;
use std::sync::Arc;

use windtunnel_controllers::Actor;
use windtunnel_core::clock::{Time, VirtualClock, after};
use windtunnel_core::rng::Streams;
use windtunnel_openshift::environment::{Environment, is_named};
use windtunnel_openshift::release::Release;

use super::SETTLING;
use super::components::{self, KUBELET, MACHINE_CONFIG_DAEMON};
use crate::backends::ClusterConnection;
use crate::engine::error::SessionError;
use crate::engine::install;
use crate::engine::runtime::{Simulation, UPDATE_STATUS_CONTROLLER};
use crate::engine::session::Session;
use crate::plan::{ClusterPlan, ReleasePlan};
use crate::record::{Header, Record};

/// Components to run beside an API server, by their names ([`component_names`](super::component_names)).
#[derive(Clone)]
pub struct ComponentsBeside {
    /// The names of the components.
    pub names: BTreeSet<String>,
    /// The release of the components.
    pub release: Release,
    /// The releases that exist beside it.
    pub others: Vec<Release>,
    /// Whether the API server stays at its Kubernetes version through updates.
    pub stays_at_version: bool,
    /// The controllers of Kubernetes.
    pub controllers: Vec<Box<dyn Actor>>,
}

impl ComponentsBeside {
    /// Whether one of the components is `name`.
    pub fn include(&self, name: &str) -> bool {
        self.names.iter().any(|wanted| is_named(name, wanted))
    }

    /// Whether a component needs the objects of OpenShift.
    pub fn need_openshift(&self) -> bool {
        self.names.iter().any(|name| !is_named(KUBELET, name))
    }

    /// The cluster that has only these components, and no nodes.
    fn plan(&self, server_minor: u32) -> ClusterPlan {
        ClusterPlan {
            control_plane_nodes: 0,
            worker_nodes: 0,
            node_leases: true,
            releases: self.others.iter().cloned().map(ReleasePlan::plain).collect(),
            kubernetes_minor: self.stays_at_version.then_some(server_minor),
            insights: self.include(UPDATE_STATUS_CONTROLLER),
            ..ClusterPlan::new(self.release.clone())
        }
    }
}

impl Session {
    /// Runs components beside an API server of Kubernetes 1.`server_minor` that other clients use. `connect` connects them
    /// with the clock of the session. `start` is the first moment that clients see; components of OpenShift start two
    /// minutes earlier.
    ///
    /// Components of OpenShift come with the objects of an installed cluster without nodes, unless there is a ClusterVersion
    /// already. Each Node that a client creates gets a machine with the kubelet and the machine-config daemon, if these are
    /// among the components.
    ///
    /// # Errors
    /// The release has no such component, or the API server rejects an object.
    pub fn start_beside(
        connect: impl FnOnce(Arc<VirtualClock>) -> Box<dyn ClusterConnection>,
        components: ComponentsBeside,
        server_minor: u32,
        seed: u64,
        start: Time,
    ) -> Result<Self, SessionError> {
        // As in other sessions: kube-runtime's back-off draws from this thread-local generator.
        fastrand::seed(seed);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .map_err(|_| SessionError::Ended)?;
        let simulation = runtime.block_on(async {
            let mut simulation = Self::beside(connect, components, server_minor, seed, start)?;
            simulation.run_until(start, |_| false).await?;
            simulation.observers.states.begin(&simulation.view);
            Ok::<_, SessionError>(simulation)
        })?;
        Ok(Self { simulation, runtime })
    }

    fn beside(
        connect: impl FnOnce(Arc<VirtualClock>) -> Box<dyn ClusterConnection>,
        components: ComponentsBeside,
        server_minor: u32,
        seed: u64,
        start: Time,
    ) -> Result<Simulation, SessionError> {
        let plan = components.plan(server_minor);
        let environment = environment(&components, &plan)?;
        let installed_at = if components.need_openshift() { after(start, -SETTLING) } else { start };
        let (clock, streams) = (VirtualClock::starting_at(installed_at), Streams::new(seed));
        let header = Header { seed, epoch: start, ..Header::default() };
        let record = Record::new(header, Vec::new());
        let connection = connect(clock.clone());
        let mut simulation = Simulation::new(connection, clock, Arc::clone(&environment), streams, record);
        simulation.api_server.is_pinned = components.stays_at_version;
        simulation.api_server.minor = components.stays_at_version.then_some(server_minor);
        simulation.take_changes();
        let is_installed = simulation.view.cluster_version().is_some();
        if components.need_openshift() && !is_installed {
            Self::install_objects(&mut simulation, &plan, &install::payload(&plan), installed_at)?;
        }
        let of_machines = [KUBELET, MACHINE_CONFIG_DAEMON];
        let is_enabled = of_machines.into_iter().any(|name| components.include(name));
        simulation.observers.adoption.enable(is_enabled, &simulation.view);
        let own = components::of(&environment, streams, &simulation)?;
        for actor in own.into_iter().chain(components.controllers) {
            simulation.add(actor);
        }
        Ok(simulation)
    }
}

/// The environment of a cluster without all components but these.
fn environment(components: &ComponentsBeside, plan: &ClusterPlan) -> Result<Arc<Environment>, SessionError> {
    let mut environment = Arc::new(install::environment(plan));
    let mut all = components::of_openshift(&environment);
    components::check(&components.names, &all)?;
    // Controllers of Kubernetes are added one by one.
    all.extend(
        windtunnel_controllers::kubernetes(&Streams::new(0)).iter().map(|actor| actor.name().to_owned()),
    );
    all.retain(|name| !components.include(name));
    Arc::make_mut(&mut environment).without = all;
    Ok(environment)
}
