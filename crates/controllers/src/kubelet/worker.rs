//! One look at one pod: what its containers do next, and when to look again.
//!
//! What the API shows is the state; [`Memory`] holds only what a real kubelet loses in a restart too.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use jiff::SignedDuration;
use serde_json::{Value, json};
use windtunnel_core::clock::{Time, after};
use windtunnel_core::resources::PODS;
use windtunnel_core::rng::{Stream, Streams};
use windtunnel_core::{Key, Object, View, Write};

use super::crash::CRASH_LOOP;
use super::pull::Pulling;
use super::status::{Container, State, Status};
use crate::Effect;
use crate::environment::NodeEnvironment;
use crate::recorder::{Notice, Recorder, Subject};

/// Pause before an ended container is started again.
pub(super) const RESTART_PAUSE: SignedDuration = SignedDuration::from_secs(1);

/// What a kubelet knows beside the API.
#[derive(Debug, Clone, Default)]
pub(super) struct Memory {
    /// The pod that this is about; one of the same name may follow.
    pub(super) uid: String,
    /// Where it is reached, or will be when its sandbox is there.
    pub(super) address: Option<Ipv4Addr>,
    /// Containers whose processes the runtime said have ended, and how, until they are started again: a status that tells of it
    /// may be refused.
    pub(super) exited: BTreeMap<String, i64>,
    /// Containers whose programs the runtime was told to start. A kubelet that is started anew does not know, for it may have died
    /// between reporting a container and starting it: it tells the runtime once more, which minds nothing that runs.
    started: BTreeSet<String>,
    /// The last patch of the status, not to be sent again when the server makes something else of it.
    pub(super) sent: Option<Sent>,
    /// Whether the pod was already removed; finalizers may keep it.
    pub(super) removed: bool,
    /// Pulls by image.
    pub(super) pulls: BTreeMap<String, Pulling>,
    /// What was told of it as Events.
    pub(super) events: Recorder,
    /// When its sandbox is made, where that is known.
    pub(super) sandbox_at: Option<Time>,
    /// Since when probes of containers fail.
    pub(super) failing: BTreeMap<String, Time>,
    /// How often containers had been restarted when they had last run well for long.
    pub(super) forgiven: BTreeMap<String, u32>,
    /// By when all processes of a deleted pod must have ended.
    pub(super) stop_by: Option<Time>,
    ends: BTreeMap<String, Time>,
}

/// A patch of a pod's status that was sent.
#[derive(Debug, Clone)]
pub(super) struct Sent {
    changes: Value,
    /// The versions of the pod that it was made from and that it left behind: of any later one, somebody else has written
    /// over it.
    seen: String,
    pub(super) left: String,
}

impl Memory {
    /// The clock was set: what is waited for comes by as much later on it.
    pub(super) fn leap(&mut self, by: SignedDuration) {
        let times = self.sandbox_at.iter_mut().chain(&mut self.stop_by);
        let times = times.chain(self.failing.values_mut()).chain(self.ends.values_mut());
        times.for_each(|at| *at = after(*at, by));
        self.pulls.values_mut().for_each(|pulling| pulling.leap(by));
    }

    /// Nothing known yet of this pod, on this node.
    pub(super) fn of(pod: &Object, node: &str) -> Self {
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

/// Where and when a pod is looked at.
pub(super) struct Site<'a> {
    /// The cluster.
    pub(super) view: &'a View,
    /// What lies outside it.
    pub(super) environment: &'a dyn NodeEnvironment,
    /// The run's randomness.
    pub(super) streams: Streams,
    /// Minor of the kubelet's Kubernetes 1.x.
    pub(super) minor: u32,
    /// The address of the node.
    pub(super) host: Option<&'a str>,
    /// The current moment.
    pub(super) now: Time,
}

/// What one look comes to.
#[derive(Debug, Default)]
pub(super) struct Looked {
    /// Requests, in order.
    pub(super) writes: Vec<Write>,
    /// What is asked of the runtime.
    pub(super) effects: Vec<Effect>,
    /// What is told as Events.
    pub(super) notices: Vec<Notice>,
    /// When to look again.
    pub(super) next: Option<Time>,
    /// What is waited for.
    pub(super) why: Option<String>,
}

/// Looks at `pod`; `images` are those on the node.
pub(super) fn look(
    site: &Site<'_>,
    pod: &Object,
    memory: &mut Memory,
    images: &mut BTreeSet<String>,
) -> Looked {
    let status = Status::read(pod);
    let key = PODS.key(pod.namespace(), pod.name());
    let mut look = Look { site, pod, key, memory, images, status, out: Looked::default() };
    if pod.is_terminating() {
        look.stop();
    } else if !look.status.is_terminal() {
        look.advance();
        look.write_status();
    }
    look.out
}

/// A look that is under way.
pub(super) struct Look<'a> {
    /// Where and when.
    pub(super) site: &'a Site<'a>,
    /// The pod as the API has it.
    pub(super) pod: &'a Object,
    /// Its key.
    pub(super) key: Key,
    /// What is known beside the API.
    pub(super) memory: &'a mut Memory,
    /// The images on the node.
    pub(super) images: &'a mut BTreeSet<String>,
    /// The status as it shall be.
    pub(super) status: Status,
    /// What it comes to.
    pub(super) out: Looked,
}

