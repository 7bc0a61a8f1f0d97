//! Processing of one pod: the next actions of its containers, and the time of the next check.
//!
//! The state is in the API. [`Memory`] contains only what a real kubelet loses in a restart too.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use jiff::SignedDuration;
use serde_json::{Value, json};
use windtunnel_core::clock::{Time, after};
use windtunnel_core::resources::PODS;
use windtunnel_core::rng::Stream;
use windtunnel_core::{Key, Object, Write};

use super::pod_status::{CRASH_LOOP, Container, State, Status};
use super::probing::Probing;
use super::sync_context::SyncContext;
use crate::Effect;
use crate::environment::Program;
use crate::kubelet::pod::pull_outcome::Pulling;
use crate::recorder::{Notice, Recorder, Subject};

/// The delay before an ended container is restarted.
pub(super) const RESTART_PAUSE: SignedDuration = SignedDuration::from_secs(1);

/// Milliseconds that a short program takes.
const SHORT_RUN_MILLIS: (u64, u64) = (700, 1_300);

/// The kubelet's state of a pod that is not in the API.
#[derive(Debug, Clone, Default)]
pub(in crate::kubelet) struct Memory {
    /// The uid of the pod, to recognize another pod of the same name.
    pub(in crate::kubelet) uid: String,
    /// The address of the pod, assigned before its sandbox exists.
    pub(in crate::kubelet) address: Option<Ipv4Addr>,
    /// The exit codes of containers whose end the runtime has reported, until they start again. They are kept
    /// because the API server may reject a status update.
    pub(in crate::kubelet) exited: BTreeMap<String, i64>,
    /// The containers whose programs were started. A restarted kubelet starts them again, as it may have
    /// crashed between the report and the start of a container. The runtime ignores that for running
    /// programs.
    started: BTreeSet<String>,
    /// The last status patch. It is not sent again if the server stores a different status.
    pub(in crate::kubelet) sent: Option<Sent>,
    /// Whether the removal of the pod was requested; finalizers may delay it.
    pub(in crate::kubelet) removed: bool,
    /// Pulls by image.
    pub(super) pulls: BTreeMap<String, Pulling>,
    /// The recorder for Events of the pod.
    pub(in crate::kubelet) events: Recorder,
    /// The time at which the sandbox is ready, if this process creates it.
    pub(super) sandbox_at: Option<Time>,
    /// The time of the first probe failure, by container.
    pub(super) failing: BTreeMap<String, Time>,
    /// The restart count at the last reset of the back-off, by container.
    pub(super) forgiven: BTreeMap<String, u32>,
    /// The time by which all processes of a deleted pod must have ended.
    pub(super) stop_by: Option<Time>,
    ends: BTreeMap<String, Time>,
    /// The attempts of probes of processes.
    pub(in crate::kubelet) probing: Probing,
    /// The containers whose probes have failed, and the ends of their grace periods.
    pub(super) stopping: BTreeMap<String, Time>,
    /// The time of the next update of volumes.
    pub(super) refresh_at: Option<Time>,
}

/// A status patch that was sent.
#[derive(Debug, Clone)]
pub(in crate::kubelet) struct Sent {
    changes: Value,
    /// The version of the pod that the patch is based on, with the version that it produced in `left`. In any
    /// later version another client has overwritten the status.
    seen: String,
    pub(in crate::kubelet) left: String,
}

impl Memory {
    /// Shifts all times when the clock is set.
    pub(in crate::kubelet) fn leap(&mut self, by: SignedDuration) {
        let times = self.sandbox_at.iter_mut().chain(&mut self.stop_by).chain(&mut self.refresh_at);
        let times = times.chain(self.failing.values_mut()).chain(self.ends.values_mut());
        times.chain(self.stopping.values_mut()).for_each(|at| *at = after(*at, by));
        self.probing.leap(by);
        self.pulls.values_mut().for_each(|pulling| pulling.leap(by));
    }

