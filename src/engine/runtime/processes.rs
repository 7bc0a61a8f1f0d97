//! Processes in containers: which simulated program a container stands for, and what became of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use windtunnel_controllers::Actor;
use windtunnel_controllers::schedule::ActorId;
use windtunnel_core::clock::Time;
use windtunnel_core::rng::Streams;
use windtunnel_core::{Identity, Key, Object};
use windtunnel_openshift::cvo;
use windtunnel_openshift::cvo::ClusterVersionOperator;
use windtunnel_openshift::world::World;

/// The container name of the embedded update status controller.
const UPDATE_STATUS_CONTROLLER: &str = "update-status-controller";

/// What a container stands for.
pub(in crate::engine) enum Program {
    /// An actor.
    Actor(Box<dyn Actor>),
    /// The update status controller, which runs as a real controller beside the engine under this identity.
    UpdateStatusController(Identity),
    /// Nothing that is simulated: it just runs.
    Other,
}

/// The program of a container of `pod`.
pub(in crate::engine) fn program(
    pod: &Object,
    container: &str,
    world: &Arc<World>,
    streams: Streams,
    now: Time,
) -> Program {
    match container {
        cvo::NAME => ClusterVersionOperator::start(pod, world, &streams, now)
            .map_or(Program::Other, |process| Program::Actor(Box::new(process))),
        UPDATE_STATUS_CONTROLLER => {
            let account = match pod.text("/spec/serviceAccountName") {
                "" => "default",
                name => name,
            };
            Program::UpdateStatusController(Identity::service_account(pod.namespace(), account))
        }
        _ => Program::Other,
    }
}

/// One running process.
#[derive(Debug)]
pub(in crate::engine) struct Process {
    /// The kubelet that started it and is told of its end.
    pub(in crate::engine) kubelet: ActorId,
    /// The simulated program, by its container's name; `None` for one that just runs, of which the record is silent.
    pub(in crate::engine) program: Option<String>,
    /// How it runs.
    pub(in crate::engine) running: Running,
}

/// How a process runs.
#[derive(Debug)]
pub(in crate::engine) enum Running {
    /// As an actor.
    Actor(ActorId),
    /// As a task of the runtime.
    Task(tokio::task::JoinHandle<()>),
    /// Not at all: nothing simulates it.
    Idle,
}

/// All running processes, by pod and container.
#[derive(Debug, Default)]
pub(in crate::engine) struct Processes {
    by_container: BTreeMap<(Key, String), Process>,
}

impl Processes {
    /// The same processes in another simulation; `None` where one is a task.
    pub(in crate::engine) fn copied(&self) -> Option<Self> {
        let copy = |((pod, container), process): (&(Key, String), &Process)| {
            let running = match process.running {
                Running::Actor(id) => Running::Actor(id),
                Running::Task(_) => return None,
                Running::Idle => Running::Idle,
            };
            let program = process.program.clone();
            Some(((pod.clone(), container.clone()), Process { kubelet: process.kubelet, program, running }))
        };
        let by_container = self.by_container.iter().map(copy).collect::<Option<_>>()?;
        Some(Self { by_container })
    }

    /// A process started.
    pub(in crate::engine) fn insert(&mut self, pod: Key, container: String, process: Process) {
        self.by_container.insert((pod, container), process);
    }

    /// The containers of a pod whose processes run.
    pub(in crate::engine) fn of_pod(&self, pod: &Key) -> Vec<String> {
        self.by_container
            .keys()
            .filter(|(key, _)| key == pod)
            .map(|(_, container)| container.clone())
            .collect()
    }

    /// The containers whose processes this kubelet started.
    pub(in crate::engine) fn started_by(&self, kubelet: ActorId) -> Vec<(Key, String)> {
        let started = self.by_container.iter().filter(|(_, process)| process.kubelet == kubelet);
        started.map(|(place, _)| place.clone()).collect()
    }

    /// A process by its container.
    pub(in crate::engine) fn get(&self, pod: &Key, container: &str) -> Option<&Process> {
        self.by_container.get(&(pod.clone(), container.to_owned()))
    }

    /// A process ended.
    pub(in crate::engine) fn remove(&mut self, pod: &Key, container: &str) -> Option<Process> {
        self.by_container.remove(&(pod.clone(), container.to_owned()))
    }

    /// The container that an actor runs in.
    pub(in crate::engine) fn of_actor(&self, actor: ActorId) -> Option<(Key, String)> {
        self.by_container
            .iter()
            .find(|(_, process)| matches!(process.running, Running::Actor(id) if id == actor))
            .map(|(place, _)| place.clone())
    }
}
