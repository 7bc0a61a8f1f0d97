//! Deletion of owners and dependents of several kinds, with each propagation policy.

use serde_json::{Value, json};
use windtunnel_core::resources::{CONFIG_MAPS, DEPLOYMENTS, NODES, REPLICA_SETS, SECRETS};
use windtunnel_core::{DeleteOptions, Object, Propagation, Resource, Write};

use super::GarbageCollector;
use crate::testing::{Rig, check_recovery};

fn rig() -> Rig {
    let mut rig = Rig::new();
    rig.seat(|| Box::new(GarbageCollector::new()));
    rig
}

fn object(resource: &Resource, name: &str, owners: &[&Object]) -> Value {
    let references = owners.iter().map(|owner| {
        json!({
            "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner.name(), "uid": owner.uid(),
            "blockOwnerDeletion": true,
        })
    });
    let references: Vec<Value> = references.collect();
    json!({
        "apiVersion": resource.api_version(), "kind": resource.kind,
        "metadata": { "namespace": "ns", "name": name, "ownerReferences": references },
    })
}

/// Creates a Deployment that owns a ReplicaSet that owns a Secret.
fn family(rig: &mut Rig) {
    let deployment = rig.put(&DEPLOYMENTS, object(&DEPLOYMENTS, "d", &[]));
    let replica_set = rig.put(&REPLICA_SETS, object(&REPLICA_SETS, "r", &[&deployment]));
    rig.put(&SECRETS, object(&SECRETS, "s", &[&replica_set]));
    rig.run(1);
    assert!(rig.log.is_empty(), "{:#?}", rig.log);
}

fn delete(rig: &mut Rig, policy: Propagation) {
    let options = DeleteOptions { propagation: Some(policy), ..DeleteOptions::default() };
    rig.write(&Write::delete_with(&DEPLOYMENTS, "ns", "d", options));
    rig.run(1);
}

fn left(rig: &Rig) -> Vec<String> {
    rig.view.objects().map(|(key, _)| key.to_string()).collect()
}

#[test]
fn background_deletion_deletes_dependents_after_their_owner() {
    let mut rig = rig();
    family(&mut rig);
    delete(&mut rig, Propagation::Background);
    assert_eq!(rig.log, ["0:00:01 delete replicasets.apps/ns/r", "0:00:01 delete secrets/ns/s"]);
    assert!(left(&rig).is_empty());
}

#[test]
fn foreground_deletion_deletes_the_owner_last() {
    let mut rig = rig();
    family(&mut rig);
    delete(&mut rig, Propagation::Foreground);
    let expected = [
        "0:00:01 delete replicasets.apps/ns/r",
        "0:00:01 delete secrets/ns/s",
        "0:00:01 patch replicasets.apps/ns/r",
        "0:00:01 patch deployments.apps/ns/d",
    ];
    assert_eq!(rig.log, expected);
    assert!(left(&rig).is_empty());
}

#[test]
fn foreground_deletion_does_not_wait_for_dependents_that_do_not_block() {
    let mut rig = rig();
    let owner = rig.put(&DEPLOYMENTS, object(&DEPLOYMENTS, "d", &[]));
    let mut dependent = object(&SECRETS, "s", &[&owner]);
    dependent["metadata"]["finalizers"] = json!(["example.com/f"]);
    rig.put(&SECRETS, dependent.clone());
    dependent["metadata"]["name"] = json!("t");
    dependent["metadata"]["ownerReferences"][0]["blockOwnerDeletion"] = json!(false);
    rig.put(&SECRETS, dependent);
    delete(&mut rig, Propagation::Foreground);
    assert_eq!(left(&rig), ["secrets/ns/s", "secrets/ns/t", "deployments.apps/ns/d"]);
    let free = json!({ "metadata": { "finalizers": [] } });
    rig.write(&Write::merge_patch(&SECRETS, "ns", "s", free));
    rig.run(1);
    assert_eq!(left(&rig), ["secrets/ns/t"]);
}

