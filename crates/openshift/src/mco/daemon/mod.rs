//! The machine-config daemon of one node: it brings the node to the MachineConfig that the controller wants, by way of a
//! drain and a reboot where that is needed.
//!
//! The annotations are the state; the struct holds what a real daemon forgets when it is restarted. What it did to the
//! machine is on its [`Disk`], which outlives it.

mod certificates;
mod changes;
mod kubelet_health;
mod steps;
#[cfg(test)]
mod tests;
mod trouble;

use std::collections::BTreeMap;

use jiff::SignedDuration;
use serde_json::{Map, Value, json};
use windtunnel_controllers::machine::Disk;
use windtunnel_controllers::recorder::{Notice, Recorder};
use windtunnel_controllers::{Actor, Effect, Input, Interest, Signal, Step};
use windtunnel_core::clock::{Time, after};
use windtunnel_core::resources::{CONTROLLER_CONFIGS, NODES};
use windtunnel_core::rng::Streams;
use windtunnel_core::{Identity, Key, Object, View, Write};

use self::kubelet_health::{KubeletHealth, has_no_kubelet};
use super::annotations::{CURRENT_CONFIG, DESIRED_CONFIG, REASON, STATE};
use super::config_node::told::{self, Told};
use super::config_node::{self, Teller};
use super::pace::{self, Seconds};
use super::{CONTROLLER_CONFIG, node_events};
pub(crate) use kubelet_health::KUBELET_STATE;
pub(crate) use trouble::{PIVOT_ERRORS, REBOOT_ERRORS};

/// How much of a reason is kept, in bytes.
const REASON_MAX: usize = 2000;
/// The first and the longest pause after a failure.
const BACK_OFF: (SignedDuration, SignedDuration) =
    (SignedDuration::from_secs(1), SignedDuration::from_secs(60));

/// How long after one has ended the next one looks at its node.
const RESTART: Seconds = (1, 3);

/// What the daemon is about to do.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Phase {
    /// The process starts; it looks at its node then.
    Starting(Time),
    /// Nothing.
    Idle,
    /// It has seen that the disk is not as it should be, and looks closer then.
    Drifted(Time),
    /// It looks whether it can do what is desired then.
    Preparing(Time),
    /// It asks for a drain then.
    AskingForDrain(Time),
    /// It waits for the drain since then.
    Draining(Time),
    /// The drain took too long; it does nothing before that is over.
    DrainFailed,
    /// It writes files and stages the operating system until then, or tries the latter again.
    Applying(Time),
    /// It has said that it reboots.
    Rebooting,
    /// It waits since then for the node to be uncordoned.
    Uncordoning(Time),
}

/// The daemon of one node.
#[derive(Debug, Clone)]
pub struct MachineConfigDaemon {
    name: String,
    node: String,
    disk: Disk,
    streams: Streams,
    phase: Phase,
    /// Whether the process began anew: then it says that the node is done, though it was before.
    is_new: bool,
    /// The MachineConfig that it works towards, whatever is desired meanwhile.
    target: String,
    /// The pause after the next failure.
    back_off: SignedDuration,
    /// How often in a row it failed to change the operating system in the sync under way.
    failed_tries: usize,
    /// Why it fails when the pause under way is over, whatever is so by then.
    gave_up: Option<String>,
    /// Whether it was asked to end.
    is_to_end: bool,
    /// Whether its last writes are unanswered.
    asked: bool,
    events: Option<Recorder>,
    /// What it has counted since the process began, by metric.
    errors: BTreeMap<&'static str, u64>,
    kubelet: KubeletHealth,
}

/// What one look at the node comes to.
#[derive(Debug, Default)]
struct Looked {
    annotations: Map<String, Value>,
    notices: Vec<Notice>,
    effects: Vec<Effect>,
    /// The MachineConfig that the node is to have from now on.
    target: Option<String>,
    /// What the MachineConfigNode is to tell, in this order.
    progress: Vec<Told>,
}

