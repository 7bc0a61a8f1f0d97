//! The door of a cluster in this process.

use std::sync::Arc;

use serde_json::json;
use windtunnel::backends::Door;
use windtunnel::backends::in_process::InProcess;
use windtunnel::base::clock::{Clock, Time};
use windtunnel::model::{Change, ChangeKind, Identity, Resource, Write, resources};

use super::requests::{definition, now};

struct Still;

impl Clock for Still {
    fn now(&self) -> Time {
        now()
    }
}

fn door(minor: u32) -> InProcess {
    let mut door = InProcess::new(minor, 1, Arc::new(Still));
    assert_eq!(door.changes().len(), 4, "the namespaces that every cluster has");
    door
}

fn told(changes: &[Change]) -> Vec<(ChangeKind, String, bool)> {
    changes.iter().map(|change| (change.kind, change.key.to_string(), change.old.is_some())).collect()
}

#[test]
fn changes_come_once_in_order_and_with_what_was_before() {
    let (mut door, admin) = (door(36), Identity::admin());
    let map = json!({ "metadata": { "name": "a", "namespace": "default" } });
    door.write(&admin, &Write::create(&resources::CONFIG_MAPS, map), now()).unwrap();
    let patch = Write::merge_patch(&resources::CONFIG_MAPS, "default", "a", json!({ "data": { "k": "v" } }));
    door.write(&admin, &patch, now()).unwrap();
    door.write(&admin, &Write::delete(&resources::CONFIG_MAPS, "default", "a"), now()).unwrap();
    let key = "configmaps/default/a".to_owned();
    assert_eq!(
        told(&door.changes()),
        [
            (ChangeKind::Added, key.clone(), false),
            (ChangeKind::Modified, key.clone(), true),
            (ChangeKind::Deleted, key, true),
        ]
    );
    assert!(door.changes().is_empty());
}

#[test]
fn a_replaced_definition_changes_the_objects_that_read_differently() {
    const VERSIONS: Resource = Resource::cluster("example.io", "v1", "Version", "versions");
    let (mut door, admin) = (door(36), Identity::admin());
    let crds = &resources::CUSTOM_RESOURCE_DEFINITIONS;
    door.write(&admin, &Write::create(crds, definition(&["a"], false)), now()).unwrap();
    let object =
        json!({ "apiVersion": "example.io/v1", "kind": "Version", "metadata": { "name": "v" }, "spec": {} });
    let created = door.write(&admin, &Write::create(&VERSIONS, object), now()).unwrap();
    assert_eq!(created.text("/spec/mode"), "Fast");
    door.changes();
    let schema = json!({ "type": "object", "properties": { "spec": { "type": "object" } } });
    let patch =
        json!([{ "op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema", "value": schema }]);
    let operation = windtunnel::model::Operation::JsonPatch(patch);
    let write = Write { operation, ..Write::merge_patch(crds, "", "versions.example.io", json!({})) };
    door.write(&admin, &write, now()).unwrap();
    let changes = door.changes();
    let keys = told(&changes);
    assert!(keys.contains(&(ChangeKind::Modified, "versions.example.io/v".to_owned(), true)), "{keys:?}");
    let changed = changes.last().unwrap();
    assert_eq!(changed.object.text("/spec/mode"), "");
    assert_eq!(changed.object.resource_version(), created.resource_version());
}

#[test]
fn only_the_writes_of_clients_are_told_as_such() {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let mut door = door(36);
        let map = json!({ "metadata": { "name": "a", "namespace": "default" } });
        door.write(&Identity::admin(), &Write::create(&resources::CONFIG_MAPS, map), now()).unwrap();
        let robot = Identity::service_account("ns", "robot");
        let maps: kube::Api<k8s_openapi::api::core::v1::ConfigMap> =
            kube::Api::default_namespaced(door.client(&robot));
        maps.delete("a", &kube::api::DeleteParams::default()).await.unwrap();
        let writes = door.client_writes();
        let told: Vec<_> = writes.iter().map(|(_, write)| (write.by.as_str(), write.verb.as_str())).collect();
        assert_eq!(told, [("robot", "delete")]);
        assert!(writes[0].1.before.is_some() && writes[0].1.after.is_none());
    });
}
