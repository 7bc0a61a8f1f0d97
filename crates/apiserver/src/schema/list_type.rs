//! Finds duplicates in lists of type `set` and `map`.

use serde_json::{Map, Value};

use super::path::Path;
use super::structural::{ListType, Structural};
use crate::delta::Delta;
use crate::field::{Cause, FieldError};
use crate::repeats::earlier_counts;

/// Returns all duplicates in a whole object, parents first. With `status`, the difference from the stored
/// status, skips lists of the status that were not changed or whose keys were not changed.
pub(crate) fn check(object: &Value, status: Option<&Delta>, schema: &Structural) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (name, value, property) in schema.along(object.as_object().into_iter().flatten()) {
        if let Some(property) = property.or_else(|| schema.additional()) {
            let delta = status.filter(|_| name == "status").unwrap_or(&Delta::Other);
            walk(value, delta, property, &Path::Root.key(name), &mut errors);
        }
    }
    errors
}

fn walk(value: &Value, delta: &Delta, schema: &Structural, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    if !schema.has_keyed_lists || delta.is_same() {
        return;
    }
    match value {
        Value::Object(map) => {
            for (place, (name, inner, property)) in schema.along(map.iter()).enumerate() {
                if let Some(property) = property.or_else(|| schema.additional()) {
                    walk(inner, delta.inner(place), property, &path.member(name, schema), errors);
                }
            }
        }
        Value::Array(items) => {
            match schema.list_type {
                _ if keeps_keys(items, delta, schema) || are_distinct(items, schema) => {}
                ListType::Set => duplicates(items, path, errors),
                ListType::Map => match other_than_object(items) {
                    Some((index, item)) => {
                        let why = "must be an object for an array of list-type map";
                        errors.push(FieldError::invalid(path.index(index).to_string(), item.clone(), why));
                    }
                    None => duplicates(&keys_of(items, schema), path, errors),
                },
                ListType::Atomic => {}
            }
            if let Some(schema) = &schema.items {
                for (index, item) in items.iter().enumerate() {
                    walk(item, delta.inner(index), schema, &path.index(index), errors);
                }
            }
        }
        _ => {}
    }
}

/// Whether each element of a list has the same keys as the stored element at its index.
fn keeps_keys(items: &[Value], delta: &Delta, schema: &Structural) -> bool {
    let keeps = |(place, item)| {
        let delta: &Delta = delta.inner(place);
        delta.is_same() || schema.list_map_keys.iter().all(|key| delta.field(item, key).is_same())
    };
    schema.list_type == ListType::Map && items.iter().enumerate().all(keeps)
}

/// Whether all elements are distinct, as far as strings alone decide it. Most lists have no duplicates, and
/// sorting strings is faster than comparing all pairs.
fn are_distinct(items: &[Value], schema: &Structural) -> bool {
    let texts: Option<Vec<&str>> = match (schema.list_type, &schema.list_map_keys[..]) {
        (ListType::Set, _) => items.iter().map(Value::as_str).collect(),
        (ListType::Map, [key]) => items.iter().map(|item| item.get(key)?.as_str()).collect(),
        _ => None,
    };
    texts.is_some_and(|mut texts| {
        texts.sort_unstable();
        texts.is_sorted_by(|text, next| text < next)
    })
}

/// The first element that is neither an object nor null.
fn other_than_object(items: &[Value]) -> Option<(usize, &Value)> {
    items.iter().enumerate().find(|(_, item)| !item.is_object() && !item.is_null())
}

/// The part of each element that must be unique. A null has no keys.
fn keys_of(items: &[Value], schema: &Structural) -> Vec<Value> {
    let keys = |item: &Value| match item.as_object() {
        None => Value::Object(Map::new()),
        Some(map) => {
            let present =
                schema.list_map_keys.iter().filter_map(|key| Some((key.clone(), map.get(key)?.clone())));
            Value::Object(present.collect::<Map<_, _>>())
        }
    };
    items.iter().map(keys).collect()
}

/// Reports each value that occurs again once, at its second occurrence.
fn duplicates(items: &[Value], path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let earlier = earlier_counts(items.iter().map(Value::to_string));
    for (index, item) in items.iter().enumerate() {
        if earlier[index] == 1 {
            let field = path.index(index).to_string();
            errors.push(FieldError::new(Cause::Duplicate, field, item.clone(), ""));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn elements_of_map_lists_are_objects() {
        let list = json!({ "type": "array", "items": { "type": "object" },
            "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"] });
        let schema = Structural::read(&json!({ "type": "object", "properties": { "l": list } }));
        let found = check(&json!({ "l": [{ "k": "a" }, null, 1, 1] }), None, &schema);
        let [only] = &found[..] else { panic!("{found:?}") };
        assert_eq!(
            (&*only.field, &*only.detail),
            ("l[2]", "must be an object for an array of list-type map")
        );
    }

    #[test]
    fn duplicates_of_the_stored_status_are_ignored() {
        let item = json!({ "type": "object", "properties": { "k": { "type": "string" }, "v": { "type": "string" } } });
        let list = json!({ "type": "array", "items": item,
            "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"] });
        let schema = Structural::read(&json!({ "type": "object", "properties": {
            "status": { "type": "object", "properties": { "l": list } } } }));
        let status = |items: Value| json!({ "status": { "l": items } });
        let old = status(json!([{ "k": "a", "v": "1" }, { "k": "a", "v": "2" }]));
        let duplicates = |new: &Value| {
            let delta = Delta::between(&old["status"], &new["status"]);
            [check(new, None, &schema).len(), check(new, Some(&delta), &schema).len()]
        };
        assert_eq!(duplicates(&old), [1, 0]);
        assert_eq!(duplicates(&status(json!([{ "k": "a", "v": "3" }, { "k": "a", "v": "2" }]))), [1, 0]);
        assert_eq!(duplicates(&status(json!([{ "k": "b", "v": "1" }, { "k": "b", "v": "2" }]))), [1, 1]);
        assert_eq!(duplicates(&status(json!([{ "k": "a", "v": "1" }]))), [0, 0]);
    }
}
