//! The drain controller: cordons, drains and uncordons nodes at the request of their daemons.

mod attempt;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use serde_json::{Value, json};
use windtunnel_controllers::counter::Counter;
use windtunnel_controllers::owners;
use windtunnel_controllers::recorder::{Notice, Recorder};
use windtunnel_controllers::workqueue::{Reconcile, WorkQueue};
use windtunnel_controllers::{Actor, Effect, Input, Interest, Step};
use windtunnel_core::clock::Time;
use windtunnel_core::log::{Severity, klog};
use windtunnel_core::pod::MIRROR;
use windtunnel_core::resources::{DAEMON_SETS, NODES, PODS};
use windtunnel_core::rng::Streams;
use windtunnel_core::{Answer, ChangeKind, Identity, Key, Object, View, Write, node, pod};

use self::attempt::{Attempt, Drain, TIMEOUT, failure_of};
use super::annotations::{DESIRED_DRAIN, LAST_APPLIED_DRAIN};
use super::config_node::ProgressWriter;
use super::config_node::progress_steps::{self, ProgressStep};
use super::pace::{self, StepDurations};
use super::pool::EVENT_SOURCE;
use super::{controller_events, controller_line};
use crate::manifests::MajorMinor;
use crate::marks;

/// How long it waits for further changes.
const DEBOUNCE: SignedDuration = SignedDuration::from_secs(5);

/// From this minor on a node that is uncordoned during its drain is cordoned again.
const CORDONS_AGAIN: MajorMinor = (4, 18);

const NAME: &str = "machine-config-controller/drain";

/// The metric of nodes whose drain takes too long: 1.
pub(crate) const DRAIN_ERRORS: &str = "mcc_drain_err";

/// The drain controller, a part of the machine-config controller.
#[derive(Debug, Clone)]
pub(super) struct DrainController {
    streams: Streams,
    queue: WorkQueue,
    drains: BTreeMap<Key, Drain>,
    pods: BTreeMap<String, BTreeSet<Key>>,
    events: BTreeMap<Key, Recorder>,
    /// The nodes whose drain takes too long.
    failing: BTreeSet<Key>,
    /// Counts and log lines of this step.
    effects: Vec<Effect>,
    started: bool,
}

impl DrainController {
    /// A controller that has seen no node yet.
    pub(super) fn new(streams: Streams) -> Self {
        Self {
            streams,
            queue: WorkQueue::default(),
            drains: BTreeMap::new(),
            pods: BTreeMap::new(),
            events: BTreeMap::new(),
            failing: BTreeSet::new(),
            effects: Vec::new(),
            started: false,
        }
    }

    /// Updates the metric about the drain of a node.
    fn count(&mut self, node: &Key, takes_long: bool) {
        let is_news = if takes_long { self.failing.insert(node.clone()) } else { self.failing.remove(node) };
        if is_news {
            self.effects.push(Effect::Count(Counter {
                by: NAME.to_owned(),
                metric: DRAIN_ERRORS,
                labels: BTreeMap::from([("exported_node".to_owned(), node.name.clone())]),
                count: u64::from(takes_long),
            }));
        }
    }

    /// Prints a line about a node.
    fn print(&mut self, node: &str, message: impl std::fmt::Display, now: Time) {
        let line =
            klog(Severity::Info, now, "drain_controller.go:192", format_args!("node {node}: {message}"));
        self.effects.push(Effect::Log(line));
    }

    /// Ends the drain of a node, if there is one.
    fn end(&mut self, node: &Key) {
        self.drains.remove(node);
        self.count(node, false);
    }

    fn notice(&mut self, input: &Input<'_>) {
        if !std::mem::replace(&mut self.started, true) {
            for pod in input.view.list(&PODS) {
                self.index(pod);
            }
            for node in input.view.list(&NODES) {
                self.notice_node(node, input.now);
            }
        }
        for change in input.changes {
            if change.key.is_kind(&NODES) {
                self.notice_node(&change.object, input.now);
            } else if change.kind == ChangeKind::Deleted {
                let node = pod::node_name(&change.object);
                if let Some(pods) = self.pods.get_mut(node) {
                    pods.remove(&change.key);
                }
                let drain = self.drains.get(&NODES.key("", node));
                if drain.is_some_and(|drain| drain.attempt.evicts(&change.key)) {
                    let pod = format!("Evicted pod {}/{}", change.key.namespace, change.key.name);
                    self.print(node, pod, input.now);
                }
                self.queue_if_draining(node);
            } else if change.kind == ChangeKind::Added
                || change.old.as_ref().is_some_and(|old| pod::node_name(old).is_empty())
            {
                self.index(&change.object);
                self.queue_if_draining(pod::node_name(&change.object));
            }
        }
        for (node, answer) in self.queue.process_answers(input.answers, input.now) {
            self.process_rejection(&node, answer, input.now);
        }
    }

