//! Rules for all objects: owners, finalizers, annotations, generated names and sizes.

use serde_json::{Value, json};
use windtunnel_apiserver::{ApiServer, Method};

use super::kinds::{answer, ask};
use super::requests::{define, definition, server};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const CUSTOM: &str = "/apis/example.io/v1/versions";

/// The error for a ConfigMap with this metadata; empty if it is accepted.
fn rejection(minor: u32, metadata: &Value) -> String {
    let body = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata });
    let (code, text) = answer(&mut server(minor), Method::Post, MAPS, &body);
    assert!(matches!((code, text.is_empty()), (201, true) | (422, false)), "{code} {text}");
    text.replace("ConfigMap \"a\" is invalid: ", "")
}

fn owner(name: &str, controller: &Value) -> Value {
    json!({ "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": "1", "controller": controller })
}

#[test]
fn an_object_has_one_controller_at_most() {
    let owned = |owners: &[Value]| json!({ "name": "a", "ownerReferences": owners });
    let several = owned(&[owner("x", &json!(true)), owner("y", &json!(false)), owner("z", &Value::Null)]);
    assert_eq!(rejection(36, &several), "");
    let two = owned(&[owner("x", &json!(true)), owner("y", &json!(true))]);
    let why = "Only one reference can have Controller set to true. Found \"true\" in references for ReplicaSet/x and \
               ReplicaSet/y";
    let as_json = |name: &str| {
        format!(
            r#"{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"{name}","uid":"1","controller":true}}"#
        )
    };
    assert_eq!(
        rejection(34, &two),
        format!("metadata.ownerReferences: Invalid value: [{},{}]: {why}", as_json("x"), as_json("y"))
    );
    let text = rejection(33, &two);
    let start = "metadata.ownerReferences: Invalid value: []v1.OwnerReference{v1.OwnerReference{APIVersion:\"apps/v1\", \
                 Kind:\"ReplicaSet\", Name:\"x\", UID:\"1\", Controller:(*bool)(0x";
    assert!(text.starts_with(start) && text.ends_with(why), "{text}");
}

#[test]
fn an_event_cannot_be_an_owner() {
    let event = json!({ "apiVersion": "v1", "kind": "Event", "name": "e", "uid": "1" });
    assert_eq!(
        rejection(36, &json!({ "name": "a", "ownerReferences": [event] })),
        "metadata.ownerReferences: Invalid value: {\"apiVersion\":\"v1\",\"kind\":\"Event\",\"name\":\"e\",\"uid\":\"1\"}: \
         /v1, Kind=Event is disallowed from being an owner"
    );
}

#[test]
fn orphan_and_foreground_deletion_exclude_each_other() {
    let metadata = json!({ "name": "a", "finalizers": ["orphan", "foregroundDeletion"] });
    let why = "finalizer orphan and foregroundDeletion cannot be both set";
    let shown = r#"["orphan","foregroundDeletion"]"#;
    assert_eq!(rejection(36, &metadata), format!("metadata.finalizers: Invalid value: {shown}: {why}"));
    let shown = r#"[]string{"orphan", "foregroundDeletion"}"#;
    assert_eq!(rejection(33, &metadata), format!("metadata.finalizers: Invalid value: {shown}: {why}"));
}

#[test]
fn all_annotations_together_are_limited_to_256_kib() {
    let annotated =
        |size: usize| json!({ "name": "a", "annotations": { "x": "v".repeat(size - 2), "y": "" } });
    assert_eq!(rejection(36, &annotated(262_144)), "");
    let text = |minor| rejection(minor, &annotated(262_145));
    assert_eq!(text(31), "metadata.annotations: Too long: must have at most 262144 bytes");
    assert_eq!(text(32), "metadata.annotations: Too long: may not be more than 262144 bytes");
    let mut server = server(36);
    let body = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" } });
    assert_eq!(answer(&mut server, Method::Post, MAPS, &body).0, 201);
    let patch = json!({ "metadata": annotated(262_145) });
    let (code, text) = answer(&mut server, Method::Patch, &format!("{MAPS}/a"), &patch);
    assert_eq!((code, text.contains("metadata.annotations: Too long")), (422, true), "{text}");
}

/// The number of causes for an invalid label in an update of an object created from `body`.
fn causes(server: &mut ApiServer, path: &str, body: &Value) -> usize {
    assert_eq!(answer(server, Method::Post, path, body).0, 201);
    let patch = json!({ "metadata": { "labels": { "-bad": "x" } } });
    let reply = ask(server, Method::Patch, &format!("{path}/a"), &patch).json().unwrap();
    assert_eq!(reply["message"].as_str().unwrap().matches("-bad").count(), 1, "{reply}");
    reply["details"]["causes"].as_array().unwrap().len()
}

#[test]
fn a_label_error_of_an_update_has_a_cause_for_each_validation() {
    let mut server = server(36);
    let object =
        |api: &str, kind: &str| json!({ "apiVersion": api, "kind": kind, "metadata": { "name": "a" } });
    assert_eq!(causes(&mut server, MAPS, &object("v1", "ConfigMap")), 4);
    define(&mut server, definition(&["A"], false));
    assert_eq!(causes(&mut server, CUSTOM, &object("example.io/v1", "Version")), 3);
}