    /// Creates the memory of a new pod on this node.
    pub(in crate::kubelet) fn of(pod: &Object, node: &str) -> Self {
        let involved = json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "name": pod.name(),
            "namespace": pod.namespace(),
            "uid": pod.uid(),
        });
        let source = json!({ "component": "kubelet", "host": node });
        let subject = Subject { involved, namespace: pod.namespace().to_owned(), source };
        let address = pod.text("/status/podIP").parse().ok();
        Self { uid: pod.uid().to_owned(), address, events: Recorder::of(subject), ..Self::default() }
    }
}

/// The result of a check.
#[derive(Debug, Default)]
pub(in crate::kubelet) struct SyncResult {
    /// Write requests, in order.
    pub(in crate::kubelet) writes: Vec<Write>,
    /// Effects on the container runtime.
    pub(in crate::kubelet) effects: Vec<Effect>,
    /// Events to record.
    pub(in crate::kubelet) notices: Vec<Notice>,
    /// The time of the next check.
    pub(in crate::kubelet) next: Option<Time>,
    /// The reason for waiting, for reports.
    pub(in crate::kubelet) why: Option<String>,
}

/// Processes `pod`; `images` are the images on the node.
pub(in crate::kubelet) fn sync(
    site: &SyncContext<'_>,
    pod: &Object,
    memory: &mut Memory,
    images: &mut BTreeSet<String>,
) -> SyncResult {
    let status = Status::from_pod(pod);
    let key = PODS.key_of(pod);
    let mut pod_sync = PodSync { site, pod, key, memory, images, status, out: SyncResult::default() };
    if pod.is_terminating() {
        pod_sync.stop();
    } else if !pod_sync.status.is_terminal() {
        pod_sync.advance();
        pod_sync.write_status();
    }
    pod_sync.out
}

/// A check in progress.
pub(super) struct PodSync<'a> {
    /// The environment of the check.
    pub(super) site: &'a SyncContext<'a>,
    /// The pod in the API.
    pub(super) pod: &'a Object,
    /// Its key.
    pub(super) key: Key,
    /// The state that is not in the API.
    pub(super) memory: &'a mut Memory,
    /// The images on the node.
    pub(super) images: &'a mut BTreeSet<String>,
    /// The desired status.
    pub(super) status: Status,
    /// The result.
    pub(super) out: SyncResult,
}