    fn index(&mut self, pod: &Object) {
        let key = PODS.key_of(pod);
        self.pods.entry(pod::node_name(pod).to_owned()).or_default().insert(key);
    }

    fn notice_node(&mut self, node: &Object, now: Time) {
        let key = NODES.key("", node.name());
        if open_request(node).is_some() {
            self.queue.add_by(key, now + DEBOUNCE);
        } else {
            let is_over = node.annotation(LAST_APPLIED_DRAIN) == node.annotation(DESIRED_DRAIN);
            marks::DRAIN_ABANDONED.reach_if(self.drains.contains_key(&key) && !is_over);
            self.end(&key);
        }
    }

    /// Queues a node in a drain when one of its pods was added or deleted.
    fn queue_if_draining(&mut self, node: &str) {
        let key = NODES.key("", node);
        if self.drains.contains_key(&key) {
            self.queue.add(key);
        }
    }

    /// Schedules a retry of a rejected eviction if a disruption budget rejected it.
    fn process_rejection(&mut self, node: &Key, answer: &Answer, now: Time) {
        let Some(drain) = self.drains.get_mut(node).filter(|_| answer.write.subresource == Some("eviction"))
        else {
            return;
        };
        let Err(rejection) = &answer.outcome else { return };
        if rejection.code != 404 {
            let key = answer.write.key();
            let error = format!(
                "error when evicting pods/{:?} -n {:?} (will retry after 5s): {}",
                key.name, key.namespace, rejection.message
            );
            self.effects.push(Effect::Log(klog(Severity::Error, now, "drain_controller.go:162", error)));
        }
        match rejection.code {
            404 => {}
            429 => {
                marks::EVICTION_REFUSED.reach();
                drain.attempt.retry_eviction(answer.write.key(), now);
            }
            _ => {
                marks::EVICTION_FAILED.reach();
                drain.attempt.failure = Some(failure_of(&answer.write.key(), &rejection.message));
                self.queue.add(node.clone());
            }
        }
    }

    /// Continues the drain of a cordoned node. Returns whether it is complete.
    fn drain(
        &mut self,
        key: &Key,
        node: &Object,
        line: MajorMinor,
        view: &View,
        now: Time,
    ) -> (Vec<Write>, bool) {
        let mut progress = Vec::new();
        if !self.drains.contains_key(key) {
            self.print(node.name(), "cordon succeeded (currently schedulable: false)", now);
        }
        let drain = self.drains.entry(key.clone()).or_insert_with(|| {
            progress.push(progress_steps::cordoned());
            Drain { began: now, attempt: Attempt::at(now) }
        });
        if drain.attempt.began > now {
            self.queue.add_at(key.clone(), drain.attempt.began);
            return (Vec::new(), false);
        }
        let here = self.pods.get(node.name()).into_iter().flatten().filter_map(|pod| view.get_key(pod));
        let begins = drain.attempt.pods.is_none();
        let left = drain.attempt.left(here.filter(|pod| must_go(pod)).collect());
        let (desired, applied) = drain_requests(node);
        let takes_long = begins && now.duration_since(drain.began) > TIMEOUT;
        let mut lines = Vec::new();
        let mut notices = Vec::new();
        if begins {
            progress.push(progress_steps::draining(desired, applied));
            lines.push("initiating drain".to_owned());
            notices.extend(drain.too_long(node.name(), line, now));
        }
        if left.is_empty() {
            let name = format!("machine-config-controller/drain/{}/{desired}", node.name());
            let least = drain.began + pace::draw(self.streams, &name, StepDurations::of(view).drain);
            if least > now {
                self.queue.add_at(key.clone(), least);
                for line in lines {
                    self.print(node.name(), line, now);
                }
                let mut writes = progress_writes(node, &progress, view, now);
                writes.extend(self.publish(node, notices, now));
                return (writes, false);
            }
            self.end(key);
            lines.push("operation successful; applying completion annotation".to_owned());
            for line in lines {
                self.print(node.name(), line, now);
            }
            progress.push(progress_steps::drained(desired));
            let mut writes = progress_writes(node, &progress, view, now);
            writes.extend(self.publish(node, notices, now));
            return (writes, true);
        }
        let (mut writes, next, failure) = drain.evict(&left, now);
        if let Some(failure) = &failure {
            progress.push(progress_steps::drain_failed(&failure.error, desired, applied));
            lines.push(failure.message.clone());
            notices.extend(failure.notice(line));
        }
        writes.extend(progress_writes(node, &progress, view, now));
        self.queue.add_at(key.clone(), next);
        for line in lines {
            self.print(node.name(), line, now);
        }
        if marks::DRAIN_TOO_LONG.reach_if(takes_long) {
            self.count(key, true);
        }
        writes.extend(self.publish(node, notices, now));
        (writes, false)
    }

