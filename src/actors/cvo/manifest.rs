//! One manifest against the cluster's object: what must be written, so that everything that the payload says holds and
//! what others say stays.

use serde_json::Value;

use crate::model::{Object, Resource, View, Write};

/// The cluster's object of the name that `wanted` has.
pub(super) fn existing<'a>(view: &'a View, resource: &Resource, wanted: &Value) -> Option<&'a Object> {
    let text = |field: &str| wanted["metadata"][field].as_str().unwrap_or_default();
    view.get(resource, text("namespace"), text("name"))
}

/// The write that makes the cluster's object what the payload wants; `None` if it is so already.
pub(super) fn write_for(existing: Option<&Object>, resource: &Resource, wanted: &Value) -> Option<Write> {
    let Some(existing) = existing else {
        return Some(Write::create(resource, wanted.clone()));
    };
    // A CRD's versions are replaced as a whole: what an older schema does not have must go.
    let same_versions = wanted["spec"].get("versions").is_none_or(|v| *v == existing["spec"]["versions"]);
    if same_versions && covers(existing, wanted) {
        return None;
    }
    let mut merged = existing.to_value();
    overlay(&mut merged, wanted);
    if let Some(versions) = wanted["spec"].get("versions") {
        merged["spec"]["versions"] = versions.clone();
    }
    Some(Write::update(resource, merged))
}

/// Whether everything that `wanted` says holds for `existing`, which may say more (defaults, other writers' fields).
fn covers(existing: &Value, wanted: &Value) -> bool {
    match (existing, wanted) {
        (Value::Object(existing), Value::Object(wanted)) => {
            wanted.iter().all(|(key, value)| existing.get(key).is_some_and(|found| covers(found, value)))
        }
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
