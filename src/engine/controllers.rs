//! Controllers beside an API server, without a scenario.

use std::sync::Arc;

use jiff::SignedDuration;
use windtunnel_controllers::Actor;
use windtunnel_core::clock::{Clock as _, VirtualClock, after};
use windtunnel_core::rng::Streams;
use windtunnel_openshift::world::World;

use super::error::SessionError;
use super::simulation::Simulation;
use crate::backends::in_process::InProcess;
use crate::record::{Header, Record};

/// Pause before a look around where nobody asks for one.
const IDLE: SignedDuration = SignedDuration::from_hours(1);

/// Runs controllers beside a server until the future is dropped: what an API server alone lacks, such as garbage collection
/// and the deletion of namespaces. They live by the clock of the runtime, which may be paused.
///
/// ```
/// # use k8s_openapi::api::core::v1::ConfigMap;
/// # use kube::api::{Api, DeleteParams, PostParams};
/// # use kube::{Resource as _, runtime::wait::{await_condition, conditions::is_deleted}};
/// # use windtunnel_controllers::cleanup::garbage_collector::GarbageCollector;
/// # use windtunnel::{backends::in_process::InProcess, engine};
/// # use windtunnel_apiserver::ApiServer;
/// # use windtunnel_core::Identity;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let server = ApiServer::builder().kubernetes_minor(33).start();
/// tokio::spawn(engine::run(InProcess::of(server.clone()), vec![Box::new(GarbageCollector::new())]));
///
/// let config_maps: Api<ConfigMap> = Api::default_namespaced(server.client(&Identity::admin()));
/// # let mut owner = ConfigMap::default();
/// # owner.metadata.name = Some("owner".to_owned());
/// let owner = config_maps.create(&PostParams::default(), &owner).await?;
/// # let mut dependent = ConfigMap::default();
/// # dependent.metadata.name = Some("dependent".to_owned());
/// dependent.metadata.owner_references = Some(owner.owner_ref(&()).into_iter().collect());
/// let dependent = config_maps.create(&PostParams::default(), &dependent).await?;
/// config_maps.delete("owner", &DeleteParams::default()).await?;
/// let uid = dependent.metadata.uid.unwrap_or_default();
/// await_condition(config_maps, "dependent", is_deleted(&uid)).await?;
/// # Ok(())
/// # }
/// ```
///
/// [`windtunnel_controllers::kubernetes`] makes all of them; to have pods run, add a
/// [`Kubelet`](windtunnel_controllers::kubelet::Kubelet) for each node. Each speaks as the ServiceAccount that the real one has.
///
/// # Errors
/// It ends only where controllers make no progress at one moment.
pub async fn run(cluster: InProcess, controllers: Vec<Box<dyn Actor>>) -> SessionError {
    let now = cluster.shared().now();
    let clock = VirtualClock::starting_at(now);
    let header = Header {
        scenario: String::new(),
        ids: Vec::new(),
        seed: 0,
        epoch: now,
        windtunnel: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let record = Record { header, entries: Vec::new() };
    let mut simulation = Simulation::new(
        Box::new(cluster),
        Arc::clone(&clock),
        Arc::new(World::default()),
        Streams::new(0),
        record,
    );
    for controller in controllers {
        simulation.add(controller);
    }
    loop {
        // Before it is looked at what is there, so that nothing that follows is missed.
        let mut writes = simulation.door.subscribe();
        if let Err(error) = simulation.settle() {
            return error;
        }
        simulation.record.entries.clear();
        let next = simulation.due().unwrap_or(after(clock.now(), IDLE));
        // Either is a reason to look again, so it does not matter which it was.
        let _ = tokio::time::timeout_at(clock.instant_of(next), writes.changed()).await;
    }
}
