//! Effects beneath the API: processes and machines that start and end, crashes, and kube-apiserver rollouts.

use std::sync::Arc;

use windtunnel_controllers::schedule::ActorId;
use windtunnel_controllers::{Effect, PayloadWorkloads, Signal};
use windtunnel_core::alert::{ActiveAlert, Alert, AlertState};
use windtunnel_core::clock::after;
use windtunnel_core::log::{Severity, klog};
use windtunnel_core::resources::PODS;
use windtunnel_core::{Key, Object};
use windtunnel_openshift::mco;

use super::logs::IsRecorded;
use super::processes::{KILLED, Process, Program, RESTART_DELAY, Running, Task, program};
use super::simulation::Simulation;
use crate::record::Event;

/// The exit code of a Go program that panics.
const PANIC: i64 = 2;

impl Simulation {
    /// Carries out an effect that the actor `id` requested.
    pub(in crate::engine) fn carry_out(&mut self, id: ActorId, effect: Effect) {
        match effect {
            Effect::Start { pod, container } => self.start_process(id, pod, container),
            Effect::Terminate { pod } => self.terminate_processes(&pod),
            Effect::Kill { pod } => {
                for container in self.processes.of_pod(&pod) {
                    self.end_process(&pod, &container, 0);
                }
            }
            Effect::TerminateContainer { pod, container } => self.terminate_process(&pod, &container),
            Effect::KillContainer { pod, container } => self.end_process(&pod, &container, KILLED),
            Effect::Probe { pod, container, kind } => self.probe_program(&pod, &container, kind),
            Effect::RefreshVolumes { pod } => self.refresh_volumes(&pod),
            Effect::Exit => {
                if let Some((pod, container)) = self.processes.of_actor(id).cloned() {
                    self.end_process(&pod, &container, 0);
                }
            }
            Effect::Count(counter) => {
                self.schedule.deliver_count(counter.metric);
                self.observers.exports.count(counter);
            }
            Effect::Log(text) => self.print(id, &text, IsRecorded::Yes),
            Effect::LogDetail(text) => self.print(id, &text, IsRecorded::No),
            Effect::Alert(alert) => {
                self.record_event(Event::Alert(Box::new(alert.clone())));
                self.take_alert(alert);
            }
            Effect::WriteStaticPod { node, pod } => self.write_static_pod(&node, pod),
            Effect::Restart { node, program } => self.restart_on_machine(&node, &program),
            Effect::WriteDisk(disk) => self.write_disk(id, disk),
            Effect::Reboot { disk, silence } => self.reboot(id, disk, silence),
            Effect::ServeKubernetes { minor } if !self.api_server.is_pinned => {
                self.serve_kubernetes(minor);
                if self.connection.capabilities().any_kubernetes {
                    self.record_event(Event::Kubernetes { minor });
                }
            }
            Effect::ServeKubernetes { .. } => {}
        }
    }

    /// Prints a line to the log of the actor's container. Programs on machines have no pod; their logs have the
    /// names that their pods would begin with.
    fn print(&self, id: ActorId, text: &str, recorded: IsRecorded) {
        let now = self.now();
        if let Some((pod, container)) = self.processes.of_actor(id) {
            self.observers.exports.with_logs(|logs| logs.print(pod, container, text, now, recorded));
        } else if let Some((pod, container)) = self.schedule.name(id).and_then(mco::log_name) {
            let pod = PODS.key(mco::NAMESPACE, &pod);
            self.observers.exports.with_logs(|logs| logs.print(&pod, container, text, now, recorded));
        }
    }

    fn start_process(&mut self, kubelet: ActorId, pod: Key, container: String) {
        let Some(object) = self.view.get_key(&pod).cloned() else { return };
        if self.processes.get(&pod, &container).is_some() {
            return; // A restarted kubelet starts its running containers again.
        }
        let now = self.now();
        self.observers.exports.with_logs(|logs| logs.started(&pod, &container));
        if let Some(process) = self.start_in_container(kubelet, &object, &pod, &container) {
            return self.add_process(pod, container, process);
        }
        if let Some(process) = self.start_embedded(kubelet, &object, &pod, &container) {
            return self.add_process(pod, container, process);
        }
        let running = match program(&object, &container, &self.environment, self.streams, now) {
            Program::Actor(actor) => Running::Actor(self.add(actor)),
            Program::UpdateStatusController(identity) => {
                self.processes.first_task.get_or_insert(now);
                Running::Task(self.spawn_insights(&identity, &pod, &container))
            }
            Program::Other => {
                self.print_start(&object, &pod, &container);
                Running::Idle
            }
        };
        let program = (!matches!(running, Running::Idle)).then(|| container.clone());
        self.add_process(pod, container, Process { kubelet, program, running });
    }

