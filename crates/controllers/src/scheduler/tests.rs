//! Pods to schedule.

use serde_json::{Value, json};
use windtunnel_core::resources::{EVENTS, NODES, PODS};
use windtunnel_core::{Object, Write, condition};

use super::Scheduler;
use crate::ControllerVersion;
use crate::testing::{Rig, check_recovery};

fn rig() -> Rig {
    let mut rig = Rig::new();
    prepare(&mut rig);
    rig
}

fn prepare(rig: &mut Rig) {
    rig.seat(|| Box::new(Scheduler::new()));
    for name in ["a", "b"] {
        let labels = json!({ "kubernetes.io/hostname": name });
        let metadata = json!({ "name": name, "labels": labels });
        let status = json!({ "allocatable": { "cpu": "4", "pods": "10" } });
        rig.put(&NODES, json!({ "metadata": metadata, "spec": {}, "status": status }));
    }
}

fn put(rig: &mut Rig, name: &str, spec: &Value) {
    let owners = json!([{ "kind": "ReplicaSet", "name": "r", "uid": "u", "controller": true }]);
    let metadata =
        json!({ "namespace": "ns", "name": name, "labels": { "app": "x" }, "ownerReferences": owners });
    rig.put(&PODS, json!({ "metadata": metadata, "spec": spec }));
    rig.run(1);
}

fn change(rig: &mut Rig, node: &str, spec: &Value) {
    rig.write(&Write::merge_patch(&NODES, "", node, json!({ "spec": spec })));
    rig.run(1);
}

/// The node of a pod, or the message of its `PodScheduled` condition.
fn place<'r>(rig: &'r Rig, pod: &str) -> &'r str {
    let pod = rig.view.get(&PODS, "ns", pod).unwrap();
    let message = condition::find_in_status(pod, "PodScheduled").and_then(|found| found["message"].as_str());
    match pod.text("/spec/nodeName") {
        "" => message.unwrap_or_default(),
        node => node,
    }
}

#[test]
fn spreads_the_pods_of_an_owner() {
    let mut rig = rig();
    for name in ["p", "q", "r", "s"] {
        put(&mut rig, name, &json!({}));
    }
    assert_eq!(["p", "q", "r", "s"].map(|pod| place(&rig, pod)), ["a", "b", "a", "b"]);
}

#[test]
fn avoids_prefer_no_schedule_taints_unless_tolerated_or_without_alternative() {
    let mut rig = rig();
    let taints = json!([{ "key": "UpdateInProgress", "effect": "PreferNoSchedule" }]);
    change(&mut rig, "a", &json!({ "taints": taints }));
    for name in ["p", "q"] {
        put(&mut rig, name, &json!({}));
    }
    put(&mut rig, "tolerant", &json!({ "tolerations": [{ "operator": "Exists" }] }));
    change(&mut rig, "b", &json!({ "unschedulable": true }));
    put(&mut rig, "r", &json!({}));
    assert_eq!(["p", "q", "tolerant", "r"].map(|pod| place(&rig, pod)), ["b", "b", "a", "a"]);
}

