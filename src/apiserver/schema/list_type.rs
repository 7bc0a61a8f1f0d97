//! Duplicates in lists that are sets or maps.

use serde_json::{Map, Value};

use super::path::Path;
use super::structural::{ListType, Structural};
use crate::apiserver::field::{Cause, FieldError};

/// All duplicates of a whole object, parents first.
pub(crate) fn check(value: &Value, schema: &Structural) -> Vec<FieldError> {
    let mut errors = Vec::new();
    walk(value, schema, &Path::Root, &mut errors);
    errors
}

fn walk(value: &Value, schema: &Structural, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    if !schema.has_keyed_lists {
        return;
    }
    match value {
        Value::Object(map) => {
            for (name, inner, property) in schema.along(map.iter()) {
                if let Some(property) = property.or_else(|| schema.additional()) {
                    walk(inner, property, &path.key(name), errors);
                }
            }
        }
        Value::Array(items) => {
            match schema.list_type {
                _ if are_distinct(items, schema) => {}
                ListType::Set => duplicates(items, path, errors),
                ListType::Map => duplicates(&keys_of(items, schema), path, errors),
                ListType::Atomic => {}
            }
            if let Some(schema) = &schema.items {
                for (index, item) in items.iter().enumerate() {
                    walk(item, schema, &path.index(index), errors);
                }
            }
        }
        _ => {}
    }
}

/// Whether no element is there twice, where a look at texts alone tells: sorting them is quicker than comparing each with
/// each, and lists without duplicates are what is written every day.
fn are_distinct(items: &[Value], schema: &Structural) -> bool {
    let texts: Option<Vec<&str>> = match (schema.list_type, &schema.list_map_keys[..]) {
        (ListType::Set, _) => items.iter().map(Value::as_str).collect(),
        (ListType::Map, [key]) => items.iter().map(|item| item.get(key)?.as_str()).collect(),
        _ => None,
    };
    texts.is_some_and(|mut texts| {
        texts.sort_unstable();
        texts.is_sorted_by(|one, next| one < next)
    })
}

/// The part of each element that must be unique; elements that are no objects stand for themselves.
fn keys_of(items: &[Value], schema: &Structural) -> Vec<Value> {
    let keys = |item: &Value| match item.as_object() {
        None => item.clone(),
        Some(map) => {
            let present =
                schema.list_map_keys.iter().filter_map(|key| Some((key.clone(), map.get(key)?.clone())));
            Value::Object(present.collect::<Map<_, _>>())
        }
    };
    items.iter().map(keys).collect()
}

/// One error for each value that occurs again, at its second occurrence.
fn duplicates(items: &[Value], path: &Path<'_>, errors: &mut Vec<FieldError>) {
    for (index, item) in items.iter().enumerate() {
        if items[..index].iter().filter(|earlier| *earlier == item).count() == 1 {
            let field = path.index(index).to_string();
            errors.push(FieldError::new(Cause::Duplicate, field, item.clone(), ""));
        }
    }
}
