//! Deletion of a namespace with content.

use serde_json::{Value, json};
use windtunnel_core::resources::{CONFIG_MAPS, NAMESPACES, PODS};
use windtunnel_core::{Object, Resource, Write, condition};

use super::NamespaceController;
use crate::testing::{Rig, check_recovery};

fn prepare(rig: &mut Rig) {
    rig.seat(|| Box::new(NamespaceController::new()));
    let namespace = json!({ "metadata": { "name": "doomed" }, "spec": { "finalizers": ["kubernetes"] } });
    rig.put(&NAMESPACES, namespace);
    put(rig, &CONFIG_MAPS, "doomed", "c", &json!([]));
    put(rig, &CONFIG_MAPS, "other", "c", &json!([]));
}

fn put(rig: &mut Rig, resource: &Resource, namespace: &str, name: &str, finalizers: &Value) {
    let metadata = json!({ "namespace": namespace, "name": name, "finalizers": finalizers });
    let object = json!({ "apiVersion": resource.api_version(), "kind": resource.kind, "metadata": metadata });
    rig.put(resource, object);
}

fn delete(rig: &mut Rig) {
    rig.write(&Write::delete(&NAMESPACES, "", "doomed"));
}

fn namespace(rig: &Rig) -> Option<&Object> {
    rig.view.get(&NAMESPACES, "", "doomed")
}

#[test]
fn deletes_the_content_and_then_the_namespace() {
    let mut rig = Rig::new();
    prepare(&mut rig);
    delete(&mut rig);
    rig.run(60);
    assert_eq!(rig.log, ["0:00:05 delete configmaps/doomed/c", "0:00:05 update namespaces/doomed"]);
    assert!(namespace(&rig).is_none());
    assert_eq!(rig.view.list(&CONFIG_MAPS).count(), 1);
}

#[test]
fn deletes_pods_first_and_waits_for_their_grace_period() {
    let mut rig = Rig::new();
    prepare(&mut rig);
    put(&mut rig, &PODS, "doomed", "p", &json!([]));
    delete(&mut rig);
    rig.run(20);
    assert!(rig.view.get(&CONFIG_MAPS, "doomed", "c").is_some());
    let condition = condition::find_in_status(namespace(&rig).unwrap(), "NamespaceContentRemaining").unwrap();
    assert_eq!(condition["reason"], "SomeResourcesRemain");
    assert_eq!(condition["message"], "Some resources are remaining: pods. has 1 resource instances");
    rig.write(&Write::delete_now(&PODS, "doomed", "p"));
    rig.run(20);
    assert!(namespace(&rig).is_none());
}

#[test]
fn reports_remaining_finalizers_and_waits_for_them() {
    let mut rig = Rig::new();
    prepare(&mut rig);
    put(&mut rig, &CONFIG_MAPS, "doomed", "finalized", &json!(["example.com/a"]));
    delete(&mut rig);
    rig.run(60);
    let conditions = namespace(&rig).unwrap().list("/status/conditions").to_vec();
    let message = |kind| condition::find(&conditions, kind).map(|found| found["message"].clone()).unwrap();
    assert_eq!(conditions.len(), 5);
    assert_eq!(
        message("NamespaceContentRemaining"),
        "Some resources are remaining: configmaps. has 1 resource instances"
    );
    assert_eq!(
        message("NamespaceFinalizersRemaining"),
        "Some content in the namespace has finalizers remaining: example.com/a in 1 resource instances"
    );
    let updates = rig.log.iter().filter(|line| line.contains("update namespaces")).count();
    assert_eq!(updates, 1, "unchanged conditions are not written: {:#?}", rig.log);
    rig.write(&Write::merge_patch(
        &CONFIG_MAPS,
        "doomed",
        "finalized",
        json!({ "metadata": { "finalizers": [] } }),
    ));
    rig.run(10);
    assert!(namespace(&rig).is_none());
}

#[test]
fn recovers_after_a_crash_at_each_write() {
    let story = |rig: &mut Rig| {
        prepare(rig);
        put(rig, &PODS, "doomed", "p", &json!([]));
        delete(rig);
        rig.run(20);
        rig.write(&Write::delete_now(&PODS, "doomed", "p"));
        rig.run(60);
    };
    check_recovery(story, |rig| format!("{:?}", rig.view.objects().map(|(key, _)| key).collect::<Vec<_>>()));
}
