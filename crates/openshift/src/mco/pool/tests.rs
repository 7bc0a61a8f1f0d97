//! Tests of the node controller.

use serde_json::json;
use windtunnel_controllers::testing::Rig;
use windtunnel_core::resources::EVENTS;

use super::*;
use crate::mco::NAMESPACE;
use crate::mco::annotations::{CURRENT_CONFIG, RELEASE_VERSION, STATE};

const ROLE_LABEL: &str = "node-role.kubernetes.io/master";

/// A control-plane pool during an update from `a` to `b`. The first of its two nodes is being updated.
fn rig() -> Rig {
    let mut rig = Rig::new();
    for name in ["m0", "m1"] {
        let annotations = json!({ (CURRENT_CONFIG): "a", (DESIRED_CONFIG): "a", (STATE): "Done" });
        let labels = json!({ (ROLE_LABEL): "" });
        rig.put(
            &NODES,
            json!({ "metadata": { "name": name, "labels": labels, "annotations": annotations } }),
        );
    }
    let selector = json!({ "matchLabels": { (ROLE_LABEL): "" } });
    let spec = json!({ "nodeSelector": selector, "configuration": { "name": "b" } });
    rig.put(&MACHINE_CONFIG_POOLS, json!({ "metadata": { "name": "master" }, "spec": spec }));
    rig.seat(|| Box::new(NodeController::new()));
    rig.run(60);
    assert_eq!(targets(&rig), ["b", "a"]);
    rig
}

fn targets(rig: &Rig) -> [&str; 2] {
    ["m0", "m1"].map(|name| rig.view.get(&NODES, "", name).unwrap().annotation(DESIRED_CONFIG).unwrap())
}

#[test]
fn updates_the_next_node_after_the_debounce_but_publishes_annotation_changes_at_once() {
    let mut rig = rig();
    let set = |rig: &mut Rig, annotations: Value| {
        let patch = json!({ "metadata": { "annotations": annotations } });
        rig.write(&Write::merge_patch(&NODES, "", "m0", patch));
    };
    set(&mut rig, json!({ (STATE): "Working" }));
    rig.run(1);
    let message = "Node m0 now has machineconfiguration.openshift.io/state=Working";
    assert!(events(&rig).contains(&("AnnotationChange", message)));
    rig.run(60);
    set(&mut rig, json!({ (CURRENT_CONFIG): "b", (STATE): "Done" }));
    rig.run(4);
    assert_eq!(targets(&rig), ["b", "a"]);
    rig.run(2);
    assert_eq!(targets(&rig), ["b", "b"]);
}

/// Reasons and messages of all Events.
fn events(rig: &Rig) -> Vec<(&str, &str)> {
    rig.view.list(&EVENTS).map(|event| (event.text("/reason"), event.text("/message"))).collect()
}

fn put_controller_config(rig: &mut Rig, version: &str, topology: &str) {
    let metadata = json!({ "name": CONTROLLER_CONFIG, "annotations": { (RELEASE_VERSION): version } });
    let spec = json!({ "infra": { "status": { "controlPlaneTopology": topology } } });
    rig.put(&CONTROLLER_CONFIGS, json!({ "metadata": metadata, "spec": spec }));
}

/// A node of a pool, with `b` as current and desired config.
fn put_done(rig: &mut Rig, name: &str, role: &str, topology: &str) {
    let label = format!("node-role.kubernetes.io/{role}");
    let annotations = json!({
        (CURRENT_CONFIG): "b", (DESIRED_CONFIG): "b", (STATE): "Done", (CONTROL_PLANE_TOPOLOGY): topology,
    });
    rig.put(
        &NODES,
        json!({ "metadata": { "name": name, "labels": { (label): "" }, "annotations": annotations } }),
    );
}

fn put_pool(rig: &mut Rig, name: &str, mut spec: Value) {
    let label = format!("node-role.kubernetes.io/{name}");
    if spec["nodeSelector"].is_null() {
        spec["nodeSelector"] = json!({ "matchLabels": { (label): "" } });
    }
    spec["configuration"] = json!({ "name": "b" });
    rig.put(&MACHINE_CONFIG_POOLS, json!({ "metadata": { "name": name }, "spec": spec }));
}

#[test]
fn the_end_of_an_update_is_no_annotation_change() {
    let mut rig = rig();
    let done = json!({ "metadata": { "annotations": { (CURRENT_CONFIG): "b", (STATE): "Done" } } });
    rig.write(&Write::merge_patch(&NODES, "", "m0", done));
    rig.run(1);
    let changes = events(&rig).into_iter().filter(|(reason, _)| *reason == "AnnotationChange");
    let desired = "Node m0 now has machineconfiguration.openshift.io/desiredConfig=b";
    assert_eq!(changes.collect::<Vec<_>>(), [("AnnotationChange", desired)]);
    let removed = json!({ "metadata": { "annotations": { (STATE): null } } });
    rig.write(&Write::merge_patch(&NODES, "", "m0", removed));
    rig.run(1);
    let message = "Node m0 no longer has machineconfiguration.openshift.io/state";
    assert!(events(&rig).contains(&("AnnotationChange", message)));
}

