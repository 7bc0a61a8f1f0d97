//! The door of a cluster in this process.

use std::sync::Arc;

use serde_json::json;
use windtunnel::apiserver::ApiServer;
use windtunnel::backends::Door;
use windtunnel::backends::in_process::InProcess;
use windtunnel::base::clock::{Clock, Time};
use windtunnel::model::{Change, ChangeKind, Identity, Object, Resource, View, Write, resources};

use super::requests::{definition, now};

struct Still;

impl Clock for Still {
    fn now(&self) -> Time {
        now()
    }
}

fn door(minor: u32) -> InProcess {
    let mut door = InProcess::new(minor, 1, Arc::new(Still));
    let changes = door.changes(&View::default());
    let namespaces = changes.iter().filter(|change| change.key.is(&resources::NAMESPACES)).count();
    assert_eq!(namespaces, 4, "the namespaces that every cluster has");
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
        told(&door.changes(&View::default())),
        [
            (ChangeKind::Added, key.clone(), false),
            (ChangeKind::Modified, key.clone(), true),
            (ChangeKind::Deleted, key, true),
        ]
    );
    assert!(door.changes(&View::default()).is_empty());
}

#[test]
fn a_view_stays_true_when_history_is_forgotten_between_two_calls() {
    let (mut door, mut view) = (door(36), View::default());
    let map = |name: &str, data: &str| json!({ "metadata": { "name": name, "namespace": "default" }, "data": { "key": data } });
    let create = |name| Write::create(&resources::CONFIG_MAPS, map(name, "1"));
    let mut check = |writes: Vec<Write>, compacts: bool, expected: &[(ChangeKind, &str, bool)]| {
        for write in writes {
            door.write(&Identity::admin(), &write, now()).unwrap();
        }
        if compacts {
            door.shared().with(ApiServer::compact);
        }
        let changes = door.changes(&view);
        for change in &changes {
            view.apply(change);
        }
        let of_maps = changes.iter().filter(|change| change.key.is(&resources::CONFIG_MAPS));
        let found: Vec<_> =
            of_maps.map(|change| (change.kind, change.key.name.as_str(), change.old.is_some())).collect();
        assert_eq!(found, expected);
    };
    check(
        vec![create("a"), create("b")],
        false,
        &[(ChangeKind::Added, "a", false), (ChangeKind::Added, "b", false)],
    );
    let writes = vec![
        Write::delete(&resources::CONFIG_MAPS, "default", "b"),
        Write::update(&resources::CONFIG_MAPS, map("a", "2")),
        create("c"),
    ];
    // The four namespaces that this view never heard of come with them.
    check(
        writes,
        true,
        &[
            (ChangeKind::Deleted, "b", true),
            (ChangeKind::Modified, "a", true),
            (ChangeKind::Added, "c", false),
        ],
    );
    check(Vec::new(), true, &[]);
    let names: Vec<&str> = view.list_in(&resources::CONFIG_MAPS, "default").map(Object::name).collect();
    assert_eq!(names, ["a", "c"]);
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
    door.changes(&View::default());
    let schema = json!({ "type": "object", "properties": { "spec": { "type": "object" } } });
    let patch =
        json!([{ "op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema", "value": schema }]);
    let operation = windtunnel::model::Operation::JsonPatch(patch);
    let write = Write { operation, ..Write::merge_patch(crds, "", "versions.example.io", json!({})) };
    door.write(&admin, &write, now()).unwrap();
    let changes = door.changes(&View::default());
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
