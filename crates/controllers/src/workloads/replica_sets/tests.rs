//! ReplicaSets with their statuses and pods.

use serde_json::{Value, json};
use windtunnel_core::clock::rfc3339;
use windtunnel_core::resources::{EVENTS, PODS, REPLICA_SETS, REPLICATION_CONTROLLERS};
use windtunnel_core::{Object, Write};

use super::ReplicaSetController;
use crate::ControllerVersion;
use crate::testing::{Rig, check_recovery};

fn prepare(rig: &mut Rig, replicas: i64) {
    rig.seat(|| Box::new(ReplicaSetController::new()));
    rig.put(
        &REPLICA_SETS,
        json!({
            "metadata": { "namespace": "ns", "name": "web" },
            "spec": {
                "replicas": replicas,
                "minReadySeconds": 10,
                "selector": { "matchLabels": { "app": "web" } },
                "template": { "metadata": { "labels": { "app": "web" } }, "spec": { "containers": [] } },
            },
        }),
    );
    rig.run(1);
}

fn pods(rig: &Rig) -> Vec<&Object> {
    rig.view.list(&PODS).filter(|pod| !pod.is_terminating()).collect()
}

/// Binds pods to a node and makes them ready now.
fn get_ready(rig: &mut Rig, node: &str, names: &[String]) {
    let since = rfc3339(rig.now);
    for name in names {
        rig.write(&Write::merge_patch(&PODS, "ns", name, json!({ "spec": { "nodeName": node } })));
        let ready = json!([{ "type": "Ready", "status": "True", "lastTransitionTime": since }]);
        let status = json!({ "status": { "phase": "Running", "conditions": ready } });
        rig.write(&Write::merge_patch_status(&PODS, "ns", name, status));
    }
}

fn scale(rig: &mut Rig, replicas: i64) {
    let patch = json!({ "spec": { "replicas": replicas } });
    rig.write(&Write::merge_patch(&REPLICA_SETS, "ns", "web", patch));
    rig.run(1);
}

fn status(rig: &Rig) -> Value {
    rig.view.get(&REPLICA_SETS, "ns", "web").unwrap()["status"].clone()
}

fn names(rig: &Rig) -> Vec<String> {
    pods(rig).iter().map(|pod| pod.name().to_owned()).collect()
}

#[test]
fn maintains_the_desired_number_of_pods() {
    let mut rig = Rig::new();
    prepare(&mut rig, 3);
    assert_eq!(pods(&rig).len(), 3);
    let gone = names(&rig)[0].clone();
    rig.write(&Write::delete(&PODS, "ns", &gone));
    rig.run(1);
    assert_eq!(pods(&rig).len(), 3);
    scale(&mut rig, 1);
    assert_eq!(pods(&rig).len(), 1);
}

#[test]
fn a_ready_pod_becomes_available_after_min_ready_seconds() {
    let mut rig = Rig::new();
    prepare(&mut rig, 2);
    let all = names(&rig);
    get_ready(&mut rig, "n", &all);
    rig.run(5);
    let expected = json!({
        "replicas": 2, "fullyLabeledReplicas": 2, "readyReplicas": 2, "terminatingReplicas": 0,
        "observedGeneration": 1,
    });
    assert_eq!(status(&rig), expected);
    rig.run(10);
    assert_eq!(status(&rig)["availableReplicas"], 2);
}

#[test]
fn deletes_unbound_pods_first_and_then_those_that_share_a_node() {
    let mut rig = Rig::new();
    prepare(&mut rig, 4);
    let all = names(&rig);
    get_ready(&mut rig, "a", &all[..1]);
    get_ready(&mut rig, "b", &all[1..3]);
    rig.run(20);
    scale(&mut rig, 3);
    assert_eq!(names(&rig), all[..3], "the one that is not bound");
    scale(&mut rig, 2);
    assert!(names(&rig).contains(&all[0]), "not the only one on its node");
    assert_eq!(names(&rig).len(), 2);
}

