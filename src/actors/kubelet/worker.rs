//! One look at one pod: what its containers do next, and when to look again.
//!
//! What the API shows is the state; [`Memory`] holds only what a real kubelet loses in a restart too.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use serde_json::{Value, json};

use super::pull::{self, Outcome, PullError};
use super::status::{Container, State, Status};
use crate::actors::Effect;
use crate::base::clock::Time;
use crate::base::rng::{Stream, Streams};
use crate::model::world::World;
use crate::model::{DeleteOptions, Key, Object, Operation, View, Write, resources::PODS};

/// A pod of this annotation, valued `true`, is run by a simulated program, whose end is waited for.
pub(super) const PROGRAM: &str = "windtunnel.dev/program";

/// Longest back-off between two pulls of an image.
const BACK_OFF_MAX: SignedDuration = SignedDuration::from_secs(300);

/// Pause before an ended container is started again.
const RESTART_PAUSE: SignedDuration = SignedDuration::from_secs(1);

/// What a kubelet knows beside the API.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// The pod that this is about; one of the same name may follow.
    pub(super) uid: String,
    /// Containers whose processes the runtime said have ended.
    pub(super) exited: BTreeSet<String>,
    /// The last patch of the status, not to be sent again when the server makes something else of it.
    pub(super) sent: Option<Value>,
    /// Whether the pod was already removed; finalizers may keep it.
    pub(super) removed: bool,
    pulls: BTreeMap<String, Pulling>,
    ends: BTreeMap<String, Time>,
    stop_by: Option<Time>,
}

impl Memory {
    /// Nothing known yet of the pod of this uid.
    pub(super) fn of(uid: &str) -> Self {
        Self { uid: uid.to_owned(), ..Self::default() }
    }
}

/// The pull of one image for one pod.
#[derive(Debug)]
enum Pulling {
    /// It is under way and comes to `outcome` at `until`.
    Underway { until: Time, outcome: Outcome, failures: u32 },
    /// It failed; the error shows until `quiet_at`, and the next try is at `retry_at`.
    Failed { error: PullError, quiet_at: Time, retry_at: Time, failures: u32 },
}

/// Where and when a pod is looked at.
pub(super) struct Site<'a> {
    /// The cluster.
    pub(super) view: &'a View,
    /// What lies outside it.
    pub(super) world: &'a World,
    /// The run's randomness.
    pub(super) streams: &'a Streams,
    /// Minor of the kubelet's Kubernetes 1.x.
    pub(super) minor: u32,
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

struct Look<'a> {
    site: &'a Site<'a>,
    pod: &'a Object,
    key: Key,
    memory: &'a mut Memory,
    images: &'a mut BTreeSet<String>,
    status: Status,
    out: Looked,
}

