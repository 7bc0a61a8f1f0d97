//! DaemonSets on a few nodes, with the scheduler that binds their pods.

use serde_json::{Value, json};
use windtunnel_core::resources::{CONTROLLER_REVISIONS, DAEMON_SETS, EVENTS, NODES, PODS};
use windtunnel_core::rng::Streams;
use windtunnel_core::{Change, ChangeKind, Object, Write};

use super::DaemonSetController;
use crate::scheduler::Scheduler;
use crate::testing::{Rig, check_recovery};

fn prepare(rig: &mut Rig) {
    rig.seat(|| Box::new(DaemonSetController::new(&Streams::new(1))));
    rig.seat(|| Box::new(Scheduler::new()));
    for name in ["a", "b", "c"] {
        put_node(rig, name);
    }
    let template =
        json!({ "metadata": { "labels": { "app": "d" } }, "spec": { "nodeSelector": { "os": "linux" } } });
    let set = json!({ "kind": "DaemonSet", "metadata": { "namespace": "ns", "name": "d" }, "spec": { "template": template } });
    rig.put(&DAEMON_SETS, set);
    settle(rig);
}

fn put_node(rig: &mut Rig, name: &str) {
    let metadata = json!({ "name": name, "labels": { "os": "linux" } });
    let status = json!({ "allocatable": { "pods": "100" } });
    rig.put(&NODES, json!({ "metadata": metadata, "spec": {}, "status": status }));
}

/// Runs the controllers. Makes bound pods ready and removes terminating ones.
fn settle(rig: &mut Rig) {
    for _ in 0..10 {
        rig.run(1);
        let pods: Vec<Object> = rig.view.list(&PODS).cloned().collect();
        for pod in pods {
            if pod.is_terminating() {
                rig.write(&Write::delete_now(&PODS, "ns", pod.name()));
            } else if !pod.text("/spec/nodeName").is_empty() && pod["status"].is_null() {
                get_ready(rig, pod.name());
            }
        }
    }
}

fn get_ready(rig: &mut Rig, pod: &str) {
    let status = json!({ "phase": "Running", "conditions": [{ "type": "Ready", "status": "True" }] });
    rig.write(&Write::merge_patch_status(&PODS, "ns", pod, json!({ "status": status })));
}

fn nodes(rig: &Rig) -> Vec<&str> {
    let mut nodes: Vec<&str> = rig.view.list(&PODS).map(|pod| pod.text("/spec/nodeName")).collect();
    nodes.sort_unstable();
    nodes
}

fn taint(rig: &mut Rig, node: &str, taints: &Value) {
    rig.write(&Write::merge_patch(&NODES, "", node, json!({ "spec": { "taints": taints } })));
    settle(rig);
}

fn status(rig: &Rig) -> Value {
    rig.view.get(&DAEMON_SETS, "ns", "d").unwrap()["status"].clone()
}

#[test]
fn creates_one_daemon_per_node_including_new_nodes() {
    let mut rig = Rig::new();
    prepare(&mut rig);
    assert_eq!(nodes(&rig), ["a", "b", "c"]);
    let expected = json!({
        "currentNumberScheduled": 3, "desiredNumberScheduled": 3, "numberMisscheduled": 0, "numberReady": 3,
        "observedGeneration": 1, "updatedNumberScheduled": 3, "numberAvailable": 3,
    });
    assert_eq!(status(&rig), expected);
    put_node(&mut rig, "d");
    settle(&mut rig);
    assert_eq!(nodes(&rig), ["a", "b", "c", "d"]);
}

#[test]
fn a_cordoned_node_keeps_its_daemon_and_gets_a_new_one() {
    let mut rig = Rig::new();
    prepare(&mut rig);
    let taints = json!([{ "key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule" }]);
    rig.write(&Write::merge_patch(&NODES, "", "b", json!({ "spec": { "unschedulable": true } })));
    taint(&mut rig, "b", &taints);
    let pod = rig.view.list(&PODS).find(|pod| pod.text("/spec/nodeName") == "b").unwrap().name().to_owned();
    rig.write(&Write::delete_now(&PODS, "ns", &pod));
    settle(&mut rig);
    assert_eq!(nodes(&rig), ["a", "b", "c"]);
}

