//! Conversion of custom resources by webhooks.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use windtunnel_apiserver::{ApiServer, HookCall, HookError, Method, Poll, Reply, ReplyBody, Request};
use windtunnel_core::{Identity, Resource, Write, resources};

use super::requests::now;

const V1: Resource = Resource::namespaced("example.io", "v1", "Host", "hosts");
const V2: Resource = Resource::namespaced("example.io", "v2", "Host", "hosts");

/// The number of objects in each call.
type CallSizes = Arc<Mutex<Vec<usize>>>;

/// Converts `spec.address` of v1 to `spec.host` of v2 and back.
fn converted(object: &Value, desired: &Value) -> Value {
    let mut object = object.clone();
    let (from, to) = if *desired == "example.io/v2" { ("address", "host") } else { ("host", "address") };
    object["apiVersion"] = desired.clone();
    let value = object["spec"].as_object_mut().and_then(|spec| spec.remove(from));
    if let Some(value) = value {
        object["spec"][to] = value;
    }
    object
}

fn answer(call: &HookCall) -> Value {
    let request = &call.review["request"];
    let objects = request["objects"].as_array().unwrap();
    let objects: Vec<Value> =
        objects.iter().map(|object| converted(object, &request["desiredAPIVersion"])).collect();
    json!({ "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "response": {
        "uid": request["uid"], "convertedObjects": objects, "result": { "status": "Success" } } })
}

fn version(name: &str, storage: bool, field: &str) -> Value {
    json!({ "name": name, "served": true, "storage": storage, "schema": { "openAPIV3Schema": { "type": "object",
        "properties": { "spec": { "type": "object", "properties": { field: { "type": "string" } } } } } } })
}

fn definition(storage: &str) -> Value {
    json!({ "metadata": { "name": "hosts.example.io" }, "spec": {
        "group": "example.io", "scope": "Namespaced", "names": { "plural": "hosts", "kind": "Host" },
        "versions": [version("v1", storage == "v1", "address"), version("v2", storage == "v2", "host")],
        "conversion": { "strategy": "Webhook", "webhook": { "conversionReviewVersions": ["v1"],
            "clientConfig": { "url": "https://hooks.example.io/convert" } } } } })
}

fn server(
    hook: impl Fn(&HookCall) -> Result<Value, HookError> + Send + Sync + 'static,
) -> (ApiServer, CallSizes) {
    let call_sizes = CallSizes::default();
    let recorded = Arc::clone(&call_sizes);
    let hook = move |call: &HookCall| {
        recorded.lock().unwrap().push(call.review["request"]["objects"].as_array().unwrap().len());
        hook(call)
    };
    let mut server = ApiServer::builder().hooks(hook).build(now());
    let crd = Write::create(&resources::CUSTOM_RESOURCE_DEFINITIONS, definition("v1"));
    server.write(&crd, &Identity::admin(), now()).unwrap();
    (server, call_sizes)
}

fn get(server: &mut ApiServer, path: &str) -> Reply {
    server.handle(&Request::new(Method::Get, path, &Identity::admin()), now())
}

fn body(reply: &Reply) -> Value {
    match &reply.body {
        ReplyBody::Object(object) => object.to_value(),
        ReplyBody::Value(value) => value.clone(),
        ReplyBody::List(list) => serde_json::to_value(list).unwrap(),
        _ => panic!("no object"),
    }
}

fn create(server: &mut ApiServer, kind: &Resource, name: &str, spec: &Value) -> Value {
    let object = json!({ "apiVersion": kind.api_version(), "kind": "Host",
        "metadata": { "name": name, "namespace": "default" }, "spec": spec });
    let mut write = Write::create(kind, object);
    "default".clone_into(&mut write.namespace);
    server.write(&write, &Identity::admin(), now()).unwrap().to_value()
}

#[test]
fn the_storage_version_needs_no_webhook() {
    let (mut server, call_sizes) = server(|_| Err(HookError("down".to_owned())));
    create(&mut server, &V1, "a", &json!({ "address": "x" }));
    let reply = get(&mut server, "/apis/example.io/v1/namespaces/default/hosts");
    assert_eq!(reply.code, 200);
    assert_eq!(*call_sizes.lock().unwrap(), Vec::<usize>::new());
}

