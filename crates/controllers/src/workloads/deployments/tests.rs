//! Deployments with their ReplicaSets, pods and statuses.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use windtunnel_core::resources::{DEPLOYMENTS, EVENTS, NODES, PODS, REPLICA_SETS};
use windtunnel_core::rng::Streams;
use windtunnel_core::{DeleteOptions, Object, Propagation, Write, condition};

use super::DeploymentController;
use super::sets::{HISTORY, REVISION};
use crate::cleanup::garbage_collector::GarbageCollector;
use crate::environment::Standalone;
use crate::kubelet::Kubelet;
use crate::registry::{Image, Registry};
use crate::scheduler::Scheduler;
use crate::testing::{Rig, check_recovery};
use crate::workloads::replica_sets::ReplicaSetController;

const NAME: &str = "web";

fn seat_controllers(rig: &mut Rig) {
    rig.seat(|| Box::new(DeploymentController::new(&Streams::new(7))));
    rig.seat(|| Box::new(ReplicaSetController::new()));
    rig.seat(|| Box::new(Scheduler::new()));
    rig.seat(|| Box::new(GarbageCollector::new()));
    let status = json!({ "allocatable": { "pods": "100" } });
    rig.put(&NODES, json!({ "metadata": { "name": "n" }, "spec": {}, "status": status }));
}

fn deployment(strategy: &Value, replicas: i64) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": { "namespace": "ns", "name": NAME },
        "spec": {
            "replicas": replicas,
            "strategy": strategy,
            "selector": { "matchLabels": { "app": NAME } },
            "template": { "metadata": { "labels": { "app": NAME } }, "spec": containers("sha256:aaaa") },
        },
    })
}

fn containers(image: &str) -> Value {
    json!({ "containers": [{ "name": "main", "image": format!("quay.io/r/i@{image}") }] })
}

fn new_image(image: &str) -> Write {
    let patch = json!({ "spec": { "template": { "spec": containers(image) } } });
    Write::merge_patch(&DEPLOYMENTS, "ns", NAME, patch)
}

fn found(rig: &Rig) -> &Object {
    rig.view.get(&DEPLOYMENTS, "ns", NAME).unwrap()
}

fn pods(rig: &Rig) -> Vec<&Object> {
    rig.view.list(&PODS).collect()
}

/// The number of pods that are not terminating: in total, and by image.
fn live(rig: &Rig) -> (i64, BTreeMap<String, i64>) {
    let mut by_image: BTreeMap<String, i64> = BTreeMap::new();
    for pod in pods(rig).into_iter().filter(|pod| !pod.is_terminating()) {
        *by_image
            .entry(pod.text("/spec/containers/0/image").replace("quay.io/r/i@sha256:", ""))
            .or_default() += 1;
    }
    (by_image.values().sum(), by_image)
}

/// Makes one more pod ready and removes terminating pods.
fn advance(rig: &mut Rig) {
    rig.run(1);
    for name in pods(rig)
        .into_iter()
        .filter(|pod| pod.is_terminating())
        .map(|pod| pod.name().to_owned())
        .collect::<Vec<_>>()
    {
        rig.write(&Write::delete_now(&PODS, "ns", &name));
    }
    let waiting = pods(rig).into_iter().find(|pod| pod["status"].get("phase").is_none());
    if let Some(name) = waiting.map(|pod| pod.name().to_owned()) {
        let status = json!({ "phase": "Running", "conditions": [{ "type": "Ready", "status": "True" }] });
        rig.write(&Write::merge_patch_status(&PODS, "ns", &name, json!({ "status": status })));
    }
    rig.run(1);
}

fn conditions(rig: &Rig) -> Vec<String> {
    let text = |condition: &Value, field: &str| condition[field].as_str().unwrap_or_default().to_owned();
    let conditions = found(rig).list("/status/conditions").iter();
    conditions
        .map(|one| text(one, "type") + "=" + &text(one, "status") + " " + &text(one, "reason"))
        .collect()
}

fn rolled_out(rig: &mut Rig, strategy: &Value, replicas: i64) {
    rig.put(&DEPLOYMENTS, deployment(strategy, replicas));
    (0..replicas + 2).for_each(|_| advance(rig));
    assert_eq!(found(rig).number("/status/availableReplicas"), Some(replicas), "{:#?}", rig.log);
}

