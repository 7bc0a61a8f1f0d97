//! Kubelets that are older than a kube-apiserver on the way allows.

use semver::Version;
use windtunnel_core::resources::{MACHINE_CONFIG_POOLS, NODES};
use windtunnel_core::{Object, pool};
use windtunnel_openshift::release::Release;

use super::Warning;
use crate::rehearsal::cause::Blamed;

/// From this minor on a kube-apiserver allows kubelets that are three minors older, and two before (Kubernetes' version skew
/// policy).
const THREE_MINORS: u32 = 28;

/// Finds nodes whose kubelets are too old for one of the releases: nodes of paused pools keep theirs, and others have that of the
/// release before.
pub(super) fn find(objects: &[&Object], from: &Version, targets: &[Version]) -> Vec<Warning> {
    let paused: Vec<&str> = objects
        .iter()
        .filter(|object| MACHINE_CONFIG_POOLS.is_kind_of(object) && pool::is_paused(object))
        .map(|pool| pool.name())
        .collect();
    let mut found = Vec::new();
    for node in objects.iter().filter(|object| NODES.is_kind_of(object)) {
        let Some(own) = minor(node.text("/status/nodeInfo/kubeletVersion")) else { continue };
        let is_paused = is_in(node, &paused);
        let mut before = from;
        for target in targets {
            let served = Release::nearest(target).kubernetes_minor;
            let kubelet = if is_paused { own } else { own.max(Release::nearest(before).kubernetes_minor) };
            let kubelet = if before == from { own } else { kubelet };
            if served.saturating_sub(kubelet) > allowed(served) {
                found.push(warning(node, kubelet, target, served));
                break;
            }
            before = target;
        }
    }
    found
}

/// Whether a node is in one of these pools. A custom pool takes its nodes from pool worker.
fn is_in(node: &Object, pools: &[&str]) -> bool {
    let roles = node["metadata"]["labels"].as_object().into_iter().flatten();
    let roles: Vec<&str> =
        roles.filter_map(|(label, _)| label.strip_prefix("node-role.kubernetes.io/")).collect();
    let has_custom = roles.iter().any(|role| !["worker", "master", "control-plane"].contains(role));
    roles.iter().any(|role| pools.contains(role) && (*role != "worker" || !has_custom))
}

fn allowed(served: u32) -> u32 {
    if served >= THREE_MINORS { 3 } else { 2 }
}

fn warning(node: &Object, kubelet: u32, target: &Version, served: u32) -> Warning {
    Warning {
        cause: Blamed::object(node),
        text: format!(
            "its kubelet has Kubernetes 1.{kubelet}, and {target} serves 1.{served}, which allows kubelets from 1.{} on: update its \
             pool before",
            served - allowed(served)
        ),
    }
}

/// Returns the 27 of `v1.27.3+4aaeaec`.
fn minor(version: &str) -> Option<u32> {
    version.trim_start_matches('v').split('.').nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_paused_pool_cannot_skip_more_minors_than_its_kubelets_allow() {
        let node = |name: &str, kubelet: &str| {
            Object::new(json!({
                "apiVersion": "v1", "kind": "Node",
                "metadata": { "name": name, "labels": { (format!("node-role.kubernetes.io/{name}")): "" } },
                "status": { "nodeInfo": { "kubeletVersion": kubelet } },
            }))
        };
        let pool = Object::new(json!({
            "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool",
            "metadata": { "name": "worker" }, "spec": { "paused": true },
        }));
        let (master, worker) = (node("master", "v1.27.3+4aaeaec"), node("worker", "v1.27.3+4aaeaec"));
        let versions =
            |texts: &[&str]| -> Vec<Version> { texts.iter().map(|text| text.parse().unwrap()).collect() };
        let from = "4.14.3".parse().unwrap();
        let of = |targets: &[&str]| find(&[&master, &worker, &pool], &from, &versions(targets));
        let found = of(&["4.15.3", "4.16.3", "4.17.3", "4.18.3"]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].cause.name, "worker");
        assert!(
            found[0].text.starts_with("its kubelet has Kubernetes 1.27, and 4.18.3 serves 1.31"),
            "{found:?}"
        );
        assert_eq!(of(&["4.15.3", "4.16.3", "4.17.3"]), []);
    }
}
