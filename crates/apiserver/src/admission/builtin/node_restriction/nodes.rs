//! Nodes: kubelets write their own one, without what decides which pods run there.

use std::collections::BTreeSet;

use serde_json::Value;
use windtunnel_core::requests::admission::{AdmissionOperation, AdmissionRejection};

use super::{Kubelet, reject};
use crate::gotext::quote;
use crate::profile::since;

/// The labels of Kubernetes that kubelets may set.
const LABELS: [&str; 11] = [
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/instance-type",
    "beta.kubernetes.io/os",
    "failure-domain.beta.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "kubernetes.io/arch",
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "node.kubernetes.io/instance-type",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
];
/// The domains of other labels of Kubernetes that kubelets may set.
const DOMAINS: [&str; 2] = ["kubelet.kubernetes.io", "node.kubernetes.io"];
/// The domain of labels that keep pods away from kubelets that others control.
const RESTRICTED: &str = "node-restriction.kubernetes.io";

pub(super) fn check(kubelet: &Kubelet<'_>) -> Result<(), AdmissionRejection> {
    let (node, name) = (kubelet.quoted(), kubelet.request.name);
    let name = if name.is_empty() { kubelet.name() } else { name };
    if name != kubelet.node {
        return reject(format!("node {node} is not allowed to modify node {}", quote(name)));
    }
    match kubelet.request.operation {
        AdmissionOperation::Create => check_new(kubelet),
        AdmissionOperation::Update => check_update(kubelet),
        _ => Ok(()),
    }
}

fn check_new(kubelet: &Kubelet<'_>) -> Result<(), AdmissionRejection> {
    let node = kubelet.quoted();
    if !kubelet.object["spec"]["configSource"].is_null() {
        return reject(format!("node {node} is not allowed to create pods with a non-nil configSource"));
    }
    match &*forbidden_labels(kubelet.object, &Value::Null) {
        "" => Ok(()),
        labels => reject(format!("node {node} is not allowed to set the following labels: {labels}")),
    }
}

fn check_update(kubelet: &Kubelet<'_>) -> Result<(), AdmissionRejection> {
    let (node, new, old) = (kubelet.quoted(), kubelet.object, kubelet.old());
    let source = |node: &Value| node["spec"]["configSource"].clone();
    if !source(new).is_null() && source(new) != source(old) {
        return reject(format!(
            "node {node} is not allowed to update configSource to a new non-nil configSource"
        ));
    }
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    if list(&new["spec"]["taints"]) != list(&old["spec"]["taints"]) {
        return reject(format!("node {node} is not allowed to modify taints"));
    }
    let owners = |node: &Value| list(&node["metadata"]["ownerReferences"]);
    if kubelet.cluster.kubernetes_minor() >= since::OWNERS_OF_NODES_CHECKED && owners(new) != owners(old) {
        return reject(format!("node {node} is not allowed to modify ownerReferences"));
    }
    match &*forbidden_labels(new, old) {
        "" => Ok(()),
        labels => reject(format!("is not allowed to modify labels: {labels}")),
    }
}

/// The changed labels that kubelets may not change, with commas.
fn forbidden_labels(new: &Value, old: &Value) -> String {
    let pairs = |node: &Value| -> BTreeSet<(String, String)> {
        let labels = node["metadata"]["labels"].as_object().into_iter().flatten();
        labels.map(|(key, value)| (key.clone(), value.to_string())).collect()
    };
    let (new, old) = (pairs(new), pairs(old));
    let changed: BTreeSet<&str> = new.symmetric_difference(&old).map(|(key, _)| key.as_str()).collect();
    changed.into_iter().filter(|key| !may_change(key)).collect::<Vec<&str>>().join(", ")
}

fn may_change(key: &str) -> bool {
    let domain = key.split_once('/').map_or("", |(domain, _)| domain);
    let is_below =
        |parent: &str| domain.strip_suffix(parent).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    if is_below(RESTRICTED) {
        return false;
    }
    let is_own = is_below("kubernetes.io") || is_below("k8s.io");
    !is_own || LABELS.contains(&key) || DOMAINS.into_iter().any(is_below)
}