#[test]
fn reads_in_another_version_are_converted_and_lists_in_one_call() {
    let (mut server, call_sizes) = server(|call| Ok(answer(call)));
    for name in ["a", "b", "c"] {
        create(&mut server, &V1, name, &json!({ "address": name }));
    }
    let list = body(&get(&mut server, "/apis/example.io/v2/namespaces/default/hosts"));
    let items = list["items"].as_array().unwrap();
    let hosts: Vec<&Value> = items.iter().map(|item| &item["spec"]["host"]).collect();
    assert_eq!(hosts, ["a", "b", "c"]);
    assert!(
        items.iter().all(|item| item["apiVersion"] == "example.io/v2" && item["spec"]["address"].is_null())
    );
    assert_eq!(*call_sizes.lock().unwrap(), [3]);
    let host = body(&get(&mut server, "/apis/example.io/v2/namespaces/default/hosts/b"));
    assert_eq!(host, items[1], "an unchanged object is not converted twice");
    assert_eq!(*call_sizes.lock().unwrap(), [3]);
}

#[test]
fn a_write_in_another_version_is_stored_in_the_storage_version() {
    let (mut server, _) = server(|call| Ok(answer(call)));
    let created = create(&mut server, &V2, "a", &json!({ "host": "x" }));
    assert_eq!(created["spec"], json!({ "host": "x" }));
    assert_eq!(server.object(&V1, "default", "a").unwrap().to_value()["spec"], json!({ "address": "x" }));
    let patch = Write::merge_patch(&V2, "default", "a", json!({ "spec": { "host": "y" } }));
    let patched = server.write(&patch, &Identity::admin(), now()).unwrap().to_value();
    assert_eq!((&patched["spec"], &patched["metadata"]["generation"]), (&json!({ "host": "y" }), &json!(2)));
    assert_eq!(server.object(&V1, "default", "a").unwrap().to_value()["spec"], json!({ "address": "y" }));
    let finalizer =
        Write::merge_patch(&V2, "default", "a", json!({ "metadata": { "finalizers": ["x.io/y"] } }));
    server.write(&finalizer, &Identity::admin(), now()).unwrap();
    let marked =
        server.write(&Write::delete(&V2, "default", "a"), &Identity::admin(), now()).unwrap().to_value();
    assert_eq!(marked["spec"], json!({ "host": "y" }));
    assert!(marked["metadata"]["deletionTimestamp"].is_string());
    let stored = server.object(&V1, "default", "a").unwrap().to_value();
    assert_eq!(stored["spec"], json!({ "address": "y" }));
}

#[test]
fn a_watch_delivers_the_requested_version() {
    let (mut server, _) = server(|call| Ok(answer(call)));
    create(&mut server, &V1, "a", &json!({ "address": "x" }));
    let reply = get(&mut server, "/apis/example.io/v2/namespaces/default/hosts?watch=true");
    let ReplyBody::Watch(mut watch) = reply.body else { panic!("no watch") };
    create(&mut server, &V1, "b", &json!({ "address": "y" }));
    let mut hosts = Vec::new();
    while let Poll::Lines(lines) = server.poll(&mut watch, now()) {
        for line in lines {
            let event: Value = serde_json::from_slice(&line).unwrap();
            assert_eq!(event["object"]["apiVersion"], "example.io/v2");
            hosts.push(event["object"]["spec"]["host"].clone());
        }
    }
    assert_eq!(hosts, ["x", "y"]);
}

#[test]
fn objects_in_an_old_storage_version_are_converted_when_read() {
    let (mut server, call_sizes) = server(|call| Ok(answer(call)));
    create(&mut server, &V1, "a", &json!({ "address": "x" }));
    let kind = &resources::CUSTOM_RESOURCE_DEFINITIONS;
    let mut crd = definition("v2");
    crd["metadata"]["resourceVersion"] =
        json!(server.object(kind, "", "hosts.example.io").unwrap().resource_version());
    let crd = server.write(&Write::update(kind, crd), &Identity::admin(), now()).unwrap().to_value();
    assert_eq!(crd["status"]["storedVersions"], json!(["v1", "v2"]));
    let host = body(&get(&mut server, "/apis/example.io/v2/namespaces/default/hosts/a"));
    assert_eq!(host["spec"], json!({ "host": "x" }));
    assert_eq!(*call_sizes.lock().unwrap(), [1]);
    let host = body(&get(&mut server, "/apis/example.io/v1/namespaces/default/hosts/a"));
    assert_eq!(host["spec"], json!({ "address": "x" }));
    assert_eq!(*call_sizes.lock().unwrap(), [1], "the object is still stored as v1");
}

