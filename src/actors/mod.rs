//! How each component of a simulated cluster behaves, a folder each.
//!
//! An actor decides and the engine does: [`Actor::step`] gets what the component would see and returns what it wants
//! written. Its struct is the component's memory: dropping it is a crash, and a new one must find its way by the API
//! alone. Actors read no clock, hold no client and draw randomness only from the streams that they were made with.

pub mod cvo;
pub mod daemon_sets;
pub mod deployments;
pub mod disruption;
pub mod endpoints;
pub mod garbage_collector;
pub mod jobs;
pub mod kubelet;
pub mod mco;
pub mod monitoring;
pub mod namespaces;
pub mod node_lifecycle;
pub mod operators;
mod owners;
mod placement;
pub mod pod_gc;
mod recorder;
pub mod replica_sets;
pub mod scheduler;
pub mod service_accounts;
pub mod service_ca;
mod shares;
mod taints;
mod workqueue;

#[cfg(test)]
mod testing;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::SignedDuration;

use crate::base::clock::Time;
use crate::base::rng::Streams;
use crate::model::alert::{ActiveAlert, Alert};
use crate::model::counter::Counter;
use crate::model::machine::{Boot, Disk, StaticPod};
use crate::model::world::World;
use crate::model::{Answer, Change, Identity, Key, Resource, View, Write};

/// The annotation of pods, and of the pod templates of Deployments, that a simulated program stands for when its value is
/// `true`.
pub const PROGRAM: &str = "windtunnel.dev/program";
/// The value of that annotation in the pod template of a DaemonSet whose programs run on machines, and in no pods.
const ON_MACHINES: &str = "machine";

/// One component of the cluster. A copy of it goes on from where it is by itself: it has what it knows alone, and shares nothing
/// that changes.
pub trait Actor: Copied + Send {
    /// The name that the record and the timeline show, such as `cluster-version-operator`.
    fn name(&self) -> &str;

    /// The user that the API server sees.
    fn identity(&self) -> Identity;

    /// The user that the API server sees for one write, where it is another than [`Actor::identity`]: an actor may stand
    /// for several controllers.
    fn identity_for(&self, _write: &Write) -> Option<Identity> {
        None
    }

    /// The world that it knows, if it knows one: a copy of a cluster has a world of its own.
    fn world(&mut self) -> Option<&mut Arc<World>> {
        None
    }

    /// The changes that wake it.
    fn interests(&self) -> Vec<Interest>;

    /// Looks at what it was given and decides. Called when something of interest changed, when an answer or a signal
    /// is there, and when the time it asked for has come.
    fn step(&mut self, input: &Input<'_>) -> Step;
}

/// What makes a copy of an actor; whatever can be cloned has it.
pub trait Copied {
    /// An actor that knows and does the same from here on.
    fn copied(&self) -> Box<dyn Actor>;
}

impl<T: Actor + Clone + 'static> Copied for T {
    fn copied(&self) -> Box<dyn Actor> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Actor> {
    fn clone(&self) -> Self {
        (**self).copied()
    }
}

/// Changes that wake an actor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Interest {
    /// Every object of a kind.
    Kind(Resource),
    /// The objects of a kind in one namespace.
    In(Resource, String),
    /// The objects of a kind that have a label of this name, whatever its value.
    Labelled(Resource, String),
    /// The object of this key.
    Object(Key),
    /// Pods bound to this node.
    PodsOn(String),
    /// Objects of any kind, when who owns whom moves ([`Change::moves_ownership`]).
    Ownership,
    /// What components count by this metric ([`Input::counters`]).
    Counted(&'static str),
}

/// What an actor sees at one step.
#[derive(Debug)]
pub struct Input<'a> {
    /// The cluster as informers know it, with all of `changes` taken in.
    pub view: &'a View,
    /// What changed since the last step, of what it is interested in, oldest first. At the first step: empty; look at
    /// the view.
    pub changes: &'a [Change],
    /// Answers to the writes of earlier steps, in the order of the writes.
    pub answers: &'a [Answer],
    /// What the container runtime tells it.
    pub signals: &'a [Signal],
    /// The alerts that are pending or fire, as Prometheus answers who asks it.
    pub alerts: &'a [ActiveAlert],
    /// What running components have counted, as they answer who scrapes them.
    pub counters: &'a [Counter],
    /// The current moment.
    pub now: Time,
    /// How far its clock was set since the last step: what it waits for is due by that much later on the clock, for it counts the
    /// time and does not look at it.
    pub leap: SignedDuration,
}

