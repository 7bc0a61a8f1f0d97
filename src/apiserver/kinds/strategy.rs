//! What the server fills in and resets of built-in kinds when they are written.

use serde_json::{Map, Value, json};

use super::Kind;
use crate::apiserver::admission::webhook::configuration;
use crate::apiserver::field::FieldError;
use crate::apiserver::metadata;

/// Drops nulls and, from kinds that keep theirs apart, the status; fills in what the kind has from the start.
pub(crate) fn prepare_create(kind: &Kind, object: &mut Value, minor: u32) {
    drop_nulls(object);
    if configuration::is_configuration(kind) {
        configuration::fill_in(kind, object);
    }
    match (&*kind.resource.group, &*kind.resource.plural) {
        ("", "pods") => pod(object, minor),
        ("", "namespaces") => namespace(object),
        ("" | "apiregistration.k8s.io", "nodes" | "apiservices" | "persistentvolumes") => {}
        ("apps", "deployments" | "statefulsets" | "replicasets") => {
            reset_status(object);
            fill(object, &[("spec", json!({}))]);
            fill(&mut object["spec"], &[("replicas", json!(1))]);
        }
        ("batch", "jobs") => {
            reset_status(object);
            fill(object, &[("spec", json!({}))]);
            let defaults = [("parallelism", json!(1)), ("completions", json!(1)), ("backoffLimit", json!(6))];
            fill(&mut object["spec"], &defaults);
        }
        _ if kind.rules.status => reset_status(object),
        _ => {}
    }
}

/// What an update of the object itself may not touch.
pub(crate) fn prepare_update(kind: &Kind, object: &mut Value, old: &Value) {
    drop_nulls(object);
    if configuration::is_configuration(kind) {
        configuration::fill_in(kind, object);
    }
    if kind.rules.status {
        take(object, old, "status");
    }
    if kind.is("", "namespaces") {
        // Only the finalize subresource empties them.
        fill(object, &[("spec", json!({}))]);
        object["spec"] = old["spec"].clone();
        label_namespace(object);
    }
}

/// What must hold of a written status of a built-in kind.
pub(crate) fn check_status(kind: &Kind, object: &Value) -> Vec<FieldError> {
    if !kind.is("", "namespaces") {
        return Vec::new();
    }
    let (wanted, empty) = if metadata::is_terminating(object) {
        ("Terminating", "is not empty")
    } else {
        ("Active", "is empty")
    };
    let phase = object["status"]["phase"].as_str().unwrap_or_default();
    if phase == wanted {
        return Vec::new();
    }
    let why = format!("may only be '{wanted}' if `deletionTimestamp` {empty}");
    vec![FieldError::invalid("status.Phase", phase, why)]
}

/// Nulls are absent fields to the decoder of a typed kind.
pub(crate) fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => map.retain(|_, inner| {
            drop_nulls(inner);
            !inner.is_null()
        }),
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

/// Takes a top-level field over from another object, be it there or not.
pub(crate) fn take(object: &mut Value, from: &Value, field: &str) {
    let Some(map) = object.as_object_mut() else { return };
    match from.get(field) {
        // Mostly it is there already, and comparing is cheaper than copying.
        Some(value) if map.get(field) == Some(value) => {}
        Some(value) => {
            map.insert(field.to_owned(), value.clone());
        }
        None => {
            map.remove(field);
        }
    }
}

fn reset_status(object: &mut Value) {
    object.as_object_mut().map(|map| map.remove("status"));
}

fn fill(object: &mut Value, defaults: &[(&str, Value)]) {
    let Some(map) = object.as_object_mut() else { return };
    for (field, value) in defaults {
        map.entry((*field).to_owned()).or_insert_with(|| value.clone());
    }
}

fn namespace(object: &mut Value) {
    fill(object, &[("spec", json!({}))]);
    fill(&mut object["spec"], &[("finalizers", json!(["kubernetes"]))]);
    object["status"] = json!({ "phase": "Active" });
    label_namespace(object);
}

fn label_namespace(object: &mut Value) {
    let name = metadata::text(object, "name").to_owned();
    if name.is_empty() {
        return;
    }
    let labels = metadata::of(object).entry("labels").or_insert_with(|| json!({}));
    if let Value::Object(labels) = labels {
        labels.insert("kubernetes.io/metadata.name".to_owned(), json!(name));
    }
}

/// The first minor whose pods count their generation (`PodObservedGenerationTracking`).
const PODS_COUNT_FROM: u32 = 33;

fn pod(object: &mut Value, minor: u32) {
    fill(object, &[("spec", json!({}))]);
    fill(
        &mut object["spec"],
        &[
            ("restartPolicy", json!("Always")),
            ("terminationGracePeriodSeconds", json!(30)),
            ("dnsPolicy", json!("ClusterFirst")),
            ("schedulerName", json!("default-scheduler")),
            ("securityContext", Value::Object(Map::new())),
            ("enableServiceLinks", json!(true)),
        ],
    );
    object["status"] = json!({ "phase": "Pending", "qosClass": quality_of_service(object) });
    if minor < PODS_COUNT_FROM {
        metadata::of(object).remove("generation");
    }
}

/// `qosClass`: by requests and limits of all containers.
fn quality_of_service(pod: &Value) -> &'static str {
    let containers = pod["spec"]["containers"].as_array().map(Vec::as_slice).unwrap_or_default();
    let has = |container: &Value, part: &str| {
        container["resources"][part].as_object().is_some_and(|map| !map.is_empty())
    };
    if containers.iter().all(|container| !has(container, "requests") && !has(container, "limits")) {
        return "BestEffort";
    }
    let guaranteed = containers.iter().all(|container| {
        let (limits, requests) = (&container["resources"]["limits"], &container["resources"]["requests"]);
        let both = !limits["cpu"].is_null() && !limits["memory"].is_null();
        both && (requests.is_null() || requests == limits)
    });
    if guaranteed { "Guaranteed" } else { "Burstable" }
}