#[test]
fn a_failed_conversion_fails_the_request_with_the_real_message() {
    let start = "conversion webhook for example.io/v1, Kind=Host";
    let unreachable = |call: &HookCall| {
        Err(HookError::no_response(&call.url(), "dial tcp 10.0.0.1:443: connect: connection refused"))
    };
    let text = |(mut server, _): (ApiServer, CallSizes)| {
        create(&mut server, &V1, "a", &json!({ "address": "x" }));
        let reply = get(&mut server, "/apis/example.io/v2/namespaces/default/hosts/a");
        (reply.code, body(&reply)["message"].as_str().unwrap().to_owned())
    };
    assert_eq!(
        text(server(unreachable)),
        (
            500,
            format!(
                "{start} failed: Post \"https://hooks.example.io/convert?timeout=30s\": dial tcp 10.0.0.1:443: \
                 connect: connection refused"
            )
        )
    );
    let refusing = |call: &HookCall| {
        let mut review = answer(call);
        review["response"]["result"] = json!({ "status": "Failed", "message": "cannot" });
        Ok(review)
    };
    assert_eq!(text(server(refusing)), (500, format!("{start} failed: cannot")));
    let empty = |call: &HookCall| {
        let mut review = answer(call);
        review["response"]["convertedObjects"] = json!([]);
        Ok(review)
    };
    assert_eq!(text(server(empty)), (500, format!("{start} returned 0 objects, expected 1")));
    let renaming = |call: &HookCall| {
        let mut review = answer(call);
        review["response"]["convertedObjects"][0]["metadata"]["name"] = json!("b");
        Ok(review)
    };
    assert_eq!(
        text(server(renaming)),
        (500, format!("{start} returned invalid object: must have the same name: a != b"))
    );
}

#[test]
fn fields_owned_in_another_version_are_compared_in_that_version() {
    let (mut server, call_sizes) = server(|call| Ok(answer(call)));
    let admin = Identity::admin();
    let mut apply = |version: &str, manager: &str, spec: &Value| {
        let path = format!("/apis/example.io/{version}/namespaces/default/hosts/a?fieldManager={manager}");
        let body = json!({ "apiVersion": format!("example.io/{version}"), "kind": "Host", "metadata": { "name": "a" },
            "spec": spec });
        let request = Request::new(Method::Patch, &path, &admin)
            .with_content_type("application/apply-patch+yaml")
            .with_body(&body);
        let reply = server.handle(&request, now());
        (reply.code, reply.json().unwrap_or_default())
    };
    assert_eq!(apply("v1", "one", &json!({ "address": "x" })).0, 201);
    let (code, body) = apply("v2", "two", &json!({ "host": "y" }));
    assert_eq!(code, 409, "{body}");
    assert_eq!(body["message"], "Apply failed with 1 conflict: conflict with \"one\": .spec.address");
    let (code, body) = apply("v2", "two", &json!({ "host": "x" }));
    assert_eq!((code, &body["spec"]), (200, &json!({ "host": "x" })));
    let mut managers: Vec<&str> = body["metadata"]["managedFields"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["manager"].as_str().unwrap())
        .collect();
    managers.sort_unstable();
    assert_eq!(managers, ["one", "two"]);
    assert!(!call_sizes.lock().unwrap().is_empty());
}

#[test]
fn since_1_31_a_list_that_needs_an_unreachable_webhook_waits_for_its_cache() {
    let unreachable = |call: &HookCall| {
        Err(HookError::no_response(&call.url(), "dial tcp 10.0.0.1:443: connect: connection refused"))
    };
    let why = "conversion webhook for example.io/v1, Kind=Host failed: Post \
               \"https://hooks.example.io/convert?timeout=30s\": dial tcp 10.0.0.1:443: connect: connection refused";
    let waits = format!("storage is (re)initializing: failed to list example.io/v2, Kind=Host: {why}");
    for (minor, query, code, text) in [
        (36, "", 429, waits.as_str()),
        (36, "?limit=5&labelSelector=a!%3Db", 429, waits.as_str()),
        (31, "?resourceVersion=0", 429, waits.as_str()),
        // Pages of everything come from etcd, as all lists did in older minors.
        (36, "?limit=5", 500, why),
        (30, "", 500, why),
    ] {
        let (mut server, _) = server(unreachable);
        create(&mut server, &V1, "a", &json!({ "address": "x" }));
        server.set_kubernetes_minor(minor);
        let reply = get(&mut server, &format!("/apis/example.io/v2/namespaces/default/hosts{query}"));
        let body = body(&reply);
        assert_eq!((reply.code, body["message"].as_str().unwrap()), (code, text), "1.{minor} {query}");
        assert_eq!(reply.retry_after, (code == 429).then_some(1));
        let own = get(&mut server, "/apis/example.io/v1/namespaces/default/hosts");
        assert_eq!(own.code, 200, "a list in the stored version needs no webhook");
    }
}
