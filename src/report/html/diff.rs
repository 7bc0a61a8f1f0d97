//! The field-by-field difference between two states of an object.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

/// The maximum number of lines; the last line counts the rest.
const LINES_MAX: usize = 40;

/// The maximum number of lines for a new object.
const LINES_OF_NEW: usize = 15;

/// The maximum length of a value, in characters.
const VALUE_MAX: usize = 160;

/// Fields that change with every write, or contain the writer or the leader.
const QUIET: &[&str] = &[
    "metadata.resourceVersion",
    "metadata.generation",
    "metadata.managedFields",
    "metadata.annotations.control-plane.alpha.kubernetes.io/leader",
];

/// Names of fields that say no more than the time of the event, or are random.
const QUIET_NAMES: &[&str] = &[
    "acquiredAt",
    "containerID",
    "creationTimestamp",
    "lastHeartbeatTime",
    "lastProbeTime",
    "lastTransitionTime",
    "lastUpdateTime",
    "uid",
];

/// A field: its path, and its values before and after; an empty value means that the field was absent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Line(pub(super) String, pub(super) String, pub(super) String);

/// Returns the fields that differ between two states, in order of their paths; null is an absent object. List
/// items are identified by type, name, key or uid if possible.
pub(super) fn between(before: &Value, after: &Value) -> Vec<Line> {
    let mut lines = Vec::new();
    if !after.is_null() {
        collect(before, after, "", &mut lines);
    }
    let max = if before.is_null() { LINES_OF_NEW } else { LINES_MAX };
    let more = lines.len().saturating_sub(max);
    lines.truncate(max);
    if more > 0 {
        lines.push(Line("...".to_owned(), String::new(), format!("{more} more")));
    }
    lines
}

fn collect(before: &Value, after: &Value, path: &str, into: &mut Vec<Line>) {
    const NOTHING: &Value = &Value::Null;
    let name = path.rsplit('.').next().unwrap_or_default();
    if before == after || QUIET.contains(&path) || QUIET_NAMES.contains(&name) {
        return;
    }
    let (old, new) = (named(before), named(after));
    let (old, new) = match (old, new) {
        (Some(old), Some(new)) => (old, new),
        (None, Some(new)) if before.is_null() => (BTreeMap::new(), new),
        _ => {
            let (old, new) = (text(before), text(after));
            let (old, new) = without_same_lines(&old, &new);
            into.push(Line(path.to_owned(), cut(old), cut(new)));
            return;
        }
    };
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    for name in names {
        let (old, new) = (old.get(name).unwrap_or(&NOTHING), new.get(name).unwrap_or(&NOTHING));
        let dot = if path.is_empty() || name.starts_with('[') { "" } else { "." };
        collect(old, new, &format!("{path}{dot}{name}"), into);
    }
}

/// The fields that can identify list items, if every item has a different value.
const NAMES: [&str; 4] = ["type", "name", "key", "uid"];

/// Returns the fields of an object, or the items of a list with identifiers; `None` for anything else.
fn named(value: &Value) -> Option<BTreeMap<String, &Value>> {
    match value {
        Value::Object(fields) => Some(fields.iter().map(|(name, value)| (name.clone(), value)).collect()),
        Value::Array(items) if !items.is_empty() => NAMES.iter().find_map(|field| {
            let name = |item: &Value| item.get(field)?.as_str().map(|name| format!("[{name}]"));
            let named: Option<BTreeMap<_, _>> = items.iter().map(|item| Some((name(item)?, item))).collect();
            named.filter(|named| named.len() == items.len())
        }),
        _ => None,
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Removes the common first and last lines of two multi-line texts.
fn without_same_lines(old: &str, new: &str) -> (String, String) {
    let (mut old_lines, mut new_lines): (Vec<&str>, Vec<&str>) =
        (old.lines().collect(), new.lines().collect());
    if old_lines.len() < 2 || new_lines.len() < 2 {
        return (old.to_owned(), new.to_owned());
    }
    let same = old_lines.iter().zip(&new_lines).take_while(|(old, new)| old == new).count();
    old_lines.drain(..same);
    new_lines.drain(..same);
    while !old_lines.is_empty() && old_lines.last() == new_lines.last() {
        old_lines.pop();
        new_lines.pop();
    }
    (old_lines.join("\n"), new_lines.join("\n"))
}

fn cut(text: String) -> String {
    match text.char_indices().nth(VALUE_MAX) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;

    fn check(before: &Value, after: &Value, expected: &[(&str, &str, &str)]) {
        let lines = between(before, after);
        let lines: Vec<_> = lines.iter().map(|line| (&*line.0, &*line.1, &*line.2)).collect();
        assert_eq!(lines, expected);
    }

    #[test]
    fn reports_fields_and_named_items_by_path() {
        let object = |version: &str, status: &str| {
            json!({
                "metadata": {"resourceVersion": version},
                "status": {"conditions": [{"type": "A", "status": "True"}, {"type": "B", "status": status}]},
            })
        };
        check(
            &object("1", "True"),
            &object("2", "False"),
            &[("status.conditions[B].status", "True", "False")],
        );
        check(
            &json!({"a": 1, "l": [1]}),
            &json!({"b": "x", "l": [1, 2]}),
            &[("a", "1", ""), ("b", "", "x"), ("l", "[1]", "[1,2]")],
        );
        let insights =
            |state: &str| json!([{"uid": "a", "type": "Node"}, {"uid": "b", "type": "Node", "is": state}]);
        check(&insights("x"), &insights("y"), &[("[b].is", "x", "y")]);
        check(&json!({"c": {"lastTransitionTime": "1"}}), &json!({"c": {"lastTransitionTime": "2"}}), &[]);
        check(&json!({"a": 1}), &Value::Null, &[]);
        check(&Value::Null, &json!({"a": {"b": true}}), &[("a.b", "", "true")]);
    }

    #[test]
    fn reports_only_different_lines_of_long_texts() {
        check(&json!({"d": "a\nb\nc\n"}), &json!({"d": "a\nx\ny\nc\n"}), &[("d", "b", "x\ny")]);
        let lines = between(&json!({"d": ""}), &json!({"d": "ä".repeat(VALUE_MAX + 1)}));
        assert_eq!(lines[0].2.chars().count(), VALUE_MAX + 3);
    }

    #[test]
    fn counts_the_lines_beyond_the_maximum() {
        let many = |value: u64| (0..50).map(|n| (n.to_string(), json!(value))).collect::<Map<_, _>>();
        let lines = between(&Value::Object(many(1)), &Value::Object(many(2)));
        assert_eq!((lines.len(), &*lines[LINES_MAX].2), (LINES_MAX + 1, "10 more"));
        assert_eq!(between(&Value::Null, &Value::Object(many(2))).len(), LINES_OF_NEW + 1);
    }
}
