//! Tests of a server on a disk that fails at each of its operations in turn: clients never see rejected
//! writes, no acknowledged write is lost, and the server is read-only until a restart.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

use redb::StorageBackend as _;
use serde_json::{Value, json};
use windtunnel_core::clock::{ManualClock, Time};
use windtunnel_core::resources::{CLUSTER_ROLES, CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS};
use windtunnel_core::{Identity, Resource, Write};

use crate::ApiServer;
use crate::reply::ReplyBody;
use crate::request::{Method, Request};
use crate::service::Shared;
use crate::storage::{Change, DataDir, Disk, DiskFault, Operations, Saved, Storage, StorageError};
use crate::watch::stream::{Poll, Watch};

/// Names of objects, with the value of their field `data.n`.
type Content = BTreeMap<String, String>;

fn now() -> Time {
    Time::from_second(1_700_000_000).unwrap()
}

fn text(object: &Value) -> String {
    object["data"]["n"].as_str().unwrap_or_default().to_owned()
}

fn content(server: &ApiServer) -> Content {
    let found = NAMES.map(|name| Some((name.to_owned(), server.object(&CONFIG_MAPS, "default", name)?)));
    found.into_iter().flatten().map(|(name, object)| (name, text(&object.to_value()))).collect()
}

fn map(name: &str, n: &str) -> Value {
    let metadata = json!({ "namespace": "default", "name": name });
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": { "n": n } })
}

/// Names of the objects that a run writes.
const NAMES: [&str; 4] = ["a", "b", "c", "last"];

/// The writes of a run: an object, and the value to store or `None` to delete it.
const WRITES: [(&str, Option<&str>); 6] =
    [("a", Some("1")), ("b", Some("1")), ("a", Some("2")), ("b", None), ("c", Some("1")), ("c", None)];

fn write(content: &Content, name: &str, n: Option<&str>) -> Write {
    match n {
        None => Write::delete(&CONFIG_MAPS, "default", name),
        Some(n) if content.contains_key(name) => {
            Write::merge_patch(&CONFIG_MAPS, "default", name, json!({ "data": { "n": n } }))
        }
        Some(n) => Write::create(&CONFIG_MAPS, map(name, n)),
    }
}

/// A watch of the ConfigMaps, and the objects that its events contain.
struct Follower {
    watch: Watch,
    reported: Content,
    /// The highest revision of its events.
    revision: u64,
}

impl Follower {
    fn new(shared: &Shared) -> Self {
        let path = "/api/v1/namespaces/default/configmaps?watch=true";
        let admin = Identity::admin();
        let reply = shared.with(|server| server.handle(&Request::new(Method::Get, path, &admin), now()));
        let ReplyBody::Watch(watch) = reply.body else { panic!("{reply:?}") };
        Self { watch: *watch, reported: Content::new(), revision: 0 }
    }

    fn poll(&mut self, server: &mut ApiServer) -> &Content {
        while let Poll::Lines(lines) = server.poll(&mut self.watch, now()) {
            for line in lines {
                let event: Value = serde_json::from_slice(&line).unwrap();
                let field =
                    |pointer: &str| event.pointer(pointer).and_then(Value::as_str).unwrap().to_owned();
                let revision = field("/object/metadata/resourceVersion").parse().unwrap();
                self.revision = self.revision.max(revision);
                let name = field("/object/metadata/name");
                match &*field("/type") {
                    "DELETED" => drop(self.reported.remove(&name)),
                    _ => drop(self.reported.insert(name, field("/object/data/n"))),
                }
            }
        }
        &self.reported
    }
}

/// The storage of a server, with a watch that is polled during commits.
struct Watched {
    data: DataDir,
    shared: Arc<OnceLock<Shared>>,
    follower: Arc<Mutex<Option<Follower>>>,
    acknowledged: Arc<Mutex<Content>>,
}

impl Watched {
    fn check_watch(&self) {
        let mut follower = self.follower.lock().unwrap();
        if let (Some(shared), Some(follower)) = (self.shared.get(), follower.as_mut()) {
            let reported = shared.with(|server| follower.poll(server).clone());
            assert_eq!(
                reported,
                *self.acknowledged.lock().unwrap(),
                "a watch reported writes that are not durable"
            );
        }
    }
}

