//! Pods on nodes whose taints they do not tolerate, or not for long (`taint-eviction-controller`).

use serde_json::json;

use crate::actors::taints::tolerated_for;
use crate::base::clock::{Time, after, parse_rfc3339};
use crate::model::condition::{self, Condition};
use crate::model::resources::{NODES, PODS};
use crate::model::{Object, View, Write};

/// When a pod has to go from its node; `None`: it may stay.
pub(super) fn due(pod: &Object, view: &View, now: Time) -> Option<Time> {
    let node = view.get(&NODES, "", pod.text("/spec/nodeName")).filter(|_| !pod.is_terminating())?;
    let taints = node.list("/spec/taints").iter().filter(|taint| taint["effect"] == "NoExecute");
    let ends = taints.map(|taint| match tolerated_for(pod, taint) {
        None => now,
        Some(span) => after(taint["timeAdded"].as_str().and_then(parse_rfc3339).unwrap_or(now), span),
    });
    ends.min().filter(|at| *at < Time::MAX)
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
