//! Object metadata: its types, the fields that the server sets, and those that may change.

mod check;
mod owners;

use serde_json::{Map, Value, json};
use windtunnel_core::{member, text_of};

use super::gotext::json_type;
pub(crate) use check::{Checks, Counts, check_embedded, check_new, check_update, finalizer_warnings};

/// Go types of the fields of `metadata`, ordered by name.
const FIELDS: [(&str, Type); 15] = [
    ("annotations", Type::Strings),
    ("creationTimestamp", Type::Text),
    ("deletionGracePeriodSeconds", Type::Number),
    ("deletionTimestamp", Type::Text),
    ("finalizers", Type::Texts),
    ("generateName", Type::Text),
    ("generation", Type::Number),
    ("labels", Type::Strings),
    ("managedFields", Type::Objects),
    ("name", Type::Text),
    ("namespace", Type::Text),
    ("ownerReferences", Type::Objects),
    ("resourceVersion", Type::Text),
    ("selfLink", Type::Text),
    ("uid", Type::Text),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Type {
    Text,
    Number,
    Strings,
    Texts,
    Objects,
}

/// Checks the types of metadata fields.
///
/// # Errors
/// The message of Go's JSON decoder; `at` is its name for the struct with the fields.
pub(crate) fn check_types(metadata: &Value, at: &str) -> Result<(), String> {
    let wrong = |found: &Value, field: &str, expected: &str| {
        let (found, field) = (json_type(found), format!("{at}.{field}"));
        Err(format!("json: cannot unmarshal {found} into Go struct field {field} of type {expected}"))
    };
    if metadata.is_null() {
        return Ok(());
    }
    let Some(map) = metadata.as_object() else {
        let found = json_type(metadata);
        return Err(format!(
            "json: cannot unmarshal {found} into Go struct field .metadata of type v1.ObjectMeta"
        ));
    };
    for (field, value) in map.iter().filter(|(_, value)| !value.is_null()) {
        let Some(kind) = type_of(field) else { continue };
        match (kind, value) {
            (Type::Text, Value::String(_))
            | (Type::Number, Value::Number(_))
            | (Type::Objects, Value::Array(_)) => {}
            (Type::Strings, Value::Object(inner)) => {
                if let Some(bad) = inner.values().find(|value| !value.is_string() && !value.is_null()) {
                    return wrong(bad, field, "string");
                }
            }
            (Type::Texts, Value::Array(inner)) => {
                if let Some(bad) = inner.iter().find(|value| !value.is_string()) {
                    return wrong(bad, field, "string");
                }
            }
            (Type::Text, _) => return wrong(value, field, "string"),
            (Type::Number, _) => return wrong(value, field, "int64"),
            (Type::Strings, _) => return wrong(value, field, "map[string]string"),
            (Type::Texts, _) => return wrong(value, field, "[]string"),
            (Type::Objects, _) => return wrong(value, field, "[]v1.Object"),
        }
    }
    Ok(())
}

/// The type of a field of metadata.
fn type_of(name: &str) -> Option<Type> {
    let place = FIELDS.binary_search_by(|(field, _)| (*field).cmp(name)).ok()?;
    Some(FIELDS[place].1)
}

/// Changes metadata to what Go would encode again, without unknown fields, nulls and empty values. Returns
/// the unknown fields.
pub(crate) fn normalise(metadata: &mut Value) -> Vec<String> {
    let mut unknown = Vec::new();
    let Some(map) = metadata.as_object_mut() else { return unknown };
    map.retain(|name, value| {
        let Some(kind) = type_of(name) else {
            unknown.push(name.clone());
            return false;
        };
        match value {
            Value::Null => false,
            Value::String(text) => !text.is_empty(),
            Value::Array(items) => !items.is_empty(),
            Value::Object(inner) => {
                if kind == Type::Strings {
                    inner.values_mut().filter(|value| value.is_null()).for_each(|value| *value = json!(""));
                }
                !inner.is_empty()
            }
            Value::Number(number) => name != "generation" || number.as_i64() != Some(0),
            Value::Bool(_) => true,
        }
    });
    unknown
}

/// Removes the metadata that the storage does not keep.
pub(crate) fn remove_unstored(object: &mut Value) {
    let metadata = metadata_mut(object);
    metadata.remove("selfLink");
    metadata.remove("resourceVersion");
}

/// The metadata of an object, created if absent.
pub(crate) fn metadata_mut(object: &mut Value) -> &mut Map<String, Value> {
    if !object.get("metadata").is_some_and(Value::is_object) {
        object["metadata"] = json!({});
    }
    match object.get_mut("metadata") {
        Some(Value::Object(map)) => map,
        _ => unreachable!("metadata was made an object above"),
    }
}

/// A string in the metadata; empty if absent.
pub(crate) fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    let metadata = object.as_object().and_then(|fields| member(fields, "metadata"));
    metadata.map_or("", |metadata| text_of(metadata, field))
}

pub(crate) fn finalizers(object: &Value) -> Vec<&str> {
    let list = object["metadata"]["finalizers"].as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter().filter_map(Value::as_str).collect()
}

/// Whether the object is marked for deletion.
pub(crate) fn is_terminating(object: &Value) -> bool {
    !text(object, "deletionTimestamp").is_empty()
}

#[cfg(test)]
mod tests;
