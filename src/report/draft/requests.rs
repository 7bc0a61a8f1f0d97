//! Requests of people as steps: `apply`, `patch` and `delete`.

use serde_json::{Map, Value};
use windtunnel_core::resources::{self, SECRETS};
use windtunnel_core::yaml::{quoted, scalar};
use windtunnel_core::{Key, Object, Resource};

use crate::record::WriteEvent;

/// The metadata that the API server sets.
const OF_SERVER: [&str; 8] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// Returns the step of a request, or why a scenario has none for it.
pub(super) fn step(write: &WriteEvent) -> Result<String, &'static str> {
    let is_status = write.subresource == "status";
    if !write.subresource.is_empty() && !is_status {
        return Err("no step writes a subresource other than `status`");
    }
    match (&write.before, &write.after) {
        // An object with a grace period or finalizers stays for a while.
        (Some(before), _) if write.verb == "delete" => {
            let (reference, _) = reference(&write.key, before)?;
            Ok(format!("delete: {}", scalar(&reference)))
        }
        (None, Some(after)) => Ok(format!("apply: {}", flow(&content(after)?))),
        (Some(before), Some(after)) => {
            let (reference, _) = reference(&write.key, after)?;
            let pick = |object: &Object| {
                if is_status {
                    serde_json::json!({ "status": object["status"] })
                } else {
                    without_server_fields(object)
                }
            };
            let merge =
                merge_patch(&pick(before), &pick(after)).ok_or("it changed nothing that a step can set")?;
            let status = if is_status { ", subresource: status" } else { "" };
            Ok(format!("patch: {{object: {}, merge: {}{status}}}", scalar(&reference), flow(&merge)))
        }
        (_, None) => Err("its object is unknown"),
    }
}

/// Returns an object as one creates it.
///
/// # Errors
/// Why a scenario cannot create it.
pub(super) fn content(object: &Object) -> Result<Value, &'static str> {
    known(object)?;
    Ok(without_server_fields(object))
}

/// Returns the kind of an object, if scenarios can name it.
fn known(object: &Object) -> Result<Resource, &'static str> {
    if SECRETS.is_kind_of(object) {
        return Err("a record has no values of Secrets");
    }
    resources::find_with_preview(object).ok_or("windtunnel does not know the kind")
}

/// Returns the name of an object in a scenario, and its kind.
fn reference(key: &Key, object: &Object) -> Result<(String, Resource), &'static str> {
    let resource = known(object)?;
    let is_default = resources::by_kind(&resource.kind).is_some_and(|found| found.group == resource.group);
    let kind =
        if is_default { resource.kind.to_string() } else { format!("{}.{}", resource.kind, resource.group) };
    let namespace = if key.namespace.is_empty() { String::new() } else { format!("/{}", key.namespace) };
    Ok((format!("{kind}{namespace}/{}", key.name), resource))
}

/// Returns an object without its status and what the API server sets.
fn without_server_fields(object: &Value) -> Value {
    let mut found = object.clone();
    if let Some(fields) = found.as_object_mut() {
        fields.remove("status");
    }
    if let Some(metadata) = found.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|name, _| !OF_SERVER.contains(&name.as_str()));
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
        }
    }
    found
}

/// Returns the merge patch from one value to another; `None` if they are equal.
fn merge_patch(before: &Value, after: &Value) -> Option<Value> {
    let (Value::Object(old), Value::Object(new)) = (before, after) else {
        return (before != after).then(|| after.clone());
    };
    let mut patch = Map::new();
    for name in old.keys().filter(|name| !new.contains_key(*name)) {
        patch.insert(name.clone(), Value::Null);
    }
    for (name, value) in new {
        let change = old.get(name).map_or_else(|| Some(value.clone()), |old| merge_patch(old, value));
        patch.extend(change.map(|change| (name.clone(), change)));
    }
    (!patch.is_empty()).then_some(Value::Object(patch))
}

/// Formats a value on one line, in the style of hand-written YAML.
pub(super) fn flow(value: &Value) -> String {
    match value {
        Value::String(text) => scalar(text).into_owned(),
        Value::Array(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| format!("{}: {}", key(name), flow(value));
            format!("{{{}}}", fields.iter().map(field).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// Formats the key of a map.
pub(super) fn key(name: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "._/-".contains(letter);
    let is_plain = name.starts_with(|first: char| first.is_ascii_alphabetic()) && name.chars().all(plain);
    if is_plain { scalar(name).into_owned() } else { quoted(name) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_patch_has_the_changes_only() {
        let before = json!({ "a": { "b": 1, "c": 2 }, "d": [1], "e": 1 });
        let after = json!({ "a": { "b": 1, "c": 3 }, "d": [1, 2], "f": {} });
        let patch = json!({ "a": { "c": 3 }, "d": [1, 2], "e": null, "f": {} });
        assert_eq!(merge_patch(&before, &after), Some(patch));
        assert_eq!(merge_patch(&before, &before), None);
    }

    #[test]
    fn values_are_written_in_flow_style() {
        let value = json!({ "a.b/c": "x: y", "n": [1, null, true], "yes": "no", "1": {} });
        let written = flow(&value);
        let read: Value = windtunnel_core::yaml::from_str(&written).unwrap();
        assert_eq!(read, value, "{written}");
    }
}
