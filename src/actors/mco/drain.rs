//! The drain controller: it cordons, drains and uncordons nodes as their daemons wish.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use serde_json::{Value, json};

use super::annotations::{DESIRED_DRAIN, LAST_APPLIED_DRAIN};
use super::config_node::Teller;
use super::config_node::told::{self, Told};
use super::pace::{self, Pace};
use super::{controller_line, node_events};
use crate::actors::recorder::{Notice, Recorder};
use crate::actors::workqueue::{Reconcile, WorkQueue};
use crate::actors::{Actor, Effect, Input, Interest, Step, owners};
use crate::base::clock::{Time, after};
use crate::base::rng::Streams;
use crate::model::counter::Counter;
use crate::model::manifests::Line;
use crate::model::pod::MIRROR;
use crate::model::resources::{DAEMON_SETS, NODES, PODS};
use crate::model::{Answer, ChangeKind, Identity, Key, Object, View, Write};

/// How long it waits for further changes.
const DEBOUNCE: SignedDuration = SignedDuration::from_secs(5);
/// How long one attempt may take.
const ATTEMPT: SignedDuration = SignedDuration::from_secs(90);
/// How long after an attempt that failed the next one begins.
const PAUSE: SignedDuration = SignedDuration::from_mins(1);
/// The same after attempts have been failing for [`THRESHOLD`].
const LONG_PAUSE: SignedDuration = SignedDuration::from_mins(5);
/// After this long failures are told.
const THRESHOLD: SignedDuration = SignedDuration::from_mins(10);
/// After this long a drain is taken for failed, though it goes on.
const TIMEOUT: SignedDuration = SignedDuration::from_hours(1);

/// From this minor on a node that somebody uncordons while it is drained is cordoned again.
const CORDONS_AGAIN: Line = (4, 18);
/// From this minor on a drain that has taken too long is told.
const TELLS_TIMEOUT: Line = (4, 19);

const NAME: &str = "machine-config-controller/drain";

/// What it exports of nodes whose drains take too long: 1.
pub(crate) const DRAIN_ERRORS: &str = "mcc_drain_err";

/// The drain controller, a part of the machine-config controller.
#[derive(Debug, Clone)]
pub(super) struct DrainController {
    streams: Streams,
    queue: WorkQueue,
    drains: BTreeMap<Key, Drain>,
    pods: BTreeMap<String, BTreeSet<Key>>,
    events: BTreeMap<Key, Recorder>,
    /// The nodes whose drains take too long, as metrics tell.
    failing: BTreeSet<Key>,
    counts: Vec<Effect>,
    started: bool,
}

/// The drain of one node.
#[derive(Debug, Clone)]
struct Drain {
    began: Time,
    attempt: Attempt,
    /// Whether its last attempt failed.
    has_failed: bool,
}

/// One attempt to drain a node.
#[derive(Debug, Clone)]
struct Attempt {
    began: Time,
    /// The pods that were there when it began, with their UIDs; those that come later are not its business.
    pods: Option<BTreeMap<Key, String>>,
    /// When a pod whose eviction was refused is asked again.
    again: BTreeMap<Key, Time>,
    /// An answer with which the attempt is over.
    failure: Option<String>,
}

impl Attempt {
    fn at(began: Time) -> Self {
        Self { began, pods: None, again: BTreeMap::new(), failure: None }
    }

    /// Those of `here` that it is about: at its beginning all of them.
    fn left<'a>(&mut self, here: Vec<&'a Object>) -> Vec<&'a Object> {
        let told = |pod: &&Object| (PODS.key(pod.namespace(), pod.name()), pod.uid().to_owned());
        let pods = self.pods.get_or_insert_with(|| here.iter().map(told).collect());
        let is_listed = |pod: &&Object| {
            pods.get(&PODS.key(pod.namespace(), pod.name())).is_some_and(|uid| uid == pod.uid())
        };
        here.into_iter().filter(is_listed).collect()
    }
}

impl DrainController {
    /// One that has not seen any node yet.
    pub(super) fn new(streams: Streams) -> Self {
        Self {
            streams,
            queue: WorkQueue::default(),
            drains: BTreeMap::new(),
            pods: BTreeMap::new(),
            events: BTreeMap::new(),
            failing: BTreeSet::new(),
            counts: Vec::new(),
            started: false,
        }
    }

