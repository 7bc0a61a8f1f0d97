//! A minimal cluster for unit tests of actors: it stores their writes, advances time, and logs the writes.

mod deletion;
mod descriptions;
mod eviction;

use std::collections::BTreeMap;

use jiff::SignedDuration;
use serde_json::{Value, json};
use windtunnel_core::clock::{Time, rfc3339};
use windtunnel_core::rng::{Stream, Streams};
use windtunnel_core::text::clock_time;
use windtunnel_core::{
    Answer, Change, ChangeKind, DeleteOptions, Key, Object, Operation, Rejection, Resource, View, Write,
    resources,
};

use self::descriptions::describe;
use super::{Actor, Effect, Input, Interest, Signal};
use crate::machine::StaticPod;

/// Creates an actor, at the start and after each crash.
type Make = Box<dyn Fn() -> Box<dyn Actor>>;

struct Seat {
    make: Make,
    actor: Box<dyn Actor>,
    fresh: bool,
    changes: Vec<Change>,
    answers: Vec<Answer>,
    signals: Vec<Signal>,
    wake_at: Option<Time>,
    leap: SignedDuration,
}

/// An in-memory cluster with the actors under test.
pub struct Rig {
    /// The objects of the cluster.
    pub view: View,
    /// The current time.
    pub now: Time,
    /// The time from SIGTERM to the exit of a process; `None` if the process ignores SIGTERM.
    pub exits_after: Option<SignedDuration>,
    /// The result of each probe of a process; `None` if there is no answer.
    pub probe_result: Option<Result<(), String>>,
    /// The writes and effects, one line each.
    pub log: Vec<String>,
    /// Crashes and restarts the actor right after this many writes.
    pub crash_after_writes: Option<usize>,
    /// The number of writes so far.
    pub writes: usize,
    start: Time,
    seats: Vec<Seat>,
    signals: BTreeMap<(Time, u64), Signal>,
    running: BTreeMap<Key, Vec<String>>,
    version: u64,
    names: Stream,
}

impl Default for Rig {
    fn default() -> Self {
        Self::new()
    }
}

impl Rig {
    /// Creates an empty cluster at the start of 2024.
    pub fn new() -> Self {
        let start: Time = "2024-01-01T00:00:00Z".parse().unwrap();
        Self {
            view: View::default(),
            now: start,
            exits_after: Some(SignedDuration::from_secs(2)),
            probe_result: None,
            log: Vec::new(),
            crash_after_writes: None,
            writes: 0,
            start,
            seats: Vec::new(),
            signals: BTreeMap::new(),
            running: BTreeMap::new(),
            version: 0,
            names: Streams::new(1).stream("names"),
        }
    }

    /// Adds an actor.
    pub fn seat(&mut self, make: impl Fn() -> Box<dyn Actor> + 'static) {
        let make: Make = Box::new(make);
        let actor = make();
        self.seats.push(Seat {
            make,
            actor,
            fresh: true,
            changes: Vec::new(),
            answers: Vec::new(),
            signals: Vec::new(),
            wake_at: None,
            leap: SignedDuration::ZERO,
        });
    }

    /// Sets the clock of all actors forward, or back if `by` is negative.
    pub fn set_clock(&mut self, by: SignedDuration) {
        self.now += by;
        for seat in &mut self.seats {
            seat.leap += by;
            seat.wake_at = Some(self.now);
        }
    }

    /// Writes as another client and panics if the write is rejected.
    pub fn write(&mut self, write: &Write) -> Object {
        self.apply(write).unwrap()
    }

    /// Creates an object, including its status.
    pub fn put(&mut self, resource: &Resource, object: Value) -> Object {
        self.write(&Write::create(resource, object))
    }

    /// Creates an object, including its status. Deletes an existing object of the same name first.
    pub fn write_as_new(&mut self, resource: &Resource, object: Value) -> Object {
        let name = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
        let (namespace, name) = (name("namespace"), name("name"));
        if self.view.get(resource, &namespace, &name).is_some() {
            self.write(&Write::delete_now(resource, &namespace, &name));
        }
        self.put(resource, object)
    }

