//! StatefulSets with their pods, claims and revisions.

use serde_json::{Value, json};
use windtunnel_core::clock::rfc3339;
use windtunnel_core::resources::{
    CONTROLLER_REVISIONS, EVENTS, PERSISTENT_VOLUME_CLAIMS, PODS, STATEFUL_SETS,
};
use windtunnel_core::{Object, Write};

use super::StatefulSetController;
use crate::ControllerVersion;
use crate::testing::{Rig, check_recovery};

fn put_set(rig: &mut Rig, spec: &Value) {
    put_set_of(rig, ControllerVersion::default(), spec);
}

fn put_set_of(rig: &mut Rig, version: ControllerVersion, spec: &Value) {
    rig.seat(move || Box::new(StatefulSetController::new().with_version(version)));
    let mut all = json!({
        "serviceName": "db",
        "selector": { "matchLabels": { "app": "db" } },
        "updateStrategy": { "type": "RollingUpdate", "rollingUpdate": { "partition": 0 } },
        "template": { "metadata": { "labels": { "app": "db" } }, "spec": { "containers": [{ "image": "1" }] } },
    });
    json_patch::merge(&mut all, spec);
    rig.put(&STATEFUL_SETS, json!({ "metadata": { "namespace": "ns", "name": "db" }, "spec": all }));
    rig.run(1);
}

fn change(rig: &mut Rig, spec: &Value) {
    rig.write(&Write::merge_patch(&STATEFUL_SETS, "ns", "db", json!({ "spec": spec })));
    rig.run(1);
}

/// Does the work of the kubelet for some seconds: removes terminating pods, and makes the others ready.
fn settle(rig: &mut Rig) {
    for _ in 0..10 {
        let pods: Vec<Object> = rig.view.list(&PODS).cloned().collect();
        for pod in pods {
            if pod.is_terminating() {
                rig.write(&Write::delete_now(&PODS, "ns", pod.name()));
            } else if pod["status"].is_null() {
                get_ready(rig, pod.name());
            }
        }
        rig.run(1);
    }
}

fn get_ready(rig: &mut Rig, pod: &str) {
    let since = rfc3339(rig.now);
    let ready = json!([{ "type": "Ready", "status": "True", "lastTransitionTime": since }]);
    let status = json!({ "status": { "phase": "Running", "conditions": ready } });
    rig.write(&Write::merge_patch_status(&PODS, "ns", pod, status));
}

fn names(rig: &Rig) -> Vec<&str> {
    rig.view.list(&PODS).filter(|pod| !pod.is_terminating()).map(Object::name).collect()
}

fn images(rig: &Rig) -> Vec<&str> {
    rig.view.list(&PODS).map(|pod| pod.text("/spec/containers/0/image")).collect()
}

fn image(version: &str) -> Value {
    json!({ "template": { "spec": { "containers": [{ "image": version }] } } })
}

fn status(rig: &Rig) -> Value {
    rig.view.get(&STATEFUL_SETS, "ns", "db").unwrap()["status"].clone()
}

fn revisions(rig: &Rig) -> Vec<i64> {
    rig.view.list(&CONTROLLER_REVISIONS).filter_map(|revision| revision.number("/revision")).collect()
}

#[test]
fn creates_pods_in_order_and_deletes_the_last_one_first() {
    let mut rig = Rig::new();
    put_set(&mut rig, &json!({ "replicas": 2 }));
    assert_eq!(names(&rig), ["db-0"], "the first one is not ready");
    settle(&mut rig);
    assert_eq!(names(&rig), ["db-0", "db-1"]);
    let pod = rig.view.get(&PODS, "ns", "db-1").unwrap();
    assert_eq!((pod.text("/spec/hostname"), pod.text("/spec/subdomain")), ("db-1", "db"));
    assert_eq!(pod.label("apps.kubernetes.io/pod-index"), Some("1"));
    let expected = status(&rig);
    for field in ["replicas", "readyReplicas", "availableReplicas", "currentReplicas", "updatedReplicas"] {
        assert_eq!(expected[field], 2, "{field}");
    }
    change(&mut rig, &json!({ "replicas": 0 }));
    assert_eq!(names(&rig), ["db-0"]);
    settle(&mut rig);
    assert!(names(&rig).is_empty());
}