impl Look<'_> {
    fn advance(&mut self) {
        let now = self.site.now;
        let Some(start) = self.status.start else {
            // The next look, with the answer, goes on from the state that observers have seen.
            self.status.start = Some(now);
            self.make_sandbox();
            return;
        };
        if let Some(seconds) = self.pod.number("/spec/activeDeadlineSeconds") {
            let deadline = after(start, SignedDuration::from_secs(seconds));
            if deadline <= now {
                return self.fail_by_deadline();
            }
            self.look_again(deadline);
        }
        if self.waits_for_sandbox() {
            return;
        }
        // What comes before the first container proper is not done again when a sidecar has to be.
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
        self.status.phase = self.phase();
    }

    /// The containers proper.
    fn mains(&self) -> impl Iterator<Item = &Container> {
        self.status.containers.iter().filter(|container| !container.init)
    }

    /// Whether a container has run for the last time.
    fn is_over(&self, container: &Container) -> bool {
        let never = self.pod.text("/spec/restartPolicy") == "Never";
        container.is_done() || never && container.has_failed()
    }

    /// What ran beside the containers proper ends with them.
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

    /// What the pod says of a container.
    pub(super) fn spec(&self, index: usize) -> &Value {
        let container = &self.status.containers[index];
        let list = if container.init { "/spec/initContainers" } else { "/spec/containers" };
        let found = self.pod.list(list).iter().find(|spec| spec["name"] == container.name.as_str());
        found.unwrap_or(&Value::Null)
    }

    /// Moves one container as far as it goes now.
    fn drive(&mut self, index: usize) {
        let container = &self.status.containers[index];
        match container.state.clone() {
            State::Waiting { reason, .. } if reason == CRASH_LOOP => self.crash_loop(index),
            State::Waiting { .. } => self.pull(index),
            State::Running { since } if self.runs_to_its_end(index) => {
                let end =
                    self.memory.ends.get(&container.name).copied().unwrap_or(since + self.run_time(index));
                if end <= self.site.now {
                    self.status.containers[index].state = self.end_of(index, since);
                    self.look_again(self.site.now + RESTART_PAUSE);
                } else {
                    self.look_again(end);
                }
            }
            State::Running { since } => {
                if let Some(code) = self.memory.exited.get(&container.name) {
                    self.status.containers[index].state = State::ended(since, self.site.now, *code);
                } else {
                    self.start_program(index);
                    self.probe(index, since);
                }
            }
            State::Ended { at, code: 0, .. } if !self.runs_to_its_end(index) => {
                let again = at + RESTART_PAUSE;
                if again <= self.site.now { self.pull(index) } else { self.look_again(again) }
            }
            State::Ended { code: 0, .. } => {}
            State::Ended { .. } => self.crash_loop(index),
        }
    }

    /// Starts a container whose image is there, for the first time or once more.
    pub(super) fn start(&mut self, index: usize) {
        let now = self.site.now;
        if let Some(state) = self.lacks_config(index).or_else(|| self.cannot_be_created(index)) {
            self.status.containers[index].leave_for(state);
            return;
        }
        self.tell_of_start(index);
        self.status.containers[index].starting = self.spec(index)["startupProbe"].is_object();
        self.status.containers[index].leave_for(State::Running { since: now });
        let name = self.status.containers[index].name.clone();
        self.memory.exited.remove(&name);
        if self.runs_to_its_end(index) {
            let end = now + self.run_time(index);
            self.memory.ends.insert(name, end);
            self.look_again(end);
        } else {
            self.memory.started.remove(&name);
            self.start_program(index);
            self.probe(index, now);
        }
    }

    /// Has the runtime start the program of a container, unless it was told so.
    fn start_program(&mut self, index: usize) {
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
            // One that waits to be started again has been running.
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
        let stands = |sent: &Sent, changes: &Value| {
            sent.changes == *changes && [sent.seen.as_str(), &sent.left].contains(&version)
        };
        let is_new = |changes: &Value| !self.memory.sent.as_ref().is_some_and(|sent| stands(sent, changes));
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

    fn restarts_always(&self) -> bool {
        !matches!(self.pod.text("/spec/restartPolicy"), "Never" | "OnFailure")
    }

    pub(super) fn run_time(&self, index: usize) -> SignedDuration {
        draw(&mut self.stream("run", &self.status.containers[index].name, 0), (700, 1_300))
    }

    pub(super) fn stream(&self, what: &str, of: &str, attempt: u32) -> Stream {
        self.site.streams.stream(&format!("kubelet/{what}/{}/{of}/{attempt}", self.pod.uid()))
    }

    pub(super) fn look_again(&mut self, at: Time) {
        self.out.next = Some(self.out.next.map_or(at, |next| next.min(at)));
    }
}

/// The containers that the status of `pod` says are running since before `moment`. It tells whole seconds.
pub(super) fn running_before(pod: &Object, moment: Time) -> impl Iterator<Item = String> {
    let runs = move |container: &Container| matches!(container.state, State::Running { since } if since.as_second() < moment.as_second());
    Status::read(pod).containers.into_iter().filter(runs).map(|container| container.name)
}

/// A span between two numbers of milliseconds.
pub(super) fn draw(stream: &mut Stream, millis: (u64, u64)) -> SignedDuration {
    SignedDuration::from_millis(i64::try_from(stream.between(millis.0, millis.1)).unwrap_or(0))
}