#[test]
fn orphan_deletion_keeps_dependents_without_owner() {
    let mut rig = rig();
    family(&mut rig);
    delete(&mut rig, Propagation::Orphan);
    assert_eq!(left(&rig), ["secrets/ns/s", "replicasets.apps/ns/r"]);
    let replica_set = rig.view.get(&REPLICA_SETS, "ns", "r").unwrap();
    assert!(replica_set.list("/metadata/ownerReferences").is_empty());
}

#[test]
fn keeps_an_object_while_one_owner_exists() {
    let mut rig = rig();
    let owners = ["d", "e"].map(|name| rig.put(&DEPLOYMENTS, object(&DEPLOYMENTS, name, &[])));
    rig.put(&SECRETS, object(&SECRETS, "s", &[&owners[0], &owners[1]]));
    delete(&mut rig, Propagation::Foreground);
    assert_eq!(left(&rig), ["secrets/ns/s", "deployments.apps/ns/e"]);
    let secret = rig.view.get(&SECRETS, "ns", "s").unwrap();
    assert_eq!(secret.list("/metadata/ownerReferences").len(), 1);
    assert_eq!(secret.text("/metadata/ownerReferences/0/name"), "e");
}

#[test]
fn matches_owners_by_uid_and_namespace() {
    let mut rig = rig();
    let mut elsewhere = object(&DEPLOYMENTS, "d", &[]);
    elsewhere["metadata"]["namespace"] = json!("elsewhere");
    let elsewhere = rig.put(&DEPLOYMENTS, elsewhere);
    rig.put(&SECRETS, object(&SECRETS, "of-elsewhere", &[&elsewhere]));
    let recreated = rig.put(&DEPLOYMENTS, object(&DEPLOYMENTS, "e", &[]));
    let mut other = object(&SECRETS, "of-a-namesake", &[&recreated]);
    other["metadata"]["ownerReferences"][0]["uid"] = json!("another");
    rig.put(&SECRETS, other);
    rig.run(1);
    assert_eq!(left(&rig), ["deployments.apps/elsewhere/d", "deployments.apps/ns/e"]);
}

#[test]
fn ignores_owners_of_unknown_kinds_and_namespaced_owners_of_cluster_scoped_objects() {
    let mut rig = rig();
    let mut config_map = object(&CONFIG_MAPS, "c", &[]);
    config_map["metadata"]["ownerReferences"] =
        json!([{ "apiVersion": "example.com/v1", "kind": "Widget", "name": "w", "uid": "u" }]);
    rig.put(&CONFIG_MAPS, config_map);
    let owner = rig.put(&SECRETS, object(&SECRETS, "s", &[]));
    let mut node = object(&NODES, "n", &[&owner]);
    node["metadata"].as_object_mut().unwrap().remove("namespace");
    rig.put(&NODES, node);
    rig.write(&Write::delete(&SECRETS, "ns", "s"));
    rig.run(1);
    assert_eq!(left(&rig), ["configmaps/ns/c", "nodes/n"]);
}

#[test]
fn deletes_a_cycle_of_owners() {
    let mut rig = rig();
    let one = rig.put(&DEPLOYMENTS, object(&DEPLOYMENTS, "d", &[]));
    let other = rig.put(&REPLICA_SETS, object(&REPLICA_SETS, "r", &[&one]));
    let patch = object(&DEPLOYMENTS, "d", &[&other]);
    rig.write(&Write::merge_patch(&DEPLOYMENTS, "ns", "d", json!({ "metadata": patch["metadata"] })));
    delete(&mut rig, Propagation::Foreground);
    assert!(left(&rig).is_empty(), "{:#?}", rig.log);
}

#[test]
fn recovers_after_a_crash_at_each_write() {
    for policy in [Propagation::Background, Propagation::Foreground, Propagation::Orphan] {
        let story = |rig: &mut Rig| {
            rig.seat(|| Box::new(GarbageCollector::new()));
            family(rig);
            delete(rig, policy);
        };
        check_recovery(story, |rig| left(rig).join(" "));
    }
}
