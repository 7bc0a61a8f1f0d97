//! Server-side apply and field ownership, beyond the recorded exchanges.

mod repeated_keys;
mod scale;
mod value_updates;

use serde_json::{Value, json};
use windtunnel_apiserver::{ApiServer, Body, Method, Request};
use windtunnel_core::Identity;

use super::requests::{now, server};

const JSON: &str = "application/json-patch+json";

const APPLY: &str = "application/apply-patch+yaml";
const MERGE: &str = "application/merge-patch+json";
const CONFIG_MAP: &str = "/api/v1/namespaces/default/configmaps/a";
const WIDGETS: &str = "/apis/example.io/v1/widgets";

/// Sends a request. Returns code and body.
pub(crate) fn ask(
    server: &mut ApiServer,
    method: Method,
    path: &str,
    content_type: &str,
    body: &Value,
) -> (u16, Value) {
    let admin = Identity::admin();
    let mut request = Request::new(method, path, &admin).with_content_type(content_type).with_body(body);
    request.user_agent = "tester/1.0".into();
    let reply = server.handle(&request, now());
    (reply.code, reply.json().unwrap_or_default())
}

fn apply(server: &mut ApiServer, path: &str, manager: &str, object: &Value) -> (u16, Value) {
    ask(server, Method::Patch, &format!("{path}?fieldManager={manager}"), APPLY, object)
}

fn config_map(data: &Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "data": data })
}

/// Manager, operation and fields of each entry of `managedFields`.
fn owners(object: &Value) -> Vec<(String, String, Value)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let entries = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    entries
        .map(|entry| (text(&entry["manager"]), text(&entry["operation"]), entry["fieldsV1"].clone()))
        .collect()
}

fn entry(manager: &str, operation: &str, fields: Value) -> (String, String, Value) {
    (manager.to_owned(), operation.to_owned(), fields)
}

/// The CRD of widgets with these versions, all of the same schema. `v1` is the storage version.
pub(crate) fn widgets(versions: &[&str]) -> Value {
    let spec = json!({ "type": "object", "properties": {
        "s": { "type": "string" },
        "n": { "type": "integer" },
        "d": { "type": "string", "default": "D" },
        "map": { "type": "object", "additionalProperties": { "type": "string" } },
        "whole": { "type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": { "type": "string" } },
        "any": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
        "list": { "type": "array", "items": { "type": "string" } },
        "set": { "type": "array", "items": { "type": "string" }, "x-kubernetes-list-type": "set" },
        "keyed": { "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": {
            "type": "object", "required": ["k"],
            "properties": { "k": { "type": "string" }, "v": { "type": "string" }, "w": { "type": "string" } } } } } });
    let version = |name: &&str| {
        json!({ "name": name, "served": true, "storage": *name == "v1", "schema": { "openAPIV3Schema": {
            "type": "object", "properties": { "spec": spec } } } })
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "widgets.example.io" },
        "spec": { "group": "example.io", "scope": "Cluster", "names": { "plural": "widgets", "kind": "Widget" },
            "versions": versions.iter().map(version).collect::<Vec<_>>() },
    })
}

pub(crate) fn define(server: &mut ApiServer, versions: &[&str]) {
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let mut definition = widgets(versions);
    let named = format!("{path}/widgets.example.io");
    let (code, old) = ask(server, Method::Get, &named, "", &Value::Null);
    let (code, body) = if code == 200 {
        definition["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"].clone();
        ask(server, Method::Put, &named, "", &definition)
    } else {
        ask(server, Method::Post, path, "", &definition)
    };
    assert!(code < 300, "{body}");
}

fn widget(version: &str, spec: &Value) -> Value {
    json!({ "apiVersion": format!("example.io/{version}"), "kind": "Widget", "metadata": { "name": "w" },
        "spec": spec })
}

#[test]
fn the_field_manager_defaults_to_the_user_agent() {
    let mut server = server(36);
    let path = "/api/v1/namespaces/default/configmaps";
    let (_, created) = ask(&mut server, Method::Post, path, "", &config_map(&json!({ "k": "1" })));
    assert_eq!(owners(&created), [entry("tester", "Update", json!({ "f:data": { ".": {}, "f:k": {} } }))]);
    let patch = json!({ "data": { "k": "2", "l": "1" } });
    let (_, patched) =
        ask(&mut server, Method::Patch, &format!("{CONFIG_MAP}?fieldManager=other"), MERGE, &patch);
    let fields = json!({ "f:data": { "f:k": {}, "f:l": {} } });
    assert_eq!(
        owners(&patched),
        [entry("other", "Update", fields), entry("tester", "Update", json!({ "f:data": {} }))]
    );
    let (_, repeated) = ask(&mut server, Method::Patch, CONFIG_MAP, MERGE, &patch);
    assert_eq!(repeated, patched, "a patch without changes changes no owner");
}

