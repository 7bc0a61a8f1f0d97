//! Deployments, seen through their status and pods; a kubelet runs the pods.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::DeploymentController;
use crate::actors::garbage_collector::GarbageCollector;
use crate::actors::kubelet::Kubelet;
use crate::actors::testing::{Rig, check_recovery};
use crate::base::rng::Streams;
use crate::model::resources::{DEPLOYMENTS, NODES, PODS};
use crate::model::world::{Image, Registry, World};
use crate::model::{Object, Write};

const NAME: &str = "cluster-version-operator";

fn prepare(rig: &mut Rig) {
    let ready = json!({ "conditions": [{ "type": "Ready", "status": "True" }] });
    for (name, role) in [("aaa-worker", "worker"), ("master-0", "master"), ("master-1", "master")] {
        let labels = json!({ (format!("node-role.kubernetes.io/{role}")): "" });
        rig.put(
            &NODES,
            json!({ "metadata": { "name": name, "labels": labels }, "spec": {}, "status": ready }),
        );
    }
    rig.seat(|| Box::new(DeploymentController::new(&Streams::new(7))));
    let image = Image::default();
    let images = ["sha256:aaaa", "sha256:bbbb"].map(|digest| (digest.to_owned(), image.clone()));
    let world = Arc::new(World { registry: Registry { images: BTreeMap::from(images) }, ..World::default() });
    rig.seat(move || Box::new(Kubelet::new("master-0", Arc::clone(&world), &Streams::new(7))));
}

fn deployment(image: &str, program: bool) -> Value {
    json!({
        "metadata": { "namespace": "ns", "name": NAME },
        "spec": {
            "replicas": 1,
            "strategy": { "type": "Recreate" },
            "template": {
                "metadata": {
                    "labels": { "k8s-app": NAME },
                    "annotations": { "windtunnel.dev/program": program.to_string() },
                },
                "spec": { "containers": [{ "name": "main", "image": format!("quay.io/r/i@{image}") }] },
            },
        },
    })
}

fn new_image(image: &str) -> Write {
    let containers = json!([{ "name": "main", "image": format!("quay.io/r/i@{image}") }]);
    let patch = json!({ "spec": { "template": { "spec": { "containers": containers } } } });
    Write::merge_patch(&DEPLOYMENTS, "ns", NAME, patch)
}

fn story(rig: &mut Rig) {
    prepare(rig);
    rig.put(&DEPLOYMENTS, deployment("sha256:aaaa", true));
    rig.run(60);
    rig.write(&new_image("sha256:bbbb"));
    rig.run(60);
}

fn pods(rig: &Rig) -> Vec<&Object> {
    rig.view.list(&PODS).collect()
}

fn check(rig: &Rig, expected: &[&str]) {
    let log: Vec<&String> = rig.log.iter().filter(|line| !line.contains(" events/")).collect();
    assert_eq!(log, expected, "{log:#?}");
}

#[test]
fn a_new_template_waits_until_the_old_pod_is_gone() {
    let mut rig = Rig::new();
    story(&mut rig);
    check(
        &rig,
        &[
            "0:00:00 create pods/ns/cluster-version-operator-749kxs4jcc-p7vtg",
            "0:00:00 update deployments.apps/ns/cluster-version-operator Available=False MinimumReplicasUnavailable Deployment does not have minimum availability.; Progressing=True ReplicaSetUpdated ReplicaSet \"cluster-version-operator-749kxs4jcc\" is progressing.",
            "0:00:00 update deployments.apps/ns/cluster-version-operator Available=False MinimumReplicasUnavailable Deployment does not have minimum availability.; Progressing=True ReplicaSetUpdated ReplicaSet \"cluster-version-operator-749kxs4jcc\" is progressing.",
            "0:00:00 patch pods/ns/cluster-version-operator-749kxs4jcc-p7vtg Pending main:ContainerCreating",
            "0:00:02 start pods/ns/cluster-version-operator-749kxs4jcc-p7vtg main",
            "0:00:02 patch pods/ns/cluster-version-operator-749kxs4jcc-p7vtg Running main:running",
            "0:00:02 update deployments.apps/ns/cluster-version-operator Available=True MinimumReplicasAvailable Deployment has minimum availability.; Progressing=True NewReplicaSetAvailable ReplicaSet \"cluster-version-operator-749kxs4jcc\" has successfully progressed.",
            "0:01:00 delete pods/ns/cluster-version-operator-749kxs4jcc-p7vtg",
            "0:01:00 update deployments.apps/ns/cluster-version-operator Available=True MinimumReplicasAvailable Deployment has minimum availability.; Progressing=True ReplicaSetUpdated ReplicaSet \"cluster-version-operator-hhhnb9j6q9\" is progressing.",
            "0:01:00 terminate pods/ns/cluster-version-operator-749kxs4jcc-p7vtg",
            "0:01:02 patch pods/ns/cluster-version-operator-749kxs4jcc-p7vtg Succeeded main:Completed",
            "0:01:02 delete pods/ns/cluster-version-operator-749kxs4jcc-p7vtg",
            "0:01:02 create pods/ns/cluster-version-operator-hhhnb9j6q9-2wh6g",
            "0:01:02 update deployments.apps/ns/cluster-version-operator Available=False MinimumReplicasUnavailable Deployment does not have minimum availability.; Progressing=True ReplicaSetUpdated ReplicaSet \"cluster-version-operator-hhhnb9j6q9\" is progressing.",
            "0:01:02 update deployments.apps/ns/cluster-version-operator Available=False MinimumReplicasUnavailable Deployment does not have minimum availability.; Progressing=True ReplicaSetUpdated ReplicaSet \"cluster-version-operator-hhhnb9j6q9\" is progressing.",
            "0:01:02 patch pods/ns/cluster-version-operator-hhhnb9j6q9-2wh6g Pending main:ContainerCreating",
            "0:01:05 start pods/ns/cluster-version-operator-hhhnb9j6q9-2wh6g main",
            "0:01:05 patch pods/ns/cluster-version-operator-hhhnb9j6q9-2wh6g Running main:running",
            "0:01:05 update deployments.apps/ns/cluster-version-operator Available=True MinimumReplicasAvailable Deployment has minimum availability.; Progressing=True NewReplicaSetAvailable ReplicaSet \"cluster-version-operator-hhhnb9j6q9\" has successfully progressed.",
        ],
    );
    let pods = pods(&rig);
    assert_eq!(pods.len(), 1);
    assert_eq!(pods[0].text("/spec/nodeName"), "master-0");
    assert_eq!(pods[0].text("/spec/containers/0/image"), "quay.io/r/i@sha256:bbbb");
    assert_eq!(pods[0].annotation("windtunnel.dev/program"), Some("true"));
    let deployment = rig.view.list(&DEPLOYMENTS).next().unwrap();
    let mut status = deployment["status"].clone();
    status["conditions"] = Value::Null;
    assert_eq!(
        status,
        json!({
            "observedGeneration": 2, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1,
            "availableReplicas": 1, "conditions": null,
        })
    );
}

