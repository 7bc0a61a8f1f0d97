//! Selection of a node for a pod, and the reasons for rejecting nodes.

use std::collections::BTreeMap;

use serde_json::Value;
use windtunnel_core::resources::{NODES, PODS};
use windtunnel_core::selector::selector_matches;
use windtunnel_core::{Object, View, node, pod};

use crate::owners;
use crate::scheduler::load::{Amounts, Load, Loads, lack, requests};
use crate::scheduler::placement::{is_chosen, named_nodes};
use crate::scheduler::taints::{self, find_untolerated, tolerated};
use crate::version_differences::{Differences, TaintText};

/// The best node for a pod, or the scheduler's message if no node fits.
pub(super) fn node_for<'v>(
    pod: &Object,
    view: &'v View,
    loads: &mut Loads,
    differences: Differences,
) -> Result<&'v str, String> {
    loads.complete(view);
    let search =
        Search { pod, view, siblings: siblings(pod, view), loads, wanted: requests(pod), differences };
    let mut rejected = Vec::new();
    let mut fitting = Vec::new();
    for node in view.list(&NODES) {
        match search.rejection(node, search.loads.on(node.name())) {
            None => fitting.push(node),
            Some(rejection) => rejected.push((node, rejection)),
        }
    }
    if let Some(node) = fitting.into_iter().min_by_key(|node| search.rank(node)) {
        return Ok(node.name());
    }
    if rejected.is_empty() {
        return Err("no nodes available to schedule pods".to_owned());
    }
    Err(search.explain(&rejected))
}

/// Why a node does not fit a pod.
struct NodeRejection {
    reasons: Vec<String>,
    /// Whether the node could fit without some of its pods.
    is_resolvable: bool,
}

impl NodeRejection {
    fn lasting(reason: impl Into<String>) -> Self {
        Self { reasons: vec![reason.into()], is_resolvable: false }
    }
}

/// The search of a node for a pod.
struct Search<'s, 'v> {
    pod: &'s Object,
    view: &'v View,
    loads: &'s Loads,
    /// How many pods of the same owner each node has.
    siblings: BTreeMap<&'v str, usize>,
    /// What the pod requests.
    wanted: Amounts,
    differences: Differences,
}

impl Search<'_, '_> {
    /// The reason why a node does not fit, from the first of the scheduler's filters that rejects it. `load`: what the
    /// pods on the node take.
    fn rejection(&self, node: &Object, load: &Load) -> Option<NodeRejection> {
        let pod = self.pod;
        if named_nodes(pod).is_some_and(|names| !names.contains(&node.name())) {
            return Some(NodeRejection::lasting("node(s) didn't satisfy plugin(s) [NodeAffinity]"));
        }
        if node::is_unschedulable(node) && !tolerated(pod, &taints::unschedulable()) {
            return Some(NodeRejection::lasting("node(s) were unschedulable"));
        }
        if let Some(taint) = find_untolerated(pod, node, &["NoSchedule", "NoExecute"]) {
            return Some(NodeRejection::lasting(self.taint_reason(taint)));
        }
        if !is_chosen(pod, node) {
            return Some(NodeRejection::lasting("node(s) didn't match Pod's node affinity/selector"));
        }
        let lack = lack(&self.wanted, node, load);
        if !lack.reasons.is_empty() {
            return Some(NodeRejection { reasons: lack.reasons, is_resolvable: !lack.is_lasting });
        }
        violates_anti_affinity(pod, node, self.view).then(|| NodeRejection {
            reasons: vec!["node(s) didn't match pod anti-affinity rules".to_owned()],
            is_resolvable: true,
        })
    }

    fn taint_reason(&self, taint: &Value) -> String {
        let text = |field: &str| taint[field].as_str().unwrap_or_default();
        let shown = format!("{{{}: {}}}", text("key"), text("value"));
        match self.differences.taints {
            TaintText::Had => format!("node(s) had taint {shown}, that the pod didn't tolerate"),
            TaintText::Untolerated => format!("node(s) had untolerated taint {shown}"),
            TaintText::Unnamed => "node(s) had untolerated taint(s)".to_owned(),
        }
    }