#[test]
fn no_schedule_taints_keep_existing_daemons_and_no_execute_taints_do_not() {
    let mut rig = Rig::new();
    prepare(&mut rig);
    taint(&mut rig, "a", &json!([{ "key": "x", "effect": "NoSchedule" }]));
    assert_eq!(nodes(&rig), ["a", "b", "c"]);
    taint(&mut rig, "a", &json!([{ "key": "x", "effect": "NoExecute" }]));
    assert_eq!(nodes(&rig), ["b", "c"]);
    assert_eq!(status(&rig)["desiredNumberScheduled"], 2);
    rig.write(&Write::merge_patch(&NODES, "", "c", json!({ "metadata": { "labels": { "os": "other" } } })));
    settle(&mut rig);
    assert_eq!(nodes(&rig), ["b"]);
}

#[test]
fn keeps_the_oldest_of_several_daemons_of_a_node() {
    let mut rig = Rig::new();
    prepare(&mut rig);
    let on_a = |rig: &Rig| -> Vec<String> {
        let pods = rig.view.list(&PODS).filter(|pod| pod.text("/spec/nodeName") == "a");
        pods.map(|pod| pod.name().to_owned()).collect()
    };
    let before = on_a(&rig);
    let mut younger = rig.view.get(&PODS, "ns", &before[0]).unwrap().to_value();
    let metadata = &younger["metadata"];
    younger["metadata"] = json!({
        "namespace": "ns", "name": "a-first", "labels": metadata["labels"], "ownerReferences": metadata["ownerReferences"],
    });
    rig.run(60);
    rig.put(&PODS, younger);
    assert_eq!(on_a(&rig).len(), 2);
    settle(&mut rig);
    assert_eq!(on_a(&rig), before);
}

#[test]
fn rolls_out_a_new_template_one_pod_at_a_time() {
    let mut rig = Rig::new();
    prepare(&mut rig);
    let changed = json!({ "spec": { "template": { "metadata": { "labels": { "v": "2" } } } } });
    rig.write(&Write::merge_patch(&DAEMON_SETS, "ns", "d", changed));
    rig.run(1);
    assert_eq!(rig.view.list(&PODS).filter(|pod| pod.is_terminating()).count(), 1);
    assert_eq!(status(&rig)["numberUnavailable"], 1);
    settle(&mut rig);
    assert!(rig.view.list(&PODS).all(|pod| pod.label("v") == Some("2")));
    assert_eq!(status(&rig)["updatedNumberScheduled"], 3);
}

#[test]
fn a_revision_of_another_client_replaces_the_one_with_the_same_template() {
    let mut rig = Rig::new();
    prepare(&mut rig);
    let first = rig.view.list(&CONTROLLER_REVISIONS).next().unwrap().to_value();
    let mut second = first.clone();
    second["metadata"]["name"] = json!("d-second");
    second["metadata"]["labels"]["controller-revision-hash"] = json!("second");
    second["revision"] = json!(2);
    rig.put(&CONTROLLER_REVISIONS, second);
    rig.write(&Write::merge_patch(
        &DAEMON_SETS,
        "ns",
        "d",
        json!({ "metadata": { "labels": { "a": "b" } } }),
    ));
    settle(&mut rig);
    let revisions: Vec<&str> = rig.view.list(&CONTROLLER_REVISIONS).map(Object::name).collect();
    assert_eq!(revisions, ["d-second"]);
    let hashes: Vec<_> = rig.view.list(&PODS).map(|pod| pod.label("controller-revision-hash")).collect();
    assert_eq!(hashes, [Some("second"); 3], "the pods stay, with the other hash");
}

#[test]
fn recovers_after_a_crash_at_each_write() {
    check_recovery(prepare, |rig| format!("{:?} {}", nodes(rig), status(rig)));
}

/// The revisions as `number: field x of the template's spec`.
fn revisions(rig: &Rig) -> Vec<String> {
    let text = |revision: &Object| {
        let template = &revision["data"]["spec"]["template"];
        format!("{}: {}", revision["revision"], template["spec"]["x"])
    };
    let mut revisions: Vec<String> = rig.view.list(&CONTROLLER_REVISIONS).map(text).collect();
    revisions.sort();
    revisions
}

fn change_template(rig: &mut Rig, spec: &Value) {
    let patch = json!({ "spec": { "template": { "spec": spec } } });
    rig.write(&Write::merge_patch(&DAEMON_SETS, "ns", "d", patch));
    for _ in 0..4 {
        settle(rig);
    }
}

