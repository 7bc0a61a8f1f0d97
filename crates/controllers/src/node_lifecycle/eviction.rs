//! Pods on nodes whose taints they do not tolerate, or not for long (`taint-eviction-controller`).

use std::collections::BTreeMap;

use jiff::SignedDuration;
use serde_json::json;
use windtunnel_core::clock::{Time, after};
use windtunnel_core::condition;
use windtunnel_core::condition::Condition;
use windtunnel_core::resources::{NODES, PODS};
use windtunnel_core::{Key, Object, View, Write};

use crate::scheduler::taints::tolerated_for;

/// The pods that are evicted later, each with its node and moment.
///
/// `tolerationSeconds` count from the moment at which the controller first sees the pod on a tainted node. `timeAdded` of
/// the taint does not matter, and other taints do not change a timer that runs.
#[derive(Debug, Clone, Default)]
pub(super) struct Timers {
    by_pod: BTreeMap<Key, (String, Time)>,
}

impl Timers {
    /// When a pod has to leave its node; `None`: it may stay, and its timer ends.
    pub(super) fn due(&mut self, key: &Key, pod: &Object, view: &View, now: Time) -> Option<Time> {
        let Some(span) = tolerance(pod, view) else {
            self.cancel(key);
            return None;
        };
        if span.is_zero() {
            return Some(now);
        }
        let node = pod.text("/spec/nodeName");
        let timer = self.by_pod.entry(key.clone());
        Some(timer.or_insert_with(|| (node.to_owned(), after(now, span))).1)
    }

    /// Ends the timer of a pod.
    pub(super) fn cancel(&mut self, pod: &Key) {
        self.by_pod.remove(pod);
    }

    /// Ends the timers of all pods on a node, which lost its taints.
    pub(super) fn cancel_all(&mut self, node: &str) {
        self.by_pod.retain(|_, (of, _)| of != node);
    }
}

/// How long a pod may stay on its tainted node; `None`: for ever.
fn tolerance(pod: &Object, view: &View) -> Option<SignedDuration> {
    let node = view.get(&NODES, "", pod.text("/spec/nodeName")).filter(|_| !pod.is_terminating())?;
    let taints = node.list("/spec/taints").iter().filter(|taint| taint["effect"] == "NoExecute");
    let spans = taints.map(|taint| tolerated_for(pod, taint).unwrap_or_default());
    spans.min().filter(|span| *span < SignedDuration::MAX)
}

/// Says in the pod's status why it goes, and deletes it.
pub(super) fn evict(pod: &Object, now: Time) -> Vec<Write> {
    let mut conditions = pod.list("/status/conditions").to_vec();
    let message = "Taint manager: deleting due to NoExecute taint";
    let target = Condition::new("DisruptionTarget", "True", "DeletionByTaintManager", message);
    condition::set(&mut conditions, &target, now);
    let patch = json!({ "status": { "conditions": conditions } });
    let (namespace, name) = (pod.namespace(), pod.name());
    vec![Write::merge_patch_status(&PODS, namespace, name, patch), Write::delete(&PODS, namespace, name)]
}