/// The first names that a server generates for a prefix.
fn generated(count: usize) -> Vec<String> {
    let mut server = server(36);
    let create = |_| {
        let reply = ask(&mut server, Method::Post, MAPS, &with_prefix()).json().unwrap();
        reply["metadata"]["name"].as_str().unwrap().to_owned()
    };
    (0..count).map(create).collect()
}

fn with_prefix() -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "generateName": "g-" } })
}

/// A server with the same seed, on which these names are taken.
fn taken(minor: u32, names: &[String]) -> ApiServer {
    let mut server = server(minor);
    for name in names {
        let body = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } });
        assert_eq!(answer(&mut server, Method::Post, MAPS, &body).0, 201);
    }
    server
}

#[test]
fn since_1_31_a_taken_generated_name_is_replaced() {
    let names = generated(2);
    let created = ask(&mut taken(31, &names[..1]), Method::Post, MAPS, &with_prefix());
    assert_eq!(
        (created.code, created.json().unwrap()["metadata"]["name"].as_str()),
        (201, Some(names[1].as_str()))
    );
    let rejected = ask(&mut taken(30, &names[..1]), Method::Post, MAPS, &with_prefix());
    let body = rejected.json().unwrap();
    let text = format!(
        "configmaps \"{}\" already exists, the server was not able to generate a unique name for the object",
        names[0]
    );
    assert_eq!(
        (rejected.code, body["reason"].as_str(), body["message"].as_str()),
        (409, Some("AlreadyExists"), Some(&*text))
    );
    assert_eq!(body["details"], json!({ "name": names[0], "kind": "configmaps", "retryAfterSeconds": 1 }));
    assert_eq!(rejected.retry_after, Some(1));
}

#[test]
fn the_server_gives_up_after_eight_taken_names() {
    let names = generated(9);
    for (count, code) in [(7, 201), (8, 409)] {
        let reply = ask(&mut taken(36, &names[..count]), Method::Post, MAPS, &with_prefix());
        assert_eq!(reply.code, code, "{count}");
    }
    let reply = ask(&mut taken(36, &names[..8]), Method::Post, MAPS, &with_prefix()).json().unwrap();
    assert_eq!(reply["details"]["name"], names[7]);
}

#[test]
fn an_explicit_name_is_not_replaced_by_a_generated_one() {
    let mut server = taken(36, &["a".to_owned()]);
    let body =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "generateName": "g-" } });
    let text =
        "configmaps \"a\" already exists, the server was not able to generate a unique name for the object";
    assert_eq!(answer(&mut server, Method::Post, MAPS, &body), (409, text.to_owned()));
}

#[test]
fn an_object_too_large_for_etcd_is_an_error_500_without_a_reason() {
    let mut server = server(36);
    define(&mut server, definition(&[], false));
    let custom = |size: usize| {
        json!({ "apiVersion": "example.io/v1", "kind": "Version", "metadata": { "name": "v" },
            "spec": { "channel": "c".repeat(size) } })
    };
    let reply = ask(&mut server, Method::Post, CUSTOM, &custom(1_600_000));
    assert_eq!(
        (reply.code, reply.json().unwrap()),
        (
            500,
            json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": "etcdserver: request is too large", "code": 500 })
        )
    );
    let (code, text) = answer(&mut server, Method::Post, CUSTOM, &custom(2_200_000));
    let start = "rpc error: code = ResourceExhausted desc = trying to send message larger than max (2200";
    assert!(code == 500 && text.starts_with(start) && text.ends_with(" vs. 2097152)"), "{code} {text}");
    assert_eq!(answer(&mut server, Method::Post, CUSTOM, &custom(1_500_000)).0, 201);
    let grown = json!({ "spec": { "mode": "m".repeat(100_000) } });
    let (code, text) = answer(&mut server, Method::Patch, &format!("{CUSTOM}/v"), &grown);
    assert_eq!((code, text.as_str()), (500, "etcdserver: request is too large"));
}

#[test]
fn the_size_limit_of_built_in_kinds_applies_to_the_stored_form() {
    let mut server = server(36);
    // A line feed is one byte, and two in JSON.
    let pod = |value: String| {
        json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "p" }, "spec": { "containers": [
            { "name": "c", "image": "i", "env": [{ "name": "A", "value": value }] }] } })
    };
    let pods = "/api/v1/namespaces/default/pods";
    let dry = format!("{pods}?dryRun=All");
    assert_eq!(answer(&mut server, Method::Post, pods, &pod("\n".repeat(1_000_000))), (201, String::new()));
    let text = "etcdserver: request is too large";
    assert_eq!(answer(&mut server, Method::Post, pods, &pod("x".repeat(1_600_000))), (500, text.to_owned()));
    // A dry run stores nothing. The taken name is reported first.
    assert_eq!(answer(&mut server, Method::Post, &dry, &pod("x".repeat(1_600_000))).0, 409);
}
