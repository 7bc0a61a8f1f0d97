//! The machine-config daemon of one node. It updates the node to the desired MachineConfig, with a drain and
//! a reboot if the change needs them.
//!
//! The persistent state is in the node's annotations. The struct has only what a real daemon loses on a
//! restart. The machine's [`Disk`] survives the daemon.

mod certificates;
mod changes;
mod failures;
mod kubelet_health;
mod steps;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use jiff::SignedDuration;
use serde_json::{Map, Value, json};
use windtunnel_controllers::machine::Disk;
use windtunnel_controllers::recorder::{Notice, Recorder};
use windtunnel_controllers::{Actor, Effect, Input, Interest, Signal, Step};
use windtunnel_core::clock::{Time, after};
use windtunnel_core::log::{Severity, klog};
use windtunnel_core::resources::{CONTROLLER_CONFIGS, MACHINE_CONFIG_NODES, NODES};
use windtunnel_core::rng::Streams;
use windtunnel_core::{Answer, Identity, Key, Object, View, Write};

use self::kubelet_health::{KubeletHealth, has_no_kubelet};
use super::annotations::{CURRENT_CONFIG, CURRENT_IMAGE, DESIRED_CONFIG, DESIRED_IMAGE, REASON, STATE};
use super::back_off::BackOff;
use super::config_node::progress_steps::{self, ProgressStep};
use super::config_node::{self, ProgressWriter};
use super::membership::is_windows;
use super::pace::{self, Seconds};
use super::{CONTROLLER_CONFIG, daemon_events};
use crate::marks;
pub(crate) use failures::{PIVOT_ERRORS, REBOOT_ERRORS};
pub(crate) use kubelet_health::KUBELET_STATE;

/// The maximum length of a reason, in bytes.
const REASON_MAX: usize = 2000;
/// The time between two reports of a kubelet, each of which makes the daemon look at its node (`nodeStatusReportFrequency`).
const NODE_REPORTS: SignedDuration = SignedDuration::from_mins(5);

/// Seconds between the end of a process and the first check of its successor.
const RESTART: Seconds = (1, 3);

/// The next action of the daemon. Times are when it is due, or when a wait started.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Phase {
    /// The process starts and checks its node at this time.
    Starting(Time),
    Idle,
    /// The disk differs from the MachineConfig, and the daemon validates it again at this time.
    Drifted(Time),
    /// It checks at this time whether it can apply the desired MachineConfig.
    Preparing(Time),
    /// It requests a drain at this time.
    RequestingDrain(Time),
    /// It has waited for the drain since this time.
    Draining(Time),
    /// The drain took too long. It waits until the drain completes.
    DrainFailed,
    /// It writes files and stages the operating system until this time, or retries the latter then.
    Applying(Time),
    /// It has reported a reboot.
    Rebooting,
    /// It has waited for the uncordon since this time.
    Uncordoning(Time),
}

/// The machine-config daemon of one node.
#[derive(Debug, Clone)]
pub struct MachineConfigDaemon {
    name: String,
    node: String,
    disk: Disk,
    streams: Streams,
    phase: Phase,
    /// Whether the process has just started. It then reports that the node is done even if nothing changed.
    is_new: bool,
    /// The MachineConfig that it applies, even if the desired one changes meanwhile.
    target: String,
    /// The custom image that it applies, or empty for that of the release.
    target_image: String,
    /// The pause after the next failure.
    back_off: BackOff,
    /// The pause after the next rejected write to its node.
    write_back_off: BackOff,
    /// Failed attempts to change the operating system in the current sync.
    failed_tries: usize,
    /// The reasons and messages of Events to publish once the disk is written without a reboot.
    events_without_reboot: Vec<(&'static str, String)>,
    /// The failure to report after the current pause, even if the fault is healed by then.
    gave_up: Option<String>,
    /// Whether it received a termination signal.
    should_stop: bool,
    /// Whether its last writes are unanswered.
    awaits_answers: bool,
    /// When it reports to its MachineConfigNode again after a rejection, if its node does not change before: the real daemon
    /// prints the error and goes on.
    reports_again: Option<Time>,
    events: Option<Recorder>,
    /// Error counts since the process started, by metric.
    errors: BTreeMap<&'static str, u64>,
    kubelet: KubeletHealth,
}

/// The results of one check of the node.
#[derive(Debug, Default)]
struct DaemonOutput {
    annotations: Map<String, Value>,
    notices: Vec<Notice>,
    effects: Vec<Effect>,
    /// The lines for the log.
    lines: Vec<(Severity, &'static str, String)>,
    /// The new desired MachineConfig for the MachineConfigNode.
    target: Option<String>,
    /// The progress steps for the MachineConfigNode, in order.
    progress: Vec<ProgressStep>,
}

impl DaemonOutput {
    fn annotate(&mut self, key: &str, value: &str) {
        self.annotations.insert(key.to_owned(), json!(value));
    }

    /// Prints a line to the log.
    fn info(&mut self, source: &'static str, message: String) {
        self.lines.push((Severity::Info, source, message));
    }

