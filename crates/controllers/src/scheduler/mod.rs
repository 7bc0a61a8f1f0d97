//! The scheduler: it binds pods to nodes that fit.
//!
//! A node fits a pod if it matches the node selector and required node affinity, if the pod tolerates its
//! taints, if it has the requested resources, and if no required anti-affinity of the pod excludes it. Of several, the
//! scheduler prefers in this order:
//! 1. the fewest untolerated `PreferNoSchedule` taints
//! 2. the fewest pods of the same owner
//! 3. nodes that have the image
//! 4. the fewest pods
//!
//! It ignores preferences and affinity of pods, ports of hosts and volumes, and deletes no pods for others (preemption).

mod events;
mod fit;
mod load;
pub mod placement;
pub mod taints;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use windtunnel_core::clock::Time;
use windtunnel_core::condition::{self, Condition};
use windtunnel_core::resources::{NODES, PODS};
use windtunnel_core::{Answer, Change, ChangeKind, Identity, Key, Object, View, Write, pod};

use self::load::Loads;
use super::workqueue::WorkQueue;
use super::{Actor, ControllerVersion, Input, Interest, Step};
use crate::owners;

/// The scheduler of pods without a `schedulerName`.
const DEFAULT: &str = "default-scheduler";

/// Returns the node that takes a pod, as a scheduler without preemption chooses it from these nodes and pods.
///
/// # Errors
/// The scheduler's message, if no node takes it.
pub fn find_node<'v>(pod: &Object, view: &'v View) -> Result<&'v str, String> {
    fit::node_for(pod, view, &mut Loads::default(), ControllerVersion::default().differences_in(view))
}

/// The resources that a pod requests, by name: CPUs in thousandths, others in whole units.
pub fn requested_resources(pod: &Object) -> BTreeMap<String, i64> {
    load::requests(pod)
}

/// The kube-scheduler.
#[derive(Debug, Clone, Default)]
pub struct Scheduler {
    queue: WorkQueue,
    /// Pods that fit no node.
    unschedulable: BTreeSet<Key>,
    /// The Events about bindings that are not answered yet.
    bindings: BTreeMap<Key, Write>,
    loads: Loads,
    version: ControllerVersion,
    started: bool,
}

impl Scheduler {
    /// Creates a scheduler.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the version.
    #[must_use]
    pub fn with_version(self, version: ControllerVersion) -> Self {
        Self { version, ..self }
    }

    /// Queues the pods that may be scheduled now. Returns the Events about pods that were bound.
    fn notice(&mut self, input: &Input<'_>) -> Vec<(Key, Write)> {
        if !std::mem::replace(&mut self.started, true) {
            for pod in input.view.list(&PODS) {
                self.queue.add(PODS.key_of(pod));
            }
        }
        for change in input.changes {
            self.forget_loads(change);
            if change.key.is_kind(&NODES) {
                if change.old.as_ref().is_none_or(|old| may_take_more(old, &change.object)) {
                    self.retry_unschedulable();
                }
            } else if change.kind == ChangeKind::Deleted {
                self.unschedulable.remove(&change.key);
                self.bindings.remove(&change.key);
                self.retry_unschedulable();
            } else if pod::node_name(&change.object).is_empty() {
                self.queue.add(change.key.clone());
            }
        }
        let answers = self.queue.settle_answers(input.answers, input.now);
        let bound = answers.into_iter().filter(|(_, answer)| answer.write.subresource == Some("binding"));
        let event = |(pod, answer): (Key, &Answer)| {
            let event = self.bindings.remove(&pod).filter(|_| answer.outcome.is_ok())?;
            Some((pod, event))
        };
        bound.filter_map(event).collect()
    }

    /// Forgets what the nodes of a changed pod have, and a deleted node.
    fn forget_loads(&mut self, change: &Change) {
        if change.key.is_kind(&NODES) {
            if change.kind == ChangeKind::Deleted {
                self.loads.forget(&change.key.name);
            }
            return;
        }
        for pod in change.old.iter().chain([&change.object]) {
            self.loads.forget(pod::node_name(pod));
        }
    }