#[test]
fn a_deleted_pod_is_replaced_and_the_pods_of_a_deleted_deployment_go() {
    let mut rig = Rig::new();
    prepare(&mut rig);
    rig.seat(|| Box::new(GarbageCollector::new()));
    rig.put(&DEPLOYMENTS, deployment("sha256:aaaa", true));
    rig.run(60);
    let first = pods(&rig)[0].name().to_owned();
    rig.write(&Write::delete(&PODS, "ns", &first));
    rig.run(60);
    assert_eq!(pods(&rig).len(), 1);
    assert_ne!(pods(&rig)[0].name(), first);
    rig.write(&Write::delete(&DEPLOYMENTS, "ns", NAME));
    rig.run(60);
    assert!(pods(&rig).is_empty());
}

#[test]
fn a_pod_waits_for_a_node_that_takes_it() {
    let mut rig = Rig::new();
    prepare(&mut rig);
    let cordon = |name: &str, unschedulable: bool| {
        Write::merge_patch(&NODES, "", name, json!({ "spec": { "unschedulable": unschedulable } }))
    };
    rig.write(&cordon("master-0", true));
    rig.write(&cordon("master-1", true));
    rig.put(&DEPLOYMENTS, deployment("sha256:aaaa", true));
    rig.run(60);
    assert!(pods(&rig).is_empty());
    rig.write(&cordon("master-1", false));
    rig.run(1);
    assert_eq!(pods(&rig)[0].text("/spec/nodeName"), "master-1");
}

#[test]
fn a_deployment_without_a_program_is_available_after_a_while() {
    let mut rig = Rig::new();
    prepare(&mut rig);
    rig.put(&DEPLOYMENTS, deployment("sha256:aaaa", false));
    rig.run(60);
    rig.write(&new_image("sha256:bbbb"));
    rig.run(60);
    check(
        &rig,
        &[
            "0:00:15 update deployments.apps/ns/cluster-version-operator Available=True MinimumReplicasAvailable Deployment has minimum availability.; Progressing=True NewReplicaSetAvailable ReplicaSet \"cluster-version-operator-l5h24htkhv\" has successfully progressed.",
            "0:01:24 update deployments.apps/ns/cluster-version-operator Available=True MinimumReplicasAvailable Deployment has minimum availability.; Progressing=True NewReplicaSetAvailable ReplicaSet \"cluster-version-operator-h4ljhv4w58\" has successfully progressed.",
        ],
    );
    assert_eq!(rig.view.list(&DEPLOYMENTS).next().unwrap().number("/status/observedGeneration"), Some(2));
}

#[test]
fn a_restarted_controller_or_kubelet_comes_to_the_same_end() {
    check_recovery(story, |rig| {
        let deployment = rig.view.list(&DEPLOYMENTS).next().unwrap();
        let images: Vec<&str> = pods(rig).iter().map(|pod| pod.text("/spec/containers/0/image")).collect();
        let conditions: Vec<&Value> =
            deployment.list("/status/conditions").iter().map(|condition| &condition["reason"]).collect();
        format!("{images:?} {conditions:?} {}", deployment["status"]["availableReplicas"])
    });
}
