//! Writes of kubelets that the plug-in allows and rejects.

use serde_json::json;
use windtunnel_core::Identity;
use windtunnel_core::resources::{NODES, PODS};

use super::*;
use crate::admission::builtin::testing::Cluster;

const LEASES: Resource = Resource::namespaced("coordination.k8s.io", "v1", "Lease", "leases");
const ACCOUNTS: Resource = Resource::namespaced("", "v1", "ServiceAccount", "serviceaccounts");

fn cluster() -> Cluster {
    let mut cluster = Cluster::new(36).with([
        (NODES, json!({ "metadata": { "name": "n1", "uid": "u1" } })),
        (PODS, pod("own", "n1")),
        (PODS, pod("other", "n2")),
    ]);
    cluster.user = Identity::new("system:node:n1", &[GROUP]);
    cluster
}

fn pod(name: &str, node: &str) -> Value {
    json!({ "metadata": { "name": name, "namespace": "a", "uid": name }, "spec": { "nodeName": node } })
}

fn text(result: Result<(), AdmissionRejection>) -> String {
    match result {
        Ok(()) => String::new(),
        Err(AdmissionRejection::Forbidden(text)) => text,
        Err(other) => format!("{other:?}"),
    }
}

fn write(kind: &Resource, part: &str, object: &Value, old: Option<&Value>) -> String {
    text(cluster().mutate(&mut NodeRestriction, kind, part, &mut object.clone(), old))
}