    fn retry_unschedulable(&mut self) {
        for pod in &self.unschedulable {
            self.queue.add(pod.clone());
        }
    }

    /// The writes for a pod: its binding, or the reason why it fits no node.
    fn sync(&mut self, key: &Key, view: &View, now: Time) -> Vec<Write> {
        self.unschedulable.remove(key);
        let Some(pod) = view.get_key(key).filter(|pod| is_pending(pod)) else { return Vec::new() };
        let differences = self.version.differences_in(view);
        match fit::node_for(pod, view, &mut self.loads, differences) {
            Ok(node) => {
                self.bindings.insert(key.clone(), events::scheduled(pod, node, now));
                vec![Write::bind(&key.namespace, &key.name, node)]
            }
            Err(why) => {
                self.unschedulable.insert(key.clone());
                let generation = differences.observes_pods.then(|| pod.generation());
                let condition = write_unschedulable(pod, &why, generation, now);
                condition.into_iter().flat_map(|write| [events::failed(pod, &why, now), write]).collect()
            }
        }
    }
}

/// Whether a changed node may fit more pods than before.
fn may_take_more(old: &Object, node: &Object) -> bool {
    old["spec"] != node["spec"]
        || old["metadata"]["labels"] != node["metadata"]["labels"]
        || old["status"]["allocatable"] != node["status"]["allocatable"]
}

/// Whether a pod is to be scheduled by this scheduler.
fn is_pending(pod: &Object) -> bool {
    matches!(pod.text("/spec/schedulerName"), "" | DEFAULT)
        && pod::node_name(pod).is_empty()
        && pod.list("/spec/schedulingGates").is_empty()
        && owners::is_active(pod)
}

/// Sets `PodScheduled` of a pod to `False` with the reason and the generation of the pod, unless it is set already.
fn write_unschedulable(pod: &Object, why: &str, generation: Option<i64>, now: Time) -> Option<Write> {
    let unschedulable = Condition::new("PodScheduled", "False", "Unschedulable", why);
    if condition::find_in_status(pod, "PodScheduled")
        .is_some_and(|found| Condition::from_value(found) == unschedulable)
    {
        return None;
    }
    crate::marks::NO_NODE_FITS.reach();
    let mut conditions: Vec<Value> = pod.conditions().to_vec();
    condition::set(&mut conditions, &unschedulable, now);
    let own = conditions.iter_mut().find(|found| found["type"] == "PodScheduled");
    if let (Some(own), Some(generation)) = (own, generation.filter(|generation| *generation > 0)) {
        own["observedGeneration"] = json!(generation);
    }
    let patch = json!({ "status": { "conditions": conditions } });
    Some(Write::merge_patch_status(&PODS, pod.namespace(), pod.name(), patch))
}

impl Actor for Scheduler {
    fn name(&self) -> &'static str {
        "kube-scheduler"
    }

    fn identity(&self) -> Identity {
        Identity::new("system:kube-scheduler", &[])
    }

    fn interests(&self) -> Vec<Interest> {
        vec![Interest::Kind(PODS), Interest::Kind(NODES)]
    }

    fn step(&mut self, input: &Input<'_>) -> Step {
        let events = self.notice(input);
        let mut step = Step::default();
        // Binds one pod per step, as each binding affects the choice for the next pod.
        for key in self.queue.take_due(input.now) {
            if step.writes.is_empty() {
                for write in self.sync(&key, input.view, input.now) {
                    self.queue.send(&key, write, &mut step.writes);
                }
            } else {
                self.queue.add(key);
            }
        }
        for (key, event) in events {
            self.queue.send(&key, event, &mut step.writes);
        }
        step.wake_at = self.queue.next();
        if let Some(pod) = self.unschedulable.first() {
            step.why = format!("a node for {pod}").into();
        }
        step
    }
}