    /// The writes of Events about a node.
    fn publish(&mut self, node: &Object, notices: Vec<Notice>, now: Time) -> Vec<Write> {
        let events = self.events.entry(NODES.key("", node.name()));
        let events = events.or_insert_with(|| controller_events(&NODES, node, EVENT_SOURCE));
        events.refer_to(node);
        notices.into_iter().filter_map(|notice| events.record(notice, now)).collect()
    }
}

/// The daemon's drain request, and the last completed request.
fn drain_requests(node: &Object) -> (&str, &str) {
    let [desired, applied] = [DESIRED_DRAIN, LAST_APPLIED_DRAIN].map(|key| node.annotation(key));
    (desired.unwrap_or_default(), applied.unwrap_or_default())
}

/// Writes progress to the node's MachineConfigNode, if it has one.
fn progress_writes(node: &Object, progress: &[ProgressStep], view: &View, now: Time) -> Vec<Write> {
    let Some(mut writer) = ProgressWriter::for_node(node, view).filter(|_| !progress.is_empty()) else {
        return Vec::new();
    };
    for step in progress {
        writer.write_step(step, now);
    }
    writer.into_writes()
}

/// The daemon's open request: its verb, and the whole request.
fn open_request(node: &Object) -> Option<(&str, &str)> {
    let request = node.annotation(DESIRED_DRAIN)?;
    let (verb, _) = request.split_once('-')?;
    (node.annotation(LAST_APPLIED_DRAIN) != Some(request)).then_some((verb, request))
}

/// Cordons or uncordons a node if necessary.
fn cordon(node: &Object, wanted: bool) -> Option<Write> {
    let value = if wanted { json!(true) } else { Value::Null };
    let patch = json!({ "spec": { "unschedulable": value } });
    (node::is_unschedulable(node) != wanted).then(|| Write::merge_patch(&NODES, "", node.name(), patch))
}

/// Returns whether a pod must be evicted. Mirror pods and pods of DaemonSets stay.
fn must_go(pod: &Object) -> bool {
    pod.annotation(MIRROR).is_none() && owners::controller_of(pod, &DAEMON_SETS).is_none()
}

impl Reconcile for DrainController {
    fn queue(&mut self) -> &mut WorkQueue {
        &mut self.queue
    }

    fn sync(&mut self, key: &Key, view: &View, now: Time) -> Vec<Write> {
        let Some((node, (verb, request))) =
            view.get_key(key).and_then(|node| Some((node, open_request(node)?)))
        else {
            self.end(key);
            return Vec::new();
        };
        let applied = Write::merge_patch(
            &NODES,
            "",
            node.name(),
            json!({ "metadata": { "annotations": { (LAST_APPLIED_DRAIN): request } } }),
        );
        if verb == "uncordon" {
            // The request is complete only when the node is schedulable again.
            if let Some(uncordon) = cordon(node, false) {
                self.print(node.name(), "uncordoning", now);
                return vec![uncordon];
            }
            let progress = progress_writes(node, &[progress_steps::uncordoned()], view, now);
            self.print(node.name(), "operation successful; applying completion annotation", now);
            return progress.into_iter().chain([applied]).collect();
        }
        let line = controller_line(view);
        // The pods are listed only after the cordon, when no new ones can be scheduled.
        if (line >= CORDONS_AGAIN || !self.drains.contains_key(key))
            && let Some(cordon) = cordon(node, true)
        {
            marks::CORDONED_AGAIN.reach_if(self.drains.contains_key(key));
            self.print(node.name(), "cordoning", now);
            self.print(node.name(), "initiating cordon (currently schedulable: true)", now);
            return vec![cordon];
        }
        let (mut writes, is_through) = self.drain(key, node, line, view, now);
        writes.extend(is_through.then_some(applied));
        writes
    }
}

impl Actor for DrainController {
    fn name(&self) -> &'static str {
        NAME
    }

    fn identity(&self) -> Identity {
        super::controller_identity()
    }

    fn interests(&self) -> Vec<Interest> {
        [NODES, PODS].map(Interest::Kind).into()
    }

    fn step(&mut self, input: &Input<'_>) -> Step {
        self.notice(input);
        let mut step = self.reconcile(input);
        step.effects = std::mem::take(&mut self.effects);
        if let Some(node) = self.drains.keys().next() {
            step.why = format!("the drain of {}", node.name).into();
        }
        step
    }
}
