//! What a simulated component is: an [`Actor`], which decides by what it is given.

use std::borrow::Cow;
use std::sync::Arc;

use jiff::SignedDuration;
use windtunnel_core::alert::{ActiveAlert, Alert};
use windtunnel_core::clock::Time;
use windtunnel_core::{Answer, Change, Identity, Key, Resource, View, Write};

use crate::counter::Counter;
use crate::environment::NodeEnvironment;
use crate::machine::{Disk, StaticPod};

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

    /// Replaces the environment that it knows, if it knows one: a copy of a cluster has an environment of its own.
    fn move_to(&mut self, _environment: &Arc<dyn NodeEnvironment>) {}

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
