//! Mutants of the controllers of Kubernetes and of the scheduler.

use serde_json::{Value, json};
use windtunnel_core::resources::{NODES, PODS};
use windtunnel_core::{Object, Write, condition, node};

use super::writes::{body, changed, is, skipped_if, value};
use super::{Fate, Scene, SeededMutant, SeededMutantKind};

pub(super) const MUTANTS: &[SeededMutant] = &[
    SeededMutant {
        name: "unreachable-taint-kept",
        component: "node-lifecycle-controller",
        bug: "class: taint not removed",
        text: "the taints of an unreachable node stay after it is ready again",
        kind: SeededMutantKind::Writes(|write, scene| {
            let count = |list: &Value| list.as_array().map_or(0, Vec::len);
            let known = scene.view.get_key(&write.key()).map_or(0, |node| count(&node["spec"]["taints"]));
            let taints = value(write, "/spec/taints");
            let is_removal = taints.is_some_and(|taints| count(taints) < known);
            skipped_if(is(write, "patch", "Node", "") && is_removal)
        }),
    },
    SeededMutant {
        name: "pods-of-ready-nodes-deleted",
        component: "node-lifecycle-controller",
        bug: "class: deletes what is not its own",
        text: "with each taint the pods on a ready node are deleted",
        kind: SeededMutantKind::Writes(pods_of_ready_nodes_deleted),
    },
    SeededMutant {
        name: "ready-node-marked-unknown",
        component: "node-lifecycle-controller",
        bug: "class: stale cache",
        text: "a node that is ready again is marked as unknown with the removal of its taints",
        kind: SeededMutantKind::Writes(ready_node_marked_unknown),
    },
    SeededMutant {
        name: "pod-not-replaced",
        component: "replicaset-controller",
        bug: "class: expectations never fulfilled",
        text: "the ReplicaSet controller does not create a new pod for one that is gone",
        kind: SeededMutantKind::Writes(|write, _| skipped_if(is(write, "create", "Pod", ""))),
    },
    SeededMutant {
        name: "surplus-pod-kept",
        component: "replicaset-controller",
        bug: "class: deletion forgotten",
        text: "the ReplicaSet controller does not delete surplus pods",
        kind: SeededMutantKind::Writes(|write, _| skipped_if(is(write, "delete", "Pod", ""))),
    },
    SeededMutant {
        name: "deployment-status-stale",
        component: "deployment-controller",
        bug: "class: status not written",
        text: "the status of Deployments is not written",
        kind: SeededMutantKind::Writes(|write, _| skipped_if(is(write, "update", "Deployment", "status"))),
    },
    SeededMutant {
        name: "old-replica-set-kept",
        component: "deployment-controller",
        bug: "class: update forgotten",
        text: "the ReplicaSet of the old template is not scaled down",
        kind: SeededMutantKind::Writes(|write, _| {
            let replicas = value(write, "/spec/replicas").and_then(Value::as_i64);
            skipped_if(is(write, "update", "ReplicaSet", "") && replicas == Some(0))
        }),
    },
    SeededMutant {
        name: "daemon-set-status-stale",
        component: "daemonset-controller",
        bug: "class: status not written",
        text: "the status of DaemonSets is not written",
        kind: SeededMutantKind::Writes(|write, _| skipped_if(is(write, "update", "DaemonSet", "status"))),
    },
    SeededMutant {
        name: "pod-not-bound",
        component: "kube-scheduler",
        bug: "class: missing requeue",
        text: "the scheduler forgets pods",
        kind: SeededMutantKind::Writes(|write, _| skipped_if(is(write, "create", "Pod", "binding"))),
    },
    SeededMutant {
        name: "pod-bound-to-cordoned-node",
        component: "kube-scheduler",
        bug: "class: wrong node chosen",
        text: "the scheduler prefers cordoned nodes",
        kind: SeededMutantKind::Writes(|write, scene| {
            let cordoned = scene.view.list(&NODES).find(|node| node::is_unschedulable(node));
            let Some(node) = cordoned.filter(|_| is(write, "create", "Pod", "binding")) else {
                return Fate::Made;
            };
            changed(write, |body| body["target"]["name"] = json!(node.name()))
        }),
    },
    SeededMutant {
        name: "owned-pods-deleted",
        component: "garbage-collector",
        bug: "class: deletes what is not its own",
        text: "with the first change that it makes, the garbage collector deletes pods whose owner exists",
        kind: SeededMutantKind::Writes(|write, scene| {
            let owned =
                scene.view.list(&PODS).filter(|pod| !pod.list("/metadata/ownerReferences").is_empty());
            let deletions: Vec<Write> =
                owned.map(|pod| Write::delete(&PODS, pod.namespace(), pod.name())).collect();
            let _ = write;
            if deletions.is_empty() { Fate::Made } else { Fate::Followed(deletions) }
        }),
    },
    SeededMutant {
        name: "garbage-kept",
        component: "garbage-collector",
        bug: "class: deletion forgotten",
        text: "the garbage collector deletes no dependents",
        kind: SeededMutantKind::Writes(|write, _| skipped_if(write.verb() == "delete")),
    },
];

fn pods_of_ready_nodes_deleted(write: &Write, scene: &Scene<'_>) -> Fate {
    let taints = value(write, "/spec/taints").is_some_and(|taints| !taints.is_null());
    let ready = |node: &Object| condition::is_true(node, "Ready");
    let mut nodes = scene.view.list(&NODES).filter(|node| node.name() != write.name && ready(node));
    let Some(node) = nodes.next().filter(|_| taints && is(write, "patch", "Node", "")) else {
        return Fate::Made;
    };
    let pods = scene.view.pods_on(node.name());
    let deletions: Vec<Write> = pods.map(|pod| Write::delete(&PODS, pod.namespace(), pod.name())).collect();
    if deletions.is_empty() { Fate::Made } else { Fate::Followed(deletions) }
}

fn ready_node_marked_unknown(write: &Write, scene: &Scene<'_>) -> Fate {
    let node = scene.view.get_key(&write.key()).filter(|node| condition::is_true(node, "Ready"));
    let is_meant = is(write, "patch", "Node", "") && body(write).pointer("/spec/taints").is_some();
    let Some(node) = node.filter(|_| is_meant) else { return Fate::Made };
    let mut conditions = node["status"]["conditions"].clone();
    for found in conditions.as_array_mut().into_iter().flatten() {
        if condition::type_of(found) == "Ready" {
            found["status"] = json!("Unknown");
            found["reason"] = json!("NodeStatusUnknown");
        }
    }
    let patch = json!({ "status": { "conditions": conditions } });
    Fate::Followed(vec![Write::merge_patch_status(&NODES, "", node.name(), patch)])
}
