//! Direct requests: status, generation, conflicts, pruning, defaults, deletion, watches, the log.

use serde_json::{Value, json};
use windtunnel_apiserver::{ApiServer, Method, Poll, Reply, ReplyBody, Request};
use windtunnel_core::clock::Time;
use windtunnel_core::{Identity, Resource, Write, resources};

pub(super) const VERSIONS: Resource = Resource::cluster("example.io", "v1", "Version", "versions");

pub(super) fn now() -> Time {
    "2024-01-01T00:00:00Z".parse().unwrap()
}

pub(super) fn server(minor: u32) -> ApiServer {
    ApiServer::builder().kubernetes(minor).seed(7).build(now())
}

/// A CRD whose status lists capabilities of an enum, with validation rules if `rules` is set.
pub(crate) fn definition(capabilities: &[&str], rules: bool) -> Value {
    let list = json!({ "type": "array", "items": { "type": "string", "enum": capabilities },
        "x-kubernetes-list-type": "atomic" });
    let mut spec = json!({ "type": "object", "properties": {
        "channel": { "type": "string" }, "wanted": list, "mode": { "type": "string", "default": "Fast" } } });
    if rules {
        spec["x-kubernetes-validations"] = json!([{ "rule": "true" }]);
    }
    let status = json!({ "type": "object", "properties": { "capabilities": { "type": "object", "properties": {
        "enabled": list } }, "message": { "type": "string", "maxLength": 3 } } });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "versions.example.io" },
        "spec": {
            "group": "example.io", "scope": "Cluster", "names": { "plural": "versions", "kind": "Version" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "subresources": { "status": {} },
                "schema": { "openAPIV3Schema": { "type": "object",
                    "properties": { "spec": spec, "status": status } } } }],
        },
    })
}

pub(crate) fn define(server: &mut ApiServer, definition: Value) {
    let admin = Identity::admin();
    let kind = &resources::CUSTOM_RESOURCE_DEFINITIONS;
    let name = definition["metadata"]["name"].as_str().unwrap().to_owned();
    let write = match server.object(kind, "", &name) {
        None => Write::create(kind, definition),
        Some(old) => {
            let mut definition = definition;
            definition["metadata"]["resourceVersion"] = json!(old.resource_version());
            Write::update(kind, definition)
        }
    };
    server.write(&write, &admin, now()).unwrap();
}

/// A server with an object that has the capabilities `a`, `b` and `new`, after its CRD lost `new`.
pub(super) fn rolled_back(minor: u32, rules: bool) -> ApiServer {
    let mut server = server(minor);
    define(&mut server, definition(&["b", "a", "new"], rules));
    let object = json!({ "apiVersion": "example.io/v1", "kind": "Version", "metadata": { "name": "version" },
        "spec": { "channel": "x" } });
    let created = ask(&mut server, &Write::create(&VERSIONS, object)).unwrap();
    let mut object = created.to_value();
    object["status"] = json!({ "capabilities": { "enabled": ["a", "b", "new"] } });
    ask(&mut server, &Write::update_status(&VERSIONS, object)).unwrap();
    define(&mut server, definition(&["b", "a"], rules));
    server
}

/// The error for an object whose field `spec.x` has this schema and value; empty if it is accepted.
pub(crate) fn validation_error(minor: u32, schema: &Value, value: &Value) -> String {
    let mut server = server(minor);
    let mut crd = definition(&[], false);
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"] =
        json!({ "x": schema });
    define(&mut server, crd);
    let object = json!({ "apiVersion": "example.io/v1", "kind": "Version", "metadata": { "name": "version" },
        "spec": { "x": value } });
    let answer = ask(&mut server, &Write::create(&VERSIONS, object));
    let text = answer.err().map(|rejection| rejection.message).unwrap_or_default();
    text.replace("Version.example.io \"version\" is invalid: ", "")
}

pub(crate) fn ask(
    server: &mut ApiServer,
    write: &Write,
) -> Result<windtunnel_core::Object, windtunnel_core::Rejection> {
    server.write(write, &Identity::admin(), now())
}

/// The error for a PUT of the stored object with a changed status; empty if it is accepted.
pub(super) fn put_status(server: &mut ApiServer, change: impl Fn(&mut Value)) -> String {
    let mut object = server.object(&VERSIONS, "", "version").unwrap().to_value();
    change(&mut object);
    ask(server, &Write::update_status(&VERSIONS, object))
        .err()
        .map(|rejection| rejection.message)
        .unwrap_or_default()
}

pub(super) fn set_message(object: &mut Value) {
    object["status"]["message"] = json!("hi");
}

