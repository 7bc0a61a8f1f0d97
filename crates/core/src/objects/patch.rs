//! Differences of two JSON values as RFC 7386 merge patches.

use std::cmp::Ordering;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

/// A merge patch of a value. It borrows from the two compared states, so it can be serialized without copying
/// either.
#[derive(Debug)]
pub enum Patch<'v> {
    /// The value is removed.
    Gone,
    /// The value is replaced.
    Set(&'v Value),
    /// Some fields change, in the order of the map.
    Fields(Vec<(&'v str, Patch<'v>)>),
}

impl<'v> Patch<'v> {
    /// The merge patch from `before` to `after`; without fields if they are equal. `None` if no merge patch
    /// can express the change: it cannot set a field to null, and cannot change a value that is not an
    /// object.
    pub fn between(before: &'v Value, after: &'v Value) -> Option<Self> {
        let (Value::Object(before), Value::Object(after)) = (before, after) else { return None };
        fields_between(before, after).map(Self::Fields)
    }

    fn to_value(&self) -> Value {
        match self {
            Self::Gone => Value::Null,
            Self::Set(value) => (*value).clone(),
            Self::Fields(fields) => {
                fields.iter().map(|(field, patch)| ((*field).to_owned(), patch.to_value())).collect()
            }
        }
    }
}

impl Serialize for Patch<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Gone => serializer.serialize_unit(),
            Self::Set(value) => value.serialize(serializer),
            Self::Fields(fields) => {
                serializer.collect_map(fields.iter().map(|(field, patch)| (field, patch)))
            }
        }
    }
}

/// The merge patch from `before` to `after` as JSON ([`Patch::between`]).
pub fn between(before: &Value, after: &Value) -> Option<Value> {
    Patch::between(before, after).map(|patch| patch.to_value())
}

/// Walks both maps in parallel, as their fields have the same order.
fn fields_between<'v>(
    before: &'v Map<String, Value>,
    after: &'v Map<String, Value>,
) -> Option<Vec<(&'v str, Patch<'v>)>> {
    let mut patch = Vec::new();
    let mut olds = before.iter().peekable();
    for (field, new) in after {
        let old = loop {
            match olds.peek().map(|(known, _)| known.as_str().cmp(field)) {
                Some(Ordering::Less) => {
                    patch.extend(olds.next().map(|(gone, _)| (gone.as_str(), Patch::Gone)));
                }
                Some(Ordering::Equal) => break olds.next().map(|(_, old)| old),
                Some(Ordering::Greater) | None => break None,
            }
        };
        match (old, new) {
            (Some(Value::Object(old)), Value::Object(new)) => {
                let inner = fields_between(old, new)?;
                if !inner.is_empty() {
                    patch.push((field.as_str(), Patch::Fields(inner)));
                }
            }
            (Some(old), new) if old == new => {}
            _ if sets_null(new) => return None,
            _ => patch.push((field.as_str(), Patch::Set(new))),
        }
    }
    patch.extend(olds.map(|(gone, _)| (gone.as_str(), Patch::Gone)));
    Some(patch)
}

/// Whether a new value contains a null that a merge patch would interpret as removal. Nulls in lists are
/// kept.
fn sets_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(fields) => fields.values().any(sets_null),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn value() -> impl Strategy<Value = Value> {
        let leaf =
            prop_oneof![Just(Value::Null), any::<bool>().prop_map(Value::from), (0..3).prop_map(Value::from)];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map("[a-d]", inner, 0..4).prop_map(|map| map.into_iter().collect()),
            ]
        })
    }

    fn object() -> impl Strategy<Value = Value> {
        prop::collection::btree_map("[a-d]", value(), 0..5).prop_map(|map| map.into_iter().collect())
    }

    proptest! {
        #[test]
        fn a_patch_turns_the_first_object_into_the_second(before in object(), after in object()) {
            if let Some(patch) = between(&before, &after) {
                prop_assert_eq!(patch == json!({}), before == after);
                let text = serde_json::to_string(&Patch::between(&before, &after)).unwrap();
                prop_assert_eq!(text, patch.to_string());
                let mut patched = before;
                json_patch::merge(&mut patched, &patch);
                prop_assert_eq!(patched, after);
            } else {
                prop_assert!(sets_null(&after));
            }
        }
    }

    #[test]
    fn handles_added_and_removed_fields_at_every_position() {
        let before = json!({"a": 1, "c": {"x": 1, "y": {"z": null}}, "e": 1, "f": 1});
        let after = json!({"b": 2, "c": {"y": {"z": null}}, "d": [null], "e": 1});
        let expected = json!({"a": null, "b": 2, "c": {"x": null}, "d": [null], "f": null});
        assert_eq!(between(&before, &after), Some(expected));
        assert_eq!(between(&json!({}), &json!({"a": {"b": null}})), None);
        assert_eq!(between(&json!([]), &json!({})), None);
    }
}