impl Looked {
    fn annotate(&mut self, key: &str, value: &str) {
        self.annotations.insert(key.to_owned(), json!(value));
    }

    fn tell(&mut self, reason: &'static str, message: impl Into<String>) {
        self.notices.push(Notice::normal(reason, message));
    }
}

impl MachineConfigDaemon {
    /// The daemon of `node`, whose process is ready at `ready`.
    pub fn new(node: &str, disk: Disk, streams: &Streams, ready: Time) -> Self {
        Self {
            name: format!("machine-config-daemon/{node}"),
            node: node.to_owned(),
            disk,
            streams: *streams,
            phase: Phase::Starting(ready),
            is_new: false,
            target: String::new(),
            back_off: BACK_OFF.0,
            failed_tries: 0,
            gave_up: None,
            is_to_end: false,
            asked: false,
            events: None,
            errors: BTreeMap::new(),
            kubelet: KubeletHealth::default(),
        }
    }

    /// The same, of which nobody has heard before.
    #[must_use]
    pub fn started_anew(self) -> Self {
        Self { is_new: true, ..self }
    }

    /// It is asked to end. Whoever is at work on the machine first ends that, and by a reboot
    /// (`AddSigtermProtection`); everyone else is replaced at once, and has forgotten what it waited for.
    fn end(&mut self, now: Time) -> Vec<Effect> {
        let is_at_work = matches!(
            self.phase,
            Phase::AskingForDrain(_) | Phase::Draining(_) | Phase::Applying(_) | Phase::Rebooting
        );
        if is_at_work {
            return Vec::new();
        }
        self.target.clear();
        let ready = after(now, self.draw("restart", RESTART));
        (self.phase, self.is_new, self.back_off) = (Phase::Starting(ready), true, BACK_OFF.0);
        self.forget_errors().into_iter().chain(self.forget_kubelet()).collect()
    }

    /// A span between two numbers of seconds, drawn for what is done on the way to the target.
    fn draw(&self, what: &str, seconds: Seconds) -> SignedDuration {
        pace::draw(
            self.streams,
            &format!("machine-config-daemon/{}/{}/{what}", self.node, self.target),
            seconds,
        )
    }

    /// Says that it failed, and tries again a while later.
    fn fail(&mut self, why: &str, node: &Object, now: Time, out: &mut Looked) {
        degrade(why, node, out);
        if !matches!(self.phase, Phase::Preparing(_)) {
            out.tell("RemoveSigtermProtection", "Removing SIGTERM protection");
        }
        self.phase = Phase::Preparing(now + self.back_off);
        self.back_off = (self.back_off * 2).min(BACK_OFF.1);
    }

    /// When it looks again by itself.
    fn wake_at(&self, now: Time) -> Option<Time> {
        match self.phase {
            Phase::Starting(at)
            | Phase::Drifted(at)
            | Phase::Preparing(at)
            | Phase::AskingForDrain(at)
            | Phase::Applying(at) => Some(at),
            Phase::Draining(since) | Phase::Uncordoning(since) => Some(steps::next_poll(since, now)),
            Phase::Idle | Phase::DrainFailed | Phase::Rebooting => None,
        }
    }

    fn why(&self) -> String {
        match self.phase {
            Phase::Starting(_) | Phase::Idle | Phase::Drifted(_) => String::new(),
            Phase::Draining(_) | Phase::DrainFailed => format!("waits for the drain to {}", self.target),
            _ => format!("brings the node to {}", self.target),
        }
    }

    fn writes(&mut self, node: &Object, view: &View, looked: Looked, now: Time) -> Vec<Write> {
        let mut writes = Vec::new();
        let progress = progress(node, view, &looked, now);
        if !looked.annotations.is_empty() {
            let patch = json!({ "metadata": { "annotations": looked.annotations } });
            writes.push(Write::merge_patch(&NODES, "", &self.node, patch));
        }
        writes.extend(progress);
        let host = self.node.clone();
        let events =
            self.events.get_or_insert_with(|| node_events(node, &format!("machineconfigdaemon,{host}")));
        writes.extend(looked.notices.into_iter().filter_map(|notice| events.tell(notice, now)));
        writes
    }