    /// Ends a process of a pod with exit code 0.
    pub fn process_ends(&mut self, pod: &Key, container: &str) {
        let signal = Signal::Exited { pod: pod.clone(), container: container.to_owned(), code: 0 };
        self.signal_at(self.now, signal);
    }

    /// Writes a static pod manifest.
    pub fn write_static_pod(&mut self, pod: StaticPod) {
        self.signal_at(self.now, Signal::StaticPod(pod));
    }

    fn signal_at(&mut self, at: Time, signal: Signal) {
        self.version += 1;
        self.signals.insert((at, self.version), signal);
    }

    /// Sends a signal to all actors now.
    pub fn signal(&mut self, signal: Signal) {
        self.signal_at(self.now, signal);
    }

    /// Runs the actors for this many seconds.
    pub fn run(&mut self, seconds: i64) {
        let end = self.now + SignedDuration::from_secs(seconds);
        loop {
            self.settle();
            let wakes = self.seats.iter().filter_map(|seat| seat.wake_at);
            let next = wakes.chain(self.signals.keys().map(|(at, _)| *at)).min();
            match next.filter(|at| *at <= end) {
                Some(at) => {
                    assert!(at > self.now, "time stands still at {at}: {:#?}", self.log);
                    self.now = at;
                }
                None => break,
            }
        }
        self.now = end;
    }

    fn settle(&mut self) {
        for round in 0.. {
            assert!(round < 1_000, "no end of steps: {:#?}", self.log);
            while let Some(entry) = self.signals.first_entry().filter(|entry| entry.key().0 <= self.now) {
                let signal = entry.remove();
                if let Signal::Exited { pod, container, .. } = &signal {
                    self.running.entry(pod.clone()).or_default().retain(|one| one != container);
                }
                self.seats.iter_mut().for_each(|seat| seat.signals.push(signal.clone()));
            }
            let now = self.now;
            let Some(index) = self.seats.iter().position(|seat| seat.has_work(now)) else { break };
            self.step(index);
        }
    }

    fn step(&mut self, index: usize) {
        let seat = &mut self.seats[index];
        seat.fresh = false;
        let (changes, answers) = (std::mem::take(&mut seat.changes), std::mem::take(&mut seat.answers));
        let signals = std::mem::take(&mut seat.signals);
        let input = Input {
            view: &self.view,
            changes: &changes,
            answers: &answers,
            signals: &signals,
            alerts: &[],
            counters: &[],
            now: self.now,
            clock_shift: std::mem::take(&mut seat.leap),
        };
        let step = seat.actor.step(&input);
        seat.wake_at = step.wake_at;
        for effect in step.effects {
            self.effect(&effect);
        }
        for write in step.writes {
            let outcome = self.apply(&write);
            let line = describe(&write, outcome.as_ref());
            self.note(&line);
            self.seats[index].answers.push(Answer { write, outcome });
            self.writes += 1;
            if self.crash_after_writes == Some(self.writes) {
                let seat = &mut self.seats[index];
                seat.actor = (seat.make)();
                seat.fresh = true;
                (seat.changes, seat.answers, seat.wake_at) = (Vec::new(), Vec::new(), None);
                break;
            }
        }
    }

    fn note(&mut self, line: &str) {
        self.log.push(format!("{} {line}", clock_time(self.now.duration_since(self.start))));
    }