impl Storage for Watched {
    fn commit(&mut self, changes: &[Change]) -> Result<(), StorageError> {
        self.check_watch();
        let outcome = self.data.commit(changes);
        self.check_watch();
        outcome
    }
}

/// A new server, and a disk with its objects.
fn beginning() -> (ApiServer, Disk) {
    let mut server = ApiServer::builder().saved(Saved::default()).build(now());
    let disk = Disk::default();
    let mut data = DataDir::on(disk.clone().shared(), "data".to_owned()).unwrap();
    data.commit(&server.store.take_changes()).unwrap();
    drop(data);
    (server, disk)
}

/// The content of a disk, and its revision.
fn reopened(disk: Disk) -> (Content, u64) {
    let mut data = DataDir::on(disk.shared(), "data".to_owned()).unwrap();
    let saved = data.begin().unwrap();
    let maps = saved.objects.iter().filter(|(key, _)| NAMES.contains(&&*key.name));
    (maps.map(|(key, object)| (key.name.clone(), text(object))).collect(), saved.revision)
}

/// Runs all writes on a disk that fails at its n-th operation. Returns whether it failed at all.
fn run(server: ApiServer, disk: &Disk, fault: DiskFault) -> bool {
    disk.fail(fault);
    let Ok(data) = DataDir::on(disk.clone().shared(), "data".to_owned()) else {
        // Nothing was acknowledged yet.
        disk.heal();
        assert_eq!(reopened(disk.clone()).0, Content::new());
        return true;
    };
    let (place, follower) = (Arc::new(OnceLock::new()), Arc::new(Mutex::new(None)));
    let acknowledged = Arc::new(Mutex::new(Content::new()));
    let (shared, known) = (Arc::clone(&place), Arc::clone(&acknowledged));
    let watched = Watched { data, shared, follower: Arc::clone(&follower), acknowledged: known };
    let Ok(shared) = Shared::stored(server, ManualClock::at(now()), Box::new(watched), Box::new(|_| {}))
    else {
        disk.heal();
        assert_eq!(reopened(disk.clone()).0, Content::new());
        return true;
    };
    *follower.lock().unwrap() = Some(Follower::new(&shared));
    place.set(shared.clone()).unwrap();
    let mut known = Content::new();
    let mut allowed = Vec::new();
    for (name, n) in WRITES {
        let is_read_only = !allowed.is_empty();
        let written = shared.write(&write(&known, name, n), &Identity::admin(), now());
        let mut next = known.clone();
        match n {
            Some(n) => drop(next.insert(name.to_owned(), n.to_owned())),
            None => drop(next.remove(name)),
        }
        match written.as_ref().map_err(|rejection| rejection.code) {
            Ok(_) if !is_read_only => known = next,
            Err(500) if is_read_only => {}
            Err(500) if disk.has_failed() => allowed = vec![known.clone(), next],
            // There is nothing to delete, because creating it was rejected.
            Err(404) if is_read_only && n.is_none() => {}
            _ => panic!("{written:?}, read-only: {is_read_only}"),
        }
        // If the machine or the process crashes now, all acknowledged writes survive.
        if written.is_err() {
            for after in [disk.as_cached(), disk.as_synced()] {
                let found = reopened(after).0;
                assert!(allowed.contains(&found), "{found:?}, not {allowed:?}");
            }
            disk.heal();
        }
        *acknowledged.lock().unwrap() = known.clone();
        let shown = shared.with(|server| (content(server), server.revision(), server.visible_revision()));
        assert_eq!(shown, (known.clone(), shown.1, shown.1), "after {written:?}");
        let mut follower = follower.lock().unwrap();
        let follower = follower.as_mut().unwrap();
        assert_eq!(shared.with(|server| follower.poll(server).clone()), known);
    }
    allowed.push(known);
    let reported = follower.lock().unwrap().as_ref().unwrap().revision;
    // Acknowledged writes are durable without closing anything.
    for after in [disk.as_cached(), disk.as_synced()] {
        let found = reopened(after);
        assert!(allowed.contains(&found.0) && found.1 >= reported, "{found:?}, not {allowed:?}");
    }
    disk.heal();
    shared.close();
    assert!(allowed.contains(&reopened(disk.clone()).0));
    disk.has_failed()
}

