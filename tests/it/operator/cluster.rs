//! The cluster around the operator: an API server with the objects that a bootstrap leaves, and imitations of the
//! operators and of the kubelet that do only what the sequence says.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use windtunnel_apiserver::ApiServer;
use windtunnel_apiserver::service::{Feed, Shared};
use windtunnel_controllers::registry::digest_of;
use windtunnel_core::clock::{Clock, Time, rfc3339};
use windtunnel_core::{Change, ChangeKind, Identity, Object, View, Write, resources};
use windtunnel_openshift::{manifests, signature};

use super::sequence::Retrieval;

/// The namespace of the operator.
pub(super) const NAMESPACE: &str = "openshift-cluster-version";
/// How long the imitations take.
const DELAY: Duration = Duration::from_secs(2);

/// A cluster without an operator.
pub(super) fn start(clock: Arc<dyn Clock>, spec: &Value) -> Shared {
    let now = clock.now();
    let shared = Shared::new(ApiServer::builder().kubernetes(34).build(now), clock);
    let line = (5, 0);
    let crds = manifests::crds(line).cloned();
    let base = manifests::objects("base").iter().filter(|object| object["kind"] != "Deployment").cloned();
    let (namespaces, others): (Vec<Value>, Vec<Value>) =
        base.partition(|object| object["kind"] == "Namespace");
    for object in namespaces.into_iter().chain(crds).chain(others).chain(own_objects()) {
        create(&shared, object);
    }
    let mut version = json!({
        "apiVersion": "config.openshift.io/v1",
        "kind": "ClusterVersion",
        "metadata": { "name": "version" },
        "spec": { "clusterID": "5b0e2a5c-6a0f-4cf5-8f43-8a1d3a7b52c5" },
    });
    if let Some(spec) = spec.as_object() {
        version["spec"].as_object_mut().unwrap().extend(spec.clone());
    }
    create(&shared, version);
    shared
}

fn own_objects() -> [Value; 2] {
    let infrastructure = json!({
        "apiVersion": "config.openshift.io/v1",
        "kind": "Infrastructure",
        "metadata": { "name": "cluster" },
        "spec": { "cloudConfig": { "name": "" }, "platformSpec": { "type": "None" } },
    });
    let gate = json!({
        "apiVersion": "config.openshift.io/v1", "kind": "FeatureGate", "metadata": { "name": "cluster" }, "spec": {},
    });
    [infrastructure, gate]
}

/// Makes the signature of an image available.
pub(super) fn sign(shared: &Shared, image: &str, signature: &[u8]) {
    let digest = digest_of(image).unwrap();
    create(
        shared,
        json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "namespace": signature::NAMESPACE,
                "name": digest.replace(':', "-"),
                "labels": { (signature::LABEL): "" },
            },
            "binaryData": { format!("{}1", signature::key_prefix(digest)): STANDARD.encode(signature) },
        }),
    );
}

/// Creates an object, unless the server has it.
fn create(shared: &Shared, object: Value) {
    let Some(resource) = resources::find_with_preview(&object) else {
        panic!("unknown kind: {} {}", object["apiVersion"], object["kind"]);
    };
    match shared.write(&Write::create(&resource, object), &Identity::admin(), shared.now()) {
        Err(rejection) if rejection.reason != "AlreadyExists" => panic!("{}", rejection.message),
        _ => {}
    }
}

/// Applies an object: creates it, or merges it into the one that exists.
pub(super) fn apply(shared: &Shared, object: &Value) {
    let resource = resources::find_with_preview(object).unwrap();
    let create = Write::create(&resource, object.clone());
    let Err(rejection) = shared.write(&create, &Identity::admin(), shared.now()) else { return };
    assert_eq!(rejection.reason, "AlreadyExists", "{}", rejection.message);
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
    write(shared, &Write::merge_patch(&resource, text("namespace"), text("name"), object.clone()));
}

/// Writes as an administrator.
pub(super) fn write(shared: &Shared, write: &Write) {
    let outcome = shared.write(write, &Identity::admin(), shared.now());
    outcome.unwrap_or_else(|rejection| panic!("{}", rejection.message));
}

/// What operators report and how version pods end.
#[derive(Debug, Default)]
pub(super) struct Behaviour {
    /// The version that a new operator reports.
    pub(super) version: String,
    /// The end of the next version pods.
    pub(super) retrieval: Retrieval,
}

/// A function that puts the payload of an image into a folder of the operator's machine.
pub(super) type Deliver = Arc<dyn Fn(&str, &str) + Send + Sync>;