    /// Tells metrics which drains take too long; one that is over does so no longer.
    fn count(&mut self, now: Time) {
        let takes_long = |drain: &Drain| drain.has_failed && now.duration_since(drain.began) >= TIMEOUT;
        let failing = self.drains.iter().filter(|(_, drain)| takes_long(drain));
        let failing: BTreeSet<Key> = failing.map(|(node, _)| node.clone()).collect();
        for node in failing.symmetric_difference(&self.failing) {
            self.counts.push(Effect::Count(Counter {
                by: NAME.to_owned(),
                metric: DRAIN_ERRORS,
                labels: BTreeMap::from([("exported_node".to_owned(), node.name.clone())]),
                count: u64::from(failing.contains(node)),
            }));
        }
        self.failing = failing;
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
            if change.key.is(&NODES) {
                self.notice_node(&change.object, input.now);
            } else if change.kind == ChangeKind::Deleted {
                let node = change.object.text("/spec/nodeName");
                if let Some(pods) = self.pods.get_mut(node) {
                    pods.remove(&change.key);
                }
                self.look_at(node);
            } else if change.kind == ChangeKind::Added
                || change.old.as_ref().is_some_and(|old| old.text("/spec/nodeName").is_empty())
            {
                self.index(&change.object);
                self.look_at(change.object.text("/spec/nodeName"));
            }
        }
        for (node, answer) in self.queue.answered(input.answers, input.now) {
            self.refused(&node, answer, input.now);
        }
    }

    fn index(&mut self, pod: &Object) {
        let key = PODS.key(pod.namespace(), pod.name());
        self.pods.entry(pod.text("/spec/nodeName").to_owned()).or_default().insert(key);
    }

    fn notice_node(&mut self, node: &Object, now: Time) {
        let key = NODES.key("", node.name());
        if wish(node).is_some() {
            self.queue.add_by(key, now + DEBOUNCE);
        } else {
            self.drains.remove(&key);
        }
    }

    /// A pod of a node that is being drained came or went.
    fn look_at(&mut self, node: &str) {
        let key = NODES.key("", node);
        if self.drains.contains_key(&key) {
            self.queue.add(key);
        }
    }

    /// A refused eviction is asked for again soon where the budget may allow it then.
    fn refused(&mut self, node: &Key, answer: &Answer, now: Time) {
        let Some(drain) = self.drains.get_mut(node).filter(|_| answer.write.subresource == Some("eviction"))
        else {
            return;
        };
        let Err(refusal) = &answer.outcome else { return };
        match refusal.code {
            404 => {}
            429 => _ = drain.attempt.again.insert(answer.write.key(), now + DEBOUNCE),
            _ => {
                drain.attempt.failure = Some(failure_of(&answer.write.key(), &refusal.message));
                self.queue.add(node.clone());
            }
        }
    }

    /// Goes on with the drain of a node that is cordoned; gives whether nothing is left on it.
    fn drain(&mut self, key: &Key, node: &Object, line: Line, view: &View, now: Time) -> (Vec<Write>, bool) {
        let mut progress = Vec::new();
        let drain = self.drains.entry(key.clone()).or_insert_with(|| {
            progress.push(told::cordoned());
            Drain { began: now, attempt: Attempt::at(now), has_failed: false }
        });
        if drain.attempt.began > now {
            self.queue.add_at(key.clone(), drain.attempt.began);
            return (Vec::new(), false);
        }
        let here = self.pods.get(node.name()).into_iter().flatten().filter_map(|pod| view.get_key(pod));
        let begins = drain.attempt.pods.is_none();
        let left = drain.attempt.left(here.filter(|pod| must_go(pod)).collect());
        let (desired, applied) = wishes(node);
        if begins {
            progress.push(told::draining(desired, applied));
        }
        if left.is_empty() {
            let name = format!("machine-config-controller/drain/{}/{desired}", node.name());
            let least = drain.began + pace::draw(self.streams, &name, Pace::of(view).drain);
            if least > now {
                self.queue.add_at(key.clone(), least);
                return (tell(node, &progress, view, now), false);
            }
            self.drains.remove(key);
            progress.push(told::drained(desired));
            return (tell(node, &progress, view, now), true);
        }
        let (mut writes, next, failure) = drain.go_on(&left, now);
        progress.extend(failure.as_ref().map(|failure| told::drain_failed(failure, desired, applied)));
        writes.extend(tell(node, &progress, view, now));
        self.queue.add_at(key.clone(), next);
        let notices =
            failure.map(|failure| drain.failed(node.name(), &failure, line, now)).unwrap_or_default();
        let events = self
            .events
            .entry(key.clone())
            .or_insert_with(|| node_events(node, "machineconfigcontroller-drain"));
        let told = notices.into_iter().filter_map(|notice| events.tell(notice, now));
        (writes.into_iter().chain(told).collect(), false)
    }
}

impl Drain {
    /// What to ask now, when to look again, and why the attempt failed, if it just did.
    fn go_on(&mut self, left: &[&Object], now: Time) -> (Vec<Write>, Time, Option<String>) {
        let pause = if now.duration_since(self.began) >= THRESHOLD { LONG_PAUSE } else { PAUSE };
        let over = after(self.attempt.began, ATTEMPT);
        let failure = self.attempt.failure.take();
        if failure.is_some() || over <= now {
            let failure = failure.unwrap_or_else(|| timed_out(left));
            self.attempt = Attempt::at(now + pause);
            self.has_failed = true;
            return (Vec::new(), now + pause, Some(failure));
        }
        let (mut writes, mut next) = (Vec::new(), over);
        for pod in left.iter().filter(|pod| !pod.is_terminating()) {
            let key = PODS.key(pod.namespace(), pod.name());
            match self.attempt.again.get(&key).filter(|at| **at > now) {
                Some(at) => next = next.min(*at),
                None => writes.push(Write::evict(pod.namespace(), pod.name())),
            }
        }
        (writes, next, None)
    }