impl PodSync<'_> {
    fn advance(&mut self) {
        let now = self.site.now;
        let Some(start) = self.status.start else {
            // The other steps follow in the next check, after this status is in the API.
            self.status.start = Some(now);
            self.make_sandbox();
            return;
        };
        if let Some(seconds) = self.pod.number("/spec/activeDeadlineSeconds") {
            let deadline = after(start, SignedDuration::from_secs(seconds));
            if deadline <= now {
                return self.fail_by_deadline();
            }
            self.schedule_by(deadline);
        }
        if self.waits_for_sandbox() {
            return;
        }
        // Init containers do not run again when a sidecar restarts.
        let has_begun = self.mains().any(Container::has_begun);
        for index in 0..self.status.containers.len() {
            let container = &self.status.containers[index];
            if has_begun && container.init && !container.sidecar {
                continue;
            }
            self.drive(index);
            let container = &self.status.containers[index];
            if !has_begun && container.init && !container.is_through() {
                break;
            }
        }
        if !self.restarts_always() && self.mains().all(|main| self.is_over(main)) {
            self.end_sidecars();
        }
        self.refresh_volumes();
        self.status.phase = self.phase();
    }

    /// The main containers.
    fn mains(&self) -> impl Iterator<Item = &Container> {
        self.status.containers.iter().filter(|container| !container.init)
    }

    /// Whether a container will not run again.
    fn is_over(&self, container: &Container) -> bool {
        let never = self.pod.text("/spec/restartPolicy") == "Never";
        container.is_done() || never && container.has_failed()
    }

    /// Ends sidecars after the main containers.
    fn end_sidecars(&mut self) {
        let now = self.site.now;
        let mut ended_any = false;
        for container in self.status.containers.iter_mut().filter(|container| container.sidecar) {
            if let State::Running { since } = container.state {
                container.state = State::ended(since, now, 0);
                ended_any = true;
            }
        }
        if ended_any {
            self.out.effects.push(Effect::Kill { pod: self.key.clone() });
        }
    }

    /// The spec of a container.
    pub(super) fn spec(&self, index: usize) -> &Value {
        let container = &self.status.containers[index];
        let list = if container.init { "/spec/initContainers" } else { "/spec/containers" };
        let found = self.pod.list(list).iter().find(|spec| spec["name"] == container.name.as_str());
        found.unwrap_or(&Value::Null)
    }

    /// Advances one container.
    fn drive(&mut self, index: usize) {
        let container = &self.status.containers[index];
        match container.state.clone() {
            State::Waiting { reason, .. } if reason == CRASH_LOOP => self.crash_loop(index),
            State::Waiting { .. } => self.pull(index),
            State::Running { since } if self.ends_soon(index) => {
                let end =
                    self.memory.ends.get(&container.name).copied().unwrap_or(since + self.run_time(index));
                if end <= self.site.now {
                    self.status.containers[index].state = self.terminated_state(index, since);
                    self.schedule_by(self.site.now + RESTART_PAUSE);
                } else {
                    self.schedule_by(end);
                }
            }
            State::Running { since } => {
                if let Some(code) = self.memory.exited.get(&container.name) {
                    self.status.containers[index].state = State::ended(since, self.site.now, *code);
                    self.memory.stopping.remove(&self.status.containers[index].name);
                } else {
                    self.start_program(index);
                    self.probe(index, since);
                }
            }
            State::Ended { at, code: 0, .. } if !self.runs_to_its_end(index) => {
                let restart_at = at + RESTART_PAUSE;
                if restart_at <= self.site.now { self.pull(index) } else { self.schedule_by(restart_at) }
            }
            State::Ended { code: 0, .. } => {}
            State::Ended { .. } => self.crash_loop(index),
        }
    }

    /// Starts or restarts a container whose image is present.
    pub(super) fn start(&mut self, index: usize) {
        let now = self.site.now;
        if let Some(state) = self.missing_config_state(index).or_else(|| self.cannot_be_created(index)) {
            self.status.containers[index].transition_to(state);
            return;
        }
        self.record_start(index);
        self.status.containers[index].starting = self.spec(index)["startupProbe"].is_object();
        self.status.containers[index].transition_to(State::Running { since: now });
        let name = self.status.containers[index].name.clone();
        self.memory.exited.remove(&name);
        if self.ends_soon(index) {
            let end = now + self.run_time(index);
            self.memory.ends.insert(name, end);
            self.schedule_by(end);
        } else {
            self.memory.started.remove(&name);
            self.start_program(index);
            self.probe(index, now);
        }
    }

    /// Starts the program of a container in the runtime, unless that was done already or the program ends before
    /// it does anything.
    fn start_program(&mut self, index: usize) {
        if self.crashes_at_start() {
            return;
        }
        let container = &self.status.containers[index].name;
        if !self.memory.started.contains(container) {
            self.memory.started.insert(container.clone());
            self.out.effects.push(Effect::Start { pod: self.key.clone(), container: container.clone() });
        }
    }

    pub(super) fn has_ended(&self, container: &str) -> bool {
        self.memory.exited.contains_key(container)
    }

    fn phase(&self) -> &'static str {
        let never = self.pod.text("/spec/restartPolicy") == "Never";
        let mut inits =
            self.status.containers.iter().filter(|container| container.init && !container.sidecar);
        if never && inits.any(Container::has_failed) {
            "Failed"
        } else if !self.mains().all(Container::has_begun) {
            // A container that waits for its restart has been running.
            "Pending"
        } else if never
            && self.mains().any(Container::has_failed)
            && self.mains().all(|main| self.is_over(main))
        {
            "Failed"
        } else if !self.restarts_always() && self.mains().all(Container::is_done) {
            "Succeeded"
        } else {
            "Running"
        }
    }

    pub(super) fn write_status(&mut self) {
        let changes = self.status.changes(self.pod, self.site, self.memory.address);
        let version = self.pod.resource_version();
        let repeats = |sent: &Sent, changes: &Value| {
            sent.changes == *changes && [sent.seen.as_str(), &sent.left].contains(&version)
        };
        let is_new = |changes: &Value| !self.memory.sent.as_ref().is_some_and(|sent| repeats(sent, changes));
        let Some(changes) = changes.filter(is_new) else { return };
        self.memory.sent =
            Some(Sent { changes: changes.clone(), seen: version.to_owned(), left: String::new() });
        let patch = json!({ "metadata": { "uid": self.pod.uid() }, "status": changes });
        self.out.writes.push(Write::merge_patch_status(&PODS, self.pod.namespace(), self.pod.name(), patch));
    }

    fn runs_to_its_end(&self, index: usize) -> bool {
        let container = &self.status.containers[index];
        !container.sidecar && (container.init || !self.restarts_always())
    }

    /// Whether the simulated program of a container ends: it has a task to complete, or its image crashes.
    fn ends_soon(&self, index: usize) -> bool {
        (self.runs_to_its_end(index) || self.image_crashes(index)) && !self.has_process(index)
    }

    /// Whether a container runs a process that ends by itself.
    pub(super) fn has_process(&self, index: usize) -> bool {
        self.site.environment.has_process(self.pod, &self.status.containers[index].name)
    }

    /// Whether a running container has a process that ends by itself.
    pub(super) fn has_processes(&self) -> bool {
        let containers = &self.status.containers;
        self.site.environment.has_processes()
            && (0..containers.len()).any(|index| containers[index].is_running() && self.has_process(index))
    }

    fn restarts_always(&self) -> bool {
        !matches!(self.pod.text("/spec/restartPolicy"), "Never" | "OnFailure")
    }

    pub(super) fn run_time(&self, index: usize) -> SignedDuration {
        let millis = self.program(index).map_or(SHORT_RUN_MILLIS, |program| program.millis);
        random_duration(&mut self.stream("run", &self.status.containers[index].name, 0), millis)
    }

    /// The behaviour of the program of a container, unless it is a short one that succeeds.
    pub(super) fn program(&self, index: usize) -> Option<Program> {
        self.site.environment.program(self.pod, &self.status.containers[index].name, self.site.view)
    }

    pub(super) fn stream(&self, what: &str, name: &str, attempt: u32) -> Stream {
        self.site.streams.stream(&format!("kubelet/{what}/{}/{name}/{attempt}", self.pod.uid()))
    }

    pub(super) fn schedule_by(&mut self, at: Time) {
        self.out.next = Some(self.out.next.map_or(at, |next| next.min(at)));
    }
}

/// The containers of `pod` that have been running since before `moment`, according to its status. Start times
/// are whole seconds.
pub(in crate::kubelet) fn running_before(pod: &Object, moment: Time) -> impl Iterator<Item = String> {
    let runs = move |container: &Container| matches!(container.state, State::Running { since } if since.as_second() < moment.as_second());
    Status::from_pod(pod).containers.into_iter().filter(runs).map(|container| container.name)
}

/// A random duration between two numbers of milliseconds.
pub(in crate::kubelet) fn random_duration(stream: &mut Stream, millis: (u64, u64)) -> SignedDuration {
    SignedDuration::from_millis(i64::try_from(stream.between(millis.0, millis.1)).unwrap_or(0))
}
