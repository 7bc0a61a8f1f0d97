//! Selection of a node for a pod, and the reasons for rejecting nodes.

use std::collections::BTreeMap;

use serde_json::Value;
use windtunnel_core::resources::{NODES, PODS};
use windtunnel_core::selector::selector_matches;
use windtunnel_core::{Object, View};

use crate::owners;
use crate::scheduler::placement::is_chosen;
use crate::scheduler::taints::{self, find_untolerated, tolerated};

/// The best node for a pod, or the scheduler's message if no node fits.
pub(super) fn node_for<'v>(pod: &Object, view: &'v View) -> Result<&'v str, String> {
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    let (mut fitting, mut all) = (Vec::new(), 0);
    for node in view.list(&NODES) {
        all += 1;
        match refusal(pod, node, view) {
            None => fitting.push(node),
            Some(why) => *reasons.entry(why).or_default() += 1,
        }
    }
    if let Some(node) = fitting.into_iter().min_by_key(|node| rank(pod, node, view)) {
        return Ok(node.name());
    }
    if all == 0 {
        return Err("no nodes available to schedule pods".to_owned());
    }
    let mut reasons: Vec<String> = reasons.iter().map(|(why, count)| format!("{count} {why}")).collect();
    reasons.sort();
    Err(format!(
        "0/{all} nodes are available: {}. preemption: 0/{all} nodes are available: {all} Preemption is not helpful \
         for scheduling.",
        reasons.join(", ")
    ))
}

/// The rank of a node for a pod; the lowest is the best. Compares untolerated `PreferNoSchedule` taints, pods
/// of the same owner, the absence of the pod's image, and the number of pods.
fn rank(pod: &Object, node: &Object, view: &View) -> (usize, usize, bool, usize) {
    let prefers_not = |taint: &&Value| taint["effect"] == "PreferNoSchedule" && !tolerated(pod, taint);
    let untolerated = node.list("/spec/taints").iter().filter(prefers_not).count();
    let owner = owners::controller(pod).map(|owner| &owner["uid"]);
    let image = pod.text("/spec/containers/0/image");
    let (mut same, mut has_image, mut all) = (0, false, 0);
    for other in view.list(&PODS).filter(|other| other.text("/spec/nodeName") == node.name()) {
        all += 1;
        same += usize::from(owner.is_some() && owners::controller(other).map(|found| &found["uid"]) == owner);
        let mut containers = other.list("/spec/initContainers").iter().chain(other.list("/spec/containers"));
        has_image |= containers.any(|container| container["image"] == image);
    }
    (untolerated, same, !has_image, all)
}

/// The reason why a node does not fit a pod, from the first of the scheduler's filters that rejects it.
fn refusal(pod: &Object, node: &Object, view: &View) -> Option<String> {
    if node["spec"]["unschedulable"] == true && !tolerated(pod, &taints::unschedulable()) {
        return Some("node(s) were unschedulable".to_owned());
    }
    if let Some(taint) = find_untolerated(pod, node, &["NoSchedule", "NoExecute"]) {
        let text = |field: &str| taint[field].as_str().unwrap_or_default();
        return Some(format!("node(s) had untolerated taint {{{}: {}}}", text("key"), text("value")));
    }
    if !is_chosen(pod, node) {
        return Some("node(s) didn't match Pod's node affinity/selector".to_owned());
    }
    violates_anti_affinity(pod, node, view).then(|| "node(s) didn't match pod anti-affinity rules".to_owned())
}

/// Whether the required anti-affinity of a pod excludes a node because of pods in the same topology domain.
fn violates_anti_affinity(pod: &Object, node: &Object, view: &View) -> bool {
    let terms = "/spec/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution";
    pod.list(terms).iter().any(|term| {
        let key = term["topologyKey"].as_str().unwrap_or_default();
        let Some(domain) = node.label(key) else { return false };
        let beside = |other: &Object| {
            let host = view.get(&NODES, "", other.text("/spec/nodeName"));
            host.is_some_and(|host| host.label(key) == Some(domain))
        };
        let mut others = view.list_in(&PODS, pod.namespace()).filter(|other| owners::is_active(other));
        others.any(|other| {
            selector_matches(&term["labelSelector"], &other["metadata"]["labels"]) && beside(other)
        })
    })
}