#[test]
fn a_rolling_update_respects_max_surge_and_max_unavailable() {
    for (surge, unavailable, most, least) in
        [(json!(1), json!(0), 5, 4), (json!(0), json!(1), 4, 3), (json!("50%"), json!("25%"), 6, 3)]
    {
        let mut rig = Rig::new();
        seat_controllers(&mut rig);
        let bounds = json!({ "maxSurge": surge, "maxUnavailable": unavailable });
        rolled_out(&mut rig, &json!({ "type": "RollingUpdate", "rollingUpdate": bounds }), 4);
        rig.write(&new_image("sha256:bbbb"));
        for _ in 0..12 {
            advance(&mut rig);
            let available = found(&rig).number("/status/availableReplicas").unwrap_or(0);
            assert!(live(&rig).0 <= most && available >= least, "{:#?}", rig.log);
        }
        assert_eq!(live(&rig).1, BTreeMap::from([("bbbb".to_owned(), 4)]));
        let mut status = found(&rig)["status"].clone();
        status["conditions"] = Value::Null;
        assert_eq!(
            status,
            json!({
                "observedGeneration": 2, "replicas": 4, "updatedReplicas": 4, "readyReplicas": 4,
                "availableReplicas": 4, "terminatingReplicas": 0, "conditions": null,
            })
        );
    }
}

#[test]
fn conditions_report_the_progress_of_a_rollout() {
    let mut rig = Rig::new();
    seat_controllers(&mut rig);
    rig.put(&DEPLOYMENTS, deployment(&json!({}), 2));
    rig.run(1);
    assert_eq!(
        conditions(&rig),
        ["Available=False MinimumReplicasUnavailable", "Progressing=True ReplicaSetUpdated"]
    );
    (0..4).for_each(|_| advance(&mut rig));
    assert_eq!(
        conditions(&rig),
        ["Available=True MinimumReplicasAvailable", "Progressing=True NewReplicaSetAvailable"]
    );
    rig.write(&new_image("sha256:bbbb"));
    rig.run(1);
    assert_eq!(conditions(&rig)[1], "Progressing=True ReplicaSetUpdated");
    rig.run(601);
    assert_eq!(conditions(&rig)[1], "Progressing=False ProgressDeadlineExceeded");
    let set = rig.view.list(&REPLICA_SETS).find(|set| set.annotation(REVISION) == Some("2")).unwrap().name();
    let message = condition::find_in_status(found(&rig), "Progressing").unwrap()["message"].clone();
    assert_eq!(message, format!("ReplicaSet \"{set}\" has timed out progressing."));
    (0..8).for_each(|_| advance(&mut rig));
    assert_eq!(conditions(&rig)[1], "Progressing=True NewReplicaSetAvailable");
}

#[test]
fn counts_revisions_and_reuses_the_replica_set_of_an_old_template() {
    let mut rig = Rig::new();
    seat_controllers(&mut rig);
    rolled_out(&mut rig, &json!({}), 1);
    for (image, revision) in [("sha256:bbbb", "2"), ("sha256:aaaa", "3")] {
        rig.write(&new_image(image));
        (0..4).for_each(|_| advance(&mut rig));
        assert_eq!(found(&rig).annotation(REVISION), Some(revision));
    }
    assert_eq!(rig.view.list(&REPLICA_SETS).count(), 2);
    assert_eq!(live(&rig).1, BTreeMap::from([("aaaa".to_owned(), 1)]));
}

#[test]
fn a_rollback_keeps_the_former_revisions_of_the_replica_set() {
    let mut rig = Rig::new();
    seat_controllers(&mut rig);
    rolled_out(&mut rig, &json!({}), 1);
    for image in ["sha256:bbbb", "sha256:aaaa", "sha256:bbbb", "sha256:aaaa"] {
        rig.write(&new_image(image));
        (0..4).for_each(|_| advance(&mut rig));
    }
    let of = |set: &Object| [REVISION, HISTORY].map(|name| set.annotation(name).unwrap().to_owned());
    let mut found: Vec<[String; 2]> = rig.view.list(&REPLICA_SETS).map(of).collect();
    found.sort();
    assert_eq!(found, [["4", "2"], ["5", "1,3"]].map(|pair| pair.map(str::to_owned)));
    assert_eq!(conditions(&rig)[1], "Progressing=True NewReplicaSetAvailable");
}

#[test]
fn a_replica_set_without_an_owner_is_adopted_and_found() {
    let mut rig = Rig::new();
    seat_controllers(&mut rig);
    rolled_out(&mut rig, &json!({}), 1);
    let options = DeleteOptions { propagation: Some(Propagation::Orphan), ..DeleteOptions::default() };
    rig.write(&Write::delete_with(&DEPLOYMENTS, "ns", NAME, options));
    rig.run(1);
    assert_eq!(rig.view.list(&REPLICA_SETS).count(), 1);
    rig.put(&DEPLOYMENTS, deployment(&json!({}), 2));
    rig.run(1);
    let sets: Vec<&Object> = rig.view.list(&REPLICA_SETS).collect();
    assert_eq!((sets.len(), sets[0].number("/spec/replicas")), (1, Some(2)));
    let found = "Progressing=True FoundNewReplicaSet";
    assert!(rig.log.iter().any(|line| line.contains(found)), "{:#?}", rig.log);
}

