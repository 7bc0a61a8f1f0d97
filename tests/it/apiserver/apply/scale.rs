//! Server-side apply of scales.

use super::*;

const DEPLOYMENT: &str = "/apis/apps/v1/namespaces/default/deployments/d";
const SCALE: &str = "/apis/apps/v1/namespaces/default/deployments/d/scale";

fn deployment(replicas: &Value) -> Value {
    let labels = json!({ "a": "b" });
    let mut object = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "d" }, "spec": {
        "selector": { "matchLabels": labels },
        "template": { "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "c", "image": "i" }] } } } });
    if !replicas.is_null() {
        object["spec"]["replicas"] = replicas.clone();
    }
    object
}

fn scale(replicas: u32) -> Value {
    json!({ "apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": { "name": "d", "namespace": "default" },
        "spec": { "replicas": replicas } })
}

/// The managers of `.spec.replicas`, with operation, version and subresource.
fn owners_of_replicas(server: &mut ApiServer) -> Vec<String> {
    let (_, object) = ask(server, Method::Get, DEPLOYMENT, "", &Value::Null);
    let text = |entry: &Value, field: &str| entry[field].as_str().unwrap_or("-").to_owned();
    let entries = object["metadata"]["managedFields"].as_array().unwrap().iter();
    let owning = entries.filter(|entry| entry["fieldsV1"]["f:spec"].get("f:replicas").is_some());
    let shown = |entry: &Value| {
        let fields = ["manager", "operation", "apiVersion", "subresource"].map(|field| text(entry, field));
        fields.join(" ")
    };
    let mut shown: Vec<String> = owning.map(shown).collect();
    shown.sort();
    shown
}

#[test]
fn applying_a_scale_owns_the_replicas_of_the_object() {
    let mut server = server(36);
    assert_eq!(apply(&mut server, DEPLOYMENT, "main", &deployment(&json!(1))).0, 201);
    let (code, body) = apply(&mut server, SCALE, "scaler", &scale(3));
    assert_eq!(code, 409);
    assert_eq!(body["message"], "Apply failed with 1 conflict: conflict with \"main\": .spec.replicas");
    let forced = format!("{SCALE}?force=true&fieldManager=scaler");
    let (code, body) = ask(&mut server, Method::Patch, &forced, APPLY, &scale(3));
    assert_eq!((code, &body["kind"], &body["spec"]), (200, &json!("Scale"), &json!({ "replicas": 3 })));
    assert_eq!(owners_of_replicas(&mut server), ["scaler Apply apps/v1 scale"]);
    let (code, body) = apply(&mut server, DEPLOYMENT, "main", &deployment(&json!(2)));
    assert_eq!(code, 409);
    assert_eq!(
        body["message"],
        "Apply failed with 1 conflict: conflict with \"scaler\" with subresource \"scale\": .spec.replicas"
    );
}

#[test]
fn equal_replicas_are_shared_and_reapplying_a_scale_keeps_its_ownership() {
    let mut server = server(36);
    apply(&mut server, DEPLOYMENT, "main", &deployment(&json!(3)));
    assert_eq!(apply(&mut server, SCALE, "scaler", &scale(3)).0, 200);
    let shared = ["main Apply apps/v1 -", "scaler Apply apps/v1 scale"];
    assert_eq!(owners_of_replicas(&mut server), shared);
    let before = ask(&mut server, Method::Get, DEPLOYMENT, "", &Value::Null).1;
    assert_eq!(apply(&mut server, SCALE, "scaler", &scale(3)).0, 200);
    let after = ask(&mut server, Method::Get, DEPLOYMENT, "", &Value::Null).1;
    assert_eq!(before["metadata"]["resourceVersion"], after["metadata"]["resourceVersion"]);
    assert_eq!(owners_of_replicas(&mut server), shared);
    // A manager that no longer applies the number leaves it to the other one.
    apply(&mut server, DEPLOYMENT, "main", &deployment(&Value::Null));
    assert_eq!(owners_of_replicas(&mut server), shared[1..]);
    assert_eq!(apply(&mut server, SCALE, "scaler", &scale(5)).0, 200);
    let (_, object) = ask(&mut server, Method::Get, DEPLOYMENT, "", &Value::Null);
    assert_eq!(object["spec"]["replicas"], 5);
}

#[test]
fn an_applied_scale_conflicts_with_an_updated_one() {
    let mut server = server(36);
    let deployments = DEPLOYMENT.trim_end_matches("/d");
    assert_eq!(ask(&mut server, Method::Post, deployments, "", &deployment(&json!(1))).0, 201);
    let patch = json!({ "spec": { "replicas": 4 } });
    assert_eq!(ask(&mut server, Method::Patch, SCALE, MERGE, &patch).0, 200);
    assert_eq!(owners_of_replicas(&mut server), ["tester Update apps/v1 scale"]);
    let (code, body) = apply(&mut server, SCALE, "scaler", &scale(5));
    assert_eq!(code, 409);
    let text = body["message"].as_str().unwrap();
    let start = "Apply failed with 1 conflict: conflict with \"tester\" with subresource \"scale\" using autoscaling/v1";
    assert!(text.starts_with(start) && text.ends_with(": .spec.replicas"), "{text}");
}

#[test]
fn the_scale_of_a_custom_resource_cannot_be_applied() {
    let mut server = server(36);
    let mut crd = super::super::requests::definition(&[], false);
    let version = &mut crd["spec"]["versions"][0];
    version["subresources"]["scale"] =
        json!({ "specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size" });
    let spec = &mut version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"];
    spec["size"] = json!({ "type": "integer" });
    super::super::requests::define(&mut server, crd);
    let path = "/apis/example.io/v1/versions/d";
    let object = json!({ "apiVersion": "example.io/v1", "kind": "Version", "metadata": { "name": "d" }, "spec": { "size": 1 } });
    assert_eq!(apply(&mut server, path, "main", &object).0, 201);
    let forced = format!("{path}/scale?force=true&fieldManager=scaler");
    let (code, body) = ask(&mut server, Method::Patch, &forced, APPLY, &scale(3));
    let why = "request to convert CR to an invalid group/version: autoscaling/v1";
    let message = body["message"].as_str().unwrap_or_default();
    assert!(code == 500 && message.ends_with(why), "a real server does not convert it either: {body}");
}

#[test]
fn rejects_another_kind_applied_to_a_scale() {
    let mut server = server(36);
    apply(&mut server, DEPLOYMENT, "main", &deployment(&json!(1)));
    let (code, body) = apply(&mut server, SCALE, "scaler", &deployment(&json!(1)));
    assert_eq!((code, &body["message"]), (400, &json!("invalid object type: apps/v1, Kind=Deployment")));
}
