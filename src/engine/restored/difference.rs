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

/// The fields of a Secret with its values, or a copy of them.
const SECRET_FIELDS: [&str; 3] =
    ["data", "stringData", "metadata.annotations[\"kubectl.kubernetes.io/last-applied-configuration\"]"];
/// The text in place of a value of a Secret.
const HIDDEN: &str = "REDACTED";

/// Returns the smallest fields in which two objects of a kind differ, in order of their paths. Items of lists are compared
/// by their names, if all have different ones, and conditions as a whole. The values of Secrets are hidden.
pub(in crate::engine) fn differences(kind: &str, before: &Value, after: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    compare(before, after, &FieldPath::default(), &mut found);
    if kind == "Secret" {
        found.iter_mut().for_each(Difference::hide);
    }
    found
}

impl Difference {
    /// Hides the values of a field of a Secret.
    fn hide(&mut self) {
        let outer = SECRET_FIELDS.iter().filter_map(|field| FieldPath::parse(field).ok());
        if outer.into_iter().any(|outer| self.field.is_in(&outer)) {
            [&mut self.before, &mut self.after].into_iter().for_each(hide);
        }
    }

    /// Whether one of the values is hidden.
    pub(in crate::engine) fn hides_a_value(&self) -> bool {
        [&self.before, &self.after].into_iter().any(|value| value.to_string().contains(HIDDEN))
    }

    /// Whether both values are hidden.
    pub(in crate::engine) fn is_hidden(&self) -> bool {
        is_hidden(&self.before, &self.after)
    }
}

/// Hides a value with all values in it. The names of fields stay.
fn hide(value: &mut Value) {
    match value {
        Value::Null => {}
        Value::Object(fields) => fields.values_mut().for_each(hide),
        other => *other = Value::from(HIDDEN),
    }
}

/// Whether the two values of a difference are hidden: otherwise they are not equal.
pub(super) fn is_hidden(before: &Value, after: &Value) -> bool {
    before == after && !before.is_null()
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
        let found: Vec<String> = differences("ConfigMap", before, after)
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
    fn values_of_secrets_are_hidden_and_their_names_are_not() {
        let applied = "kubectl.kubernetes.io/last-applied-configuration";
        let secret = |value: &str| {
            json!({
                "metadata": { "annotations": { (applied): value, "note": value } },
                "data": { "token": value, (value): "x" },
                "type": value,
            })
        };
        let found = differences("Secret", &secret("one"), &secret("two"));
        let found: Vec<String> =
            found.iter().map(|one| format!("{}: {} -> {}", one.field, one.before, one.after)).collect();
        let expected = [
            r#"data.one: "REDACTED" -> null"#,
            r#"data.token: "REDACTED" -> "REDACTED""#,
            r#"data.two: null -> "REDACTED""#,
            r#"metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"]: "REDACTED" -> "REDACTED""#,
            r#"metadata.annotations.note: "one" -> "two""#,
            r#"type: "one" -> "two""#,
        ];
        assert_eq!(found, expected);
        let whole = differences("Secret", &json!({}), &json!({ "data": { "token": "one" } }));
        assert_eq!(whole[0].after, json!({ "token": "REDACTED" }));
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