    fn key(&self) -> Key {
        NODES.key("", &self.node)
    }

    /// Looks at the node until there is something to be written or to be waited for.
    fn look(&mut self, view: &View, now: Time) -> Option<(Vec<Write>, Vec<Effect>)> {
        let node = view.get_key(&self.key())?.clone();
        let mut looked = Looked::default();
        loop {
            let before = self.phase.clone();
            self.go_on(&node, view, now, &mut looked);
            if self.phase == before || !looked.annotations.is_empty() || !looked.effects.is_empty() {
                break;
            }
        }
        self.sync_certificates(&node, view, &mut looked);
        let effects = std::mem::take(&mut looked.effects);
        Some((self.writes(&node, view, looked, now), effects))
    }
}

impl Actor for MachineConfigDaemon {
    fn name(&self) -> &str {
        &self.name
    }

    fn identity(&self) -> Identity {
        Identity::service_account(super::NAMESPACE, super::DAEMON)
    }

    fn interests(&self) -> Vec<Interest> {
        let controller = Interest::Object(CONTROLLER_CONFIGS.key("", CONTROLLER_CONFIG));
        vec![Interest::Object(self.key()), Interest::Object(config_node::key(&self.node)), controller]
    }

    fn step(&mut self, input: &Input<'_>) -> Step {
        let mut step = Step::default();
        self.is_to_end |= input.signals.contains(&Signal::Terminate);
        // Who ends it is its kubelet: without that it runs on.
        let ends = self.is_to_end && !input.view.get_key(&self.key()).is_some_and(has_no_kubelet);
        let forgotten = if ends { self.end(input.now) } else { Vec::new() };
        self.is_to_end &= !ends;
        if !input.answers.is_empty() {
            self.asked = false;
            // What was refused did not happen: it starts from the beginning.
            if input.answers.iter().any(|answer| answer.outcome.is_err() && answer.write.resource == NODES) {
                self.phase = Phase::Starting(after(input.now, BACK_OFF.0));
            }
        }
        if !self.asked
            && let Some((writes, effects)) = self.look(input.view, input.now)
        {
            self.asked = !writes.is_empty();
            step.writes = writes;
            step.effects = effects;
        }
        step.effects.extend(forgotten);
        // Without its node there is nothing to come back to.
        if let Some(node) = input.view.get_key(&self.key()) {
            step.effects.extend(self.look_at_kubelet(node, input.now));
            step.wake_at = self.wake_at(input.now).into_iter().chain(self.kubelet.next).min();
            step.why = self.why().into();
        }
        step
    }
}

/// What is written into the node's MachineConfigNode, where it has one.
fn progress(node: &Object, view: &View, looked: &Looked, now: Time) -> Vec<Write> {
    if looked.progress.is_empty() {
        return Vec::new();
    }
    let Some(mut teller) = Teller::of(node, view) else { return Vec::new() };
    if let Some(current) = looked.annotations.get(CURRENT_CONFIG).and_then(Value::as_str) {
        teller.has(current);
    }
    if let Some(target) = &looked.target {
        teller.target(target);
    }
    for told in &looked.progress {
        teller.tell(told, now);
    }
    teller.into_writes()
}

/// What is kept of a reason.
fn cut(why: &str) -> &str {
    let end = (0..=REASON_MAX.min(why.len())).rev().find(|end| why.is_char_boundary(*end)).unwrap_or(0);
    &why[..end]
}

/// Says that it failed.
fn degrade(why: &str, node: &Object, out: &mut Looked) {
    if node.annotation(STATE) != Some("Degraded") || node.annotation(REASON) != Some(cut(why)) {
        out.annotate(STATE, "Degraded");
        out.annotate(REASON, cut(why));
        out.progress.push(told::degraded(node.name(), why));
    }
}

/// What the controller wants.
fn desired(node: &Object) -> &str {
    node.annotation(DESIRED_CONFIG).unwrap_or_default()
}