#[test]
fn a_stale_update_conflicts_and_an_unchanged_one_keeps_the_resource_version() {
    let mut server = rolled_back(36, false);
    let stale = server.object(&VERSIONS, "", "version").unwrap();
    let same = ask(&mut server, &Write::update(&VERSIONS, stale.to_value())).unwrap();
    assert_eq!(same.resource_version(), stale.resource_version());
    ask(&mut server, &Write::merge_patch(&VERSIONS, "", "version", json!({ "spec": { "channel": "y" } })))
        .unwrap();
    let rejection = ask(&mut server, &Write::update(&VERSIONS, stale.to_value())).unwrap_err();
    assert_eq!((rejection.code, rejection.reason.as_str()), (409, "Conflict"));
    assert_eq!(
        rejection.message,
        "Operation cannot be fulfilled on versions.example.io \"version\": the object has been modified; please \
         apply your changes to the latest version and try again"
    );
}

#[test]
fn spec_and_status_are_written_separately_and_only_spec_changes_the_generation() {
    let mut server = rolled_back(36, false);
    let patch = json!({ "spec": { "channel": "y" }, "status": { "message": "no" } });
    let object = ask(&mut server, &Write::merge_patch(&VERSIONS, "", "version", patch.clone())).unwrap();
    assert_eq!((object.text("/spec/channel"), object.text("/status/message")), ("y", ""));
    assert_eq!(object.generation(), 2);
    let patch = json!({ "spec": { "channel": "z" }, "status": { "message": "yes" } });
    let object = ask(&mut server, &Write::merge_patch_status(&VERSIONS, "", "version", patch)).unwrap();
    assert_eq!((object.text("/spec/channel"), object.text("/status/message")), ("y", "yes"));
    assert_eq!(object.generation(), 2);
}

#[test]
fn unknown_fields_are_pruned_with_a_warning_and_defaults_are_added() {
    let mut server = server(36);
    define(&mut server, definition(&["a"], false));
    let admin = Identity::admin();
    let object = json!({ "apiVersion": "example.io/v1", "kind": "Version", "metadata": { "name": "v" },
        "spec": { "colour": "red" } });
    let request = Request::new(Method::Post, "/apis/example.io/v1/versions", &admin).with_body(&object);
    let reply = server.handle(&request, now());
    assert_eq!(
        (reply.code, reply.warnings.as_slice()),
        (201, ["unknown field \"spec.colour\"".to_owned()].as_slice())
    );
    assert_eq!(reply.json().unwrap()["spec"], json!({ "mode": "Fast" }));
}

#[test]
fn a_pruned_field_returns_with_its_schema_unless_written_in_between() {
    let mut server = rolled_back(36, false);
    let without = || {
        let mut definition = definition(&["b", "a"], false);
        definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] =
            json!({ "type": "object" });
        definition
    };
    let channel = |server: &ApiServer| {
        server.object(&VERSIONS, "", "version").unwrap().text("/spec/channel").to_owned()
    };
    define(&mut server, without());
    assert_eq!(channel(&server), "");
    define(&mut server, definition(&["b", "a"], false));
    assert_eq!(channel(&server), "x");
    define(&mut server, without());
    let label = json!({ "metadata": { "labels": { "x": "y" } } });
    ask(&mut server, &Write::merge_patch(&VERSIONS, "", "version", label)).unwrap();
    define(&mut server, definition(&["b", "a"], false));
    assert_eq!(channel(&server), "");
}

#[test]
fn a_scheduled_pod_is_marked_for_deletion_until_its_grace_period_is_zero() {
    let mut server = server(36);
    let pod = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "p", "namespace": "default" },
        "spec": { "nodeName": "n", "containers": [{ "name": "c", "image": "i" }] } });
    let created = ask(&mut server, &Write::create(&resources::PODS, pod)).unwrap();
    assert_eq!(created.text("/status/phase"), "Pending");
    let marked = ask(&mut server, &Write::delete(&resources::PODS, "default", "p")).unwrap();
    assert_eq!(marked.text("/metadata/deletionTimestamp"), "2024-01-01T00:00:30Z");
    assert_eq!(marked.number("/metadata/deletionGracePeriodSeconds"), Some(30));
    let last = ask(&mut server, &Write::delete_now(&resources::PODS, "default", "p")).unwrap();
    assert_eq!(last.name(), "p");
    let rejection = ask(&mut server, &Write::delete(&resources::PODS, "default", "p")).unwrap_err();
    assert_eq!((rejection.code, rejection.message.as_str()), (404, "pods \"p\" not found"));
}

