//! Tests of an operator with static pods on two nodes.

use semver::Version;
use serde_json::json;
use windtunnel_controllers::testing::Rig;
use windtunnel_core::resources::{DEPLOYMENTS, NODES};
use windtunnel_core::rng::Streams;

use super::*;
use crate::environment::Environment;
use crate::operators::Operator;

fn release(version: &str) -> Release {
    Release::find(&Version::parse(version).unwrap()).unwrap()
}

fn deployment(version: &str) -> Value {
    let env = json!([{ "name": "RELEASE_VERSION", "value": version }]);
    json!({ "spec": { "template": { "spec": { "containers": [{ "name": "operator", "env": env }] } } } })
}

/// Nodes `m0` and `m1` with pods of the old release, and the operator, which has reported it.
fn rig() -> Rig {
    let mut rig = Rig::new();
    for name in ["m0", "m1"] {
        rig.put(
            &NODES,
            json!({
                "metadata": { "name": name, "labels": { "node-role.kubernetes.io/master": "" } },
                "status": {
                    "conditions": [{ "type": "Ready", "status": "True" }],
                    "nodeInfo": { "kubeletVersion": "v1.31.3" },
                },
            }),
        );
        run_pod(&mut rig, name, &release("4.18.3"), 6);
    }
    let first = release("4.18.3");
    let facts = first.operator("kube-scheduler").unwrap().clone();
    let mut old = deployment("4.18.3");
    old["metadata"] = json!({ "namespace": facts.namespace, "name": facts.deployment });
    rig.put(&DEPLOYMENTS, old);
    let releases = [first, release("4.18.7")].map(|release| (release.version.clone(), release)).into();
    let environment = std::sync::Arc::new(Environment { releases, ..Environment::default() });
    rig.seat(move || {
        Box::new(Operator::new(&facts, "kube-scheduler", environment.clone(), &Streams::new(7)))
    });
    rig.run(1_000);
    rig.log.clear();
    rig
}

/// Writes the mirror pod of a ready static pod.
fn run_pod(rig: &mut Rig, node: &str, release: &Release, revision: u32) {
    let operand = Operand::of("kube-scheduler").unwrap();
    let mut pod = (*operand.pod(release, revision).manifest).clone();
    let name = format!("{}-{node}", operand.name);
    pod["metadata"]["name"] = json!(name);
    pod["status"]["conditions"] = json!([{ "type": "Ready", "status": "True" }]);
    rig.write_as_new(&PODS, pod);
}

fn update(rig: &mut Rig, version: &str) {
    let write = Write::merge_patch(
        &DEPLOYMENTS,
        "openshift-kube-scheduler-operator",
        "openshift-kube-scheduler-operator",
        deployment(version),
    );
    rig.write(&write);
}

/// The static pod manifests written since the log was cleared.
fn written(rig: &Rig) -> Vec<&str> {
    let lines = rig.log.iter().filter_map(|line| line.split_once(" static pod "));
    lines.map(|(_, what)| what).collect()
}

fn is_done(rig: &Rig) -> bool {
    rig.log.iter().any(|line| line.contains("Deployed"))
}

#[test]
fn installs_the_next_revision_node_by_node() {
    let mut rig = rig();
    update(&mut rig, "4.18.7");
    rig.run(200);
    // No pod starts on the node, so the manifest is written again.
    assert_eq!(written(&rig)[0], "\"openshift-kube-scheduler\" on m0");
    assert!(written(&rig).iter().all(|line| line.ends_with("m0")));
    run_pod(&mut rig, "m0", &release("4.18.7"), 7);
    rig.log.clear();
    rig.run(1_000);
    assert_eq!(written(&rig)[0], "\"openshift-kube-scheduler\" on m1");
    assert!(!is_done(&rig), "{:#?}", rig.log);
    run_pod(&mut rig, "m1", &release("4.18.7"), 7);
    rig.run(1);
    assert!(is_done(&rig), "{:#?}", rig.log);
}

#[test]
fn returning_to_the_old_release_is_another_revision() {
    let mut rig = rig();
    update(&mut rig, "4.18.7");
    rig.run(200);
    run_pod(&mut rig, "m0", &release("4.18.7"), 7);
    update(&mut rig, "4.18.3");
    rig.log.clear();
    rig.run(400);
    assert_eq!(written(&rig)[0], "\"openshift-kube-scheduler\" on m0");
    let operand = Operand::of("kube-scheduler").unwrap();
    let nodes: Vec<&Object> = rig.view.list(&NODES).collect();
    assert_eq!(operand.next_revision(&release("4.18.3"), &nodes, &rig.view), 8);
}

#[test]
fn waits_for_a_node_that_is_not_ready() {
    let mut rig = rig();
    let not_ready = json!({ "status": { "conditions": [{ "type": "Ready", "status": "False" }] } });
    rig.write(&Write::merge_patch_status(&NODES, "", "m0", not_ready));
    update(&mut rig, "4.18.7");
    rig.run(1_000);
    assert_eq!((written(&rig), is_done(&rig)), (Vec::new(), false));
}
