//! Kubernetes' own controllers, its scheduler and its kubelet, simulated: a folder each.
//!
//! An actor decides and the engine does: [`Actor::step`] gets what the component would see and returns what it wants
//! written. Its struct is the component's memory: dropping it is a crash, and a new one must find its way by the API
//! alone. Actors read no clock, hold no client and draw randomness only from the streams that they were made with.

mod actor;
pub mod cleanup;
pub mod counter;
pub mod endpoints;
pub mod environment;
pub mod faults;
pub mod kubelet;
pub mod machine;
pub mod node_lifecycle;
pub mod recorder;
pub mod registry;
pub mod scheduler;
pub mod service_accounts;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod workloads;
pub mod workqueue;

use windtunnel_core::rng::Streams;

pub use actor::{Actor, Copied, Effect, Input, Interest, Signal, Step};

/// The annotation of pods, and of the pod templates of Deployments, that a simulated program stands for when its value is
/// `true`.
pub const PROGRAM: &str = "windtunnel.dev/program";
/// The value of that annotation in the pod template of a DaemonSet whose programs run on machines, and in no pods.
pub const ON_MACHINES: &str = "machine";

/// The controllers of Kubernetes itself: those of kube-controller-manager, and the scheduler. Each works alone as well.
pub fn kubernetes(streams: &Streams) -> Vec<Box<dyn Actor>> {
    vec![
        Box::new(workloads::jobs::JobController::new()),
        Box::new(node_lifecycle::NodeLifecycleController::new()),
        Box::new(workloads::deployments::DeploymentController::new(streams)),
        Box::new(workloads::replica_sets::ReplicaSetController::new()),
        Box::new(workloads::daemon_sets::DaemonSetController::new(streams)),
        Box::new(scheduler::Scheduler::new()),
        Box::new(cleanup::pod_gc::PodGarbageCollector::new()),
        Box::new(cleanup::garbage_collector::GarbageCollector::new()),
        Box::new(cleanup::namespaces::NamespaceController::new()),
        Box::new(workloads::disruption::DisruptionController::new()),
        Box::new(service_accounts::ServiceAccountsController::new()),
        Box::new(endpoints::EndpointSliceController::new()),
        Box::new(endpoints::EndpointsController::new()),
    ]
}
