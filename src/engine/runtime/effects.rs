//! What happens beneath the API: processes start and end, the kube-apiserver is rolled.

use std::sync::Arc;

use futures::StreamExt as _;
use windtunnel_controllers::schedule::ActorId;
use windtunnel_controllers::{Effect, Signal};
use windtunnel_core::alert::{ActiveAlert, Alert, AlertState};
use windtunnel_core::{Identity, Key};
use windtunnel_update_status::insights;

use super::processes::{Process, Program, Running, program};
use super::simulation::Simulation;
use crate::record::Event;

impl Simulation {
    /// Does what the actor `id` asked of the machines.
    pub(in crate::engine) fn effect(&mut self, id: ActorId, effect: Effect) {
        match effect {
            Effect::Start { pod, container } => self.start_process(id, pod, container),
            Effect::Terminate { pod } => self.terminate_processes(&pod),
            Effect::Kill { pod } => {
                for container in self.processes.of_pod(&pod) {
                    self.end_process(&pod, &container, 0);
                }
            }
            Effect::Exit => {
                if let Some((pod, container)) = self.processes.of_actor(id) {
                    self.end_process(&pod, &container, 0);
                }
            }
            Effect::Count(counter) => {
                self.schedule.deliver_count(counter.metric);
                self.exports.count(counter);
            }
            Effect::Alert(alert) => {
                self.note(Event::Alert(Box::new(alert.clone())));
                self.take_alert(alert);
            }
            Effect::WriteStaticPod { node, pod } => self.write_static_pod(&node, pod),
            Effect::Restart { node, program } => self.restart_on_machine(&node, &program),
            Effect::WriteDisk(disk) => self.write_disk(id, disk),
            Effect::Reboot { disk, silence } => self.reboot(id, disk, silence),
            Effect::ServeKubernetes { minor } if !self.pinned => {
                self.serve_kubernetes(minor);
                if self.door.capabilities().any_kubernetes {
                    self.note(Event::Kubernetes { minor });
                }
            }
            Effect::ServeKubernetes { .. } => {}
        }
    }

    fn start_process(&mut self, kubelet: ActorId, pod: Key, container: String) {
        let Some(object) = self.view.get_key(&pod).cloned() else { return };
        if self.processes.get(&pod, &container).is_some() {
            return; // A restarted kubelet asks again for what runs already.
        }
        let now = self.now();
        let running = match program(&object, &container, &self.world, self.streams, now) {
            Program::Actor(actor) => Running::Actor(self.add(actor)),
            Program::UpdateStatusController(identity) => {
                self.first_task.get_or_insert(now);
                Running::Task(self.spawn_insights(&identity))
            }
            Program::Other => Running::Idle,
        };
        let program = (!matches!(running, Running::Idle)).then(|| container.clone());
        if let Some(program) = &program {
            self.first_program.get_or_insert(now);
            self.note(Event::Process { program: program.clone(), pod: pod.name.clone(), started: true });
        }
        self.processes.insert(pod, container, Process { kubelet, program, running });
    }

    fn spawn_insights(&self, identity: &Identity) -> tokio::task::JoinHandle<()> {
        let client = self.door.client(identity);
        let clock = Arc::clone(&self.clock);
        let mut told = self.alerts.subscribe();
        // What is there at the start is told first.
        told.mark_changed();
        let alerts = futures::stream::unfold(told, async |mut told| {
            told.changed().await.ok()?;
            let alerts = told.borrow_and_update().clone();
            Some((Ok(alerts), told))
        });
        tokio::spawn(async move {
            // The controller retries by itself; it ends only with its process.
            let parts =
                insights::Parts { client, clock, alerts: Some(alerts.boxed()), observer: Arc::new(()) };
            let _ = insights::run(parts).await;
        })
    }

    /// What a component had counted is gone with it.
    pub(in crate::engine) fn forget_counts(&mut self, by: &str) {
        for metric in self.exports.forget(by) {
            self.schedule.deliver_count(metric);
        }
    }

    /// Takes in how an alert is now. It has been active since it was told first.
    fn take_alert(&self, alert: Alert) {
        let now = self.now();
        self.alerts.send_modify(|told| {
            let known = told.iter().position(|known| known.alert.labels == alert.labels);
            let active_at = known.map(|at| told.remove(at)).map_or(Some(now), |known| known.active_at);
            if alert.state != AlertState::Inactive {
                told.push(ActiveAlert { alert, active_at });
            }
        });
    }

    /// SIGTERM: an actor may end in its own time, everything else ends at once.
    fn terminate_processes(&mut self, pod: &Key) {
        for container in self.processes.of_pod(pod) {
            let running = self.processes.get(pod, &container).map(|process| &process.running);
            match running {
                Some(Running::Actor(id)) if self.is_running(*id) => self.signal(*id, Signal::Terminate),
                _ => self.end_process(pod, &container, 0),
            }
        }
    }

    /// The process of a container has ended with this exit code.
    pub(in crate::engine) fn end_process(&mut self, pod: &Key, container: &str, code: i64) {
        let Some(process) = self.processes.remove(pod, container) else { return };
        match process.running {
            Running::Actor(id) => self.remove(id),
            Running::Task(task) => task.abort(),
            Running::Idle => {}
        }
        self.signal(
            process.kubelet,
            Signal::Exited { pod: pod.clone(), container: container.to_owned(), code },
        );
        if let Some(program) = process.program {
            self.note(Event::Process { program, pod: pod.name.clone(), started: false });
        }
    }
}