/// What the container runtime tells a process or a kubelet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signal {
    /// To a process: SIGTERM, end cleanly.
    Terminate,
    /// To a kubelet: the process of this container of this pod has ended.
    Exited {
        /// The pod.
        pod: Key,
        /// The container's name.
        container: String,
        /// The exit code.
        code: i64,
    },
    /// To a kubelet: this file is among those that it runs pods from, perhaps in place of another.
    StaticPod(StaticPod),
}

/// What an actor decided.
#[derive(Debug, Default)]
pub struct Step {
    /// Requests to make, in this order. Each is answered in a later step.
    pub writes: Vec<Write>,
    /// When to step again even if nothing changes; replaces what was asked before. `None`: only on a change.
    pub wake_at: Option<Time>,
    /// What it is waiting for, in a few words, for the report of a run that got stuck. Empty: nothing.
    pub why: Cow<'static, str>,
    /// What it asks of the machines beneath the API.
    pub effects: Vec<Effect>,
}

/// What happens beneath the API, where only kubelets and the kube-apiserver's own operator reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// A kubelet starts the process of a container. A container that no simulated program stands for just runs.
    Start {
        /// The pod.
        pod: Key,
        /// The container's name.
        container: String,
    },
    /// A kubelet sends SIGTERM to the processes of a pod.
    Terminate {
        /// The pod.
        pod: Key,
    },
    /// A kubelet kills the processes of a pod.
    Kill {
        /// The pod.
        pod: Key,
    },
    /// The process that decided this has ended by itself.
    Exit,
    /// A program that runs on the machine beneath a node is to end and to begin again.
    Restart {
        /// The node.
        node: String,
        /// The program.
        program: String,
    },
    /// The machine-config daemon wrote this to the disk of its machine.
    WriteDisk(Disk),
    /// The machine-config daemon reboots its machine with this on its disk.
    Reboot {
        /// What is on the disk then.
        disk: Disk,
        /// How long nothing runs; `None`: it does not come back.
        silence: Option<SignedDuration>,
    },
    /// A file from which the kubelet of this node runs a pod is written, as the installers of the control plane's operators
    /// do.
    WriteStaticPod {
        /// The node.
        node: String,
        /// What is in the file.
        pod: StaticPod,
    },
    /// The process has counted up to this. Counters are not in the API: Prometheus asks the process.
    Count(Counter),
    /// Prometheus tells of an alert whose state is another now. Alerts are not in the API: people ask Prometheus.
    Alert(Alert),
    /// The kube-apiserver was rolled to Kubernetes 1.`minor`.
    ServeKubernetes {
        /// The minor.
        minor: u32,
    },
}

/// How long after a boot the machine-config daemon of a machine is there, in seconds.
const DAEMON_STARTS_SECONDS: (u64, u64) = (16, 24);

/// What runs on a machine: its kubelet first, and where there is something on its disk for it, its machine-config daemon. `boot`
/// is the start at `now` that they are to tell of; without one the machine has been running all along.
pub fn on_machine(
    node: &str,
    disk: &Disk,
    static_pods: &[StaticPod],
    boot: Option<Boot>,
    world: &Arc<World>,
    streams: &Streams,
    now: Time,
) -> Vec<Box<dyn Actor>> {
    let mut ready = now;
    let is_started = boot.is_some();
    if let Some(boot) = &boot {
        let (low, high) = DAEMON_STARTS_SECONDS;
        let millis =
            streams.stream(&format!("machine-config-daemon/{}", boot.id)).between(low * 1000, high * 1000);
        ready = now + SignedDuration::from_millis(i64::try_from(millis).unwrap_or(0));
    }
    let kubelet = match boot {
        Some(boot) => kubelet::Kubelet::booted(node, boot, Arc::clone(world), streams),
        None => kubelet::Kubelet::new(node, Arc::clone(world), streams),
    };
    let mut actors: Vec<Box<dyn Actor>> = vec![Box::new(kubelet.with_static_pods(static_pods))];
    if !disk.config.is_empty() {
        let daemon = mco::MachineConfigDaemon::new(node, disk.clone(), streams, ready);
        actors.push(Box::new(if is_started { daemon.started_anew() } else { daemon }));
    }
    actors
}