#[test]
fn an_unschedulable_pod_reports_the_reasons_and_waits() {
    let mut rig = rig();
    change(&mut rig, "a", &json!({ "unschedulable": true }));
    change(&mut rig, "b", &json!({ "taints": [{ "key": "k", "value": "v", "effect": "NoSchedule" }] }));
    put(&mut rig, "p", &json!({}));
    assert_eq!(
        place(&rig, "p"),
        "0/2 nodes are available: 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable. no new claims to \
         deallocate, preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    );
    let condition =
        condition::find_in_status(rig.view.get(&PODS, "ns", "p").unwrap(), "PodScheduled").unwrap();
    assert_eq!(condition["reason"], "Unschedulable");
    put(&mut rig, "tolerant", &json!({ "tolerations": [{ "key": "k", "operator": "Exists" }] }));
    assert_eq!(place(&rig, "tolerant"), "b");
    change(&mut rig, "a", &json!({ "unschedulable": null }));
    assert_eq!(place(&rig, "p"), "a");
}

#[test]
fn the_text_about_unschedulable_pods_depends_on_the_version() {
    for (minor, expected) in [
        (23, "1 node(s) had taint {k: v}, that the pod didn't tolerate. preemption: 0/1 nodes"),
        (31, "1 node(s) had untolerated taint {k: v}. preemption: 0/1 nodes"),
        (34, "1 node(s) had untolerated taint {k: v}. no new claims to deallocate, preemption: 0/1 nodes"),
        (36, "1 node(s) had untolerated taint(s). no new claims to deallocate, preemption: 0/1 nodes"),
    ] {
        let mut rig = Rig::new();
        rig.seat(move || Box::new(Scheduler::new().with_version(ControllerVersion::fixed(minor))));
        let taints = json!([{ "key": "k", "value": "v", "effect": "NoSchedule" }]);
        rig.put(&NODES, json!({ "metadata": { "name": "a" }, "spec": { "taints": taints } }));
        put(&mut rig, "p", &json!({}));
        assert!(place(&rig, "p").contains(expected), "{}", place(&rig, "p"));
    }
}

#[test]
fn binds_no_pod_to_a_node_that_lacks_resources() {
    let mut rig = rig();
    let requests = |cpu: &str| json!({ "containers": [{ "resources": { "requests": { "cpu": cpu } } }] });
    put(&mut rig, "p", &requests("3"));
    put(&mut rig, "q", &requests("3"));
    put(&mut rig, "r", &requests("2"));
    put(&mut rig, "huge", &requests("5"));
    assert_eq!(["p", "q"].map(|pod| place(&rig, pod)), ["a", "b"]);
    let preemption = |why: &str| {
        format!(
            "2 Insufficient cpu. no new claims to deallocate, preemption: 0/2 nodes are available: 2 {why}."
        )
    };
    let why = place(&rig, "r").to_owned();
    assert!(why.ends_with(&preemption("No preemption victims found for incoming pod")), "{why}");
    let why = place(&rig, "huge").to_owned();
    assert!(why.ends_with(&preemption("Preemption is not helpful for scheduling")), "{why}");
    rig.write(&Write::delete_now(&PODS, "ns", "q"));
    rig.run(1);
    assert_eq!(place(&rig, "r"), "b");
}

#[test]
fn a_node_that_reports_no_resources_has_room_for_no_pod() {
    let mut rig = Rig::new();
    rig.seat(|| Box::new(Scheduler::new()));
    rig.put(&NODES, json!({ "metadata": { "name": "a" }, "spec": {} }));
    put(&mut rig, "p", &json!({}));
    assert!(place(&rig, "p").starts_with("0/1 nodes are available: 1 Too many pods."));
    let allocatable = json!({ "status": { "allocatable": { "pods": "1" } } });
    rig.write(&Write::merge_patch_status(&NODES, "", "a", allocatable));
    rig.run(1);
    assert_eq!(place(&rig, "p"), "a");
}

#[test]
fn a_daemon_fits_only_the_node_that_its_affinity_names() {
    let mut rig = rig();
    change(&mut rig, "a", &json!({ "taints": [{ "key": "k", "effect": "NoSchedule" }] }));
    let field = json!({ "key": "metadata.name", "operator": "In", "values": ["a"] });
    let required = json!({ "nodeSelectorTerms": [{ "matchFields": [field] }] });
    let affinity = json!({ "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": required } });
    put(&mut rig, "daemon", &json!({ "affinity": affinity }));
    let expected = "0/2 nodes are available: 1 node(s) didn't satisfy plugin(s) [NodeAffinity], 1 node(s) had \
                    untolerated taint(s).";
    assert!(place(&rig, "daemon").starts_with(expected), "{}", place(&rig, "daemon"));
}

#[test]
fn events_report_bindings_and_failures() {
    let mut rig = rig();
    put(&mut rig, "p", &json!({}));
    put(&mut rig, "nowhere", &json!({ "nodeSelector": { "zone": "x" } }));
    rig.run(600);
    let fields = ["type", "reason", "action", "reportingComponent", "involvedObject/name", "message"];
    let text = |event: &Object| fields.map(|field| event.text(&format!("/{field}")).to_owned()).join(" ");
    let mut events: Vec<String> = rig.view.list(&EVENTS).map(text).collect();
    events.sort();
    let [scheduled, failed] = &events[..] else { panic!("{events:#?}") };
    assert_eq!(*scheduled, "Normal Scheduled Binding default-scheduler p Successfully assigned ns/p to a");
    let why = place(&rig, "nowhere");
    assert_eq!(*failed, format!("Warning FailedScheduling Scheduling default-scheduler nowhere {why}"));
}

#[test]
fn respects_node_selectors_and_required_anti_affinity() {
    let mut rig = rig();
    put(&mut rig, "chosen", &json!({ "nodeSelector": { "kubernetes.io/hostname": "b" } }));
    put(&mut rig, "nowhere", &json!({ "nodeSelector": { "zone": "x" } }));
    let term = json!({ "topologyKey": "kubernetes.io/hostname", "labelSelector": { "matchLabels": { "app": "x" } } });
    let alone = json!({ "affinity": { "podAntiAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": [term] } } });
    put(&mut rig, "alone", &alone);
    put(&mut rig, "lonely", &alone);
    assert_eq!((place(&rig, "chosen"), place(&rig, "alone")), ("b", "a"));
    assert!(place(&rig, "nowhere").contains("2 node(s) didn't match Pod's node affinity/selector"));
    assert!(place(&rig, "lonely").contains("2 node(s) didn't match pod anti-affinity rules"));
    rig.write(&Write::delete_now(&PODS, "ns", "alone"));
    rig.run(1);
    assert_eq!(place(&rig, "lonely"), "a");
}

#[test]
fn ignores_gated_pods_and_pods_of_other_schedulers() {
    let mut rig = rig();
    put(&mut rig, "other", &json!({ "schedulerName": "another" }));
    put(&mut rig, "gated", &json!({ "schedulingGates": [{ "name": "g" }] }));
    assert_eq!((place(&rig, "other"), place(&rig, "gated")), ("", ""));
}

#[test]
fn recovers_after_a_crash_at_each_write() {
    let story = |rig: &mut Rig| {
        prepare(rig);
        for name in ["p", "q", "r"] {
            put(rig, name, &json!({}));
        }
    };
    check_recovery(story, |rig| format!("{:?}", ["p", "q", "r"].map(|pod| place(rig, pod))));
}