    fn effect(&mut self, effect: &Effect) {
        match effect {
            Effect::Start { pod, container } => {
                let running = self.running.entry(pod.clone()).or_default();
                if running.contains(container) {
                    return; // A restarted kubelet starts running containers again.
                }
                running.push(container.clone());
                self.note(&format!("start {pod} {container}"));
            }
            Effect::Terminate { pod } => {
                self.note(&format!("terminate {pod}"));
                let Some(after) = self.exits_after else { return };
                for container in self.running.get(pod).cloned().unwrap_or_default() {
                    let signal = Signal::Exited { pod: pod.clone(), container, code: 0 };
                    self.signal_at(self.now + after, signal);
                }
            }
            Effect::WriteStaticPod { node, pod } => {
                self.note(&format!("static pod {} on {node}", pod.manifest["metadata"]["name"]));
                self.signal_at(self.now, Signal::StaticPod(pod.clone()));
            }
            Effect::Restart { node, program } => self.note(&format!("restart {program} on {node}")),
            Effect::WriteDisk(disk) => self.note(&format!("disk {}", disk.config)),
            Effect::Reboot { disk, .. } => self.note(&format!("reboot {}", disk.config)),
            Effect::Kill { pod } => {
                self.note(&format!("kill {pod}"));
                self.running.remove(pod);
            }
            Effect::TerminateContainer { pod, container } => {
                self.note(&format!("terminate {pod} {container}"));
            }
            Effect::KillContainer { pod, container } => {
                self.note(&format!("kill {pod} {container}"));
                let (pod, container) = (pod.clone(), container.clone());
                self.signal_at(self.now, Signal::Exited { pod, container, code: 137 });
            }
            Effect::Probe { pod, container, kind } => {
                let Some(result) = self.probe_result.clone() else { return };
                let (pod, container, kind) = (pod.clone(), container.clone(), *kind);
                self.signal_at(self.now, Signal::Probed { pod, container, kind, result });
            }
            Effect::RefreshVolumes { pod } => self.note(&format!("refresh {pod}")),
            Effect::ServeKubernetes { minor } => self.note(&format!("serve Kubernetes 1.{minor}")),
            Effect::Alert(alert) => self.note(&format!("alert {} {}", alert.name(), alert.state)),
            Effect::Count(counter) => self.note(&format!("count {} {}", counter.metric, counter.count)),
            Effect::Exit => self.note("exit"),
            // Tests of decisions compare no lines.
            Effect::Log(_) | Effect::LogDetail(_) => {}
        }
    }

    fn apply(&mut self, write: &Write) -> Result<Object, Rejection> {
        let mut key = write.key();
        let old = self.view.get_key(&key).cloned();
        let (kind, value) = match (&write.operation, &old) {
            (Operation::Create(value), None) => (ChangeKind::Added, self.created(value, &mut key)),
            (Operation::Create(binding), Some(old)) if write.subresource == Some("binding") => {
                let mut value = old.to_value();
                value["spec"]["nodeName"] = binding["target"]["name"].clone();
                (ChangeKind::Modified, value)
            }
            (Operation::Create(_), Some(pod)) if write.subresource == Some("eviction") => {
                eviction::allow(&self.view, pod)?;
                match deletion::delete(write, pod, &DeleteOptions::default(), self.now) {
                    Some(value) => (ChangeKind::Modified, value),
                    None => (ChangeKind::Deleted, pod.to_value()),
                }
            }
            (Operation::Create(_), Some(_)) => return Err(rejection(409, "AlreadyExists")),
            (_, None) => return Err(rejection(404, "NotFound")),
            (Operation::Update(value), Some(old)) => (ChangeKind::Modified, updated(write, old, value)?),
            (Operation::MergePatch(patch), Some(old)) => {
                let mut value = old.to_value();
                let patch = if write.subresource.is_some() {
                    json!({ "status": patch["status"] })
                } else {
                    patch.clone()
                };
                json_patch::merge(&mut value, &patch);
                (ChangeKind::Modified, value)
            }
            (Operation::JsonPatch(_), _) => return Err(rejection(415, "UnsupportedMediaType")),
            (Operation::Delete(options), Some(old)) => {
                match deletion::delete(write, old, options, self.now) {
                    Some(value) if value == **old => return Ok(old.clone()),
                    Some(value) => (ChangeKind::Modified, value),
                    None => (ChangeKind::Deleted, old.to_value()),
                }
            }
        };
        let kind = if deletion::is_over(&value) { ChangeKind::Deleted } else { kind };
        Ok(self.commit(key, kind, old, value))
    }