#[test]
fn cleared_managed_fields_make_an_apply_conflict_with_before_first_apply() {
    let mut server = server(36);
    apply(&mut server, CONFIG_MAP, "one", &config_map(&json!({ "k": "1" })));
    let clear = json!({ "metadata": { "managedFields": [{}] } });
    let (_, cleared) = ask(&mut server, Method::Patch, CONFIG_MAP, MERGE, &clear);
    assert_eq!(owners(&cleared), []);
    let (_, updated) = ask(&mut server, Method::Patch, CONFIG_MAP, MERGE, &json!({ "data": { "k": "2" } }));
    assert_eq!(owners(&updated), [], "updates add no owners to an object without owners");
    let (code, rejected) = apply(&mut server, CONFIG_MAP, "one", &config_map(&json!({ "k": "3" })));
    assert_eq!(code, 409);
    let message = "Apply failed with 1 conflict: conflict with \"before-first-apply\" using v1: .data.k";
    assert_eq!(rejected["message"], message);
    let forced = format!("{CONFIG_MAP}?fieldManager=one&force=true");
    let (_, applied) = ask(&mut server, Method::Patch, &forced, APPLY, &config_map(&json!({ "k": "3" })));
    assert_eq!(
        owners(&applied),
        [
            entry("one", "Apply", json!({ "f:data": { "f:k": {} } })),
            entry("before-first-apply", "Update", json!({ "f:data": {} })),
        ]
    );
}

#[test]
fn more_than_ten_update_managers_become_ancient_changes() {
    let mut server = server(36);
    apply(&mut server, CONFIG_MAP, "one", &config_map(&json!({ "k": "1" })));
    let mut last = Value::Null;
    for number in 0..12 {
        let path = format!("{CONFIG_MAP}?fieldManager=m{number:02}");
        let patch = json!({ "data": { format!("k{number}"): "1" } });
        last = ask(&mut server, Method::Patch, &path, MERGE, &patch).1;
    }
    let owners = owners(&last);
    assert_eq!(owners.iter().filter(|(_, operation, _)| operation == "Update").count(), 10);
    assert!(owners.iter().any(|(manager, ..)| manager == "ancient-changes"), "{owners:?}");
}

#[test]
fn kubectl_adopts_the_fields_of_its_client_side_apply() {
    let annotated = |value: &str| {
        let config = config_map(&json!({ "k": value }));
        let mut object = config.clone();
        object["metadata"]["annotations"] =
            json!({ "kubectl.kubernetes.io/last-applied-configuration": config.to_string() });
        object
    };
    let create = |server: &mut ApiServer| {
        let path = "/api/v1/namespaces/default/configmaps?fieldManager=kubectl-client-side-apply";
        assert_eq!(ask(server, Method::Post, path, "", &annotated("1")).0, 201);
    };
    let mut server = server(36);
    create(&mut server);
    let (code, applied) = apply(&mut server, CONFIG_MAP, "kubectl", &config_map(&json!({ "k": "2" })));
    assert_eq!((code, &applied["data"]), (200, &json!({ "k": "2" })));
    let annotation = &applied["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"];
    let last_applied: Value = serde_json::from_str(annotation.as_str().unwrap()).unwrap();
    assert_eq!(last_applied, config_map(&json!({ "k": "2" })), "the annotation has the applied object");
    let (code, rejected) = apply(&mut server, CONFIG_MAP, "helm", &config_map(&json!({ "k": "3" })));
    assert_eq!(code, 409, "{rejected}");
}

#[test]
fn a_forced_apply_takes_fields_of_other_versions_and_fails_after_one_is_removed() {
    let mut server = server(36);
    define(&mut server, &["v1", "v2"]);
    let path = format!("{WIDGETS}/w");
    let (code, body) = apply(&mut server, &path, "one", &widget("v1", &json!({ "s": "a", "set": ["x"] })));
    assert_eq!(code, 201, "{body}");
    let other = "/apis/example.io/v2/widgets/w";
    let (code, rejected) = apply(&mut server, other, "two", &widget("v2", &json!({ "s": "b" })));
    assert_eq!(code, 409, "{rejected}");
    let forced = format!("{other}?fieldManager=two&force=true");
    let (_, applied) = ask(&mut server, Method::Patch, &forced, APPLY, &widget("v2", &json!({ "s": "b" })));
    let fields = |fields: Value| json!({ "f:spec": fields });
    assert_eq!(
        owners(&applied),
        [
            entry("one", "Apply", fields(json!({ "f:set": { "v:\"x\"": {} } }))),
            entry("two", "Apply", fields(json!({ "f:s": {} }))),
        ]
    );
    define(&mut server, &["v1"]);
    let (code, rejected) = apply(&mut server, &path, "one", &widget("v1", &json!({ "s": "c" })));
    let why = "request to convert CR to an invalid group/version: example.io/v2";
    assert_eq!((code, &rejected["message"]), (500, &json!(why)));
}

#[test]
fn a_default_returns_when_no_manager_applies_the_field() {
    let mut server = server(36);
    define(&mut server, &["v1"]);
    let path = format!("{WIDGETS}/w");
    let (_, applied) = apply(&mut server, &path, "one", &widget("v1", &json!({ "d": "X", "s": "a" })));
    assert_eq!(applied["spec"]["d"], "X");
    let (_, applied) = apply(&mut server, &path, "one", &widget("v1", &json!({ "s": "a" })));
    assert_eq!(applied["spec"], json!({ "d": "D", "s": "a" }));
}

