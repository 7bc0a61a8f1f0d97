//! The interface of simulated components: [`Actor`], whose decisions depend only on its input and its own
//! state.

use std::borrow::Cow;
use std::sync::Arc;

use jiff::SignedDuration;
use windtunnel_core::alert::{ActiveAlert, Alert};
use windtunnel_core::clock::Time;
use windtunnel_core::probe::ProbeKind;
use windtunnel_core::{Answer, Change, Identity, Key, Resource, View, Write};

use crate::counter::Counter;
use crate::environment::NodeEnvironment;
use crate::machine::{Disk, StaticPod};

/// A component of the cluster. A copy continues independently from the same state, so copies must not share
/// mutable state.
pub trait Actor: CloneActor + Send {
    /// Its name in the record and the timeline, such as `cluster-version-operator`.
    fn name(&self) -> &str;

    /// The user of its requests.
    fn identity(&self) -> Identity;

    /// The user of one write, if it differs from [`Actor::identity`]; an actor may implement several
    /// controllers.
    fn identity_for(&self, _write: &Write) -> Option<Identity> {
        None
    }

    /// Replaces the environment of an actor that uses one, because a copied cluster has its own environment.
    fn set_environment(&mut self, _environment: &Arc<dyn NodeEnvironment>) {}

    /// The changes that wake the actor.
    fn interests(&self) -> Vec<Interest>;

    /// Processes its input and decides what to do. The engine calls it when an object of interest changes,
    /// when an answer or signal arrives, and at the requested wake time.
    fn step(&mut self, input: &Input<'_>) -> Step;
}

/// Cloning of boxed actors. All cloneable actors implement it.
pub trait CloneActor {
    /// Returns an independent copy with the same state.
    fn copied(&self) -> Box<dyn Actor>;
}

impl<T: Actor + Clone + 'static> CloneActor for T {
    fn copied(&self) -> Box<dyn Actor> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Actor> {
    fn clone(&self) -> Self {
        (**self).copied()
    }
}

/// A filter of the changes that wake an actor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Interest {
    /// Every object of every kind.
    Everything,
    /// Every object of a kind.
    Kind(Resource),
    /// The objects of a kind in one namespace.
    In(Resource, String),
    /// The objects of a kind that have a label with this name and any value.
    Labelled(Resource, String),
    /// The object of this key.
    Object(Key),
    /// Pods bound to this node.
    PodsOn(String),
    /// Objects of any kind when their ownership changes ([`Change::affects_ownership`]).
    Ownership,
    /// Changes of the counters of this metric ([`Input::counters`]).
    Counted(&'static str),
}

/// The input of one step.
#[derive(Debug)]
pub struct Input<'a> {
    /// The cluster as informers see it, including all `changes`.
    pub view: &'a View,
    /// The changes of interest since the last step, oldest first. Empty at the first step, which should read
    /// the view.
    pub changes: &'a [Change],
    /// Answers to the writes of earlier steps, in the order of the writes.
    pub answers: &'a [Answer],
    /// Signals from the container runtime.
    pub signals: &'a [Signal],
    /// The pending and firing alerts in Prometheus.
    pub alerts: &'a [ActiveAlert],
    /// The counters of running components, as Prometheus scrapes them.
    pub counters: &'a [Counter],
    /// The current time.
    pub now: Time,
    /// How far the clock was set since the last step. Deadlines shift by this much, because components
    /// measure durations and do not compare wall-clock times.
    pub clock_shift: SignedDuration,
}

/// A signal of the container runtime to a process or a kubelet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signal {
    /// To a process: SIGTERM, a request to exit cleanly.
    Terminate,
    /// To a kubelet: the process of a container has exited.
    Exited {
        /// The pod.
        pod: Key,
        /// The container's name.
        container: String,
        /// The exit code.
        code: i64,
    },
    /// To a kubelet: the result of a probe.
    Probed {
        /// The pod.
        pod: Key,
        /// The container's name.
        container: String,
        /// The probe.
        kind: ProbeKind,
        /// Success, or the reason of the failure as Events report it.
        result: Result<(), String>,
    },
    /// To a kubelet: this static pod manifest was added or replaced.
    StaticPod(StaticPod),
}

/// The decisions of one step.
#[derive(Debug, Default)]
pub struct Step {
    /// Write requests, in order. Each is answered in a later step.
    pub writes: Vec<Write>,
    /// The time of the next step even if nothing changes; replaces the earlier value. `None`: only on a
    /// change.
    pub wake_at: Option<Time>,
    /// A short text saying what it waits for, for the report of a stuck run. Empty if it waits for nothing.
    pub why: Cow<'static, str>,
    /// Effects outside the API.
    pub effects: Vec<Effect>,
}

/// An effect outside the API, available to kubelets, the machine-config daemon and some operators.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// A kubelet starts the process of a container. A container without a simulated program just runs.
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
    /// A kubelet sends SIGTERM to the process of a container.
    TerminateContainer {
        /// The pod.
        pod: Key,
        /// The container's name.
        container: String,
    },
    /// A kubelet kills the process of a container.
    KillContainer {
        /// The pod.
        pod: Key,
        /// The container's name.
        container: String,
    },
    /// A kubelet probes the process of a container. [`Signal::Probed`] is the result.
    Probe {
        /// The pod.
        pod: Key,
        /// The container's name.
        container: String,
        /// The probe.
        kind: ProbeKind,
    },
    /// A kubelet brings the volumes of the processes of a pod up to date.
    RefreshVolumes {
        /// The pod.
        pod: Key,
    },
    /// The process that returned this effect exits.
    Exit,
    /// A program on the machine of a node is restarted.
    Restart {
        /// The node.
        node: String,
        /// The program.
        program: String,
    },
    /// The machine-config daemon writes the disk of its machine.
    WriteDisk(Disk),
    /// The machine-config daemon reboots its machine.
    Reboot {
        /// The content of the disk after the reboot.
        disk: Disk,
        /// The time until the machine is up again; `None` if it does not come back.
        silence: Option<SignedDuration>,
    },
    /// A static pod manifest is written for the kubelet of a node, as the installer pods of the control plane
    /// operators do.
    WriteStaticPod {
        /// The node.
        node: String,
        /// The manifest.
        pod: StaticPod,
    },
    /// A counter of the process changed. Counters are not in the API; Prometheus scrapes them from the
    /// process.
    Count(Counter),
    /// The process prints a line to the log of its container. Logs are not in the API; the API server reads
    /// them from the container runtime.
    Log(String),
    /// As [`Effect::Log`], for a line about one of the hundreds of manifests of a payload. Records leave it out.
    LogDetail(String),
    /// An alert changed its state. Alerts are not in the API; clients query Prometheus.
    Alert(Alert),
    /// The kube-apiserver was updated to Kubernetes 1.`minor`.
    ServeKubernetes {
        /// The minor version.
        minor: u32,
    },
}
