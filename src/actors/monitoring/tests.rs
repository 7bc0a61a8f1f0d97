//! Metrics of objects, by queries of them.

use serde_json::{Value, json};

use super::is_true;
use crate::model::resources::{CLUSTER_OPERATORS, CLUSTER_VERSIONS, CONFIG_MAPS, NODES};
use crate::model::{Change, ChangeKind, Object, Resource, View};

fn put(view: &mut View, resource: &Resource, namespace: &str, name: &str, mut object: Value) {
    object["metadata"]["name"] = json!(name);
    object["metadata"]["namespace"] = json!(namespace);
    let (key, object) = (resource.key(namespace, name), Object::new(object));
    view.apply(&Change { key, kind: ChangeKind::Added, object, old: None });
}

fn cluster() -> View {
    let mut view = View::default();
    let entry = |version: &str, state: &str| {
        json!({
            "version": version, "image": format!("image-{version}"), "state": state,
            "startedTime": "2024-01-01T00:00:00Z", "completionTime": "2024-01-01T01:00:00Z",
        })
    };
    let cluster_version = json!({
        "spec": { "channel": "buggy" },
        "status": {
            "desired": { "version": "4.16.0", "image": "image-4.16.0" },
            "history": [entry("4.16.0", "Partial"), entry("4.15.3", "Completed"), entry("4.9.1", "Completed")],
            "capabilities": { "knownCapabilities": ["Console", "Storage"], "enabledCapabilities": ["Storage"] },
            "conditions": [{ "type": "Failing", "status": "True", "reason": "Trouble" }],
        },
    });
    put(&mut view, &CLUSTER_VERSIONS, "", "version", cluster_version);
    let conditions = json!([
        { "type": "Available", "status": "True", "reason": "AsExpected" },
        { "type": "Degraded", "status": "False" },
        { "type": "Upgradeable", "status": "Unknown" },
    ]);
    put(&mut view, &CLUSTER_OPERATORS, "", "etcd", json!({ "status": { "conditions": conditions } }));
    let labels = json!({ "node-role.kubernetes.io/worker": "", "example.com/zone": "a" });
    put(&mut view, &NODES, "", "worker-0", json!({ "metadata": { "labels": labels } }));
    let install = json!({ "data": { "invoker": "user", "version": "4.9.1" } });
    put(&mut view, &CONFIG_MAPS, "openshift-config", "openshift-install", install);
    put(
        &mut view,
        &Resource::cluster("config.openshift.io", "v1", "Infrastructure", "infrastructures"),
        "",
        "cluster",
        json!({ "status": { "platformStatus": { "type": "AWS", "aws": { "region": "us-east-1" } } } }),
    );
    view
}

#[test]
fn metrics_are_made_of_objects() {
    let view = cluster();
    let check = |query: &str, expected: bool| {
        // As risks are written: 1 for those that fit, else 0 by something that every cluster has.
        let risk = format!("topk(1, group({query}) or 0 * group(cluster_version))");
        assert_eq!(is_true(&risk, &view), Ok(expected), "{query}");
    };
    for (query, expected) in [
        (r#"cluster_version{type="initial",version=~"4[.]9[.].*"}"#, true),
        (r#"cluster_version{type="current",version="4.16.0",from_version="4.15.3"}"#, true),
        (r#"cluster_version{type="completed",version="4.16.0"}"#, false),
        (r#"cluster_version{type="completed"} == 1704070800"#, true),
        (r#"cluster_version_available_updates{channel="buggy"}"#, true),
        (r#"cluster_version_capability{name="Storage"} == 1"#, true),
        (r#"cluster_version_capability{name="Console"} == 1"#, false),
        (r#"cluster_operator_conditions{name="etcd",condition="Available",reason="AsExpected"} == 1"#, true),
        (r#"cluster_operator_conditions{name="etcd",condition="Degraded"} == 0"#, true),
        (r#"cluster_operator_conditions{condition="Upgradeable"}"#, false),
        (r#"cluster_operator_conditions{name="version",condition="Failing",reason="Trouble"} == 1"#, true),
        (r#"cluster_operator_up{name="etcd"} == 1"#, true),
        (r#"cluster_installer{type="openshift-install",version="4.9.1",invoker="user"}"#, true),
        (r#"cluster_infrastructure_provider{type="AWS",region="us-east-1"}"#, true),
        (r#"cluster_infrastructure_provider{type="GCP"}"#, false),
        (r#"apiserver_storage_objects{resource="nodes"} == 1"#, true),
        (r#"apiserver_storage_objects{resource="clusteroperators.config.openshift.io"} > 1"#, false),
        (r#"kube_configmap_info{namespace="openshift-config",configmap="openshift-install"}"#, true),
        (
            r#"kube_node_role{role="worker"} * on (node) group_left kube_node_labels{label_example_com_zone="a"}"#,
            true,
        ),
        ("metric_of_nobody", false),
    ] {
        check(query, expected);
    }
}

#[test]
fn a_query_must_come_to_one_sample_that_is_one_or_zero() {
    let view = cluster();
    let error = |query: &str| is_true(query, &view).unwrap_err();
    assert_eq!(error("nothing"), "invalid PromQL result length must be one, but is 0");
    assert_eq!(error("cluster_version_capability"), "invalid PromQL result length must be one, but is 2");
    assert_eq!(error("2 * group(cluster_version)"), "invalid PromQL result (must be 0 or 1): 2");
    assert_eq!(error("1"), "invalid PromQL result type is scalar, not vector");
    assert!(error("group(").starts_with("bad_data: "));
    assert_eq!(is_true("group(cluster_version)", &View::default()).unwrap_err(), error("nothing"));
}