#[test]
fn a_pause_suspends_the_estimate_of_progress() {
    let mut rig = Rig::new();
    seat_controllers(&mut rig);
    rig.put(&DEPLOYMENTS, deployment(&json!({}), 1));
    rig.run(1);
    let pause = |is: bool| Write::merge_patch(&DEPLOYMENTS, "ns", NAME, json!({ "spec": { "paused": is } }));
    rig.write(&pause(true));
    rig.run(3600);
    assert_eq!(conditions(&rig)[1], "Progressing=Unknown DeploymentPaused");
    rig.write(&json_scale(3));
    rig.run(1);
    assert_eq!(live(&rig).0, 3, "a paused Deployment is scaled");
    rig.write(&pause(false));
    rig.run(1);
    assert_eq!(conditions(&rig)[1], "Progressing=Unknown DeploymentResumed");
    rig.run(601);
    assert_eq!(conditions(&rig)[1], "Progressing=False ProgressDeadlineExceeded");
}

fn json_scale(replicas: i64) -> Write {
    Write::merge_patch(&DEPLOYMENTS, "ns", NAME, json!({ "spec": { "replicas": replicas } }))
}

#[test]
fn scales_the_replica_sets_of_a_rollout_in_proportion() {
    let mut rig = Rig::new();
    seat_controllers(&mut rig);
    let bounds = json!({ "maxSurge": 3, "maxUnavailable": 2 });
    rolled_out(&mut rig, &json!({ "type": "RollingUpdate", "rollingUpdate": bounds }), 10);
    rig.write(&new_image("sha256:bbbb"));
    rig.run(1);
    assert_eq!(live(&rig).1, BTreeMap::from([("aaaa".to_owned(), 8), ("bbbb".to_owned(), 5)]));
    rig.write(&json_scale(15));
    rig.run(1);
    // The example of the Kubernetes documentation: five more pods, of which the larger set gets three.
    assert_eq!(live(&rig).1, BTreeMap::from([("aaaa".to_owned(), 11), ("bbbb".to_owned(), 7)]));
}

#[test]
fn the_generation_counts_only_changes_of_the_specification() {
    let mut rig = Rig::new();
    seat_controllers(&mut rig);
    rolled_out(&mut rig, &json!({}), 1);
    let updates = |rig: &Rig| rig.log.iter().filter(|line| line.contains("deployments.apps")).count();
    assert!(updates(&rig) > 1);
    assert_eq!((found(&rig).generation(), found(&rig).annotation(REVISION)), (1, Some("1")));
}

#[test]
fn events_report_the_scaling_of_replica_sets() {
    let mut rig = Rig::new();
    seat_controllers(&mut rig);
    rolled_out(&mut rig, &json!({}), 1);
    rig.write(&new_image("sha256:bbbb"));
    (0..4).for_each(|_| advance(&mut rig));
    let events = rig.view.list(&EVENTS).filter(|event| event["involvedObject"]["kind"] == "Deployment");
    let texts: Vec<String> = events
        .inspect(|event| {
            assert_eq!(event["reportingComponent"], "deployment-controller");
            assert!(!event.text("/involvedObject/resourceVersion").is_empty());
        })
        .map(|event| event.text("/reason").to_owned() + " " + event.text("/message"))
        .collect();
    let set = |revision: &str| {
        let mut sets = rig.view.list(&REPLICA_SETS);
        sets.find(|set| set.annotation(REVISION) == Some(revision)).unwrap().name()
    };
    let mut expected = [
        format!("ScalingReplicaSet Scaled down replica set {} from 1 to 0", set("1")),
        format!("ScalingReplicaSet Scaled up replica set {} from 0 to 1", set("1")),
        format!("ScalingReplicaSet Scaled up replica set {} from 0 to 1", set("2")),
    ];
    expected.sort();
    let mut texts = texts;
    texts.sort();
    assert_eq!(texts, expected);
}

