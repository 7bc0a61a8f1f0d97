//! The difference of two JSON values as an RFC 7386 merge patch.

use serde_json::{Map, Value};

/// The merge patch that makes `after` of `before`; empty where they are the same. `None` where no merge patch can:
/// it cannot set a field to null, nor change a value that is no object.
pub(crate) fn between(before: &Value, after: &Value) -> Option<Value> {
    let (Value::Object(before), Value::Object(after)) = (before, after) else { return None };
    let mut patch = Map::new();
    for (field, new) in after {
        match before.get(field) {
            Some(old) if old == new => (),
            Some(old @ Value::Object(_)) if new.is_object() => {
                patch.insert(field.clone(), between(old, new)?);
            }
            _ if sets_null(new) => return None,
            _ => {
                patch.insert(field.clone(), new.clone());
            }
        }
    }
    for field in before.keys().filter(|field| !after.contains_key(*field)) {
        patch.insert(field.clone(), Value::Null);
    }
    Some(Value::Object(patch))
}

/// Whether a new value holds a null that a merge patch would take for "remove". Lists are taken over as they are.
fn sets_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(fields) => fields.values().any(sets_null),
        _ => false,
    }
}