#[test]
fn a_failing_disk_never_shows_rejected_writes_and_never_loses_acknowledged_ones() {
    let (server, disk) = beginning();
    for (error, operations, lasting) in [(28, Operations::Writes, true), (5, Operations::All, false)] {
        let mut number = 0;
        let fault = |from| DiskFault { from, error, operations, lasting };
        while run(server.clone(), &disk.as_cached(), fault(number)) {
            number += 1;
        }
        assert!(number > 80, "{number}");
    }
}

#[test]
fn a_disk_that_fails_while_its_database_is_created_starts_empty_later() {
    let mut number = 0;
    loop {
        let disk = Disk::default();
        disk.fail(DiskFault { from: number, error: 28, operations: Operations::Writes, lasting: true });
        if DataDir::on_disk(&disk).is_ok() {
            break;
        }
        for later in [disk.as_cached(), disk.as_synced()] {
            DataDir::on_disk(&later).unwrap_or_else(|error| panic!("operation {number}: {error}"));
        }
        number += 1;
    }
    assert!(number > 3, "{number}");
}

#[test]
fn a_database_whose_first_bytes_are_zero_is_damaged_and_not_empty() {
    let (_, disk) = beginning();
    for length in [9, 320, 4096] {
        let disk = disk.as_cached();
        disk.write(0, &vec![0; length]).unwrap();
        let error = DataDir::on_disk(&disk).unwrap_err().to_string();
        assert!(error.contains("the file is damaged"), "{length}: {error}");
    }
}

/// Serves the content of a disk.
fn served(disk: &Disk) -> Shared {
    let mut data = DataDir::on(disk.clone().shared(), "data".to_owned()).unwrap();
    let server = ApiServer::builder().saved(data.begin().unwrap()).build(now());
    Shared::stored(server, ManualClock::at(now()), Box::new(data), Box::new(|_| {})).unwrap()
}

#[test]
fn state_derived_from_rejected_writes_is_reverted() {
    let (_, disk) = beginning();
    let full = DiskFault { from: 0, error: 28, operations: Operations::Writes, lasting: true };
    let spec = json!({ "group": "example.io", "scope": "Cluster", "names": { "plural": "widgets", "kind": "Widget" },
        "versions": [{ "name": "v1", "served": true, "storage": true,
            "schema": { "openAPIV3Schema": { "type": "object" } } }] });
    let definition = json!({ "metadata": { "name": "widgets.example.io" }, "spec": spec });
    let define = Write::create(&CUSTOM_RESOURCE_DEFINITIONS, definition);
    let widgets = Resource::cluster("example.io", "v1", "Widget", "widgets");
    let widget = Write::create(
        &widgets,
        json!({ "apiVersion": "example.io/v1", "kind": "Widget", "metadata": { "name": "w" } }),
    );
    let role = json!({ "metadata": { "name": "reader" },
        "rules": [{ "apiGroups": [""], "resources": ["secrets"], "verbs": ["get"] }] });
    let write = |shared: &Shared, write: &Write| shared.write(write, &Identity::admin(), now());
    let shared = served(&disk);
    disk.fail(full);
    let rejection = write(&shared, &define).unwrap_err();
    assert!(rejection.message.contains("No space left on device"), "{rejection:?}");
    disk.heal();
    assert_eq!(write(&shared, &widget).unwrap_err().code, 404);
    assert_eq!(write(&shared, &Write::create(&CLUSTER_ROLES, role)).unwrap_err(), rejection);
    shared.close();
    let shared = served(&disk);
    write(&shared, &define).unwrap();
    write(&shared, &widget).unwrap();
    disk.fail(full);
    let delete = Write::delete(&CUSTOM_RESOURCE_DEFINITIONS, "", "widgets.example.io");
    assert_eq!(write(&shared, &delete).unwrap_err().code, 500);
    assert!(shared.with(|server| server.object(&widgets, "", "w")).is_some());
}