#[test]
fn adopts_matching_pods_without_a_controller() {
    let mut rig = Rig::new();
    rig.put(&PODS, json!({ "metadata": { "namespace": "ns", "name": "found", "labels": { "app": "web" } } }));
    rig.put(&PODS, json!({ "metadata": { "namespace": "ns", "name": "other" } }));
    prepare(&mut rig, 1);
    assert_eq!(names(&rig), ["found", "other"]);
    let found = rig.view.get(&PODS, "ns", "found").unwrap();
    assert_eq!(found.text("/metadata/ownerReferences/0/name"), "web");
}

#[test]
fn releases_pods_that_it_no_longer_selects_and_replaces_them() {
    let mut rig = Rig::new();
    prepare(&mut rig, 1);
    let first = names(&rig)[0].clone();
    rig.write(&Write::merge_patch(
        &PODS,
        "ns",
        &first,
        json!({ "metadata": { "labels": { "app": "other" } } }),
    ));
    rig.run(1);
    assert_eq!(pods(&rig).len(), 2);
    assert!(rig.view.get(&PODS, "ns", &first).unwrap().list("/metadata/ownerReferences").is_empty());
}

#[test]
fn replication_controllers_have_their_pods_too() {
    let mut rig = Rig::new();
    rig.seat(|| Box::new(ReplicaSetController::for_replication_controllers()));
    let pod = |name: &str, app: &str| json!({ "metadata": { "namespace": "ns", "name": name, "labels": { "app": app } } });
    rig.put(&PODS, pod("found", "web"));
    rig.put(&PODS, pod("other", "db"));
    let template = json!({ "metadata": { "labels": { "app": "web" } }, "spec": { "containers": [] } });
    let spec = json!({ "replicas": 2, "selector": { "app": "web" }, "template": template });
    rig.put(
        &REPLICATION_CONTROLLERS,
        json!({ "metadata": { "namespace": "ns", "name": "web" }, "spec": spec }),
    );
    rig.run(1);
    let owned = pods(&rig).into_iter().filter(|pod| !pod.list("/metadata/ownerReferences").is_empty());
    let kinds = owned.map(|pod| pod.text("/metadata/ownerReferences/0/kind").to_owned());
    assert_eq!(kinds.collect::<Vec<_>>(), ["ReplicationController", "ReplicationController"]);
    let status = &rig.view.get(&REPLICATION_CONTROLLERS, "ns", "web").unwrap()["status"];
    assert_eq!((&status["replicas"], &status["fullyLabeledReplicas"]), (&json!(2), &json!(2)));
}

#[test]
fn counts_terminating_pods_since_1_35() {
    for (minor, counted) in [(34, Value::Null), (35, json!(1))] {
        let mut rig = Rig::new();
        rig.seat(move || Box::new(ReplicaSetController::new().with_version(ControllerVersion::fixed(minor))));
        let selector = json!({ "matchLabels": { "app": "web" } });
        let template = json!({ "metadata": { "labels": { "app": "web" } }, "spec": { "nodeName": "n" } });
        let spec = json!({ "replicas": 1, "selector": selector, "template": template });
        rig.put(&REPLICA_SETS, json!({ "metadata": { "namespace": "ns", "name": "web" }, "spec": spec }));
        rig.run(1);
        let first = names(&rig)[0].clone();
        rig.write(&Write::delete(&PODS, "ns", &first));
        rig.run(1);
        assert_eq!((status(&rig)["terminatingReplicas"].clone(), pods(&rig).len()), (counted, 1));
    }
}

#[test]
fn events_report_pods() {
    let mut rig = Rig::new();
    prepare(&mut rig, 2);
    scale(&mut rig, 1);
    let fields = ["reportingComponent", "source/component", "involvedObject/name", "reason"];
    let text = |event: &Object| fields.map(|field| event.text(&format!("/{field}")).to_owned()).join(" ");
    let mut events: Vec<String> = rig.view.list(&EVENTS).map(text).collect();
    events.sort();
    let begin = "replicaset-controller replicaset-controller web";
    let expected = ["SuccessfulCreate", "SuccessfulCreate", "SuccessfulDelete"];
    assert_eq!(events, expected.map(|reason| format!("{begin} {reason}")));
}

#[test]
fn recovers_after_a_crash_at_each_write() {
    let story = |rig: &mut Rig| {
        prepare(rig, 3);
        scale(rig, 5);
        scale(rig, 2);
    };
    check_recovery(story, |rig| format!("{} {}", pods(rig).len(), status(rig)));
}