impl Look<'_> {
    fn advance(&mut self) {
        let now = self.site.now;
        let Some(start) = self.status.start else {
            // The next look, with the answer, goes on from the state that observers have seen.
            self.status.start = Some(now);
            return;
        };
        if let Some(seconds) = self.pod.number("/spec/activeDeadlineSeconds") {
            let deadline = start + SignedDuration::from_secs(seconds);
            if deadline <= now {
                return self.fail_by_deadline();
            }
            self.look_again(deadline);
        }
        for index in 0..self.status.containers.len() {
            let waits_for_inits = !self.status.containers[index].init
                && self.status.containers.iter().any(|c| c.init && !c.is_done());
            if waits_for_inits {
                break;
            }
            self.drive(index);
            if self.status.containers[index].init && !self.status.containers[index].is_done() {
                break;
            }
        }
        self.status.phase = self.phase();
    }

    /// Moves one container as far as it goes now.
    fn drive(&mut self, index: usize) {
        let container = &self.status.containers[index];
        match container.state.clone() {
            State::Waiting { .. } => self.pull(index),
            State::Running { since } if self.runs_to_its_end(index) => {
                let end =
                    self.memory.ends.get(&container.name).copied().unwrap_or(since + self.run_time(index));
                if end <= self.site.now {
                    self.status.containers[index].state = State::Ended { since, at: self.site.now, code: 0 };
                } else {
                    self.look_again(end);
                }
            }
            State::Running { since } => {
                if self.memory.exited.remove(&container.name) {
                    self.status.containers[index].state = State::Ended { since, at: self.site.now, code: 0 };
                }
            }
            State::Ended { at, .. } if !self.runs_to_its_end(index) => {
                let again = at + RESTART_PAUSE;
                if again <= self.site.now { self.restart(index) } else { self.look_again(again) }
            }
            State::Ended { .. } => {}
        }
    }

    fn restart(&mut self, index: usize) {
        let container = &mut self.status.containers[index];
        container.last = Some(container.state.clone());
        container.restarts += 1;
        self.start(index);
    }

    fn start(&mut self, index: usize) {
        let now = self.site.now;
        self.status.containers[index].state = State::Running { since: now };
        let name = self.status.containers[index].name.clone();
        self.memory.exited.remove(&name);
        if self.runs_to_its_end(index) {
            let end = now + self.run_time(index);
            self.memory.ends.insert(name, end);
            self.look_again(end);
        } else {
            self.out.effects.push(Effect::Start { pod: self.key.clone(), container: name });
        }
    }

    /// Brings the image of a waiting container to the node, and starts the container when it is there.
    fn pull(&mut self, index: usize) {
        let (now, image) = (self.site.now, self.status.containers[index].image.clone());
        if self.images.contains(&image) {
            return self.start(index);
        }
        let pulling = match self.memory.pulls.remove(&image) {
            None => self.begin_pull(&image, 0),
            Some(Pulling::Failed { retry_at, failures, .. }) if retry_at <= now => {
                self.begin_pull(&image, failures)
            }
            Some(Pulling::Underway { until, outcome, failures }) if until <= now => match outcome {
                Outcome::Arrives => {
                    self.images.insert(image);
                    return self.start(index);
                }
                Outcome::Never => Pulling::Underway { until, outcome, failures },
                Outcome::Fails(error) => self.fail_pull(index, &image, error, failures + 1),
            },
            Some(Pulling::Failed { error, quiet_at, retry_at, failures }) if quiet_at <= now => {
                let message = error.back_off_message(&image, self.site.minor);
                let reason = "ImagePullBackOff".to_owned();
                self.status.containers[index].state = State::Waiting { reason, message };
                Pulling::Failed { error, quiet_at, retry_at, failures }
            }
            Some(going_on) => going_on,
        };
        match &pulling {
            Pulling::Underway { outcome: Outcome::Never, .. } => {}
            Pulling::Underway { until, .. } => self.look_again(*until),
            Pulling::Failed { quiet_at, retry_at, .. } => {
                self.look_again(if *quiet_at > now { *quiet_at } else { *retry_at });
            }
        }
        self.out.why = Some(format!("pulling {image} for {}", self.key));
        self.memory.pulls.insert(image, pulling);
    }

    fn begin_pull(&self, image: &str, failures: u32) -> Pulling {
        let outcome = pull::attempt(&self.site.world.registry, self.site.view, image, self.site.minor);
        // Layers take their time; a registry that has none, or refuses, says so at once.
        let millis = match outcome {
            Outcome::Arrives => (2_000, 8_000),
            Outcome::Fails(_) | Outcome::Never => (300, 900),
        };
        let until = self.site.now + draw(&mut self.stream("pull", image, failures), millis);
        Pulling::Underway { until, outcome, failures }
    }

    /// The back-off starts at 10 s, doubles, and counts from the failure; the pod's own rhythm adds a little.
    fn fail_pull(&mut self, index: usize, image: &str, error: PullError, failures: u32) -> Pulling {
        let now = self.site.now;
        self.status.containers[index].state =
            State::Waiting { reason: error.reason.to_owned(), message: error.message.clone() };
        let doubled = SignedDuration::from_secs(10_i64 << (failures - 1).min(5));
        let mut stream = self.stream("back-off", image, failures);
        let quiet_at = now + draw(&mut stream, (1_000, 3_000));
        let retry_at = now + doubled.min(BACK_OFF_MAX) + draw(&mut stream, (0, 1_500));
        Pulling::Failed { error, quiet_at, retry_at, failures }
    }

    fn fail_by_deadline(&mut self) {
        let now = self.site.now;
        self.status.phase = "Failed";
        self.status.reason = "DeadlineExceeded".to_owned();
        self.status.message = "Pod was active on the node longer than the specified deadline".to_owned();
        for container in &mut self.status.containers {
            if let State::Running { since } = container.state {
                container.state = State::Ended { since, at: now, code: 137 };
                self.out.effects = vec![Effect::Kill { pod: self.key.clone() }];
            }
        }
    }

    /// Graceful deletion: SIGTERM, wait, SIGKILL at the end of the grace, and then remove the object.
    fn stop(&mut self) {
        let now = self.site.now;
        let runs =
            |look: &Self| look.status.containers.iter().any(|c| c.is_running() && !look.has_ended(&c.name));
        if runs(self) && self.pod.number("/metadata/deletionGracePeriodSeconds") != Some(0) {
            let stop_by = match self.memory.stop_by {
                Some(stop_by) => stop_by,
                None => self.terminate(),
            };
            if now < stop_by {
                self.look_again(stop_by);
                self.out.why = Some(format!("waiting for the processes of {} to end", self.key));
                return;
            }
            self.out.effects.push(Effect::Kill { pod: self.key.clone() });
        }
        if self.memory.removed {
            return;
        }
        self.end_containers();
        self.write_status();
        self.memory.removed = true;
        let options = DeleteOptions { grace_period_seconds: Some(0), uid: Some(self.pod.uid().to_owned()) };
        let delete = Write::delete_now(&PODS, self.pod.namespace(), self.pod.name());
        self.out.writes.push(Write { operation: Operation::Delete(options), ..delete });
    }

    /// Sends SIGTERM and tells by when all must have ended: the grace, or a moment for pods that no program stands
    /// for.
    fn terminate(&mut self) -> Time {
        self.out.effects.push(Effect::Terminate { pod: self.key.clone() });
        let grace_end = self.pod.time("/metadata/deletionTimestamp").unwrap_or(self.site.now);
        let stop_by = if self.pod.annotation(PROGRAM) == Some("true") {
            grace_end
        } else {
            grace_end.min(self.site.now + draw(&mut self.stream("stop", "", 0), (200, 2_000)))
        };
        *self.memory.stop_by.insert(stop_by)
    }

    fn end_containers(&mut self) {
        let now = self.site.now;
        let exited = &self.memory.exited;
        let mut ended_any = false;
        for container in &mut self.status.containers {
            if let State::Running { since } = container.state {
                let code = if exited.contains(&container.name) { 0 } else { 137 };
                container.state = State::Ended { since, at: now, code };
                ended_any = true;
            }
        }
        if ended_any && !self.status.is_terminal() {
            let well = self.status.containers.iter().all(Container::is_done);
            self.status.phase = if well { "Succeeded" } else { "Failed" };
        }
    }

    fn has_ended(&self, container: &str) -> bool {
        self.memory.exited.contains(container)
    }

    fn phase(&self) -> &'static str {
        let mains = || self.status.containers.iter().filter(|container| !container.init);
        if mains().any(|container| matches!(container.state, State::Waiting { .. })) {
            "Pending"
        } else if !self.restarts_always() && mains().all(Container::is_done) {
            "Succeeded"
        } else {
            "Running"
        }
    }

    fn write_status(&mut self) {
        let changes = self.status.changes(self.pod, self.site.now, self.site.minor, self.site.streams);
        let Some(changes) = changes.filter(|changes| self.memory.sent.as_ref() != Some(changes)) else {
            return;
        };
        self.memory.sent = Some(changes.clone());
        let patch = json!({ "metadata": { "uid": self.pod.uid() }, "status": changes });
        self.out.writes.push(Write::merge_patch_status(&PODS, self.pod.namespace(), self.pod.name(), patch));
    }

    fn runs_to_its_end(&self, index: usize) -> bool {
        self.status.containers[index].init || !self.restarts_always()
    }

    fn restarts_always(&self) -> bool {
        !matches!(self.pod.text("/spec/restartPolicy"), "Never" | "OnFailure")
    }

    fn run_time(&self, index: usize) -> SignedDuration {
        draw(&mut self.stream("run", &self.status.containers[index].name, 0), (700, 1_300))
    }

    fn stream(&self, what: &str, of: &str, attempt: u32) -> Stream {
        self.site.streams.stream(&format!("kubelet/{what}/{}/{of}/{attempt}", self.pod.uid()))
    }

    fn look_again(&mut self, at: Time) {
        self.out.next = Some(self.out.next.map_or(at, |next| next.min(at)));
    }
}

fn draw(stream: &mut Stream, millis: (u64, u64)) -> SignedDuration {
    SignedDuration::from_millis(i64::try_from(stream.between(millis.0, millis.1)).unwrap_or(0))
}