    /// Prints a quoted line, as for messages that the real daemon also sends to the journal.
    fn journal(&mut self, message: &str) {
        self.info("update.go:3106", format!("{message:?}"));
    }

    fn publish(&mut self, reason: &'static str, message: impl Into<String>) {
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
            target_image: String::new(),
            back_off: BackOff::default(),
            write_back_off: BackOff::default(),
            failed_tries: 0,
            events_without_reboot: Vec::new(),
            gave_up: None,
            should_stop: false,
            awaits_answers: false,
            reports_again: None,
            events: None,
            errors: BTreeMap::new(),
            kubelet: KubeletHealth::default(),
        }
    }

    /// The same daemon as a process that has just started.
    #[must_use]
    pub fn started_anew(self) -> Self {
        Self { is_new: true, ..self }
    }

    /// Handles the termination signal. A daemon that changes the machine ignores it, because the update ends
    /// with a reboot anyway (`AddSigtermProtection`). Otherwise it is replaced by a new process without its
    /// waits.
    fn end(&mut self, now: Time) -> Vec<Effect> {
        let is_at_work = matches!(
            self.phase,
            Phase::RequestingDrain(_) | Phase::Draining(_) | Phase::Applying(_) | Phase::Rebooting
        );
        if marks::DAEMON_FINISHES_FIRST.reach_if(is_at_work) {
            return Vec::new();
        }
        self.target.clear();
        let ready = after(now, self.draw("restart", RESTART));
        (self.phase, self.is_new) = (Phase::Starting(ready), true);
        self.back_off.reset();
        self.write_back_off.reset();
        self.reset_errors().into_iter().chain(self.reset_kubelet_health()).collect()
    }

    /// Returns whether the disk has the desired MachineConfig and image.
    fn has_desired(&self, node: &Object) -> bool {
        desired(node) == self.disk.config && desired_image(node) == self.disk.custom_image
    }

    /// Returns whether the node reports what its disk has.
    fn reports_disk(&self, node: &Object) -> bool {
        annotation(node, CURRENT_CONFIG) == self.disk.config
            && annotation(node, CURRENT_IMAGE) == self.disk.custom_image
    }

    /// Makes the desired MachineConfig and image the target.
    fn take_target(&mut self, node: &Object) {
        desired(node).clone_into(&mut self.target);
        desired_image(node).clone_into(&mut self.target_image);
    }

    /// A random duration within a range, for an action during the update to the current target.
    fn draw(&self, what: &str, seconds: Seconds) -> SignedDuration {
        pace::draw(
            self.streams,
            &format!("machine-config-daemon/{}/{}/{what}", self.node, self.target),
            seconds,
        )
    }

    /// Reports a failure and schedules a retry with back-off.
    fn fail(&mut self, why: &str, node: &Object, now: Time, out: &mut DaemonOutput) {
        marks::DAEMON_TRIES_AGAIN.reach();
        degrade(why, node, out);
        if !matches!(self.phase, Phase::Preparing(_)) {
            out.publish("RemoveSigtermProtection", "Removing SIGTERM protection");
        }
        self.phase = Phase::Preparing(now + self.back_off.fail());
    }

    /// Continues after the answers to its writes. A rejected write has no effect, so it starts over.
    fn read_answers(&mut self, answers: &[Answer], now: Time) {
        self.awaits_answers = false;
        let is_rejected = |answer: &&Answer| answer.outcome.is_err();
        if answers
            .iter()
            .any(|answer| is_rejected(&answer) && answer.write.resource.kind == MACHINE_CONFIG_NODES.kind)
        {
            self.reports_again = Some(after(now, NODE_REPORTS));
        }
        let mut to_node = answers.iter().filter(|answer| answer.write.resource == NODES).peekable();
        if to_node.peek().is_none() {
            return;
        }
        if to_node.any(|answer| is_rejected(&answer)) {
            marks::DAEMON_STARTS_OVER.reach();
            self.phase = Phase::Starting(after(now, self.write_back_off.fail()));
        } else {
            self.write_back_off.reset();
        }
    }

    /// The time of its next check if nothing changes before.
    fn wake_at(&self, now: Time) -> Option<Time> {
        match self.phase {
            Phase::Starting(at)
            | Phase::Drifted(at)
            | Phase::Preparing(at)
            | Phase::RequestingDrain(at)
            | Phase::Applying(at) => Some(at),
            Phase::Draining(since) | Phase::Uncordoning(since) => Some(steps::next_poll(since, now)),
            Phase::Idle | Phase::DrainFailed | Phase::Rebooting => None,
        }
    }

    fn why(&self) -> String {
        match self.phase {
            Phase::Starting(_) | Phase::Idle | Phase::Drifted(_) => String::new(),
            Phase::Draining(_) | Phase::DrainFailed => format!("the drain before {}", self.target),
            _ => format!("the update of the node to {}", self.target),
        }
    }

