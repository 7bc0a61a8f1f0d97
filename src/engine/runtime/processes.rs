//! Processes in containers, and the simulated programs that they run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::SignedDuration;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use windtunnel_controllers::Actor;
use windtunnel_controllers::schedule::ActorId;
use windtunnel_core::clock::Time;
use windtunnel_core::rng::Streams;
use windtunnel_core::{Identity, Key, Object};
use windtunnel_openshift::cvo::{self, ClusterVersionOperator};
use windtunnel_openshift::environment::Environment;

/// The exit code of a process that was killed by SIGKILL.
pub(in crate::engine) const KILLED: i64 = 137;

/// How long a crashed process is down that runs in no simulated pod, until its supervisor has restarted it.
/// Processes in pods wait for their kubelet.
pub(in crate::engine) const RESTART_DELAY: SignedDuration = SignedDuration::from_secs(1);

/// The container name of the embedded update status controller.
pub(in crate::engine) const UPDATE_STATUS_CONTROLLER: &str = "update-status-controller";

/// The program that a container runs.
pub(in crate::engine) enum Program {
    /// A simulated component.
    Actor(Box<dyn Actor>),
    /// The update status controller, which runs as a real controller beside the engine under this identity.
    UpdateStatusController(Identity),
    /// A program that is not simulated: it just runs.
    Other,
}

/// The program of a container of `pod`.
pub(in crate::engine) fn program(
    pod: &Object,
    container: &str,
    environment: &Arc<Environment>,
    streams: Streams,
    now: Time,
) -> Program {
    if environment.is_without(container) {
        return Program::Other;
    }
    match container {
        cvo::NAME => ClusterVersionOperator::start(pod, environment, &streams, now)
            .map_or(Program::Other, |process| Program::Actor(Box::new(process))),
        UPDATE_STATUS_CONTROLLER => Program::UpdateStatusController(account_of(pod)),
        _ => Program::Other,
    }
}

/// The identity of a pod's ServiceAccount.
pub(in crate::engine) fn account_of(pod: &Object) -> Identity {
    let account = match pod.text("/spec/serviceAccountName") {
        "" => "default",
        name => name,
    };
    Identity::service_account(pod.namespace(), account)
}

#[derive(Debug)]
pub(in crate::engine) struct Process {
    /// The kubelet that started it and is notified of its end.
    pub(in crate::engine) kubelet: ActorId,
    /// The simulated program, by its container's name; `None` for others, which the record leaves out.
    pub(in crate::engine) program: Option<String>,
    pub(in crate::engine) running: Running,
}

/// How a process runs.
#[derive(Debug)]
pub(in crate::engine) enum Running {
    /// As an actor.
    Actor(ActorId),
    /// As a task of the runtime.
    Task(Task),
    /// As a task that this copy of a cluster has not started yet.
    Suspended,
    /// As a process of the user's machine.
    Program,
    /// As nothing: the program is not simulated.
    Idle,
}

/// A task of the runtime that runs as a process.
#[derive(Debug)]
pub(in crate::engine) struct Task {
    pub(in crate::engine) handle: JoinHandle<()>,
    /// Asks the task to end in its own time, as SIGTERM does. `None` if it ends at once.
    pub(in crate::engine) stop: Option<Arc<Notify>>,
}

impl Task {
    /// A task that ends at once when it is asked to.
    pub(in crate::engine) fn ending_at_once(handle: JoinHandle<()>) -> Self {
        Self { handle, stop: None }
    }
}

/// All running processes, by pod and container.
#[derive(Debug, Default)]
pub(in crate::engine) struct Processes {
    by_container: BTreeMap<(Key, String), Process>,
    /// The containers of actors, because each of their log lines needs its container.
    of_actors: BTreeMap<ActorId, (Key, String)>,
    /// The containers whose processes a kubelet started.
    of_kubelets: BTreeMap<ActorId, BTreeSet<(Key, String)>>,
    /// When the first program started in a container.
    pub(in crate::engine) first_program: Option<Time>,
    /// When the first task beside the engine started.
    pub(in crate::engine) first_task: Option<Time>,
}