    /// Prints that a container has started whose program is simulated outside of it.
    fn print_start(&self, pod: &Object, key: &Key, container: &str) {
        if self.environment.payload_workloads == PayloadWorkloads::WithoutPods {
            return;
        }
        let spec = pod.list("/spec/containers").iter().find(|spec| spec["name"] == container);
        let image = spec.and_then(|spec| spec["image"].as_str()).unwrap_or_default();
        let line = format!("{container} of image {image} has started; it is simulated outside of its pod");
        let now = self.now();
        let line = klog(Severity::Info, now, "windtunnel:1", line);
        self.observers.exports.with_logs(|logs| logs.print(key, container, &line, now, IsRecorded::No));
    }

    fn add_process(&mut self, pod: Key, container: String, process: Process) {
        if let Some(program) = process.program.clone() {
            self.processes.first_program.get_or_insert(self.now());
            self.record_event(Event::Process { program, pod: pod.name.clone(), started: true });
        }
        self.processes.insert(pod, container, process);
    }

    /// Drops the counters of a component that has ended.
    pub(in crate::engine) fn forget_counts(&mut self, by: &str) {
        for metric in self.observers.exports.forget(by) {
            self.schedule.deliver_count(metric);
        }
    }

    /// Stores the new state of an alert. Its active time stays that of its first report.
    fn take_alert(&self, alert: Alert) {
        let now = self.now();
        self.alerts.send_modify(|active| {
            let known = active.iter().position(|known| known.alert.labels == alert.labels);
            let active_at = known.map(|at| active.remove(at)).map_or(Some(now), |known| known.active_at);
            if alert.state != AlertState::Inactive {
                active.push(ActiveAlert { alert, active_at });
            }
        });
    }

    /// Sends SIGTERM to a pod: an actor ends in its own time, everything else ends at once.
    fn terminate_processes(&mut self, pod: &Key) {
        for container in self.processes.of_pod(pod) {
            self.terminate_process(pod, &container);
        }
    }

    fn terminate_process(&mut self, pod: &Key, container: &str) {
        let running = self.processes.get(pod, container).map(|process| &process.running);
        match running {
            Some(Running::Actor(id)) if self.is_running(*id) => self.signal(*id, Signal::Terminate),
            Some(Running::Program) => self.terminate_program(pod, container),
            Some(Running::Task(Task { stop: Some(stop), .. })) => stop.notify_one(),
            _ => self.end_process(pod, container, 0),
        }
    }

    /// Ends the process of a container with this exit code.
    pub(in crate::engine) fn end_process(&mut self, pod: &Key, container: &str, code: i64) {
        let Some(process) = self.processes.remove(pod, container) else { return };
        match process.running {
            Running::Actor(id) => self.remove(id),
            Running::Task(task) => task.handle.abort(),
            Running::Program => self.kill_program(pod, container),
            Running::Suspended | Running::Idle => {}
        }
        self.observers.exports.with_logs(|logs| logs.ended(pod, container));
        self.signal(
            process.kubelet,
            Signal::Exited { pod: pod.clone(), container: container.to_owned(), code },
        );
        if let Some(program) = process.program {
            self.record_event(Event::Process { program, pod: pod.name.clone(), started: false });
        }
    }

    /// Crashes a process: its memory is lost.
    pub(in crate::engine) fn crash(&mut self, id: ActorId) {
        if let Some((pod, container)) = self.processes.of_actor(id).cloned() {
            return self.end_process(&pod, &container, PANIC);
        }
        self.replace(id);
        let up = after(self.now(), RESTART_DELAY);
        self.schedule.suspend(id, up);
    }

    /// Replaces an actor that runs in no pod. The new one has seen nothing yet.
    pub(in crate::engine) fn replace(&mut self, id: ActorId) {
        let Some(name) = self.schedule.name(id).map(str::to_owned) else { return };
        let replacement = self.replacement_program(id).or_else(|| {
            let payload = self.environment.payload_workloads;
            let kubernetes =
                windtunnel_controllers::kubernetes_with(&self.streams, payload, self.api_server.minor);
            let mut all = kubernetes
                .into_iter()
                .chain(windtunnel_openshift::components(&self.environment, &self.streams));
            all.find(|actor| actor.name() == name)
        });
        self.forget_counts(&name);
        if let Some(mut actor) = replacement {
            actor.set_environment(&(Arc::clone(&self.environment) as _));
            let actor = self.tampered(actor);
            self.schedule.replace(id, actor);
        }
    }
}
