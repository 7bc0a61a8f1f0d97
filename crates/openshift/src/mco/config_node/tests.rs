//! Tests of MachineConfigNodes and the part of the operator that creates them.

use serde_json::{Value, json};
use windtunnel_controllers::testing::Rig;
use windtunnel_core::resources::{CONTROLLER_CONFIGS, MACHINE_CONFIG_POOLS, NODES};

use super::keeper::MachineConfigNodes;
use super::*;
use crate::mco::CONTROLLER_CONFIG;
use crate::mco::annotations::RELEASE_VERSION;
use crate::release::OperatorFacts;

fn operator() -> OperatorFacts {
    OperatorFacts {
        cluster_operator: "machine-config".to_owned(),
        namespace: "mco".to_owned(),
        deployment: "machine-config-operator".to_owned(),
        ..OperatorFacts::default()
    }
}

/// Pools and a node in a cluster with a controller of this release, which serves the kind in `version`.
fn rig(release: &str, feature_set: &str, version: Option<&str>) -> Rig {
    let mut rig = Rig::new();
    let annotations = json!({ (RELEASE_VERSION): release });
    let config = json!({ "metadata": { "name": CONTROLLER_CONFIG, "annotations": annotations } });
    rig.put(&CONTROLLER_CONFIGS, config);
    let gate = json!({ "metadata": { "name": "cluster" }, "spec": { "featureSet": feature_set } });
    rig.put(&FEATURE_GATES, gate);
    if let Some(version) = version {
        let spec = json!({ "versions": [{ "name": version }] });
        rig.put(&CUSTOM_RESOURCE_DEFINITIONS, json!({ "metadata": { "name": DEFINITION }, "spec": spec }));
    }
    for name in ["infra", "worker"] {
        let label = format!("node-role.kubernetes.io/{name}");
        let spec = json!({ "nodeSelector": { "matchLabels": { (label): "" } } });
        rig.put(&MACHINE_CONFIG_POOLS, json!({ "metadata": { "name": name }, "spec": spec }));
    }
    put_node(&mut rig, "w");
    rig.seat(|| Box::new(MachineConfigNodes::new(&operator())));
    rig.run(1);
    rig
}

fn put_node(rig: &mut Rig, name: &str) {
    let annotations = json!({ (CURRENT_CONFIG): "a", (DESIRED_CONFIG): "a" });
    let labels = json!({ "node-role.kubernetes.io/worker": "" });
    let metadata = json!({ "name": name, "annotations": annotations, "labels": labels });
    rig.put(&NODES, json!({ "metadata": metadata }));
}

fn object(rig: &Rig) -> &Object {
    rig.view.get(&MACHINE_CONFIG_NODES, "", "w").unwrap()
}

/// Writes progress steps as a component does, and returns the number of writes.
fn write_steps(rig: &mut Rig, steps: &[ProgressStep]) -> usize {
    let node = rig.view.get(&NODES, "", "w").unwrap().clone();
    let mut writer = ProgressWriter::for_node(&node, &rig.view).unwrap();
    for step in steps {
        writer.write_step(step, rig.now);
    }
    let writes = writer.into_writes();
    for write in &writes {
        rig.write(write);
    }
    writes.len()
}

/// The conditions that are not False, in order.
fn unfinished(rig: &Rig) -> Vec<String> {
    let list = object(rig).list("/status/conditions").iter().map(Condition::from_value);
    let unfinished = list.filter(|condition| condition.status != "False");
    unfinished.map(|condition| format!("{}={}", condition.kind, condition.status)).collect()
}

#[test]
fn creates_the_objects_from_4_20_on_and_before_with_previews() {
    for (release, feature_set, version, expected) in [
        ("4.20.1", "", Some("v1"), Some("machineconfiguration.openshift.io/v1")),
        ("4.20.1", "", None, None),
        // A later release left the definition behind.
        ("4.19.9", "", Some("v1"), None),
        (
            "4.18.3",
            "TechPreviewNoUpgrade",
            Some("v1alpha1"),
            Some("machineconfiguration.openshift.io/v1alpha1"),
        ),
    ] {
        let rig = rig(release, feature_set, version);
        let found = rig.view.get(&MACHINE_CONFIG_NODES, "", "w");
        assert_eq!(found.map(|object| object.text("/apiVersion")), expected, "{release} {feature_set}");
    }
}

#[test]
fn a_node_owns_its_object_which_names_the_pool() {
    let mut rig = rig("4.20.1", "", Some("v1"));
    let owner = json!([{ "apiVersion": "v1", "kind": "Node", "name": "w", "uid": "uid-of-w" }]);
    assert_eq!(object(&rig)["metadata"]["ownerReferences"], owner);
    let spec =
        json!({ "node": { "name": "w" }, "pool": { "name": "worker" }, "configVersion": { "desired": "a" } });
    assert_eq!(object(&rig)["spec"], spec);
    let labels = json!({ "metadata": { "labels": { "node-role.kubernetes.io/infra": "" } } });
    rig.write(&Write::merge_patch(&NODES, "", "w", labels));
    rig.run(1);
    assert_eq!(object(&rig).text("/spec/pool/name"), "infra");
    rig.write(&Write::delete(&MACHINE_CONFIG_NODES, "", "w"));
    rig.run(1);
    assert_eq!(object(&rig).text("/spec/pool/name"), "infra", "recreated");
}