#[test]
fn parallel_pods_are_created_at_once() {
    let mut rig = Rig::new();
    let spec = json!({ "replicas": 3, "podManagementPolicy": "Parallel", "ordinals": { "start": 5 } });
    put_set(&mut rig, &spec);
    assert_eq!(names(&rig), ["db-5", "db-6", "db-7"]);
    change(&mut rig, &json!({ "replicas": 1 }));
    assert_eq!(names(&rig), ["db-5"]);
}

#[test]
fn replaces_pods_from_the_partition_on_highest_first() {
    let mut rig = Rig::new();
    put_set(&mut rig, &json!({ "replicas": 3 }));
    settle(&mut rig);
    let rolling =
        |partition: i64| json!({ "updateStrategy": { "rollingUpdate": { "partition": partition } } });
    change(&mut rig, &rolling(2));
    change(&mut rig, &image("2"));
    settle(&mut rig);
    assert_eq!(images(&rig), ["1", "1", "2"]);
    let partial = status(&rig);
    assert_ne!(partial["currentRevision"], partial["updateRevision"]);
    assert_eq!((&partial["currentReplicas"], &partial["updatedReplicas"]), (&json!(2), &json!(1)));
    assert_eq!(revisions(&rig).len(), 2);

    rig.write(&Write::delete_now(&PODS, "ns", "db-0"));
    settle(&mut rig);
    assert_eq!(images(&rig), ["1", "1", "2"], "a pod below the partition keeps the former template");

    change(&mut rig, &rolling(0));
    assert_eq!(names(&rig), ["db-0", "db-2"], "one at a time");
    settle(&mut rig);
    assert_eq!(images(&rig), ["2", "2", "2"]);
    assert_eq!(status(&rig)["currentRevision"], status(&rig)["updateRevision"]);

    change(&mut rig, &image("1"));
    settle(&mut rig);
    assert_eq!(images(&rig), ["1", "1", "1"]);
    let mut numbers = revisions(&rig);
    numbers.sort_unstable();
    assert_eq!(numbers, [2, 3], "a rollback renews the former revision");
}

#[test]
fn on_delete_waits_for_the_user() {
    let mut rig = Rig::new();
    put_set(
        &mut rig,
        &json!({ "replicas": 2, "updateStrategy": { "type": "OnDelete", "rollingUpdate": null } }),
    );
    settle(&mut rig);
    change(&mut rig, &image("2"));
    settle(&mut rig);
    assert_eq!(images(&rig), ["1", "1"]);
    rig.write(&Write::delete_now(&PODS, "ns", "db-0"));
    settle(&mut rig);
    assert_eq!(images(&rig), ["2", "1"]);
}

#[test]
fn an_unavailable_pod_stops_the_rollout_until_min_ready_seconds_are_over() {
    let mut rig = Rig::new();
    put_set(&mut rig, &json!({ "replicas": 2, "minReadySeconds": 60 }));
    get_ready(&mut rig, "db-0");
    rig.run(50);
    assert_eq!(names(&rig), ["db-0"]);
    rig.run(20);
    assert_eq!(names(&rig), ["db-0", "db-1"]);
}

#[test]
fn failed_pods_are_replaced() {
    let mut rig = Rig::new();
    put_set(&mut rig, &json!({ "replicas": 1 }));
    settle(&mut rig);
    rig.write(&Write::merge_patch_status(&PODS, "ns", "db-0", json!({ "status": { "phase": "Failed" } })));
    rig.run(1);
    settle(&mut rig);
    assert_eq!(rig.view.get(&PODS, "ns", "db-0").unwrap().text("/status/phase"), "Running");
}

fn with_claims(retention: &Value) -> Value {
    json!({
        "replicas": 2,
        "volumeClaimTemplates": [{ "metadata": { "name": "data" }, "spec": { "accessModes": ["ReadWriteOnce"] } }],
        "persistentVolumeClaimRetentionPolicy": retention,
    })
}