#[test]
fn each_template_has_a_revision_and_a_rollback_makes_it_the_newest() {
    let mut rig = Rig::new();
    prepare(&mut rig);
    assert_eq!(revisions(&rig), ["1: null"]);
    change_template(&mut rig, &json!({ "x": 1 }));
    assert_eq!(revisions(&rig), ["1: null", "2: 1"]);
    change_template(&mut rig, &json!({ "x": null }));
    assert_eq!(revisions(&rig), ["2: 1", "3: null"]);
}

#[test]
fn keeps_unused_revisions_up_to_the_history_limit() {
    let mut rig = Rig::new();
    prepare(&mut rig);
    rig.write(&Write::merge_patch(&DAEMON_SETS, "ns", "d", json!({ "spec": { "revisionHistoryLimit": 1 } })));
    for x in 1..=3 {
        change_template(&mut rig, &json!({ "x": x }));
    }
    assert_eq!(revisions(&rig), ["3: 2", "4: 3"]);
}

#[test]
fn processes_node_changes_only_if_they_affect_daemons() {
    let mut rig = Rig::new();
    prepare(&mut rig);
    let set = rig.view.get(&DAEMON_SETS, "ns", "d").unwrap();
    let node = |labels: Value, spec: Value| {
        Object::new(json!({ "metadata": { "name": "a", "labels": labels }, "spec": spec }))
    };
    let linux = || json!({ "os": "linux" });
    let affects = |old: Option<Object>, new: Object| {
        let kind = if old.is_some() { ChangeKind::Modified } else { ChangeKind::Added };
        let change = Change { key: NODES.key("", "a"), kind, object: new, old };
        super::may_move_daemons(&change) && super::moves_daemons(&[&change], set)
    };
    let taint = |key: &str, effect: &str| json!({ "taints": [{ "key": key, "effect": effect }] });
    let plain = || node(linux(), json!({}));
    assert!(affects(None, plain()));
    assert!(!affects(None, node(json!({ "os": "windows" }), json!({}))));
    assert!(!affects(Some(plain()), node(linux(), taint("node.kubernetes.io/unschedulable", "NoSchedule"))));
    assert!(!affects(Some(plain()), node(json!({ "os": "linux", "zone": "z" }), json!({}))));
    assert!(affects(Some(plain()), node(linux(), taint("own", "NoSchedule"))));
    assert!(affects(Some(plain()), node(json!({}), json!({}))));
}

#[test]
fn events_report_daemons() {
    let mut rig = Rig::new();
    prepare(&mut rig);
    rig.run(1);
    let of_set = rig.view.list(&EVENTS).filter(|event| event["involvedObject"]["kind"] == "DaemonSet");
    let texts: Vec<String> = of_set
        .inspect(|event| assert_eq!(event["reportingComponent"], "daemonset-controller"))
        .map(|event| format!("{} {}", event.text("/reason"), event.text("/message")))
        .collect();
    assert!(!texts.is_empty());
    assert!(texts.iter().all(|text| text.starts_with("SuccessfulCreate Created pod: d-")), "{texts:?}");
}

#[test]
fn with_surge_a_daemon_stays_until_its_successor_is_available() {
    let mut rig = Rig::new();
    prepare(&mut rig);
    let strategy =
        json!({ "type": "RollingUpdate", "rollingUpdate": { "maxSurge": "34%", "maxUnavailable": 0 } });
    let template = json!({ "metadata": { "labels": { "app": "d", "new": "yes" } } });
    let patch = json!({ "spec": { "updateStrategy": strategy, "template": template } });
    rig.write(&Write::merge_patch(&DAEMON_SETS, "ns", "d", patch));
    rig.run(2);
    assert_eq!(nodes(&rig).len(), 5, "34 % of three nodes, rounded up, have two daemons");
    assert!(rig.view.list(&PODS).all(|pod| !pod.is_terminating()));
    settle(&mut rig);
    settle(&mut rig);
    assert_eq!(nodes(&rig), ["a", "b", "c"]);
    assert!(rig.view.list(&PODS).all(|pod| pod.label("new") == Some("yes")));
    assert_eq!(status(&rig)["updatedNumberScheduled"], 3);
}
