//! The deletions that controllers of Kubernetes make.

use std::collections::BTreeMap;

use serde_json::Value;
use windtunnel_core::clock::Time;
use windtunnel_core::resources::{self, NODES, PODS};
use windtunnel_core::{Object, View, text_of};

use super::rule::{ObjectFinding, Rule, Scene};
use crate::record::WriteEvent;

const GARBAGE_COLLECTOR: &str = "garbage-collector";
const NODE_LIFECYCLE: &str = "node-lifecycle-controller";

/// The finalizer of an owner whose dependents are deleted before it.
const FOREGROUND: &str = "foregroundDeletion";

/// The controllers of workloads, and the kinds of the owners of their pods.
const WORKLOADS: [(&str, &str); 3] = [
    ("replicaset-controller", "ReplicaSet"),
    ("daemonset-controller", "DaemonSet"),
    ("job-controller", "Job"),
];

/// The greatest delay with which a controller sees that a node has lost its taint, in seconds.
const DELAY: i64 = 1;

/// The rule about deletions: each controller deletes only what it is there for.
#[derive(Default)]
pub(super) struct Deletions {
    /// When each node lost its last taint `NoExecute`.
    untainted: BTreeMap<String, Time>,
}

impl Rule for Deletions {
    fn id(&self) -> String {
        "deletions".to_owned()
    }

    fn before(&mut self, scene: &Scene<'_>, write: &WriteEvent) -> Option<ObjectFinding> {
        if write.key.is_kind(&NODES) && loses_taint(write) {
            self.untainted.insert(write.key.name.clone(), scene.at);
        }
        let is_deletion = write.verb == "delete" && write.subresource.is_empty() && write.code < 400;
        if !is_deletion || scene.calm.may_be_outdated(&write.by, scene.at) {
            return None;
        }
        let object = scene.view.get_key(&write.key)?;
        let how = match &*write.by {
            GARBAGE_COLLECTOR => owned(object, scene.view),
            NODE_LIFECYCLE if write.key.is_kind(&PODS) => self.tolerated(object, scene),
            by => foreign(by, object).filter(|_| write.key.is_kind(&PODS)),
        };
        Some(ObjectFinding::by(write, how?))
    }
}

impl Deletions {
    /// Pods are deleted from nodes with a taint of the effect `NoExecute` (`processPodOnNode` of the taint eviction
    /// controller).
    fn tolerated(&self, pod: &Object, scene: &Scene<'_>) -> Option<String> {
        let node = scene.view.get(&NODES, "", pod.text("/spec/nodeName"))?;
        let is_recent = |at: &Time| scene.at.duration_since(*at).as_secs() <= DELAY;
        let is_fair = is_tainted(node) || self.untainted.get(node.name()).is_some_and(is_recent);
        (!is_fair).then(|| format!("is deleted from node {}, which has no taint NoExecute", node.name()))
    }
}

fn is_tainted(node: &Object) -> bool {
    node.list("/spec/taints").iter().any(|taint| taint["effect"] == "NoExecute")
}

/// Whether a write takes the last taint `NoExecute` from a node.
fn loses_taint(write: &WriteEvent) -> bool {
    write.before.as_ref().is_some_and(is_tainted) && !write.after.as_ref().is_some_and(is_tainted)
}

/// The garbage collector deletes objects whose owners are gone, or wait for their dependents (`attemptToDeleteItem`).
fn owned(object: &Object, view: &View) -> Option<String> {
    let owners = object.list("/metadata/ownerReferences");
    if owners.is_empty() {
        return Some("the garbage collector deletes it, but it has no owner".to_owned());
    }
    let is_kept = |owner: &Object| {
        let finalizers = owner.list("/metadata/finalizers");
        !(owner.is_terminating() && finalizers.iter().any(|finalizer| finalizer == FOREGROUND))
    };
    let owner = owners.iter().find(|owner| owner_in(view, object, owner).is_some_and(is_kept))?;
    let (kind, name) = (text_of(owner, "kind"), text_of(owner, "name"));
    Some(format!("the garbage collector deletes it, but its owner {kind} {name} exists"))
}