#[test]
fn keeps_old_replica_sets_up_to_the_history_limit() {
    let mut rig = Rig::new();
    seat_controllers(&mut rig);
    rolled_out(&mut rig, &json!({}), 1);
    let limit = json!({ "spec": { "revisionHistoryLimit": 1 } });
    rig.write(&Write::merge_patch(&DEPLOYMENTS, "ns", NAME, limit));
    for image in ["b", "c", "d"] {
        rig.write(&new_image(image));
        (0..4).for_each(|_| advance(&mut rig));
    }
    let mut revisions: Vec<&str> =
        rig.view.list(&REPLICA_SETS).filter_map(|set| set.annotation(REVISION)).collect();
    revisions.sort_unstable();
    assert_eq!(revisions, ["3", "4"]);
}

#[test]
fn does_not_roll_out_a_paused_deployment() {
    let mut rig = Rig::new();
    seat_controllers(&mut rig);
    rolled_out(&mut rig, &json!({}), 1);
    rig.write(&Write::merge_patch(&DEPLOYMENTS, "ns", NAME, json!({ "spec": { "paused": true } })));
    rig.write(&new_image("sha256:bbbb"));
    (0..4).for_each(|_| advance(&mut rig));
    assert_eq!(live(&rig).1, BTreeMap::from([("aaaa".to_owned(), 1)]));
}

#[test]
fn replaces_a_deleted_pod_and_deletes_the_pods_of_a_deleted_deployment() {
    let mut rig = Rig::new();
    seat_controllers(&mut rig);
    rolled_out(&mut rig, &json!({}), 1);
    let first = pods(&rig)[0].name().to_owned();
    rig.write(&Write::delete(&PODS, "ns", &first));
    advance(&mut rig);
    assert_ne!(pods(&rig)[0].name(), first);
    assert!(pods(&rig)[0].name().starts_with(rig.view.list(&REPLICA_SETS).next().unwrap().name()));
    rig.write(&Write::delete(&DEPLOYMENTS, "ns", NAME));
    advance(&mut rig);
    assert!(pods(&rig).is_empty());
    assert_eq!(rig.view.list(&REPLICA_SETS).count(), 0);
}

/// Rolls out another image in a Deployment with strategy `Recreate`, with a kubelet.
fn recreated(rig: &mut Rig) {
    seat_controllers(rig);
    let images = ["sha256:aaaa", "sha256:bbbb"].map(|digest| (digest.to_owned(), Image::default()));
    let environment =
        Arc::new(Standalone { registry: Registry { images: images.into() }, ..Standalone::default() });
    rig.seat(move || Box::new(Kubelet::new("n", Arc::clone(&environment) as _, &Streams::new(7))));
    rig.put(&DEPLOYMENTS, deployment(&json!({ "type": "Recreate" }), 1));
    rig.run(60);
    rig.write(&new_image("sha256:bbbb"));
    rig.run(60);
}

#[test]
fn recreate_waits_until_the_old_pod_is_gone() {
    let mut rig = Rig::new();
    recreated(&mut rig);
    let of_pods = rig.log.iter().filter(|line| line.contains(" pods/") && !line.contains("patch"));
    let verbs: Vec<&str> = of_pods.filter_map(|line| line.split(' ').nth(1)).collect();
    assert_eq!(
        verbs,
        ["create", "create", "start", "delete", "terminate", "kill", "delete", "create", "create", "start"]
    );
    assert_eq!(live(&rig).1, BTreeMap::from([("bbbb".to_owned(), 1)]));
    assert_eq!(
        conditions(&rig),
        ["Available=True MinimumReplicasAvailable", "Progressing=True NewReplicaSetAvailable"]
    );
}

#[test]
fn recovers_after_a_crash_at_each_write() {
    check_recovery(recreated, |rig| format!("{:?} {:?}", live(rig), conditions(rig)));
}

#[test]
fn a_payload_deployment_becomes_available_without_pods() {
    let mut rig = Rig::new();
    seat_controllers(&mut rig);
    let mut of_payload = deployment(&json!({}), 1);
    of_payload["metadata"]["ownerReferences"] =
        json!([{ "kind": "ClusterVersion", "name": "version", "uid": "u" }]);
    rig.put(&DEPLOYMENTS, of_payload);
    rig.run(60);
    rig.write(&new_image("sha256:bbbb"));
    rig.run(60);
    let available = "Available=True MinimumReplicasAvailable Deployment has minimum availability.; Progressing=True \
                     NewReplicaSetAvailable ReplicaSet \"web-";
    assert_eq!(rig.log.len(), 2, "{:#?}", rig.log);
    assert!(rig.log.iter().all(|line| line.contains(available)), "{:#?}", rig.log);
    assert!(rig.log[0].starts_with("0:00:") && rig.log[1].starts_with("0:01:"));
    assert_eq!(found(&rig).number("/status/observedGeneration"), Some(2));
    assert!(pods(&rig).is_empty());
}