#[test]
fn other_users_are_not_restricted() {
    let mut cluster = cluster();
    for user in [Identity::new("system:node:n1", &[]), Identity::new("jane", &[GROUP])] {
        cluster.user = user;
        let result = cluster.mutate(&mut NodeRestriction, &PODS, "", &mut pod("x", "n2"), None);
        assert_eq!(result, Ok(()));
    }
    cluster.user = Identity::new("system:node:", &[GROUP]);
    let result = cluster.mutate(&mut NodeRestriction, &PODS, "", &mut pod("x", "n2"), None);
    assert_eq!(text(result), r#"could not determine node from user "system:node:""#);
}

#[test]
fn kubelets_create_mirror_pods_of_their_node() {
    let mirror = |changes: Value| {
        let owner =
            json!([{ "apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "u1", "controller": true }]);
        let mut pod = json!({ "metadata": { "annotations": { "kubernetes.io/config.mirror": "x" },
            "ownerReferences": owner }, "spec": { "nodeName": "n1" } });
        for (pointer, value) in changes.as_object().unwrap() {
            let (parent, field) = pointer.rsplit_once('/').unwrap();
            pod.pointer_mut(parent).unwrap()[field] = value.clone();
        }
        write(&PODS, "", &pod, None)
    };
    assert_eq!(mirror(json!({})), "");
    let rows = [
        (
            json!({ "/metadata/annotations": {} }),
            r#"pod does not have "kubernetes.io/config.mirror" annotation, node "n1" can only create mirror pods"#,
        ),
        (
            json!({ "/spec/nodeName": "n2" }),
            r#"node "n1" can only create pods with spec.nodeName set to itself"#,
        ),
        (
            json!({ "/metadata/ownerReferences": [] }),
            r#"node "n1" can only create pods with an owner reference set to itself"#,
        ),
        (json!({ "/metadata/ownerReferences/0/uid": "z" }), "node n1 UID mismatch: expected z got u1"),
        (
            json!({ "/spec/volumes": [{ "name": "v", "configMap": { "name": "x" } }] }),
            r#"node "n1" can not create pods that reference configmaps"#,
        ),
        (
            json!({ "/spec/volumes": [{ "name": "v", "csi": { "driver": "d" } }] }),
            r#"node "n1" can not create pods that reference csidrivers (via CSI volumes)"#,
        ),
        (
            json!({ "/spec/volumes": [{ "name": "v", "projected": { "sources": [{ "x": {} }] } }] }),
            r#"error checking mirror pod for API references: unknown source for projected volume "v""#,
        ),
        (
            json!({ "/spec/volumes": [{ "name": "v", "projected": { "sources": [{ "downwardAPI": {} }] } }] }),
            "",
        ),
    ];
    for (changes, expected) in rows {
        assert_eq!(mirror(changes), expected);
    }
}

#[test]
fn kubelets_delete_and_report_pods_of_their_node() {
    let delete =
        |name: &str, node: &str| text(cluster().delete(&mut NodeRestriction, &PODS, &pod(name, node)));
    assert_eq!(delete("own", "n1"), "");
    assert_eq!(delete("other", "n2"), r#"node "n1" can only delete pods with spec.nodeName set to itself"#);
    assert!(delete("absent", "n1").starts_with("NotFound"));
    let (own, other) = (pod("own", "n1"), pod("other", "n2"));
    assert_eq!(write(&PODS, "status", &own, Some(&own)), "");
    let expected = r#"node "n1" can only update pod status for pods with spec.nodeName set to itself"#;
    assert_eq!(write(&PODS, "status", &other, Some(&other)), expected);
    let mut labelled = own.clone();
    labelled["metadata"]["labels"] = json!({ "a": "b" });
    let expected = r#"node "n1" cannot update labels through pod status"#;
    assert_eq!(write(&PODS, "status", &labelled, Some(&own)), expected);
    let expected = r#"unexpected operation "UPDATE", node "n1" can only create and delete mirror pods"#;
    assert_eq!(write(&PODS, "", &own, Some(&own)), expected);
    let expected = r#"unexpected pod subresource "binding", only 'status' and 'eviction' are allowed"#;
    assert_eq!(write(&PODS, "binding", &own, None), expected);
}

#[test]
fn kubelets_write_their_node_without_labels_of_others() {
    let node = |name: &str, labels: Value, taints: Value| json!({ "metadata": { "name": name, "labels": labels }, "spec": { "taints": taints } });
    let plain = node("n1", json!({}), json!([]));
    let expected = r#"node "n1" is not allowed to modify node "n2""#;
    assert_eq!(write(&NODES, "", &node("n2", json!({}), json!([])), None), expected);
    let allowed =
        json!({ "kubernetes.io/os": "linux", "x.node.kubernetes.io/a": "b", "example.com/a": "b", "c": "d" });
    assert_eq!(write(&NODES, "", &node("n1", allowed, json!([])), None), "");
    let denied = json!({ "kubernetes.io/x": "", "a.node-restriction.kubernetes.io/y": "", "k8s.io/z": "" });
    let list = "a.node-restriction.kubernetes.io/y, k8s.io/z, kubernetes.io/x";
    let labelled = node("n1", denied, json!([]));
    assert_eq!(
        write(&NODES, "", &labelled, None),
        format!("node \"n1\" is not allowed to set the following labels: {list}")
    );
    let expected = format!("is not allowed to modify labels: {list}");
    assert_eq!(write(&NODES, "status", &plain, Some(&labelled)), expected);
    let tainted = node("n1", json!({}), json!([{ "key": "x" }]));
    assert_eq!(write(&NODES, "", &tainted, Some(&plain)), r#"node "n1" is not allowed to modify taints"#);
    assert_eq!(write(&NODES, "", &plain, Some(&plain)), "");
}

#[test]
fn kubelets_write_their_lease() {
    let lease = |namespace: &str, name: &str| {
        write(&LEASES, "", &json!({ "metadata": { "namespace": namespace, "name": name } }), None)
    };
    assert_eq!(lease("kube-node-lease", "n1"), "");
    let expected = r#"can only access leases in the "kube-node-lease" system namespace"#;
    assert_eq!(lease("default", "n1"), expected);
    let expected = "can only access node lease with the same name as the requesting node";
    assert_eq!(lease("kube-node-lease", "n2"), expected);
}

#[test]
fn kubelets_request_tokens_that_pods_of_their_node_mount() {
    let request = |bound: Value, audiences: Value| {
        let spec = json!({ "boundObjectRef": bound, "audiences": audiences });
        let mut object = json!({ "metadata": { "name": "sa", "namespace": "a" }, "spec": spec });
        let sources = json!([{ "serviceAccountToken": { "audience": "vault" } }]);
        let mut mounting = pod("mounts", "n1");
        mounting["spec"]["volumes"] = json!([{ "name": "v", "projected": { "sources": sources } }]);
        let mut cluster = cluster()
            .with([(PODS, mounting)])
            .allowing(&["request-serviceaccounts-token-audience allowed sa"]);
        text(cluster.mutate(&mut NodeRestriction, &ACCOUNTS, "token", &mut object, None))
    };
    let bound =
        |name: &str, uid: &str| json!({ "apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid });
    assert_eq!(request(bound("mounts", "mounts"), json!(["vault"])), "");
    assert_eq!(request(bound("mounts", "mounts"), json!(["allowed"])), "");
    let expected = "audience \"x\" not found in pod spec volume, system:node:n1 is not authorized to request tokens for this \
                    audience";
    assert_eq!(request(bound("mounts", "mounts"), json!(["x"])), expected);
    assert_eq!(request(json!(null), json!([])), "node requested token not bound to a pod");
    assert_eq!(request(bound("own", ""), json!([])), "node requested token with a pod binding without a uid");
    let expected = "node requested token bound to a pod scheduled on a different node";
    assert_eq!(request(bound("other", "other"), json!([])), expected);
}