/// Returns the owner of an object that a reference names: in the namespace of the object, or cluster-scoped.
fn owner_in<'v>(view: &'v View, object: &Object, reference: &Value) -> Option<&'v Object> {
    let resource = resources::find(text_of(reference, "apiVersion"), text_of(reference, "kind"))?;
    let namespace = if resource.namespaced { object.namespace() } else { "" };
    let owner = view.get(&resource, namespace, text_of(reference, "name"))?;
    (owner.uid() == text_of(reference, "uid")).then_some(owner)
}

/// The controller of a workload deletes pods of its own kind of owner (`PodControllerRefManager`).
fn foreign(by: &str, pod: &Object) -> Option<String> {
    let (_, kind) = WORKLOADS.iter().find(|(controller, _)| *controller == by)?;
    let owners = pod.list("/metadata/ownerReferences");
    let is_own = owners.iter().any(|owner| owner["controller"] == true && owner["kind"] == **kind);
    (!is_own).then(|| format!("{by} deletes it, but no {kind} controls it"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windtunnel_core::resources::REPLICA_SETS;

    use super::*;
    use crate::oracles::testing::Story;

    const RULE: &str = "deletions";

    fn owner() -> Value {
        json!({ "kind": "ReplicaSet", "metadata": { "namespace": "n", "name": "r", "uid": "u" } })
    }

    fn pod() -> Value {
        let owner = json!({ "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u", "controller": true });
        json!({
            "kind": "Pod", "spec": { "nodeName": "w" },
            "metadata": { "namespace": "n", "name": "p", "uid": "v", "ownerReferences": [owner] },
        })
    }

    fn node(taints: &Value) -> Value {
        json!({ "kind": "Node", "metadata": { "name": "w", "uid": "w" }, "spec": { "taints": taints } })
    }

    fn story(taints: &Value) -> Story {
        Story::new().write(1, "a", &NODES, node(taints)).write(1, "a", &REPLICA_SETS, owner()).write(
            2,
            "a",
            &PODS,
            pod(),
        )
    }

    #[test]
    fn the_garbage_collector_leaves_objects_with_an_owner() {
        let none = json!([]);
        assert_eq!(
            story(&none).delete(3, GARBAGE_COLLECTOR, &PODS, &pod()).findings(RULE),
            ["Pod/n/p: the garbage collector deletes it, but its owner ReplicaSet r exists"]
        );
        let without = story(&none).delete(3, "a", &REPLICA_SETS, &owner());
        assert!(without.delete(4, GARBAGE_COLLECTOR, &PODS, &pod()).findings(RULE).is_empty());
        let mut waiting = owner();
        waiting["metadata"]["finalizers"] = json!([FOREGROUND]);
        waiting["metadata"]["deletionTimestamp"] = json!("2024-01-01T00:00:00Z");
        let waiting = story(&none).write(3, "a", &REPLICA_SETS, waiting);
        assert!(waiting.delete(4, GARBAGE_COLLECTOR, &PODS, &pod()).findings(RULE).is_empty());
    }

    #[test]
    fn pods_leave_only_tainted_nodes() {
        let delete = |taints: &Value| story(taints).delete(3, NODE_LIFECYCLE, &PODS, &pod()).findings(RULE);
        assert!(delete(&json!([{ "key": "k", "effect": "NoExecute" }])).is_empty());
        assert_eq!(
            delete(&json!([{ "key": "k", "effect": "NoSchedule" }])),
            ["Pod/n/p: is deleted from node w, which has no taint NoExecute"]
        );
        let recovered = |seconds| {
            let tainted = story(&json!([{ "key": "k", "effect": "NoExecute" }]));
            tainted.write(3, "a", &NODES, node(&json!([]))).delete(seconds, NODE_LIFECYCLE, &PODS, &pod())
        };
        assert!(recovered(3).findings(RULE).is_empty(), "the taint goes at the moment of the deletion");
        assert_eq!(recovered(9).findings(RULE).len(), 1);
    }

    #[test]
    fn a_workload_deletes_its_own_pods() {
        let delete = |by: &str| story(&json!([])).delete(3, by, &PODS, &pod()).findings(RULE);
        assert!(delete("replicaset-controller").is_empty() && delete("administrator").is_empty());
        assert_eq!(
            delete("daemonset-controller"),
            ["Pod/n/p: daemonset-controller deletes it, but no DaemonSet controls it"]
        );
    }
}
