//! The fields in which two objects differ.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::plan::FieldPath;

/// A field that differs. A missing value is null.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::engine) struct Difference {
    pub(in crate::engine) field: FieldPath,
    pub(in crate::engine) before: Value,
    pub(in crate::engine) after: Value,
}

/// The fields that identify items of lists in Kubernetes, the most common first.
const NAMES: [&str; 5] = ["name", "type", "key", "operator", "mountPath"];

/// Returns the smallest fields in which two objects differ, in order of their paths. Items of lists are compared by
/// their names, if all have different ones, and conditions as a whole.
pub(in crate::engine) fn differences(before: &Value, after: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    compare(before, after, &FieldPath::default(), &mut found);
    found
}

fn compare(before: &Value, after: &Value, field: &FieldPath, found: &mut Vec<Difference>) {
    match (before, after) {
        _ if before == after => {}
        _ if is_condition(before) && is_condition(after) => found.push(difference(before, after, field)),
        (Value::Object(one), Value::Object(other)) => {
            let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
            for name in names {
                let value = |fields: &serde_json::Map<String, Value>| {
                    fields.get(name).cloned().unwrap_or(Value::Null)
                };
                compare(&value(one), &value(other), &field.member(name), found);
            }
        }
        (Value::Array(one), Value::Array(other)) => match (named(one), named(other)) {
            (Some(one), Some(other)) => {
                let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
                for name in names {
                    let value = |items: &BTreeMap<String, &Value>| {
                        items.get(name).map_or(Value::Null, |item| (*item).clone())
                    };
                    compare(&value(&one), &value(&other), &field.item(name), found);
                }
            }
            _ if one.len() == other.len() && one.iter().any(Value::is_object) => {
                for (index, (one, other)) in one.iter().zip(other).enumerate() {
                    compare(one, other, &field.item(&index.to_string()), found);
                }
            }
            _ => found.push(difference(before, after, field)),
        },
        _ => found.push(difference(before, after, field)),
    }
}

/// Whether a value is a condition, which is compared as a whole.
pub(super) fn is_condition(value: &Value) -> bool {
    ["type", "status"].iter().all(|field| value[*field].is_string())
}

fn difference(before: &Value, after: &Value, field: &FieldPath) -> Difference {
    Difference { field: field.clone(), before: before.clone(), after: after.clone() }
}

/// The items of a list by their names; `None` if some have no name, or the same.
fn named(list: &[Value]) -> Option<BTreeMap<String, &Value>> {
    NAMES.iter().find_map(|field| {
        let names = list.iter().map(|item| item[*field].as_str().map(|name| (name.to_owned(), item)));
        let named: BTreeMap<String, &Value> = names.collect::<Option<_>>()?;
        (named.len() == list.len() && !list.is_empty()).then_some(named)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(before: &Value, after: &Value, expected: &[&str]) {
        let found: Vec<String> = differences(before, after)
            .iter()
            .map(|found| format!("{}: {} -> {}", found.field, found.before, found.after))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn the_smallest_differing_fields_are_found() {
        check(
            &json!({ "a": 1, "b": { "c": 1, "d": 2 }, "same": [1] }),
            &json!({ "b": { "c": 1, "d": 3 }, "same": [1], "e": "x" }),
            &["a: 1 -> null", "b.d: 2 -> 3", "e: null -> \"x\""],
        );
    }

    #[test]
    fn items_of_lists_are_compared_by_name_or_position() {
        check(
            &json!({ "conditions": [{ "type": "A", "status": "True" }] }),
            &json!({ "conditions": [{ "type": "B" }, { "type": "A", "status": "False" }] }),
            &[
                r#"conditions[A]: {"status":"True","type":"A"} -> {"status":"False","type":"A"}"#,
                r#"conditions[B]: null -> {"type":"B"}"#,
            ],
        );
        check(
            &json!({ "history": [{ "state": "x" }, { "state": "y" }], "names": ["a", "b"] }),
            &json!({ "history": [{ "state": "x" }, { "state": "z" }], "names": ["a", "c"] }),
            &["history[1].state: \"y\" -> \"z\"", "names: [\"a\",\"b\"] -> [\"a\",\"c\"]"],
        );
    }
}