#[test]
fn service_ports_are_keyed_by_number_and_protocol_with_tcp_as_default() {
    let mut server = server(36);
    let path = "/api/v1/namespaces/default/services/s";
    let service = |target: u16| {
        json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": "s" },
            "spec": { "selector": { "a": "b" }, "ports": [{ "port": 80, "targetPort": target }] } })
    };
    let (code, applied) = apply(&mut server, path, "one", &service(8080));
    assert_eq!(code, 201, "{applied}");
    let (code, rejected) = apply(&mut server, path, "two", &service(8081));
    assert_eq!(code, 409);
    let field = ".spec.ports[port=80,protocol=\"TCP\"].targetPort";
    assert_eq!(rejected["details"]["causes"][0]["field"], field);
}

#[test]
fn rejects_invalid_apply_requests() {
    let mut server = server(36);
    define(&mut server, &["v1"]);
    let path = format!("{WIDGETS}/w");
    let typed = "failed to create typed patch object (/w; example.io/v1, Kind=Widget): ";
    for (object, code, message) in [
        (widget("v2", &json!({})), 400, "invalid object type: example.io/v2, Kind=Widget".to_owned()),
        (
            widget("v1", &json!({ "extra": 1 })),
            500,
            format!("{typed}.spec.extra: field not declared in schema"),
        ),
        (
            widget("v1", &json!({ "keyed": [{ "k": "1" }, { "k": "1" }] })),
            500,
            format!("{typed}.spec.keyed: duplicate entries for key [k=\"1\"]"),
        ),
        (
            json!({ "apiVersion": "example.io/v1", "kind": "Widget", "metadata": {} }),
            400,
            "the name of the object (w based on URL) was undeterminable: name must be provided".to_owned(),
        ),
        (
            json!({ "apiVersion": "example.io/v1", "kind": "Widget", "metadata": { "name": "w", "uid": "123" } }),
            409,
            "Operation cannot be fulfilled on widgets.example.io \"w\": uid mismatch: the provided object specified \
             uid 123, and no existing object was found"
                .to_owned(),
        ),
    ] {
        let (found, body) = apply(&mut server, &path, "one", &object);
        assert_eq!((found, body["message"].as_str().unwrap_or_default()), (code, message.as_str()), "{object}");
    }
    let long = "x".repeat(129);
    let (code, body) = apply(&mut server, &path, &long, &widget("v1", &json!({})));
    assert_eq!(code, 422);
    let why =
        "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Too long: may not be more than 128 bytes";
    assert_eq!(body["message"], why);
}

#[test]
fn a_dry_run_apply_stores_nothing_and_managed_fields_can_be_off() {
    let mut server = server(36);
    let dry_run = format!("{CONFIG_MAP}?fieldManager=one&dryRun=All");
    assert_eq!(ask(&mut server, Method::Patch, &dry_run, APPLY, &config_map(&json!({}))).0, 201);
    assert_eq!(ask(&mut server, Method::Get, CONFIG_MAP, "", &Value::Null).0, 404);
    let mut plain = ApiServer::builder().managed_fields(false).build(now());
    let (code, created) = apply(&mut plain, CONFIG_MAP, "one", &config_map(&json!({ "k": "1" })));
    assert_eq!((code, owners(&created)), (201, Vec::new()));
}

#[test]
fn a_patch_with_repeated_or_unknown_fields_causes_warnings_or_is_rejected() {
    let text = |server: &mut ApiServer, how: &str, content_type: &str, body: &'static str| {
        let admin = Identity::admin();
        let path = format!("{CONFIG_MAP}?fieldValidation={how}");
        let mut request = Request::new(Method::Patch, &path, &admin).with_content_type(content_type);
        request.body = Body::Bytes(body.to_owned().into());
        let reply = server.handle(&request, now());
        let message = reply.json().unwrap_or_default()["message"].as_str().unwrap_or_default().to_owned();
        (reply.code, reply.warnings, message)
    };
    let mut server = server(36);
    apply(&mut server, CONFIG_MAP, "one", &config_map(&json!({ "k": "1" })));
    for (content_type, body, found) in [
        (
            MERGE,
            r#"{"data":{"k":"2","k":"3"},"extra":1}"#,
            ["duplicate field \"data.k\"", "unknown field \"extra\""],
        ),
        (
            JSON,
            r#"[{"op":"add","op":"add","path":"/data/z","value":"1","x":2}]"#,
            ["json patch duplicate field \"[0].op\"", "json patch unknown field \"[0].x\""],
        ),
    ] {
        let (code, warnings, _) = text(&mut server, "Warn", content_type, body);
        assert_eq!((code, warnings), (200, found.map(str::to_owned).to_vec()), "{body}");
        let (code, _, message) = text(&mut server, "Strict", content_type, body);
        assert_eq!(code, 422, "{message}");
        let why = format!("strict decoding error: {}", found.join(", "));
        assert!(message.ends_with(&why), "{message}");
        assert_eq!(text(&mut server, "Ignore", content_type, body).1, Vec::<String>::new());
    }
}
