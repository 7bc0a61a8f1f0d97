//! Simulations of Kubernetes' controllers, scheduler and kubelet, in one module each.
//!
//! Actors decide, and the engine executes: [`Actor::step`] gets the component's input and returns its writes.
//! The struct of an actor is the memory of the component. Dropping it simulates a crash, after which a new
//! actor must continue from the API alone. Actors do not read clocks, have no clients, and draw random
//! numbers only from the streams that they were created with.
//!
//! * `actor.rs`: the trait [`Actor`], with its input, decisions and effects
//! * `schedule/`: turns of actors; `runner.rs` runs them beside an API server
//! * `workloads/`: Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs, CronJobs, autoscalers, disruption budgets
//! * `kubelet/` and `node_lifecycle/`: nodes and their pods; `machine.rs` is the machine beneath, `registry.rs` the
//!   results of pulls and containers, `registries_conf.rs` the mirrors that a node pulls from
//! * `cleanup/`: garbage collection, namespaces, volumes in use
//! * `endpoints/`, `scheduler/`, `service_accounts/`, `resource_quota/`: other controllers; `certificate_signing.rs`
//!   and `policy_status.rs`, too
//! * `faults.rs`: the faults of operators, nodes, pods and pools
//! * `marks.rs`: rare branches that an exploration should reach

mod actor;
pub mod certificate_signing;
pub mod cleanup;
pub mod counter;
pub mod endpoints;
pub mod environment;
pub mod event_log;
pub mod faults;
pub mod kubelet;
pub mod machine;
pub mod marks;
pub mod node_lifecycle;
pub mod owners;
pub mod policy_status;
pub mod recorder;
pub mod registries_conf;
pub mod registry;
pub mod resource_quota;
#[cfg(feature = "runner")]
pub mod runner;
pub mod schedule;
pub mod scheduler;
pub mod service_accounts;
pub mod testing;
mod version_differences;
pub mod workloads;
pub mod workqueue;

use windtunnel_core::rng::Streams;

pub use actor::{Actor, CloneActor, Effect, Input, Interest, Signal, Step};
pub use version_differences::ControllerVersion;

/// The annotation of pods and pod templates. The value `true` means that a simulated program implements their
/// containers.
pub const PROGRAM: &str = "windtunnel.dev/program";
/// The value of that annotation in the pod template of a DaemonSet whose programs run on machines instead of
/// in pods.
pub const ON_MACHINES: &str = "machine";

/// How the workloads of a release payload run that are no simulated programs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PayloadWorkloads {
    /// Without pods: after a while their status reports all pods as available.
    #[default]
    WithoutPods,
    /// In pods, like all other workloads.
    InPods,
}

/// The controllers of kube-controller-manager and the scheduler. They work independently of each other. Not among them are
/// [`resource_quota`], whose work an API server does by itself, and [`policy_status`].
pub fn kubernetes(streams: &Streams) -> Vec<Box<dyn Actor>> {
    kubernetes_with(streams, PayloadWorkloads::default(), None)
}

/// The same controllers, for workloads of a payload that run like this, and for an API server that stays at
/// Kubernetes 1.`server_minor` whatever the version of the controllers.
pub fn kubernetes_with(
    streams: &Streams,
    payload: PayloadWorkloads,
    server_minor: Option<u32>,
) -> Vec<Box<dyn Actor>> {
    let version = ControllerVersion::default().beside(server_minor);
    let deployments = workloads::deployments::DeploymentController::new(streams).with_payload(payload);
    let daemon_sets = workloads::daemon_sets::DaemonSetController::new(streams).with_payload(payload);
    let stateful_sets = workloads::stateful_sets::StatefulSetController::new().with_payload(payload);
    let disruption = workloads::disruption::DisruptionController::new().with_payload(payload);
    let of_replication = workloads::replica_sets::ReplicaSetController::for_replication_controllers();
    vec![
        Box::new(workloads::jobs::JobController::new().with_version(version)),
        Box::new(node_lifecycle::NodeLifecycleController::new().with_version(version)),
        Box::new(deployments.with_version(version)),
        Box::new(workloads::replica_sets::ReplicaSetController::new().with_version(version)),
        Box::new(daemon_sets.with_version(version)),
        Box::new(scheduler::Scheduler::new().with_version(version)),
        Box::new(cleanup::pod_gc::PodGarbageCollector::new()),
        Box::new(cleanup::garbage_collector::GarbageCollector::new()),
        Box::new(cleanup::namespaces::NamespaceController::new()),
        Box::new(disruption.with_version(version)),
        Box::new(service_accounts::ServiceAccountsController::new()),
        Box::new(endpoints::EndpointSliceController::new()),
        Box::new(endpoints::EndpointsController::new()),
        Box::new(workloads::cron_jobs::CronJobController::new().with_version(version)),
        Box::new(of_replication.with_version(version)),
        Box::new(stateful_sets.with_version(version)),
        Box::new(workloads::ttl_after_finished::TtlAfterFinishedController::new()),
        Box::new(cleanup::volume_protection::VolumeProtectionController::of_claims()),
        Box::new(cleanup::volume_protection::VolumeProtectionController::of_volumes()),
        Box::new(workloads::autoscaling::AutoscalerController::new().with_version(version)),
    ]
}