    /// The rank of a node; the lowest is the best. Compares untolerated `PreferNoSchedule` taints, pods of the same owner,
    /// the absence of the pod's image, and the number of pods.
    fn rank(&self, node: &Object) -> (usize, usize, bool, usize) {
        let pod = self.pod;
        let prefers_not = |taint: &&Value| taint["effect"] == "PreferNoSchedule" && !tolerated(pod, taint);
        let untolerated = node::taints(node).iter().filter(prefers_not).count();
        let load = self.loads.on(node.name());
        let same = self.siblings.get(node.name()).copied().unwrap_or(0);
        let has_image = load.has_image(pod.text("/spec/containers/0/image"));
        (untolerated, same, !has_image, load.pods)
    }

    /// The message about a pod that fits no node: the reasons, and why the deletion of other pods would not help.
    fn explain(&self, rejected: &[(&Object, NodeRejection)]) -> String {
        let reasons = rejected.iter().flat_map(|(_, rejection)| rejection.reasons.iter().cloned());
        let all = rejected.len();
        let mut text = format!("0/{all} nodes are available: {}.", histogram(reasons));
        if self.differences.deallocates_claims {
            text += " no new claims to deallocate,";
        }
        if self.pod["spec"]["preemptionPolicy"] == "Never" {
            return text + " preemption: not eligible due to preemptionPolicy=Never.";
        }
        let kept = rejected.iter().flat_map(|(node, rejection)| self.without_victims(node, rejection));
        text + &format!(" preemption: 0/{all} nodes are available: {}.", histogram(kept))
    }

    /// Why a node would not fit without its pods of lower priority.
    fn without_victims(&self, node: &Object, rejection: &NodeRejection) -> Vec<String> {
        if !rejection.is_resolvable {
            return vec!["Preemption is not helpful for scheduling".to_owned()];
        }
        let priority = |pod: &Object| pod.number("/spec/priority").unwrap_or(0);
        let others = || self.view.pods_on(node.name()).filter(|other| !pod::has_ended(other));
        let is_kept = |other: &&Object| priority(other) >= priority(self.pod);
        if others().all(|other| is_kept(&other)) {
            return vec!["No preemption victims found for incoming pod".to_owned()];
        }
        // The scheduler deletes no pods here, so a node that would fit then is not chosen.
        let left = self.rejection(node, &Load::of(others().filter(is_kept)));
        left.map_or_else(|| rejection.reasons.clone(), |rejection| rejection.reasons)
    }
}

/// How many pods with the owner of a pod, which have not ended, each node has.
fn siblings<'v>(pod: &Object, view: &'v View) -> BTreeMap<&'v str, usize> {
    let mut counts = BTreeMap::new();
    let Some(owner) = owners::controller(pod).map(|owner| &owner["uid"]) else { return counts };
    let is_sibling = |other: &&Object| owners::controller(other).map(|found| &found["uid"]) == Some(owner);
    let running = view.list_in(&PODS, pod.namespace()).filter(|other| !pod::has_ended(other));
    for other in running.filter(is_sibling) {
        *counts.entry(pod::node_name(other)).or_default() += 1;
    }
    counts
}

/// Reasons with their numbers, in the order of the texts.
fn histogram(reasons: impl Iterator<Item = String>) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for reason in reasons {
        *counts.entry(reason).or_default() += 1;
    }
    let mut texts: Vec<String> = counts.iter().map(|(why, count)| format!("{count} {why}")).collect();
    texts.sort();
    texts.join(", ")
}

/// Whether the required anti-affinity of a pod excludes a node because of pods in the same topology domain.
fn violates_anti_affinity(pod: &Object, node: &Object, view: &View) -> bool {
    let terms = "/spec/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution";
    pod.list(terms).iter().any(|term| {
        let key = term["topologyKey"].as_str().unwrap_or_default();
        let Some(domain) = node.label(key) else { return false };
        let beside = |other: &Object| {
            let host = view.get(&NODES, "", pod::node_name(other));
            host.is_some_and(|host| host.label(key) == Some(domain))
        };
        let mut others = view.list_in(&PODS, pod.namespace()).filter(|other| owners::is_active(other));
        others.any(|other| {
            selector_matches(&term["labelSelector"], &other["metadata"]["labels"]) && beside(other)
        })
    })
}