fn owners_of_claim(rig: &Rig, claim: &str) -> Vec<String> {
    let claim = rig.view.get(&PERSISTENT_VOLUME_CLAIMS, "ns", claim).unwrap();
    let owners = claim.list("/metadata/ownerReferences").iter();
    owners.filter_map(|owner| Some(owner["name"].as_str()?.to_owned())).collect()
}

#[test]
fn each_pod_has_its_claims() {
    let mut rig = Rig::new();
    put_set(&mut rig, &with_claims(&Value::Null));
    settle(&mut rig);
    let claims: Vec<&str> = rig.view.list(&PERSISTENT_VOLUME_CLAIMS).map(Object::name).collect();
    assert_eq!(claims, ["data-db-0", "data-db-1"]);
    let pod = rig.view.get(&PODS, "ns", "db-1").unwrap();
    assert_eq!(pod.text("/spec/volumes/0/persistentVolumeClaim/claimName"), "data-db-1");
    assert!(owners_of_claim(&rig, "data-db-0").is_empty());
}

#[test]
fn the_retention_policy_decides_who_owns_a_claim() {
    let mut rig = Rig::new();
    put_set(&mut rig, &with_claims(&json!({ "whenDeleted": "Delete", "whenScaled": "Delete" })));
    settle(&mut rig);
    assert_eq!(owners_of_claim(&rig, "data-db-1"), ["db"]);
    change(&mut rig, &json!({ "replicas": 1 }));
    assert_eq!(owners_of_claim(&rig, "data-db-1"), ["db-1"]);
    assert_eq!(owners_of_claim(&rig, "data-db-0"), ["db"]);
    change(&mut rig, &json!({ "persistentVolumeClaimRetentionPolicy": { "whenDeleted": "Retain" } }));
    assert!(owners_of_claim(&rig, "data-db-0").is_empty());
}

#[test]
fn adopts_matching_pods_and_releases_others() {
    let mut rig = Rig::new();
    let pod =
        |name: &str| json!({ "metadata": { "namespace": "ns", "name": name, "labels": { "app": "db" } } });
    rig.put(&PODS, pod("db-0"));
    rig.put(&PODS, pod("other"));
    put_set(&mut rig, &json!({ "replicas": 1 }));
    assert_eq!(rig.view.get(&PODS, "ns", "db-0").unwrap().text("/metadata/ownerReferences/0/name"), "db");
    assert!(rig.view.get(&PODS, "ns", "other").unwrap().list("/metadata/ownerReferences").is_empty());
    let relabel = json!({ "metadata": { "labels": { "app": "x" } } });
    rig.write(&Write::merge_patch(&PODS, "ns", "db-0", relabel));
    rig.run(1);
    assert!(rig.view.get(&PODS, "ns", "db-0").unwrap().list("/metadata/ownerReferences").is_empty());
}

#[test]
fn recovers_after_a_crash_at_each_write() {
    let story = |rig: &mut Rig| {
        put_set(rig, &with_claims(&json!({ "whenDeleted": "Retain", "whenScaled": "Delete" })));
        settle(rig);
        change(rig, &image("2"));
        settle(rig);
        change(rig, &json!({ "replicas": 1 }));
        settle(rig);
    };
    check_recovery(story, |rig| format!("{:?} {:?} {}", names(rig), images(rig), status(rig)));
}

#[test]
fn events_report_pods_and_claims() {
    for (minor, begin) in [(34, "create"), (35, "Create")] {
        let mut rig = Rig::new();
        let claims = json!([{ "metadata": { "name": "data" }, "spec": {} }]);
        let spec = json!({ "replicas": 1, "volumeClaimTemplates": claims });
        put_set_of(&mut rig, ControllerVersion::fixed(minor), &spec);
        let texts: Vec<&str> = rig.view.list(&EVENTS).map(|event| event.text("/message")).collect();
        let pod = format!("{begin} Pod db-0 in StatefulSet db successful");
        let claim = format!("{begin} Claim data-db-0 Pod db-0 in StatefulSet db success");
        assert!(texts.contains(&pod.as_str()) && texts.contains(&claim.as_str()), "{texts:?}");
    }
}