    /// What is told of an attempt that failed.
    fn failed(&self, node: &str, failure: &str, line: Line, now: Time) -> Vec<Notice> {
        let since = now.duration_since(self.began);
        let mut notices = Vec::new();
        if since >= TIMEOUT && line >= TELLS_TIMEOUT {
            let said = format!("node {node}: drain exceeded timeout: 1h0m0s. Will continue to retry.");
            notices.push(Notice::warning("DrainFailed", said));
        }
        if since >= THRESHOLD {
            let said = format!(
                "Drain failed. Drain has been failing for more than 10 minutes. Waiting 5 minutes then retrying. Error message from drain: {failure}"
            );
            notices.push(Notice::warning("DrainThresholdExceeded", said));
        }
        notices
    }
}

/// What the daemon wishes, and what it wished when that last came true.
fn wishes(node: &Object) -> (&str, &str) {
    let [desired, applied] = [DESIRED_DRAIN, LAST_APPLIED_DRAIN].map(|key| node.annotation(key));
    (desired.unwrap_or_default(), applied.unwrap_or_default())
}

/// Tells in the node's MachineConfigNode, where it has one.
fn tell(node: &Object, progress: &[Told], view: &View, now: Time) -> Vec<Write> {
    let Some(mut teller) = Teller::of(node, view).filter(|_| !progress.is_empty()) else { return Vec::new() };
    for told in progress {
        teller.tell(told, now);
    }
    teller.into_writes()
}

/// What the daemon wishes and has not got: the verb, and the wish itself.
fn wish(node: &Object) -> Option<(&str, &str)> {
    let wish = node.annotation(DESIRED_DRAIN)?;
    let (verb, _) = wish.split_once('-')?;
    (node.annotation(LAST_APPLIED_DRAIN) != Some(wish)).then_some((verb, wish))
}

/// Cordons or uncordons a node that is not so yet.
fn cordon(node: &Object, wanted: bool) -> Option<Write> {
    let is_cordoned = node["spec"]["unschedulable"] == true;
    let told = if wanted { json!(true) } else { Value::Null };
    let patch = json!({ "spec": { "unschedulable": told } });
    (is_cordoned != wanted).then(|| Write::merge_patch(&NODES, "", node.name(), patch))
}

/// Whether a pod has to leave: mirrors of static pods and pods of DaemonSets stay.
fn must_go(pod: &Object) -> bool {
    pod.annotation(MIRROR).is_none() && owners::controller_of(pod, &DAEMON_SETS).is_none()
}

fn failure_of(pod: &Key, why: &str) -> String {
    format!("error when evicting pods/{:?} -n {:?}: {why}", pod.name, pod.namespace)
}

fn timed_out(left: &[&Object]) -> String {
    let mut failures: Vec<String> = left
        .iter()
        .map(|pod| {
            let why = "global timeout reached: 1m30s";
            if pod.is_terminating() {
                let (name, namespace) = (pod.name(), pod.namespace());
                format!("error when waiting for pod {name:?} in namespace {namespace:?} to terminate: {why}")
            } else {
                failure_of(&PODS.key(pod.namespace(), pod.name()), why)
            }
        })
        .collect();
    match failures.len() {
        1 => failures.remove(0),
        _ => format!("[{}]", failures.join(", ")),
    }
}

impl Reconcile for DrainController {
    fn queue(&mut self) -> &mut WorkQueue {
        &mut self.queue
    }

    fn sync(&mut self, key: &Key, view: &View, now: Time) -> Vec<Write> {
        let Some((node, (verb, wish))) = view.get_key(key).and_then(|node| Some((node, wish(node)?))) else {
            self.drains.remove(key);
            return Vec::new();
        };
        let applied = Write::merge_patch(
            &NODES,
            "",
            node.name(),
            json!({ "metadata": { "annotations": { (LAST_APPLIED_DRAIN): wish } } }),
        );
        if verb == "uncordon" {
            let told = tell(node, &[told::uncordoned()], view, now);
            return cordon(node, false).into_iter().chain(told).chain([applied]).collect();
        }
        let line = controller_line(view);
        // Pods are listed when no new ones can come.
        if (line >= CORDONS_AGAIN || !self.drains.contains_key(key))
            && let Some(cordon) = cordon(node, true)
        {
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
        self.count(input.now);
        step.effects = std::mem::take(&mut self.counts);
        if let Some(node) = self.drains.keys().next() {
            step.why = format!("drains {}", node.name).into();
        }
        step
    }
}
