//! The difference of two JSON values as an RFC 7386 merge patch.

use std::cmp::Ordering;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

/// What a merge patch says of a value. It borrows from the states that it leads between, so that it can be written down
/// without a copy of either.
#[derive(Debug)]
pub enum Patch<'v> {
    /// It is removed.
    Gone,
    /// It becomes this.
    Set(&'v Value),
    /// These of its fields change, in their order.
    Fields(Vec<(&'v str, Patch<'v>)>),
}

impl<'v> Patch<'v> {
    /// The merge patch that makes `after` of `before`; without fields where they are the same. `None` where no merge patch can:
    /// it cannot set a field to null, nor change a value that is no object.
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

/// The merge patch that makes `after` of `before` ([`Patch::between`]) as a value of its own.
pub fn between(before: &Value, after: &Value) -> Option<Value> {
    Patch::between(before, after).map(|patch| patch.to_value())
}

/// Goes through both at once: their fields stand in the same order.
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

/// Whether a new value holds a null that a merge patch would take for "remove". Lists are taken over as they are.
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
        fn a_patch_makes_the_one_of_the_other(before in object(), after in object()) {
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
    fn fields_before_between_and_after_the_others_come_and_go() {
        let before = json!({"a": 1, "c": {"x": 1, "y": {"z": null}}, "e": 1, "f": 1});
        let after = json!({"b": 2, "c": {"y": {"z": null}}, "d": [null], "e": 1});
        let expected = json!({"a": null, "b": 2, "c": {"x": null}, "d": [null], "f": null});
        assert_eq!(between(&before, &after), Some(expected));
        assert_eq!(between(&json!({}), &json!({"a": {"b": null}})), None);
        assert_eq!(between(&json!([]), &json!({})), None);
    }
}