    fn writes(&mut self, node: &Object, view: &View, output: DaemonOutput, now: Time) -> Vec<Write> {
        let mut writes = Vec::new();
        let progress = progress(node, view, &output, now);
        if !output.annotations.is_empty() {
            let patch = json!({ "metadata": { "annotations": output.annotations } });
            writes.push(Write::merge_patch(&NODES, "", &self.node, patch));
        }
        writes.extend(progress);
        let host = self.node.clone();
        let events = self.events.get_or_insert_with(|| daemon_events(node, &host));
        writes.extend(output.notices.into_iter().filter_map(|notice| events.record(notice, now)));
        writes
    }

    fn key(&self) -> Key {
        NODES.key("", &self.node)
    }

    /// Checks the node until there is something to write or to wait for.
    fn check_node(&mut self, view: &View, now: Time) -> Option<(Vec<Write>, Vec<Effect>)> {
        let node = view.get_key(&self.key())?.clone();
        if is_windows(&node) {
            return None;
        }
        let is_at_work = !matches!(self.phase, Phase::Starting(_) | Phase::Idle | Phase::Drifted(_));
        marks::RETARGETED_AT_WORK
            .reach_if(is_at_work && !self.target.is_empty() && desired(&node) != self.target);
        let mut output = DaemonOutput::default();
        loop {
            let before = self.phase.clone();
            self.run_phase(&node, view, now, &mut output);
            if self.phase == before || !output.annotations.is_empty() || !output.effects.is_empty() {
                break;
            }
        }
        self.sync_certificates(&node, view, &mut output);
        let lines = std::mem::take(&mut output.lines).into_iter();
        let lines = lines.map(|(severity, source, text)| Effect::Log(klog(severity, now, source, text)));
        let effects = lines.chain(std::mem::take(&mut output.effects)).collect();
        Some((self.writes(&node, view, output, now), effects))
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
        self.should_stop |= input.signals.contains(&Signal::Terminate);
        // The kubelet stops the daemon. A daemon whose kubelet is stopped continues to run.
        let ends = self.should_stop && !input.view.get_key(&self.key()).is_some_and(has_no_kubelet);
        let reset_counts = if ends { self.end(input.now) } else { Vec::new() };
        self.should_stop &= !ends;
        let is_due = self.reports_again.is_some_and(|at| at <= input.now);
        if is_due || input.changes.iter().any(|change| change.key == self.key()) {
            self.reports_again = None;
        }
        if !input.answers.is_empty() {
            self.read_answers(input.answers, input.now);
        }
        if !self.awaits_answers
            && let Some((writes, effects)) = self.check_node(input.view, input.now)
        {
            self.awaits_answers = !writes.is_empty();
            step.writes = writes;
            step.effects = effects;
        }
        step.effects.extend(reset_counts);
        // Without its node there is nothing to wait for, and a node with Windows has no daemon.
        if let Some(node) = input.view.get_key(&self.key()).filter(|node| !is_windows(node)) {
            step.effects.extend(self.check_kubelet(node, input.now));
            step.wake_at =
                self.wake_at(input.now).into_iter().chain(self.kubelet.next).chain(self.reports_again).min();
            step.why = self.why().into();
        }
        step
    }
}

/// The writes to the node's MachineConfigNode, if it has one.
fn progress(node: &Object, view: &View, output: &DaemonOutput, now: Time) -> Vec<Write> {
    if output.progress.is_empty() {
        return Vec::new();
    }
    let Some(mut writer) = ProgressWriter::for_node(node, view) else { return Vec::new() };
    if let Some(current) = output.annotations.get(CURRENT_CONFIG).and_then(Value::as_str) {
        writer.set_current(current);
    }
    if let Some(target) = &output.target {
        writer.set_target(target);
    }
    for step in &output.progress {
        writer.write_step(step, now);
    }
    writer.into_writes()
}

/// Truncates a reason to its maximum length.
fn truncate_reason(why: &str) -> &str {
    let end = (0..=REASON_MAX.min(why.len())).rev().find(|end| why.is_char_boundary(*end)).unwrap_or(0);
    &why[..end]
}

/// Sets the node's state to Degraded.
fn degrade(why: &str, node: &Object, out: &mut DaemonOutput) {
    if node.annotation(STATE) != Some("Degraded") || node.annotation(REASON) != Some(truncate_reason(why)) {
        out.lines.push((Severity::Error, "writer.go:231", format!("Marking Degraded due to: {why:?}")));
        out.annotate(STATE, "Degraded");
        out.annotate(REASON, truncate_reason(why));
        out.progress.push(progress_steps::degraded(node.name(), why));
    }
}

/// An annotation of the node, or empty.
fn annotation<'a>(node: &'a Object, key: &str) -> &'a str {
    node.annotation(key).unwrap_or_default()
}

/// The node's desired custom image, or empty for that of the release.
fn desired_image(node: &Object) -> &str {
    annotation(node, DESIRED_IMAGE)
}

/// The node's desired MachineConfig.
fn desired(node: &Object) -> &str {
    annotation(node, DESIRED_CONFIG)
}
