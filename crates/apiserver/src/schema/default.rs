//! Fills in defaults, and drops nulls that a schema does not allow.

use serde_json::Value;

use super::structural::Structural;

/// Fills in the defaults of absent properties of existing objects, top down. Returns whether there were any.
pub(crate) fn fill(value: &mut Value, schema: &Structural) -> bool {
    if !schema.has_defaults {
        return false;
    }
    let mut filled = false;
    match value {
        Value::Object(map) => {
            for (name, property) in schema.properties.iter().filter(|(_, property)| property.has_defaults) {
                match (map.get_mut(name), &property.default) {
                    (Some(inner), _) => filled |= fill_property(inner, property),
                    (None, Some(default)) => {
                        let mut inner = default.clone();
                        fill(&mut inner, property);
                        map.insert(name.clone(), inner);
                        filled = true;
                    }
                    (None, None) => {}
                }
            }
            if let Some(additional) = schema.additional().filter(|additional| additional.has_defaults) {
                let others = map.iter_mut().filter(|(name, _)| !schema.properties.contains_key(name));
                others.for_each(|(_, inner)| filled |= fill_property(inner, additional));
            }
        }
        Value::Array(items) => {
            if let Some(schema) = &schema.items {
                for item in items {
                    filled |= fill(item, schema);
                }
            }
        }
        _ => {}
    }
    filled
}

/// Fills a property that is present. A null that the schema does not allow counts as absent.
fn fill_property(value: &mut Value, schema: &Structural) -> bool {
    let bad = schema.default.as_ref().filter(|_| is_bad_null(value, schema));
    let is_bad = bad.is_some();
    if let Some(default) = bad {
        *value = default.clone();
    }
    fill(value, schema) | is_bad
}

/// Drops nulls of properties that are not nullable. Elements of lists stay.
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
    fn defaults_fill_existing_objects_and_replace_nulls() {
        let schema = json!({"type": "object", "properties": {
            "a": {"type": "object", "properties": {"b": {"type": "string", "default": "B"}}},
            "e": {"type": "object", "default": {}, "properties": {"f": {"type": "string", "default": "F"}}},
            "n": {"type": "string", "nullable": true}, "p": {"type": "string"}}});
        check(&schema, json!({}), &json!({"e": {"f": "F"}}));
        check(&schema, json!({"a": {"b": null}, "e": null}), &json!({"a": {"b": "B"}, "e": {"f": "F"}}));
        check(&schema, json!({"n": null, "p": null}), &json!({"n": null, "e": {"f": "F"}}));
    }
}
