//! Finds the part of the stored object that a value is compared with (`CRDValidationRatcheting`).
//!
//! Properties correlate by name, elements of `map` lists by their keys, other elements not at all.

use std::collections::BTreeMap;
use std::iter::Peekable;

use serde_json::Value;
use serde_json::map::Iter;

use super::structural::{ListType, Structural};
use crate::delta::Delta;

/// The counterpart of a value in the stored object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StoredCounterpart<'a> {
    pub(crate) value: &'a Value,
    /// The difference between the two, if known.
    delta: Option<&'a Delta>,
    /// Whether it fits the schema, so that unchanged parts need no validation.
    is_checked: bool,
}

impl<'a> From<&'a Value> for StoredCounterpart<'a> {
    fn from(value: &'a Value) -> Self {
        Self { value, delta: None, is_checked: false }
    }
}

impl<'a> StoredCounterpart<'a> {
    /// A counterpart with a known difference.
    pub(crate) fn new(value: &'a Value, delta: &'a Delta) -> Self {
        Self { value, delta: Some(delta), is_checked: false }
    }

    /// A counterpart with a known difference that fits the schema.
    pub(crate) fn checked(value: &'a Value, delta: &'a Delta) -> Self {
        Self { is_checked: true, ..Self::new(value, delta) }
    }

    /// The counterpart of the value at a place of the new map or list.
    fn inner(self, place: usize, value: &'a Value) -> Self {
        // Nothing is known about the parts of a replaced value.
        let delta = self.delta.filter(|delta| **delta != Delta::Other).map(|delta| delta.inner(place));
        Self { value, delta, ..self }
    }

    /// Whether the value is known to be unchanged.
    fn is_known_same(self) -> bool {
        self.delta.is_some_and(Delta::is_same)
    }

    /// Whether `new` is equal to it.
    fn is_equal(self, new: &Value) -> bool {
        self.delta.map_or_else(|| new == self.value, Delta::is_same)
    }
}

/// The counterpart of a property.
pub(crate) fn property<'a>(old: Option<&'a Value>, name: &str) -> Option<&'a Value> {
    old?.as_object()?.get(name)
}

/// Finds the counterparts of properties, which must be requested in the order of their names, in a single
/// walk.
pub(crate) struct Counterparts<'a> {
    old: Option<StoredCounterpart<'a>>,
    rest: Option<Peekable<Iter<'a>>>,
}

impl<'a> Counterparts<'a> {
    pub(crate) fn new(old: Option<StoredCounterpart<'a>>) -> Self {
        let map = old.and_then(|old| old.value.as_object());
        Self { old, rest: map.map(|map| map.iter().peekable()) }
    }

    /// Finds the counterpart of the property at a place of the new map. Names must ascend.
    pub(crate) fn find(&mut self, place: usize, name: &str) -> Option<StoredCounterpart<'a>> {
        let rest = self.rest.as_mut()?;
        while let Some((found, value)) = rest.peek().copied() {
            if found == name {
                rest.next();
                return self.old.map(|old| old.inner(place, value));
            }
            if found.as_str() > name {
                return None;
            }
            rest.next();
        }
        None
    }
}

/// Finds the counterparts of the elements of a list.
pub(crate) struct Elements<'a, 's> {
    old: Option<StoredCounterpart<'a>>,
    /// The names of the keys of a `map` list. Elements of other lists have no counterparts.
    keys: Option<&'s [String]>,
    /// The stored elements by their keys, once an element has moved.
    by_keys: Option<BTreeMap<String, &'a Value>>,
}

impl<'a, 's> Elements<'a, 's> {
    pub(crate) fn new(old: Option<StoredCounterpart<'a>>, schema: &'s Structural) -> Self {
        let keys = (schema.list_type == ListType::Map).then_some(&*schema.list_map_keys);
        Self { old, keys, by_keys: None }
    }

    /// The counterpart of the element at `index`. Mostly it has the same index.
    pub(crate) fn find(&mut self, index: usize, item: &Value) -> Option<StoredCounterpart<'a>> {
        let (old, keys) = (self.old?, self.keys?);
        let items = old.value.as_array()?;
        let same = |other: &Value| keys.iter().all(|key| other.get(key) == item.get(key));
        let here = items.get(index).map(|value| old.inner(index, value));
        // An unchanged element has the same keys.
        if let Some(here) = here.filter(|here| here.is_known_same() || same(here.value)) {
            return Some(here);
        }
        let by_keys = self.by_keys.get_or_insert_with(|| {
            // Of several the first counts.
            items.iter().rev().map(|item| (key_text(item, keys), item)).collect()
        });
        by_keys.get(&key_text(item, keys)).copied().map(StoredCounterpart::from)
    }
}

/// The keys of an element as one text, which differs for different keys.
fn key_text(item: &Value, keys: &[String]) -> String {
    let parts = keys.iter().map(|key| item.get(key).map_or_else(String::new, Value::to_string));
    parts.collect::<Vec<_>>().join("\n")
}

/// Whether a value is an unchanged scalar.
pub(crate) fn is_same_scalar(new: &Value, old: StoredCounterpart<'_>) -> bool {
    match (new, old.value) {
        (Value::Object(_) | Value::Array(_), _) => false,
        _ if old.delta.is_some() => old.is_known_same(),
        (Value::String(new), Value::String(old)) => new == old,
        (_, old) => new == old,
    }
}

/// Whether a value counts as unchanged (`CachedDeepEqual`). Elements of `map` lists may move. An object with
/// fields that the schema does not know never counts as unchanged.
pub(crate) fn is_same(new: &Value, old: StoredCounterpart<'_>, schema: &Structural) -> bool {
    if old.is_checked && old.is_known_same() {
        return true;
    }
    // Pruned objects of a closed schema have no unknown fields.
    if old.is_known_same() && schema.is_closed {
        debug_assert!(is_same(new, old.value.into(), schema));
        return true;
    }
    match (new, old.value) {
        (Value::Object(fields), Value::Object(before)) => {
            let mut pairs = schema.along(fields.iter()).zip(before).enumerate();
            fields.len() == before.len()
                && pairs.all(|(place, ((name, value, property), (was, before)))| {
                    let property = property.or_else(|| schema.additional());
                    name == was
                        && property.is_some_and(|schema| is_same(value, old.inner(place, before), schema))
                })
        }
        (Value::Array(items), Value::Array(before)) if schema.list_type == ListType::Map => {
            let Some(inner) = &schema.items else { return old.is_equal(new) };
            let mut elements = Elements::new(Some(old), schema);
            items.len() == before.len()
                && items.iter().enumerate().all(|(index, item)| {
                    elements.find(index, item).is_some_and(|old| is_same(item, old, inner))
                })
        }
        _ => old.is_equal(new),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(schema: &Value, new: &Value, old: &Value, same: bool) {
        let schema = Structural::read(schema);
        assert_eq!(is_same(new, old.into(), &schema), same, "{new} {old}");
        let delta = Delta::between(old, new);
        assert_eq!(is_same(new, StoredCounterpart::new(old, &delta), &schema), same, "{new} {old}");
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
    fn objects_with_unknown_fields_never_count_as_unchanged() {
        let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true,
            "properties": {"a": {"type": "string"}}});
        check(&schema, &json!({"a": "x"}), &json!({"a": "x"}), true);
        check(&schema, &json!({"a": "x", "b": 1}), &json!({"a": "x", "b": 1}), false);
        let map = json!({"type": "object", "additionalProperties": {"type": "string"}});
        check(&map, &json!({"a": "x", "b": "y"}), &json!({"b": "y", "a": "x"}), true);
    }
}
