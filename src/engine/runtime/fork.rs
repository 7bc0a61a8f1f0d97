//! Copies of a running cluster, which continue separately.
//!
//! Actors share nothing that changes and an API server is a value, so every moment can be copied. A task with a kube
//! client cannot: it starts anew in the copy, as after a restart. A cluster with programs of the user is never copied.

use std::sync::Arc;

use windtunnel_core::Key;
use windtunnel_core::clock::{Time, VirtualClock};
use windtunnel_openshift::environment::Environment;

use super::metrics::Exports;
use super::processes::{Program, Running, Task, program};
use super::simulation::Simulation;
use crate::record::Record;

impl Simulation {
    /// A separate copy in `environment`, on the runtime of the caller, which continues `record`. `now` is the time of
    /// both. `None` if the API server cannot be copied.
    ///
    /// A task beside the engine, such as the update status controller, cannot be copied. It is suspended in the copy,
    /// until [`Simulation::start_suspended_tasks`].
    pub(in crate::engine) fn fork(
        &self,
        record: Record,
        now: Time,
        environment: Arc<Environment>,
    ) -> Option<Self> {
        let clock = VirtualClock::starting_at(now);
        let connection = self.connection.fork(clock.clone())?;
        let exports = Arc::new(Exports::clone(&self.observers.exports));
        let mut copy = Self::with_exports(connection, clock, environment, self.streams, record, exports);
        copy.view = self.view.clone();
        copy.observers.copy_from(&self.observers);
        copy.folding = self.folding.clone();
        copy.steps = self.steps.clone();
        copy.steps.snapshots.clear(); // those of the original are its own
        copy.alerts.send_replace(self.alerts.borrow().clone());
        copy.processes = self.processes.copied();
        copy.machines = self.machines.clone();
        copy.api_server = self.api_server.clone();
        copy.faults_in_effect = self.faults_in_effect.clone();
        copy.crashes = self.crashes.clone();
        copy.embedded = self.embedded.copied();
        copy.how = self.how;
        copy.copy_actors_from(self);
        Some(copy)
    }

    /// Whether tasks were running when this copy was made.
    pub(in crate::engine) fn has_suspended_tasks(&self) -> bool {
        !self.processes.suspended().is_empty()
    }

    /// Starts the tasks that were running when this copy was made. Like restarted processes, they remember nothing,
    /// and read the cluster again.
    pub(in crate::engine) fn start_suspended_tasks(&mut self) {
        for (pod, container) in self.processes.suspended() {
            let running = self.start_task(&pod, &container);
            self.processes.resume(&pod, &container, running);
        }
        self.start_embedded_beside();
    }

    fn start_task(&self, pod: &Key, container: &str) -> Running {
        let object = self.view.get_key(pod);
        if let Some((_, task)) = object.and_then(|object| self.embedded_task(object, pod, container)) {
            return Running::Task(Task::ending_at_once(task));
        }
        let started =
            object.map(|object| program(object, container, &self.environment, self.streams, self.now()));
        match started {
            Some(Program::UpdateStatusController(identity)) => {
                Running::Task(self.spawn_insights(&identity, pod, container))
            }
            _ => Running::Idle,
        }
    }
}