#[test]
fn generated_names_and_uids_depend_on_the_seed_alone() {
    let names = |seed| {
        let mut server = ApiServer::builder().seed(seed).build(now());
        let map = json!({ "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "generateName": "gen-", "namespace": "default" } });
        let created = ask(&mut server, &Write::create(&resources::CONFIG_MAPS, map)).unwrap();
        (created.name().to_owned(), created.uid().to_owned())
    };
    assert_eq!(names(1), names(1));
    assert_ne!(names(1), names(2));
    assert_eq!(names(1).0.len(), "gen-".len() + 5);
}

#[test]
fn version_and_discovery_show_the_minor_and_custom_groups() {
    let mut server = rolled_back(33, false);
    let admin = Identity::admin();
    let mut get = |path| server.handle(&Request::new(Method::Get, path, &admin), now()).json().unwrap();
    assert_eq!(get("/version")["minor"], "33");
    assert!(get("/apis")["groups"].as_array().unwrap().iter().any(|group| group["name"] == "example.io"));
    let names: Vec<String> = get("/apis/example.io/v1")["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|resource| resource["name"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["versions", "versions/status"]);
}

fn watch(server: &mut ApiServer, path: &str) -> Reply {
    server.handle(&Request::new(Method::Get, path, &Identity::admin()), now())
}

#[test]
fn a_watch_from_an_expired_revision_gets_one_error_event_and_ends() {
    let mut server = ApiServer::builder().history(2).build(now());
    let from = server.revision();
    for name in ["a", "b", "c"] {
        let map = json!({ "metadata": { "name": name, "namespace": "default" } });
        ask(&mut server, &Write::create(&resources::CONFIG_MAPS, map)).unwrap();
    }
    let reply = watch(&mut server, &format!("/api/v1/configmaps?watch=true&resourceVersion={from}"));
    let ReplyBody::Watch(mut watch) = reply.body else { panic!("no watch: {reply:?}") };
    let Poll::Lines(lines) = server.poll(&mut watch, now()) else { panic!("no lines") };
    let event: Value = serde_json::from_slice(&lines[0]).unwrap();
    assert_eq!((lines.len(), &event["type"], &event["object"]["code"]), (1, &json!("ERROR"), &json!(410)));
    assert_eq!(server.poll(&mut watch, now()), Poll::Ended);
}

#[test]
fn the_log_has_the_user_and_the_outcome_of_each_write() {
    let mut server = rolled_back(27, false);
    server.keep_log(10);
    let who = Identity::new("system:serviceaccount:ns:robot", &["system:masters"]);
    let patch =
        Write::merge_patch(&VERSIONS, "", "version", json!({ "metadata": { "labels": { "x": "y" } } }));
    server.write(&patch, &who, now()).unwrap_err();
    let log = server.take_log();
    let [outcome] = log.as_slice() else { panic!("{log:?}") };
    assert_eq!(
        (outcome.user.as_str(), outcome.verb, outcome.code),
        ("system:serviceaccount:ns:robot", "patch", 422)
    );
    assert_eq!(outcome.key.to_string(), "versions.example.io/version");
    assert!(
        outcome.message.contains("Unsupported value") && outcome.before.is_some() && outcome.after.is_none()
    );
    assert!(server.take_log().is_empty());
}

#[test]
fn malformed_bodies_are_rejected_and_never_panic() {
    let admin = Identity::admin();
    let paths = [
        (Method::Post, "/api/v1/namespaces/default/pods"),
        (Method::Put, "/api/v1/namespaces/default/finalize"),
        (Method::Put, "/api/v1/namespaces/default/status"),
        (Method::Post, "/apis/example.io/v1/versions"),
        (Method::Put, "/apis/example.io/v1/versions/version/status"),
        (Method::Post, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"),
        (Method::Put, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/versions.example.io"),
        (Method::Put, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/versions.example.io/status"),
        (Method::Delete, "/api/v1/namespaces/default/pods"),
    ];
    let values =
        [json!(null), json!("x"), json!(1e300), json!([1]), json!({}), json!({ "a": { "b": [null] } })];
    let name = |path: &str| {
        path.split('/').rev().find(|part| part.contains("version") || *part == "default").map(str::to_owned)
    };
    let mut answered = 0;
    for (method, path) in paths {
        let mut bodies: Vec<Value> = values.to_vec();
        for field in ["metadata", "spec", "status", "apiVersion", "kind"] {
            for value in &values {
                let mut body =
                    json!({ "metadata": { "name": name(path), "resourceVersion": "1" }, "kind": "Version" });
                body[field] = value.clone();
                bodies.push(body.clone());
                body["spec"] =
                    json!({ "names": value, "versions": value, "finalizers": value, "group": "g" });
                bodies.push(body);
            }
        }
        for body in bodies {
            let mut server = rolled_back(36, true);
            let request = Request::new(method, path, &admin).with_body(&body);
            answered += u32::from(server.handle(&request, now()).code >= 200);
        }
    }
    assert!(answered > 500, "{answered}");
}