/// The controllers of Kubernetes itself: those of kube-controller-manager, and the scheduler. Each works alone as well.
pub fn kubernetes(streams: &Streams) -> Vec<Box<dyn Actor>> {
    vec![
        Box::new(jobs::JobController::new()),
        Box::new(node_lifecycle::NodeLifecycleController::new()),
        Box::new(deployments::DeploymentController::new(streams)),
        Box::new(replica_sets::ReplicaSetController::new()),
        Box::new(daemon_sets::DaemonSetController::new(streams)),
        Box::new(scheduler::Scheduler::new()),
        Box::new(pod_gc::PodGarbageCollector::new()),
        Box::new(garbage_collector::GarbageCollector::new()),
        Box::new(namespaces::NamespaceController::new()),
        Box::new(disruption::DisruptionController::new()),
        Box::new(service_accounts::ServiceAccountsController::new()),
        Box::new(endpoints::EndpointSliceController::new()),
        Box::new(endpoints::EndpointsController::new()),
    ]
}

/// The components of OpenShift around the cluster-version operator: Prometheus, and the operators of all releases of
/// `world`, by the facts of the newest release that has them.
pub fn controllers(world: &Arc<World>, streams: &Streams) -> Vec<Box<dyn Actor>> {
    let mut operators = BTreeMap::new();
    for component in world.releases.values().flat_map(|release| release.components.iter()) {
        if let Some(facts) = &component.operator {
            operators.insert(&facts.cluster_operator, (facts, &component.name));
        }
    }
    let mut actors: Vec<Box<dyn Actor>> = Vec::new();
    actors.push(Box::new(monitoring::Prometheus::new(Arc::clone(world))));
    let last = operators::LAST_MINOR_WITH_BACKUPS;
    if operators.contains_key(&"etcd".to_owned())
        && world.releases.keys().any(|version| version.minor <= last)
    {
        actors.push(Box::new(operators::BackupController::new(streams)));
    }
    let has_pools = world.releases.values().any(|release| release.defines(mco::POOLS));
    if let Some((facts, component)) = operators.get(&operators::NETWORK.to_owned()) {
        actors.push(Box::new(operators::ProxyController::new(facts, component)));
    }
    if let Some((facts, _)) = operators.get(&service_ca::CLUSTER_OPERATOR.to_owned())
        && !facts.deployment.is_empty()
    {
        actors.push(Box::new(service_ca::ServiceCa::new(facts, streams)));
    }
    for (facts, component) in operators.into_values() {
        // Payloads that people made for something else may have its ClusterOperator alone.
        if facts.cluster_operator == mco::CLUSTER_OPERATOR && has_pools && !facts.deployment.is_empty() {
            actors.extend(mco::operator(facts, component, world, streams));
            actors.extend(mco::controller(world, streams));
        } else {
            actors.push(Box::new(operators::Operator::new(facts, component, Arc::clone(world), streams)));
        }
    }
    actors
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::release::{Architecture, Component, Operator, Release};
    use semver::Version;

    fn release(version: &str, operators: &[&str]) -> Release {
        let component = |name: &&str| Component {
            name: format!("{name}-operator"),
            run_level: 50,
            manifests: 1,
            capabilities: Vec::new(),
            crds: Vec::new(),
            previews: Vec::new(),
            objects: Vec::new(),
            operator: Some(Operator { cluster_operator: (*name).to_owned(), ..Operator::default() }),
        };
        Release {
            version: Version::parse(version).unwrap(),
            image: String::new(),
            kubernetes_minor: 27,
            channels: Vec::new(),
            url: String::new(),
            architecture: Architecture::default(),
            known_capabilities: Vec::new(),
            preview_capabilities: Vec::new(),
            capability_sets: BTreeMap::new(),
            components: operators.iter().map(component).collect(),
            payload: None,
        }
    }

    #[test]
    fn a_cluster_has_the_operators_of_all_releases_once_each() {
        let releases = [release("4.14.8", &["dns", "etcd"]), release("4.15.2", &["etcd", "olm"])];
        let releases = releases.map(|release| (release.version.clone(), release)).into();
        let world = Arc::new(World { releases, ..World::default() });
        let actors = controllers(&world, &Streams::new(1));
        let names: Vec<&str> = actors.iter().map(|actor| actor.name()).collect();
        let expected = "prometheus operator/etcd-operator operator/dns-operator operator/etcd-operator operator/olm-operator";
        assert_eq!(names.join(" "), expected);
    }
}
