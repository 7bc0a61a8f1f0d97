//! Status conditions as OpenShift writes them: `{type, status, reason, message, lastTransitionTime}`.

use serde_json::{Value, json};

use crate::clock::{Time, rfc3339};
use crate::{member, text_of};

/// A condition without its times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// Its type, such as `Progressing`.
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// A reason in CamelCase; may be empty.
    pub reason: String,
    /// A message for people; may be empty.
    pub message: String,
}

impl Condition {
    /// Creates a condition.
    pub fn new(kind: &str, status: &str, reason: &str, message: impl Into<String>) -> Self {
        Self { kind: kind.into(), status: status.into(), reason: reason.into(), message: message.into() }
    }

    /// Parses an element of a `conditions` list; missing fields become empty.
    pub fn from_value(value: &Value) -> Self {
        let text = |field: &str| text_of(value, field);
        Self::new(text("type"), text("status"), text("reason"), text("message"))
    }
}

/// The type of a condition; empty if it has none. `type` mostly is the last field in the map's order, so it
/// is checked first.
pub fn type_of(condition: &Value) -> &str {
    let last = condition.as_object().and_then(|fields| fields.iter().next_back());
    match last.filter(|(name, _)| *name == "type") {
        Some((_, kind)) => kind.as_str().unwrap_or_default(),
        None => text_of(condition, "type"),
    }
}

/// Finds the first condition of this type in a `conditions` list.
pub fn find<'a>(conditions: &'a [Value], kind: &str) -> Option<&'a Value> {
    conditions.iter().find(|condition| type_of(condition) == kind)
}

/// Finds the first condition of this type in the `status.conditions` of an object.
pub fn find_in_status<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    let status = member(object.as_object()?, "status")?.as_object()?;
    find(member(status, "conditions")?.as_array()?, kind)
}

/// Finds the first condition of this type in the `status.conditions` of an object, if it has this status.
pub fn find_with_status<'a>(object: &'a Value, kind: &str, status: &str) -> Option<&'a Value> {
    find_in_status(object, kind).filter(|condition| text_of(condition, "status") == status)
}

/// Whether the first condition of this type in `status.conditions` has this status.
pub fn has_status(object: &Value, kind: &str, status: &str) -> bool {
    find_with_status(object, kind, status).is_some()
}

/// Whether `status.conditions` has a condition of this type with status `True`.
pub fn is_true(object: &Value, kind: &str) -> bool {
    has_status(object, kind, "True")
}

/// Whether a `conditions` list has a condition of this type with status `True`.
pub fn is_true_in(conditions: &[Value], kind: &str) -> bool {
    find(conditions, kind).is_some_and(|condition| text_of(condition, "status") == "True")
}

/// Sets a condition in a list like OpenShift's `SetOperatorStatusCondition`: keeps the order of the list,
/// appends new types, and changes `lastTransitionTime` only if the status changes. Omits an empty reason or
/// message, as `omitempty` does.
pub fn set(conditions: &mut Vec<Value>, condition: &Condition, now: Time) {
    let known = find(conditions, &condition.kind);
    if known.is_some_and(|known| is_entry(known, condition)) {
        return;
    }
    let mut entry =
        json!({ "type": condition.kind, "status": condition.status, "lastTransitionTime": rfc3339(now) });
    for (field, text) in [("reason", &condition.reason), ("message", &condition.message)] {
        if !text.is_empty() {
            entry[field] = json!(text);
        }
    }
    match conditions.iter_mut().find(|old| type_of(old) == condition.kind) {
        Some(old) => {
            if old["status"] == entry["status"] {
                entry["lastTransitionTime"] = old["lastTransitionTime"].clone();
            }
            *old = entry;
        }
        None => conditions.push(entry),
    }
}

/// Whether an entry equals this condition, except for `lastTransitionTime`. Null fields count as absent; pods
/// mostly have a null `lastProbeTime`.
fn is_entry(entry: &Value, condition: &Condition) -> bool {
    let texts = [&condition.reason, &condition.message].into_iter().filter(|text| !text.is_empty());
    entry.as_object().is_some_and(|fields| {
        fields.values().filter(|value| !value.is_null()).count() == 3 + texts.count()
            && fields.get("lastTransitionTime").is_some_and(|time| !time.is_null())
            && text_of(entry, "status") == condition.status
            && text_of(entry, "reason") == condition.reason
            && text_of(entry, "message") == condition.message
    })
}

/// Restores `lastTransitionTime` of each condition that has the same status as in `before`, even if the
/// status changed and changed back in the meantime.
pub fn keep_transitions(conditions: &mut Value, before: &Value) {
    for condition in conditions.as_array_mut().into_iter().flatten() {
        let kind = type_of(condition);
        let old = before.as_array().and_then(|list| find(list, kind));
        if let Some(old) = old.filter(|old| old["status"] == condition["status"]) {
            condition["lastTransitionTime"] = old["lastTransitionTime"].clone();
        }
    }
}

/// Removes the condition of this type.
pub fn remove(conditions: &mut Vec<Value>, kind: &str) {
    conditions.retain(|condition| type_of(condition) != kind);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_does_not_change_an_equal_entry() {
        let now = "2024-01-01T00:10:00Z".parse::<Time>().unwrap();
        let old = json!({ "type": "Ready", "status": "True", "lastTransitionTime": "2024-01-01T00:00:00Z" });
        let is_unchanged_with = |field: &str, value: Value| {
            let mut entry = old.clone();
            entry[field] = value;
            let mut list = vec![entry.clone()];
            set(&mut list, &Condition::new("Ready", "True", "", ""), now);
            list == [entry]
        };
        assert!(is_unchanged_with("lastProbeTime", Value::Null), "a null field counts as missing");
        assert!(!is_unchanged_with("lastProbeTime", json!("2024-01-01T00:00:00Z")));
        assert!(!is_unchanged_with("message", json!("well")));
    }

    #[test]
    fn a_new_message_keeps_the_transition_time_and_a_new_status_changes_it() {
        let at = |text: &str| text.parse::<Time>().unwrap();
        let mut list = Vec::new();
        set(&mut list, &Condition::new("Progressing", "True", "", "10%"), at("2024-01-01T00:00:00Z"));
        set(&mut list, &Condition::new("Progressing", "True", "", "20%"), at("2024-01-01T00:10:00Z"));
        assert_eq!(list[0]["lastTransitionTime"], "2024-01-01T00:00:00Z");
        set(&mut list, &Condition::new("Progressing", "False", "", "done"), at("2024-01-01T00:20:00Z"));
        assert_eq!(list[0]["lastTransitionTime"], "2024-01-01T00:20:00Z");
        assert_eq!(list.len(), 1);
        let before = serde_json::json!(list);
        for (status, since) in [("True", "2024-01-01T00:30:00Z"), ("False", "2024-01-01T00:20:00Z")] {
            set(&mut list, &Condition::new("Progressing", "True", "", ""), at("2024-01-01T00:30:00Z"));
            set(&mut list, &Condition::new("Progressing", status, "", ""), at("2024-01-01T00:30:00Z"));
            let mut after = serde_json::json!(list);
            keep_transitions(&mut after, &before);
            assert_eq!(after[0]["lastTransitionTime"], since, "{status}");
        }
    }
}