    fn created(&mut self, value: &Value, key: &mut Key) -> Value {
        let mut value = value.clone();
        if key.name.is_empty() {
            let prefix = value["metadata"]["generateName"].as_str().unwrap().to_owned();
            key.name = prefix + &self.names.suffix(5);
            value["metadata"]["name"] = json!(key.name);
        }
        value["metadata"]["uid"] = json!(format!("uid-of-{}", key.name));
        value["metadata"]["creationTimestamp"] = json!(rfc3339(self.now));
        if value.get("spec").is_some() && value["metadata"]["generation"].is_null() {
            value["metadata"]["generation"] = json!(1);
        }
        value
    }

    fn commit(&mut self, key: Key, kind: ChangeKind, old: Option<Object>, mut value: Value) -> Object {
        let spec = |of: &Value| of["spec"].clone();
        if let Some(old) = old.as_ref().filter(|old| spec(old) != spec(&value)) {
            value["metadata"]["generation"] = json!(old.generation() + 1);
        }
        self.version += 1;
        value["metadata"]["resourceVersion"] = json!(self.version.to_string());
        let object = Object::new(value);
        let change = Change { key, kind, object: object.clone(), old };
        self.view.apply(&change);
        for seat in &mut self.seats {
            if seat.actor.interests().iter().any(|interest| concerns(interest, &change)) {
                seat.changes.push(change.clone());
            }
        }
        object
    }
}

impl Seat {
    fn has_work(&self, now: Time) -> bool {
        self.fresh
            || !self.changes.is_empty()
            || !self.answers.is_empty()
            || !self.signals.is_empty()
            || self.wake_at.is_some_and(|at| at <= now)
    }
}

/// Runs a story without crashes, and once more per write with a crash of the actor right after it. All runs
/// must end with the same `summary`, which must not contain times and generated names.
pub fn check_recovery(story: impl Fn(&mut Rig), summary: impl Fn(&Rig) -> String) {
    let run = |crash_after_writes| {
        let mut rig = Rig::new();
        rig.crash_after_writes = crash_after_writes;
        story(&mut rig);
        rig
    };
    let baseline = run(None);
    assert!(baseline.writes > 1, "{} writes are too few to test a crash", baseline.writes);
    for crash in 1..=baseline.writes {
        let rig = run(Some(crash));
        assert_eq!(summary(&rig), summary(&baseline), "crash after write {crash}: {:#?}", rig.log);
    }
}

fn updated(write: &Write, old: &Object, value: &Value) -> Result<Value, Rejection> {
    let guard = value["metadata"]["resourceVersion"].as_str().unwrap_or_default();
    if !guard.is_empty() && guard != old.resource_version() {
        return Err(rejection(409, "Conflict"));
    }
    if write.subresource.is_none() {
        return Ok(value.clone());
    }
    let mut merged = old.to_value();
    if write.subresource == Some("scale") {
        merged["spec"]["replicas"] = value["spec"]["replicas"].clone();
        return Ok(merged);
    }
    let field = if write.subresource == Some("finalize") { "spec" } else { "status" };
    merged[field] = value[field].clone();
    if write.subresource == Some("status") && value["metadata"]["annotations"].is_object() {
        merged["metadata"]["annotations"] = value["metadata"]["annotations"].clone();
    }
    Ok(merged)
}

fn rejection(code: u16, reason: &str) -> Rejection {
    Rejection { code, reason: reason.to_owned(), message: reason.to_owned(), details: Value::Null }
}

fn concerns(interest: &Interest, change: &Change) -> bool {
    match interest {
        Interest::Kind(resource) => change.key.is_kind(resource),
        Interest::In(resource, namespace) => {
            change.key.is_kind(resource) && change.key.namespace == *namespace
        }
        Interest::Labelled(resource, label) => {
            change.key.is_kind(resource) && change.object.label(label).is_some()
        }
        Interest::Object(key) => change.key == *key,
        Interest::Everything => true,
        Interest::Ownership => change.affects_ownership(),
        Interest::Counted(_) => false,
        Interest::PodsOn(node) => {
            change.key.is_kind(&resources::PODS) && change.object.text("/spec/nodeName") == node
        }
    }
}
