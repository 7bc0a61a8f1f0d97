//! Which part of the stored object a value is compared with (`CRDValidationRatcheting`).
//!
//! Properties correlate by name, elements of `map` lists by their keys, other elements not at all.

use std::iter::Peekable;

use serde_json::Value;
use serde_json::map::Iter;

use super::structural::{ListType, Structural};

/// The counterpart of a property.
pub(crate) fn property<'a>(old: Option<&'a Value>, name: &str) -> Option<&'a Value> {
    old?.as_object()?.get(name)
}

/// The counterparts of properties that are asked for in the order of their names, so that one walk finds all of them.
pub(crate) struct Properties<'a> {
    rest: Option<Peekable<Iter<'a>>>,
}

impl<'a> Properties<'a> {
    pub(crate) fn of(old: Option<&'a Value>) -> Self {
        Self { rest: old.and_then(Value::as_object).map(|map| map.iter().peekable()) }
    }

    /// The next one; names come in ascending order.
    pub(crate) fn find(&mut self, name: &str) -> Option<&'a Value> {
        let rest = self.rest.as_mut()?;
        while let Some((found, value)) = rest.peek().copied() {
            if found == name {
                rest.next();
                return Some(value);
            }
            if found.as_str() > name {
                return None;
            }
            rest.next();
        }
        None
    }
}

/// The counterpart of the element at `index` of a list of this schema. Mostly it is where it was.
pub(crate) fn element<'a>(
    old: Option<&'a Value>,
    schema: &Structural,
    index: usize,
    item: &Value,
) -> Option<&'a Value> {
    if schema.list_type != ListType::Map {
        return None;
    }
    let keys = &schema.list_map_keys;
    let same = |other: &&Value| keys.iter().all(|key| other.get(key) == item.get(key));
    let old = old?.as_array()?;
    old.get(index).filter(same).or_else(|| old.iter().find(same))
}

/// Whether a value is none that has others in it, and unchanged.
pub(crate) fn is_same_scalar(new: &Value, old: &Value) -> bool {
    match (new, old) {
        (Value::String(new), Value::String(old)) => new == old,
        (Value::Object(_) | Value::Array(_), _) => false,
        _ => new == old,
    }
}

/// Whether a value counts as unchanged (`CachedDeepEqual`): elements of `map` lists may have moved, and an object with
/// fields that the schema does not know never is.
pub(crate) fn is_same(new: &Value, old: &Value, schema: &Structural) -> bool {
    match (new, old) {
        (Value::Object(fields), Value::Object(before)) => {
            fields.len() == before.len()
                && schema.along(fields.iter()).zip(before).all(|((name, value, property), (was, old))| {
                    let property = property.or_else(|| schema.additional());
                    name == was && property.is_some_and(|schema| is_same(value, old, schema))
                })
        }
        (Value::Array(items), Value::Array(before)) if schema.list_type == ListType::Map => {
            let Some(inner) = &schema.items else { return new == old };
            items.len() == before.len()
                && items.iter().enumerate().all(|(index, item)| {
                    element(Some(old), schema, index, item).is_some_and(|old| is_same(item, old, inner))
                })
        }
        _ => new == old,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(schema: &Value, new: &Value, old: &Value, same: bool) {
        assert_eq!(is_same(new, old, &Structural::read(schema)), same, "{new} {old}");
    }

    #[test]
    fn elements_of_map_lists_may_move_and_others_may_not() {
        let item =
            json!({"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "string"}}});
        let mut schema = json!({"type": "array", "items": item});
        let (old, moved) =
            (json!([{"k": "a"}, {"k": "b", "v": "x"}]), json!([{"k": "b", "v": "x"}, {"k": "a"}]));
        check(&schema, &moved, &old, false);
        check(&schema, &old, &old, true);
        schema["x-kubernetes-list-type"] = json!("map");
        schema["x-kubernetes-list-map-keys"] = json!(["k"]);
        check(&schema, &moved, &old, true);
        check(&schema, &json!([{"k": "b"}, {"k": "a"}]), &old, false);
        check(&schema, &json!([{"k": "a"}]), &old, false);
    }

    #[test]
    fn what_has_fields_that_the_schema_does_not_know_is_never_the_same() {
        let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true,
            "properties": {"a": {"type": "string"}}});
        check(&schema, &json!({"a": "x"}), &json!({"a": "x"}), true);
        check(&schema, &json!({"a": "x", "b": 1}), &json!({"a": "x", "b": 1}), false);
        let map = json!({"type": "object", "additionalProperties": {"type": "string"}});
        check(&map, &json!({"a": "x", "b": "y"}), &json!({"b": "y", "a": "x"}), true);
    }
}
