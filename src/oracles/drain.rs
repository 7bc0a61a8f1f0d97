//! Drains that are reported as complete.

use windtunnel_core::resources::NODES;
use windtunnel_core::{Object, View, node, pod};
use windtunnel_openshift::mco::annotations::LAST_APPLIED_DRAIN;

use super::budget::stays;
use super::rule::{ObjectFinding, Rule, Scene};
use crate::record::WriteEvent;

/// The rule about the end of a drain.
pub(super) struct Drain;

impl Rule for Drain {
    fn id(&self) -> String {
        "drain".to_owned()
    }

    fn after(&mut self, scene: &Scene<'_>, write: &WriteEvent) -> Option<ObjectFinding> {
        let node = write.after.as_ref().filter(|_| write.key.is_kind(&NODES))?;
        let applied = |node: &Object| node.annotation(LAST_APPLIED_DRAIN).map(str::to_owned);
        let is_new = write.before.as_ref().is_some_and(|before| applied(before) != applied(node));
        if !is_new || !applied(node)?.starts_with("drain-") {
            return None;
        }
        if !node::is_unschedulable(node) {
            return Some(ObjectFinding::by(write, "is reported as drained, but it is not cordoned"));
        }
        let pod = left_on(scene.view, node.name())?;
        let pod = format!("Pod {}/{}", pod.namespace(), pod.name());
        Some(ObjectFinding::by(write, format!("is reported as drained, but {pod} is still there")))
    }
}

/// Returns a pod that a drain should have evicted. A pod that is terminating may still be there.
fn left_on<'v>(view: &'v View, node: &str) -> Option<&'v Object> {
    let mut pods = view.pods_on(node);
    pods.find(|pod| !pod::has_ended(pod) && !pod.is_terminating() && !stays(pod))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use windtunnel_core::resources::PODS;

    use super::*;
    use crate::oracles::testing::Story;

    const DRAIN: &str = "machine-config-controller/drain";

    fn node(applied: &str, is_cordoned: bool) -> Value {
        json!({
            "metadata": { "name": "w", "annotations": { (LAST_APPLIED_DRAIN): applied } },
            "spec": { "unschedulable": is_cordoned },
        })
    }

    fn pod(owner: &str) -> Value {
        json!({
            "metadata": {
                "namespace": "n", "name": "p", "ownerReferences": [{ "kind": owner, "controller": true }],
            },
            "spec": { "nodeName": "w" },
            "status": { "phase": "Running" },
        })
    }

    fn found(owner: &str, is_cordoned: bool, applied: &str) -> Vec<String> {
        Story::new()
            .write(-2, "installer", &NODES, node("uncordon-a", is_cordoned))
            .write(-1, "installer", &PODS, pod(owner))
            .write(1, DRAIN, &NODES, node(applied, is_cordoned))
            .findings("drain")
    }

    #[test]
    fn a_drained_node_is_cordoned_and_has_no_pods_but_those_of_daemon_sets() {
        assert!(found("DaemonSet", true, "drain-b").is_empty());
        assert!(found("ReplicaSet", false, "uncordon-b").is_empty());
        assert_eq!(
            found("ReplicaSet", true, "drain-b"),
            ["Node/w: is reported as drained, but Pod n/p is still there"]
        );
        assert_eq!(
            found("DaemonSet", false, "drain-b"),
            ["Node/w: is reported as drained, but it is not cordoned"]
        );
    }
}