impl Processes {
    /// Copies the processes into another simulation, where tasks are suspended.
    pub(in crate::engine) fn copied(&self) -> Self {
        let copy = |((pod, container), process): (&(Key, String), &Process)| {
            let running = match process.running {
                Running::Actor(id) => Running::Actor(id),
                Running::Task(_) | Running::Suspended => Running::Suspended,
                Running::Program | Running::Idle => Running::Idle,
            };
            let program = process.program.clone();
            ((pod.clone(), container.clone()), Process { kubelet: process.kubelet, program, running })
        };
        let by_container = self.by_container.iter().map(copy).collect();
        let (of_actors, of_kubelets) = (self.of_actors.clone(), self.of_kubelets.clone());
        Self { by_container, of_actors, of_kubelets, ..*self }
    }

    /// Whether a process runs as a task of the runtime.
    pub(in crate::engine) fn has_tasks(&self) -> bool {
        self.by_container.values().any(|process| matches!(process.running, Running::Task(_)))
    }

    /// The containers of suspended tasks.
    pub(in crate::engine) fn suspended(&self) -> Vec<(Key, String)> {
        let suspended =
            self.by_container.iter().filter(|(_, process)| matches!(process.running, Running::Suspended));
        suspended.map(|(place, _)| place.clone()).collect()
    }

    /// Notes how a suspended task runs now.
    pub(in crate::engine) fn resume(&mut self, pod: &Key, container: &str, running: Running) {
        if let Some(process) = self.by_container.get_mut(&(pod.clone(), container.to_owned())) {
            process.running = running;
        }
    }

    /// Adds a started process.
    pub(in crate::engine) fn insert(&mut self, pod: Key, container: String, process: Process) {
        if let Running::Actor(actor) = process.running {
            self.of_actors.insert(actor, (pod.clone(), container.clone()));
        }
        let place = (pod, container);
        self.of_kubelets.entry(process.kubelet).or_default().insert(place.clone());
        self.by_container.insert(place, process);
    }

    /// The containers of a pod with a running process.
    pub(in crate::engine) fn of_pod(&self, pod: &Key) -> Vec<String> {
        let from = (pod.clone(), String::new());
        let containers = self.by_container.range(from..).map(|(place, _)| place);
        containers.take_while(|(key, _)| key == pod).map(|(_, container)| container.clone()).collect()
    }

    /// The containers whose processes this kubelet started.
    pub(in crate::engine) fn started_by(&self, kubelet: ActorId) -> Vec<(Key, String)> {
        self.of_kubelets.get(&kubelet).into_iter().flatten().cloned().collect()
    }

    pub(in crate::engine) fn get(&self, pod: &Key, container: &str) -> Option<&Process> {
        self.by_container.get(&(pod.clone(), container.to_owned()))
    }

    /// Removes an ended process.
    pub(in crate::engine) fn remove(&mut self, pod: &Key, container: &str) -> Option<Process> {
        let place = (pod.clone(), container.to_owned());
        let process = self.by_container.remove(&place)?;
        if let Running::Actor(actor) = process.running {
            self.of_actors.remove(&actor);
        }
        if let Some(places) = self.of_kubelets.get_mut(&process.kubelet) {
            places.remove(&place);
            if places.is_empty() {
                self.of_kubelets.remove(&process.kubelet);
            }
        }
        Some(process)
    }

    /// The container that an actor runs in.
    pub(in crate::engine) fn of_actor(&self, actor: ActorId) -> Option<&(Key, String)> {
        self.of_actors.get(&actor)
    }
}

#[cfg(test)]
mod tests {
    use windtunnel_core::resources::PODS;

    use super::*;

    #[test]
    fn processes_are_found_by_pod_and_by_kubelet() {
        let mut processes = Processes::default();
        let (pod, other) = (PODS.key("ns", "a"), PODS.key("ns", "ab"));
        for (pod, container, kubelet) in [(&pod, "x", 1), (&pod, "y", 2), (&other, "x", 1)] {
            let process = Process { kubelet, program: None, running: Running::Idle };
            processes.insert(pod.clone(), container.to_owned(), process);
        }
        assert_eq!(processes.of_pod(&pod), ["x", "y"]);
        let place = |pod: &Key| (pod.clone(), "x".to_owned());
        assert_eq!(processes.copied().started_by(1), [place(&pod), place(&other)]);
        assert!(processes.remove(&pod, "x").is_some());
        assert!(processes.remove(&pod, "x").is_none());
        assert_eq!(processes.of_pod(&pod), ["y"]);
        assert_eq!(processes.started_by(1), [place(&other)]);
    }
}