#[test]
fn events_name_the_node_controller_and_its_namespace() {
    let rig = rig();
    let event = rig.view.list(&EVENTS).find(|event| event["reason"] == "SetDesiredConfig").unwrap();
    assert_eq!((event.namespace(), event.text("/source/component")), (NAMESPACE, EVENT_SOURCE));
    assert_eq!(event["reportingComponent"], EVENT_SOURCE);
    let pool = rig.view.get(&MACHINE_CONFIG_POOLS, "", "master").unwrap();
    assert_eq!(event["involvedObject"]["uid"], pool.uid());
}

#[test]
fn the_end_of_an_update_is_published_from_4_20_on() {
    for (version, expected) in [("4.19.1", false), ("4.20.0", true)] {
        let mut rig = Rig::new();
        put_controller_config(&mut rig, version, "");
        put_done(&mut rig, "w", "worker", "");
        put_pool(&mut rig, "worker", json!({}));
        rig.seat(|| Box::new(NodeController::new()));
        rig.run(60);
        let message = "Pool worker has completed update to MachineConfig b";
        assert_eq!(events(&rig).contains(&("Completed", message)), expected, "{version}");
        assert!(events(&rig).iter().all(|(reason, _)| *reason != "Updating"), "{version}");
    }
}

#[test]
fn nodes_of_pools_that_may_update_get_the_topology_of_the_controller_config() {
    for (spec, expected) in [
        (json!({}), "HighlyAvailable"),
        (json!({ "paused": true }), "External"),
        (json!({ "maxUnavailable": "some" }), "External"),
    ] {
        let mut rig = Rig::new();
        put_controller_config(&mut rig, "4.18.3", "HighlyAvailable");
        put_done(&mut rig, "w", "worker", "External");
        put_pool(&mut rig, "worker", spec.clone());
        rig.seat(|| Box::new(NodeController::new()));
        rig.run(60);
        let node = rig.view.get(&NODES, "", "w").unwrap();
        assert_eq!(node.annotation(CONTROL_PLANE_TOPOLOGY), Some(expected), "{spec}");
    }
}

#[test]
fn a_pool_that_selects_all_nodes_has_an_event_and_no_status() {
    let mut rig = Rig::new();
    put_pool(&mut rig, "all", json!({ "nodeSelector": {} }));
    rig.seat(|| Box::new(NodeController::new()));
    rig.run(60);
    assert_eq!(events(&rig).iter().map(|(reason, _)| *reason).collect::<Vec<_>>(), ["SelectingAll"]);
    let pool = rig.view.get(&MACHINE_CONFIG_POOLS, "", "all").unwrap();
    assert!(pool["status"]["conditions"].is_null());
}

#[test]
fn a_foreign_taint_with_the_same_key_stays() {
    let mut rig = Rig::new();
    put_done(&mut rig, "w", "worker", "");
    let foreign = json!({ "key": UPDATE_IN_PROGRESS, "effect": "NoSchedule" });
    let own = json!({ "key": UPDATE_IN_PROGRESS, "effect": UPDATE_EFFECT });
    let patch = json!({
        "metadata": { "annotations": { (DESIRED_CONFIG): "a", (CURRENT_CONFIG): "a" } },
        "spec": { "taints": [foreign], "unschedulable": true },
    });
    rig.write(&Write::merge_patch(&NODES, "", "w", patch));
    put_pool(&mut rig, "worker", json!({}));
    rig.seat(|| Box::new(NodeController::new()));
    rig.run(60);
    let taints = |rig: &Rig| rig.view.get(&NODES, "", "w").unwrap()["spec"]["taints"].clone();
    assert_eq!(taints(&rig), json!([foreign, own]));
    let patch = json!({ "metadata": { "annotations": { (DESIRED_CONFIG): "b" } } });
    rig.write(&Write::merge_patch(&NODES, "", "w", patch));
    rig.run(60);
    assert_eq!(taints(&rig), json!([foreign]));
}

#[test]
fn only_one_operator_pod_defers_its_node() {
    let operator = |name: &str, node: &str| {
        let labels = json!({ "k8s-app": "machine-config-operator" });
        let metadata = json!({ "namespace": NAMESPACE, "name": name, "labels": labels });
        json!({ "metadata": metadata, "spec": { "nodeName": node } })
    };
    let mut rig = Rig::new();
    rig.put(&PODS, operator("a", "m0"));
    assert_eq!(operator_node(&rig.view), Some("m0"));
    rig.put(&PODS, operator("b", "m1"));
    assert_eq!(operator_node(&rig.view), None);
}

#[test]
fn only_newer_controllers_update_one_arbiter_at_a_time() {
    let pool = Object::new(json!({ "metadata": { "name": "arbiter" }, "spec": { "maxUnavailable": 2 } }));
    assert_eq!([(4, 18), (5, 0)].map(|line| max_unavailable(&pool, 2, line)), [Some(2), Some(1)]);
}