/// Reacts to new operators and version pods until it is dropped.
pub(super) async fn imitate(shared: Shared, behaviour: Arc<Mutex<Behaviour>>, deliver: Deliver) {
    let (mut feed, mut view) = (Feed::from_start(shared.clone()), View::default());
    loop {
        let mut writes = shared.subscribe();
        for change in feed.changes(&view) {
            view.apply(&change);
            react(&shared, &change, &behaviour, &deliver);
        }
        if writes.changed().await.is_err() {
            return;
        }
    }
}

fn react(shared: &Shared, change: &Change, behaviour: &Arc<Mutex<Behaviour>>, deliver: &Deliver) {
    let object = &change.object;
    if change.kind == ChangeKind::Deleted {
        return;
    }
    if change.key.is_kind(&resources::CLUSTER_OPERATORS) && object.list("/status/conditions").is_empty() {
        let version = behaviour.lock().unwrap().version.clone();
        later(shared, healthy(object.name(), &version, shared.now()));
    }
    let is_new_pod = change.key.is_kind(&resources::PODS) && change.old.is_none();
    if is_new_pod && object.namespace() == NAMESPACE {
        let retrieval = behaviour.lock().unwrap().retrieval.clone();
        let status = match retrieval {
            Retrieval::Waits => return,
            Retrieval::Status(status) => status,
            Retrieval::Succeeds => {
                // Its last container moves the payload to its place.
                let mover = &object.list("/spec/containers")[0];
                let place = mover["command"].as_array().unwrap().last().unwrap();
                deliver(mover["image"].as_str().unwrap(), place.as_str().unwrap());
                json!({ "phase": "Succeeded" })
            }
        };
        later(
            shared,
            Write::merge_patch_status(
                &resources::PODS,
                NAMESPACE,
                object.name(),
                json!({ "status": status }),
            ),
        );
    }
}

/// Writes in two seconds, if the object still exists.
fn later(shared: &Shared, write: Write) {
    let shared = shared.clone();
    tokio::spawn(async move {
        tokio::time::sleep(DELAY).await;
        let _ = shared.write(&write, &Identity::admin(), shared.now());
    });
}

/// The report of a healthy operator.
fn healthy(name: &str, version: &str, now: Time) -> Write {
    let conditions =
        [("Available", "True"), ("Progressing", "False"), ("Degraded", "False"), ("Upgradeable", "True")];
    let conditions: Vec<Value> = conditions
        .iter()
        .map(|(kind, status)| {
            json!({
                "type": kind, "status": status, "reason": "AsExpected", "message": "All is well",
                "lastTransitionTime": rfc3339(now),
            })
        })
        .collect();
    let status = json!({ "conditions": conditions, "versions": versions(version) });
    Write::merge_patch_status(&resources::CLUSTER_OPERATORS, "", name, json!({ "status": status }))
}

fn versions(version: &str) -> Value {
    json!([{ "name": "operator", "version": version }])
}

/// Lets operators report a version.
pub(super) fn report(shared: &Shared, version: &str, except: &[String]) {
    for name in operators(shared).iter().filter(|name| !except.contains(name)) {
        report_of(shared, name, version);
    }
}

/// Lets one operator report a version.
pub(super) fn report_of(shared: &Shared, name: &str, version: &str) {
    let status = json!({ "status": { "versions": versions(version) } });
    write(shared, &Write::merge_patch_status(&resources::CLUSTER_OPERATORS, "", name, status));
}

/// Sets a condition of an operator.
pub(super) fn set_condition(shared: &Shared, name: &str, condition: &Value) {
    let object = view(shared);
    let object = object.get(&resources::CLUSTER_OPERATORS, "", name).unwrap();
    let mut conditions: BTreeMap<String, Value> = BTreeMap::new();
    let mut condition = condition.clone();
    condition["lastTransitionTime"] = json!(rfc3339(shared.now()));
    for one in object.list("/status/conditions").iter().chain([&condition]) {
        conditions.insert(one["type"].as_str().unwrap().to_owned(), one.clone());
    }
    let conditions: Vec<Value> = conditions.into_values().collect();
    let status = json!({ "status": { "conditions": conditions } });
    write(shared, &Write::merge_patch_status(&resources::CLUSTER_OPERATORS, "", name, status));
}

fn operators(shared: &Shared) -> Vec<String> {
    let view = view(shared);
    view.list(&resources::CLUSTER_OPERATORS).map(|object: &Object| object.name().to_owned()).collect()
}

/// All objects.
fn view(shared: &Shared) -> View {
    let mut view = View::default();
    for change in Feed::from_start(shared.clone()).changes(&View::default()) {
        view.apply(&change);
    }
    view
}
