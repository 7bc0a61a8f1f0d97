//! Eviction of pods that do not tolerate the taints of their node, or only for some time
//! (`taint-eviction-controller`).

use std::collections::BTreeMap;

use jiff::SignedDuration;
use serde_json::json;
use windtunnel_core::clock::{Time, after};
use windtunnel_core::condition::{self, Condition};
use windtunnel_core::resources::{NODES, PODS};
use windtunnel_core::{Key, Object, View, Write, node, pod};

use crate::scheduler::taints::tolerated_for;

/// The pending evictions, each with its node and time.
///
/// `tolerationSeconds` count from the time at which the controller first sees the pod on a tainted node. The
/// taint's `timeAdded` has no effect, and further taints do not change a running timer.
#[derive(Debug, Clone, Default)]
pub(super) struct Timers {
    by_pod: BTreeMap<Key, (String, Time)>,
}

impl Timers {
    /// The time at which a pod is evicted; `None` if it may stay.
    pub(super) fn due(&mut self, key: &Key, pod: &Object, view: &View, now: Time) -> Option<Time> {
        let span = tolerance(pod, view)?;
        if span.is_zero() {
            return Some(now);
        }
        let node = pod::node_name(pod);
        let timer = self.by_pod.entry(key.clone());
        Some(timer.or_insert_with(|| (node.to_owned(), after(now, span))).1)
    }

    /// Cancels the timer of a pod. Returns whether it had one.
    pub(super) fn cancel(&mut self, pod: &Key) -> bool {
        self.by_pod.remove(pod).is_some()
    }

    /// Cancels the timers of all pods on a node without `NoExecute` taints, and returns these pods.
    pub(super) fn cancel_all(&mut self, node: &str) -> Vec<Key> {
        let canceled = self.by_pod.iter().filter(|(_, (of, _))| of == node).map(|(pod, _)| pod.clone());
        let canceled: Vec<Key> = canceled.collect();
        self.by_pod.retain(|_, (of, _)| of != node);
        canceled
    }
}

/// How long a pod tolerates the taints of its node; `None` for ever.
fn tolerance(pod: &Object, view: &View) -> Option<SignedDuration> {
    let node = view.get(&NODES, "", pod::node_name(pod)).filter(|_| !pod.is_terminating())?;
    let taints = node::taints(node).iter().filter(|taint| taint["effect"] == "NoExecute");
    let spans = taints.map(|taint| tolerated_for(pod, taint).unwrap_or_default());
    spans.min().filter(|span| *span < SignedDuration::MAX)
}

/// Sets the condition `DisruptionTarget` and deletes the pod.
pub(super) fn evict(pod: &Object, now: Time) -> Vec<Write> {
    crate::marks::EVICTED_BY_TAINT.reach();
    let mut conditions = pod.conditions().to_vec();
    let message = "Taint manager: deleting due to NoExecute taint";
    let target = Condition::new("DisruptionTarget", "True", "DeletionByTaintManager", message);
    condition::set(&mut conditions, &target, now);
    let patch = json!({ "status": { "conditions": conditions } });
    let (namespace, name) = (pod.namespace(), pod.name());
    vec![Write::merge_patch_status(&PODS, namespace, name, patch), Write::delete(&PODS, namespace, name)]
}
