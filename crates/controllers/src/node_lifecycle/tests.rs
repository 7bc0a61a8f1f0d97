//! Nodes that are cordoned, not ready or unreachable, and the pods on them.

use jiff::SignedDuration;
use serde_json::{Value, json};
use windtunnel_core::clock::{rfc3339, rfc3339_micro};
use windtunnel_core::resources::{EVENTS, LEASES, NODES, PODS};
use windtunnel_core::{Object, Write, condition};

use super::NodeLifecycleController;
use crate::ControllerVersion;
use crate::testing::{Rig, check_recovery};

/// Creates node `n`, new and ready, with three pods: `patient` tolerates `NoExecute` taints for five minutes,
/// `daemon` for ever, and `touchy` not at all.
fn prepare(rig: &mut Rig) {
    rig.seat(|| Box::new(NodeLifecycleController::new()));
    let condition = |kind: &str, status: &str| json!({ "type": kind, "status": status });
    let conditions = [
        condition("MemoryPressure", "False"),
        condition("DiskPressure", "False"),
        condition("PIDPressure", "False"),
        condition("Ready", "True"),
    ];
    let taints = json!([{ "key": "node.kubernetes.io/not-ready", "effect": "NoSchedule" }, { "key": "own", "effect": "NoSchedule" }]);
    rig.put(
        &NODES,
        json!({ "metadata": { "name": "n" }, "spec": { "taints": taints }, "status": { "conditions": conditions } }),
    );
    // Pods are only evicted while some node is ready.
    let ready = json!({ "conditions": [{ "type": "Ready", "status": "True" }] });
    rig.put(&NODES, json!({ "metadata": { "name": "other" }, "spec": {}, "status": ready }));
    let for_five_minutes = json!([{ "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300 }]);
    put_pod(rig, "patient", &for_five_minutes);
    put_pod(rig, "daemon", &json!([{ "operator": "Exists" }]));
    put_pod(rig, "touchy", &json!([]));
    rig.run(1);
}

fn put_pod(rig: &mut Rig, name: &str, tolerations: &Value) {
    rig.put(
        &PODS,
        json!({
            "metadata": { "namespace": "ns", "name": name },
            "spec": { "nodeName": "n", "tolerations": tolerations },
            "status": { "phase": "Running", "conditions": [{ "type": "Ready", "status": "True" }] },
        }),
    );
}

fn renew(rig: &mut Rig, seconds: i64) {
    let spec = json!({ "holderIdentity": "n", "leaseDurationSeconds": seconds, "renewTime": rfc3339_micro(rig.now) });
    let lease = json!({ "metadata": { "namespace": "kube-node-lease", "name": "n" }, "spec": spec });
    if rig.view.get(&LEASES, "kube-node-lease", "n").is_some() {
        rig.write(&Write::merge_patch(&LEASES, "kube-node-lease", "n", lease));
    } else {
        rig.put(&LEASES, lease);
    }
}

fn node(rig: &Rig) -> &Object {
    rig.view.get(&NODES, "", "n").unwrap()
}

fn taints(rig: &Rig) -> Vec<String> {
    let text = |taint: &Value, field: &str| taint[field].as_str().unwrap().to_owned();
    let taints = node(rig).list("/spec/taints").iter();
    taints
        .map(|taint| text(taint, "key").replace("node.kubernetes.io/", "") + " " + &text(taint, "effect"))
        .collect()
}

fn set_ready(rig: &mut Rig, status: &str) {
    let mut conditions = node(rig).list("/status/conditions").to_vec();
    for condition in &mut conditions {
        condition["status"] = json!(if condition["type"] == "Ready" { status } else { "False" });
    }
    rig.write(&Write::merge_patch_status(&NODES, "", "n", json!({ "status": { "conditions": conditions } })));
}

fn terminating(rig: &Rig) -> Vec<&str> {
    rig.view.list(&PODS).filter(|pod| pod.is_terminating()).map(Object::name).collect()
}

/// The Events of `node-controller`: objects, types, reasons and messages.
fn events(rig: &Rig) -> Vec<String> {
    let events = rig.view.list(&EVENTS).filter(|event| event.text("/source/component") == "node-controller");
    let fields =
        ["metadata/namespace", "involvedObject/kind", "involvedObject/name", "type", "reason", "message"];
    let text = |event: &Object| fields.map(|field| event.text(&format!("/{field}"))).join(" ");
    let mut texts: Vec<String> = events.map(text).collect();
    texts.sort();
    texts
}

#[test]
fn a_ready_node_loses_the_not_ready_taint_of_its_creation() {
    let mut rig = Rig::new();
    prepare(&mut rig);
    assert_eq!(taints(&rig), ["own NoSchedule"]);
    rig.run(3600);
    assert!(terminating(&rig).is_empty(), "a node without a Lease stays ready");
}

#[test]
fn a_cordoned_node_is_tainted_until_it_is_uncordoned() {
    let mut rig = Rig::new();
    prepare(&mut rig);
    let cordon = |is: bool| Write::merge_patch(&NODES, "", "n", json!({ "spec": { "unschedulable": is } }));
    rig.write(&cordon(true));
    rig.run(1);
    assert_eq!(taints(&rig), ["own NoSchedule", "unschedulable NoSchedule"]);
    assert_eq!(node(&rig).text("/spec/taints/1/timeAdded"), "2024-01-01T00:00:01Z");
    rig.write(&cordon(false));
    rig.run(1);
    assert_eq!(taints(&rig), ["own NoSchedule"]);
}

#[test]
fn an_unreachable_node_has_unknown_conditions_and_its_pods_are_evicted() {
    let mut rig = Rig::new();
    prepare(&mut rig);
    renew(&mut rig, 40);
    rig.run(39);
    assert_eq!(taints(&rig), ["own NoSchedule"]);
    rig.run(2);
    for kind in ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"] {
        let found = condition::find_in_status(node(&rig), kind).unwrap();
        assert_eq!(found["status"], "Unknown");
        assert_eq!(found["reason"], "NodeStatusUnknown");
        assert_eq!(found["message"], "Kubelet stopped posting node status.");
    }
    assert_eq!(taints(&rig), ["own NoSchedule", "unreachable NoSchedule", "unreachable NoExecute"]);
    assert!(rig.view.list(&PODS).all(|pod| !condition::is_true(pod, "Ready")));
    assert_eq!(
        events(&rig),
        [
            "default Node n Normal NodeNotReady Node n status is now: NodeNotReady",
            "default Node n Normal RegisteredNode Node n event: Registered Node n in Controller",
            "default Node other Normal RegisteredNode Node other event: Registered Node other in Controller",
            "ns Pod daemon Warning NodeNotReady Node is not ready",
            "ns Pod patient Warning NodeNotReady Node is not ready",
            "ns Pod touchy Warning NodeNotReady Node is not ready",
        ]
    );
    assert_eq!(terminating(&rig), ["touchy"]);
    rig.run(290);
    assert_eq!(terminating(&rig), ["touchy"]);
    rig.run(10);
    assert_eq!(terminating(&rig), ["patient", "touchy"]);
    let patient = rig.view.get(&PODS, "ns", "patient").unwrap();
    assert_eq!(
        condition::find_in_status(patient, "DisruptionTarget").unwrap()["reason"],
        "DeletionByTaintManager"
    );
}

#[test]
fn pods_stay_if_their_node_recovers_within_the_toleration() {
    let mut rig = Rig::new();
    prepare(&mut rig);
    renew(&mut rig, 40);
    rig.run(100);
    renew(&mut rig, 3600);
    set_ready(&mut rig, "False");
    rig.run(10);
    assert_eq!(taints(&rig), ["own NoSchedule", "not-ready NoSchedule", "not-ready NoExecute"]);
    set_ready(&mut rig, "True");
    rig.run(1000);
    assert_eq!(taints(&rig), ["own NoSchedule"]);
    assert_eq!(terminating(&rig), ["touchy"]);
}

#[test]
fn a_pod_bound_to_a_tainted_node_stays_for_its_toleration_seconds() {
    let mut rig = Rig::new();
    prepare(&mut rig);
    set_ready(&mut rig, "False");
    rig.run(1800);
    assert_eq!(terminating(&rig), ["patient", "touchy"]);
    let for_five_minutes = json!([{ "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300 }]);
    put_pod(&mut rig, "young", &for_five_minutes);
    rig.run(299);
    assert_eq!(terminating(&rig), ["patient", "touchy"]);
    rig.run(1);
    assert_eq!(terminating(&rig), ["patient", "touchy", "young"]);
}

#[test]
fn further_taints_keep_the_timer_of_a_pod_and_their_removal_cancels_it() {
    let mut rig = Rig::new();
    prepare(&mut rig);
    let tolerated = |condition: &str, seconds: i64| {
        let key = format!("node.kubernetes.io/{condition}");
        json!({ "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds })
    };
    put_pod(&mut rig, "wary", &json!([tolerated("not-ready", 600), tolerated("unreachable", 60)]));
    set_ready(&mut rig, "False");
    rig.run(301);
    set_ready(&mut rig, "Unknown");
    rig.run(100);
    assert_eq!(terminating(&rig), ["patient", "touchy"], "the shorter toleration comes too late");
    set_ready(&mut rig, "True");
    rig.run(10);
    set_ready(&mut rig, "Unknown");
    rig.run(59);
    assert_eq!(terminating(&rig), ["patient", "touchy"]);
    rig.run(1);
    assert_eq!(terminating(&rig), ["patient", "touchy", "wary"]);
}

#[test]
fn leaves_the_pods_of_a_node_that_reports_not_ready_unchanged() {
    let mut rig = Rig::new();
    prepare(&mut rig);
    set_ready(&mut rig, "False");
    rig.run(10);
    assert_eq!(taints(&rig), ["own NoSchedule", "not-ready NoSchedule", "not-ready NoExecute"]);
    assert!(rig.view.list(&PODS).all(|pod| condition::is_true(pod, "Ready")));
    assert!(events(&rig).iter().all(|event| event.contains("RegisteredNode")));
}

/// The messages of the Events about evictions.
fn evictions(rig: &Rig) -> Vec<&str> {
    let of_controller = |event: &&Object| event["reportingComponent"] == "taint-eviction-controller";
    rig.view.list(&EVENTS).filter(of_controller).map(|event| event.text("/message")).collect()
}

#[test]
fn events_report_evictions_and_their_end() {
    let mut rig = Rig::new();
    prepare(&mut rig);
    set_ready(&mut rig, "False");
    rig.run(10);
    assert_eq!(evictions(&rig), ["Marking for deletion Pod ns/touchy"]);
    set_ready(&mut rig, "True");
    rig.run(10);
    let mut found = evictions(&rig);
    found.sort_unstable();
    assert_eq!(found, ["Cancelling deletion of Pod ns/patient", "Marking for deletion Pod ns/touchy"]);
}

#[test]
fn a_node_whose_kubelet_never_reports_is_unreachable_after_a_minute() {
    let mut rig = Rig::new();
    rig.seat(|| Box::new(NodeLifecycleController::new()));
    let taints = json!([{ "key": "node.kubernetes.io/not-ready", "effect": "NoSchedule" }]);
    rig.put(&NODES, json!({ "metadata": { "name": "n" }, "spec": { "taints": taints } }));
    rig.run(59);
    assert_eq!(taints_of(&rig), (vec![], 0), "pods may come to it");
    rig.run(2);
    assert_eq!(taints_of(&rig), (vec!["unreachable NoSchedule".to_owned()], 4), "no node is ready");
    let ready = condition::find_in_status(node(&rig), "Ready").unwrap();
    assert_eq!(ready["reason"], "NodeStatusNeverUpdated");
    assert_eq!(ready["message"], "Kubelet never posted node status.");
    let status = json!({ "conditions": [{ "type": "Ready", "status": "True" }] });
    rig.put(&NODES, json!({ "metadata": { "name": "other" }, "spec": {}, "status": status }));
    rig.run(2);
    assert_eq!(taints_of(&rig).0, ["unreachable NoSchedule", "unreachable NoExecute"]);
    rig.write(&Write::delete_now(&NODES, "", "n"));
    rig.run(1);
    let removed = "default Node n Normal RemovingNode Node n event: Removing Node n from Controller";
    assert!(events(&rig).iter().any(|event| event == removed), "{:#?}", events(&rig));
}

/// The taints of the node, and the number of its conditions.
fn taints_of(rig: &Rig) -> (Vec<String>, usize) {
    (taints(rig), node(rig).list("/status/conditions").len())
}

#[test]
fn a_node_without_a_lease_is_unreachable_where_kubelets_renew_leases() {
    for (minor, seconds) in [(31, 40), (36, 50)] {
        let mut rig = Rig::new();
        rig.seat(move || {
            let controller = NodeLifecycleController::new().with_version(ControllerVersion::fixed(minor));
            Box::new(controller.with_leases())
        });
        let ready = json!({ "conditions": [{ "type": "Ready", "status": "True" }] });
        rig.put(&NODES, json!({ "metadata": { "name": "n" }, "spec": {}, "status": ready }));
        rig.run(seconds - 1);
        assert!(condition::is_true(node(&rig), "Ready"));
        rig.run(2);
        assert_eq!(condition::find_in_status(node(&rig), "Ready").unwrap()["reason"], "NodeStatusUnknown");
    }
}

#[test]
fn a_posted_node_status_counts_as_a_heartbeat() {
    let mut rig = Rig::new();
    prepare(&mut rig);
    renew(&mut rig, 40);
    rig.run(30);
    let ready = json!({ "type": "Ready", "status": "True", "lastHeartbeatTime": rfc3339(rig.now) });
    let status = json!({ "status": { "conditions": [ready] } });
    rig.write(&Write::merge_patch_status(&NODES, "", "n", status));
    let status = |rig: &Rig| condition::find_in_status(node(rig), "Ready").unwrap()["status"].clone();
    rig.run(39);
    assert_eq!(status(&rig), "True");
    rig.run(2);
    assert_eq!(status(&rig), "Unknown");
}

#[test]
fn a_kubelet_with_a_slow_clock_is_reachable_while_it_renews() {
    let mut rig = Rig::new();
    prepare(&mut rig);
    let renew_with_slow_clock = |rig: &mut Rig| {
        rig.now -= SignedDuration::from_mins(10);
        renew(rig, 40);
        rig.now += SignedDuration::from_mins(10);
    };
    for _ in 0..30 {
        renew_with_slow_clock(&mut rig);
        rig.run(10);
        assert_eq!(taints(&rig), ["own NoSchedule"]);
    }
    rig.run(29);
    assert_eq!(taints(&rig), ["own NoSchedule"]);
    rig.run(1);
    assert_eq!(taints(&rig).len(), 3);
    renew_with_slow_clock(&mut rig);
    set_ready(&mut rig, "True");
    rig.run(30);
    assert_eq!(taints(&rig), ["own NoSchedule"]);
}

#[test]
fn waits_for_the_end_of_a_longer_lease() {
    let mut rig = Rig::new();
    prepare(&mut rig);
    renew(&mut rig, 3600);
    rig.run(3599);
    assert_eq!(taints(&rig), ["own NoSchedule"]);
    rig.run(1);
    assert_eq!(taints(&rig).len(), 3);
}

#[test]
fn recovers_after_a_crash_at_each_write() {
    let story = |rig: &mut Rig| {
        prepare(rig);
        renew(rig, 40);
        // A restarted controller starts the eviction timers again, so the last of them expires later.
        rig.run(800);
    };
    check_recovery(story, |rig| format!("{:?} {:?}", taints(rig), terminating(rig)));
}
