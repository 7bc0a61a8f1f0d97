//! Fills in defaults, and drops nulls that a schema does not allow.

use serde_json::Value;

use super::structural::{Additional, Structural};

/// Fills in defaults of absent properties, only into objects that are there, top down.
pub(crate) fn fill(value: &mut Value, schema: &Structural) {
    match value {
        Value::Object(map) => {
            for (name, property) in &schema.properties {
                let Some(default) = &property.default else { continue };
                let absent = map.get(name).is_none_or(|found| is_bad_null(found, property));
                if absent {
                    map.insert(name.clone(), default.clone());
                }
            }
            for (name, inner) in map.iter_mut() {
                if let Some(property) = schema.property(name) {
                    match &property.default {
                        Some(default) if is_bad_null(inner, property) => *inner = default.clone(),
                        _ => {}
                    }
                    fill(inner, property);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = &schema.items {
                for item in items {
                    fill(item, schema);
                }
            }
        }
        _ => {}
    }
}

/// Drops nulls of properties that are not nullable; elements of lists stay.
pub(crate) fn drop_nulls(value: &mut Value, schema: &Structural) {
    match value {
        Value::Object(map) => map.retain(|name, inner| {
            let Some(property) = schema.property(name) else { return true };
            if is_bad_null(inner, property) {
                return false;
            }
            drop_nulls(inner, property);
            true
        }),
        Value::Array(items) => {
            if let Some(schema) = &schema.items {
                for item in items {
                    drop_nulls(item, schema);
                }
            }
        }
        _ => {}
    }
}

fn is_bad_null(value: &Value, schema: &Structural) -> bool {
    value.is_null() && !schema.nullable
}

/// Whether filling in could change anything: false lets reads skip the walk.
pub(crate) fn has_defaults(schema: &Structural) -> bool {
    let additional = match &schema.additional {
        Some(Additional::Of(values)) => Some(&**values),
        _ => None,
    };
    schema.default.is_some()
        || schema.properties.values().chain(schema.items.as_deref()).chain(additional).any(has_defaults)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(schema: &Value, mut object: Value, filled: &Value) {
        let schema = Structural::read(schema);
        fill(&mut object, &schema);
        drop_nulls(&mut object, &schema);
        assert_eq!(&object, filled);
    }

    #[test]
    fn defaults_fill_objects_that_are_there_and_replace_nulls() {
        let schema = json!({"type": "object", "properties": {
            "a": {"type": "object", "properties": {"b": {"type": "string", "default": "B"}}},
            "e": {"type": "object", "default": {}, "properties": {"f": {"type": "string", "default": "F"}}},
            "n": {"type": "string", "nullable": true}, "p": {"type": "string"}}});
        check(&schema, json!({}), &json!({"e": {"f": "F"}}));
        check(&schema, json!({"a": {"b": null}, "e": null}), &json!({"a": {"b": "B"}, "e": {"f": "F"}}));
        check(&schema, json!({"n": null, "p": null}), &json!({"n": null, "e": {"f": "F"}}));
    }
}
