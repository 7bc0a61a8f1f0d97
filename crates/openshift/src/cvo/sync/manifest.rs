//! Compares one manifest with the cluster's object. The write that results sets the manifest's fields and
//! keeps fields of other writers.

use serde_json::{Value, json};
use windtunnel_core::{Object, Resource, View, Write, member, text_of};

use crate::cvo::payload::ApplyRule;

/// The cluster's object with the name of `wanted`.
pub(in crate::cvo) fn existing<'a>(
    view: &'a View,
    resource: &Resource,
    wanted: &Value,
) -> Option<&'a Object> {
    let text = |field: &str| text_of(&wanted["metadata"], field);
    let namespace = if resource.namespaced { text("namespace") } else { "" };
    view.get(resource, namespace, text("name"))
}

/// The write that makes the cluster's object match the manifest, owned by the ClusterVersion. `None` if it
/// matches already.
pub(in crate::cvo) fn write_for(
    existing: Option<&Object>,
    resource: &Resource,
    wanted: &Value,
    rule: ApplyRule,
    cluster_version: Option<&Object>,
) -> Option<Write> {
    let owner = || cluster_version.and_then(|owner| owner_reference(owner, rule));
    let existing = match (existing, rule) {
        (None, ApplyRule::Delete) | (Some(_), ApplyRule::CreateOnly) => return None,
        (None, _) => {
            let mut object = wanted.clone();
            add_owner(&mut object, owner());
            return Some(Write::create(resource, object));
        }
        (Some(existing), ApplyRule::Delete) => {
            let is_going = existing.is_terminating();
            return (!is_going).then(|| Write::delete(resource, existing.namespace(), existing.name()));
        }
        (Some(existing), ApplyRule::Apply) => existing,
    };
    // The versions of a CRD are replaced as a whole, so that fields of an older schema disappear.
    let versions = wanted["spec"].get("versions").filter(|_| resource.kind == "CustomResourceDefinition");
    let same_versions = versions.is_none_or(|v| *v == existing["spec"]["versions"]);
    let is_owned = cluster_version.map(Object::uid).is_none_or(|owner| {
        owner.is_empty()
            || existing.list("/metadata/ownerReferences").iter().any(|found| found["uid"] == owner)
    });
    if same_versions && is_owned && covers(existing, wanted) {
        return None;
    }
    let mut merged = existing.to_value();
    overlay(&mut merged, wanted);
    if let Some(versions) = versions {
        merged["spec"]["versions"] = versions.clone();
    }
    if !is_owned {
        add_owner(&mut merged, owner());
    }
    Some(Write::update(resource, merged))
}

/// The object with this ClusterVersion as its owner, as an installed cluster has it.
pub(in crate::cvo) fn owned(wanted: &Value, cluster_version: &Value, rule: ApplyRule) -> Value {
    let mut object = wanted.clone();
    add_owner(&mut object, owner_reference(cluster_version, rule));
    object
}

/// The owner reference to the ClusterVersion. It is no controller of create-only objects.
fn owner_reference(cluster_version: &Value, rule: ApplyRule) -> Option<Value> {
    let metadata = &cluster_version["metadata"];
    metadata["uid"].is_string().then(|| {
        let mut owner = json!({
            "apiVersion": "config.openshift.io/v1",
            "kind": "ClusterVersion",
            "name": metadata["name"],
            "uid": metadata["uid"],
        });
        if rule != ApplyRule::CreateOnly {
            owner["controller"] = json!(true);
        }
        owner
    })
}

fn add_owner(object: &mut Value, owner: Option<Value>) {
    let Some(owner) = owner else { return };
    match object.pointer_mut("/metadata/ownerReferences") {
        Some(Value::Array(owners)) => owners.push(owner),
        _ => {
            if let Some(metadata) = object["metadata"].as_object_mut() {
                metadata.insert("ownerReferences".to_owned(), json!([owner]));
            }
        }
    }
}

/// Returns whether `existing` has all fields of `wanted`. It may have more (defaults, fields of other
/// writers).
fn covers(existing: &Value, wanted: &Value) -> bool {
    match (existing, wanted) {
        (Value::Object(existing), Value::Object(wanted)) => wanted
            .iter()
            .all(|(key, value)| member(existing, key).map_or(value.is_null(), |found| covers(found, value))),
        (Value::Array(existing), Value::Array(wanted)) => {
            existing.len() == wanted.len() && existing.iter().zip(wanted).all(|(a, b)| covers(a, b))
        }
        _ => existing == wanted,
    }
}

fn overlay(target: &mut Value, wanted: &Value) {
    match (target, wanted) {
        (Value::Object(target), Value::Object(wanted)) => {
            for (key, value) in wanted {
                overlay(target.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (target, wanted) => *target = wanted.clone(),
    }
}