#[test]
fn a_joined_node_gets_the_config_that_its_daemon_reports() {
    let mut rig = rig("4.20.1", "", Some("v1"));
    let labels = json!({ "node-role.kubernetes.io/worker": "" });
    rig.put(&NODES, json!({ "metadata": { "name": "x", "labels": labels } }));
    rig.run(1);
    let desired = |rig: &Rig| {
        rig.view.get(&MACHINE_CONFIG_NODES, "", "x").unwrap().text("/spec/configVersion/desired").to_owned()
    };
    assert_eq!(desired(&rig), "not-yet-set");
    for config in ["b", "c"] {
        let patch = json!({ "metadata": { "annotations": { (DESIRED_CONFIG): config } } });
        rig.write(&Write::merge_patch(&NODES, "", "x", patch));
        rig.run(1);
        assert_eq!(desired(&rig), "b", "the update of a node sets the next one");
    }
}

#[test]
fn a_status_change_of_one_node_writes_nothing_for_other_nodes() {
    let mut rig = rig("4.20.1", "", Some("v1"));
    (0..20).for_each(|index| put_node(&mut rig, &format!("x{index}")));
    rig.run(1);
    let before = rig.writes;
    let status = json!({ "status": { "conditions": [{ "type": "Ready", "status": "False" }] } });
    rig.write(&Write::merge_patch_status(&NODES, "", "w", status));
    rig.run(10);
    assert_eq!((before, rig.writes), (21, 21), "one write for each node");
}

#[test]
fn phases_are_reset_when_the_node_is_updated() {
    let mut rig = rig("4.20.1", "", Some("v1"));
    assert!(has_no_conditions("w", &rig.view));
    write_steps(&mut rig, &[progress_steps::resumed("a"), progress_steps::updated("w")]);
    assert!(!has_no_conditions("w", &rig.view));
    assert_eq!(unfinished(&rig), ["Updated=True"]);
    let list = object(&rig).list("/status/conditions");
    assert_eq!(list.len(), ALL.len());
    let text = |kind: &str| condition::find(list, kind).unwrap()["message"].as_str().unwrap().to_owned();
    assert_eq!(text("Cordoned"), "This node has not yet entered the Cordoned phase");
    assert_eq!(text("Resumed"), "Action during update to a: In desired config a. Resumed normal operations.");

    write_steps(
        &mut rig,
        &[progress_steps::needs_update("w"), progress_steps::prepared(true), progress_steps::cordoned()],
    );
    assert_eq!(unfinished(&rig), ["UpdatePrepared=True", "UpdateExecuted=Unknown", "Cordoned=True"]);
    assert_eq!(write_steps(&mut rig, &[progress_steps::cordoned()]), 0, "an unchanged step is not written");
    let draining = progress_steps::draining("drain-b", "uncordon-a");
    write_steps(&mut rig, std::slice::from_ref(&draining));
    let found = condition::find_in_status(object(&rig), "Drained").unwrap();
    assert_eq!(Condition::from_value(found), draining.child.unwrap());
    assert_eq!(found["reason"], "UpdateExecutedDrained");
    write_steps(&mut rig, &[progress_steps::updated("w")]);
    assert_eq!(unfinished(&rig), ["Updated=True"]);
}

#[test]
fn a_failure_sets_updated_to_false() {
    let mut rig = rig("4.20.1", "", Some("v1"));
    write_steps(&mut rig, &[progress_steps::updated("w"), progress_steps::degraded("w", "disk full")]);
    assert_eq!(unfinished(&rig), ["NodeDegraded=True"]);
    let degraded = condition::find_in_status(object(&rig), "NodeDegraded").unwrap();
    assert_eq!(degraded["message"], "Node w upgrade failure. disk full");
    let updated = condition::find_in_status(object(&rig), "Updated").unwrap();
    assert!(updated["message"].as_str().unwrap().contains("manual update"), "{updated}");
}

#[test]
fn an_object_that_is_left_over_stays_and_reports_no_failure() {
    let mut rig = rig("4.15.1", "TechPreviewNoUpgrade", Some("v1alpha1"));
    write_steps(&mut rig, &[progress_steps::degraded("w", "disk full")]);
    assert_eq!(failure("w", &rig.view).as_deref(), Some("Node w upgrade failure. disk full"));
    let set = |resource: &Resource, name: &str, patch| Write::merge_patch(resource, "", name, patch);
    rig.write(&set(&FEATURE_GATES, "cluster", json!({ "spec": { "featureSet": "CustomNoUpgrade" } })));
    rig.write(&set(&NODES, "w", json!({ "metadata": { "annotations": { (DESIRED_CONFIG): "b" } } })));
    rig.run(1);
    assert_eq!(object(&rig).text("/spec/configVersion/desired"), "a");
    assert_eq!(failure("w", &rig.view).as_deref(), Some(""));
    let node = rig.view.get(&NODES, "", "w").unwrap();
    assert!(ProgressWriter::for_node(node, &rig.view).is_none());
}

#[test]
fn the_desired_config_is_reported_only_after_validation() {
    let mut rig = rig("4.20.1", "", Some("v1"));
    let unknown = Condition::new("UpdatePrepared", "Unknown", "UpdatePrepared", "looks");
    write_steps(&mut rig, &[ProgressStep { parent: unknown, child: None }]);
    let config = |rig: &Rig| object(rig)["status"]["configVersion"].clone();
    assert_eq!(config(&rig), json!({ "current": "a", "desired": "not-yet-set" }));
    write_steps(&mut rig, &[progress_steps::prepared(true)]);
    assert_eq!(config(&rig), json!({ "current": "a", "desired": "a" }));
    let observed: &Value = &object(&rig)["status"]["observedGeneration"];
    assert_eq!(*observed, json!(object(&rig).generation() + 1));
}
