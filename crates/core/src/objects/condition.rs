//! Conditions as OpenShift writes them: a list of `{type, status, reason, message, lastTransitionTime}`.

use serde_json::{Value, json};

use crate::clock::{Time, rfc3339};
use crate::{member, text_of};

/// What a condition says, without its times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// Such as `Progressing`.
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// One word; may be empty.
    pub reason: String,
    /// A sentence; may be empty.
    pub message: String,
}

impl Condition {
    /// A condition.
    pub fn new(kind: &str, status: &str, reason: &str, message: impl Into<String>) -> Self {
        Self { kind: kind.into(), status: status.into(), reason: reason.into(), message: message.into() }
    }

    /// Reads one element of a `conditions` list; missing fields are empty.
    pub fn read(value: &Value) -> Self {
        let text = |field: &str| text_of(value, field);
        Self::new(text("type"), text("status"), text("reason"), text("message"))
    }
}

/// The type of a condition; empty where it has none. By order of names it comes last, so that is looked at first.
pub fn type_of(condition: &Value) -> &str {
    let last = condition.as_object().and_then(|fields| fields.iter().next_back());
    match last.filter(|(name, _)| *name == "type") {
        Some((_, kind)) => kind.as_str().unwrap_or_default(),
        None => text_of(condition, "type"),
    }
}

/// The first condition of this type in a `conditions` list.
pub fn find<'a>(conditions: &'a [Value], kind: &str) -> Option<&'a Value> {
    conditions.iter().find(|condition| type_of(condition) == kind)
}

/// The first condition of this type in `status.conditions` of an object.
pub fn of<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    let status = member(object.as_object()?, "status")?.as_object()?;
    find(member(status, "conditions")?.as_array()?, kind)
}

/// Whether `status.conditions` has this type with status `True`.
pub fn is_true(object: &Value, kind: &str) -> bool {
    of(object, kind).is_some_and(|condition| text_of(condition, "status") == "True")
}

/// Puts a condition into a list by OpenShift's rule (`SetOperatorStatusCondition`): the order of the list is kept, a
/// new type goes last, and `lastTransitionTime` moves only when the status changes. Empty reason and message are left
/// out, as `omitempty` does.
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

/// Whether an entry of a list says this condition and nothing else, whenever that became so. What is null says nothing, as
/// `lastProbeTime` of pods mostly is.
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

/// Gives conditions that have the status which they had `before` their transition times back, however often they were set since.
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
    fn an_entry_that_says_it_already_stays_as_it_is() {
        let now = "2024-01-01T00:10:00Z".parse::<Time>().unwrap();
        let said = json!({ "type": "Ready", "status": "True", "lastTransitionTime": "2024-01-01T00:00:00Z" });
        let set_again = |field: &str, value: Value| {
            let mut entry = said.clone();
            entry[field] = value;
            let mut list = vec![entry.clone()];
            set(&mut list, &Condition::new("Ready", "True", "", ""), now);
            list == [entry]
        };
        assert!(set_again("lastProbeTime", Value::Null), "what is null says nothing");
        assert!(!set_again("lastProbeTime", json!("2024-01-01T00:00:00Z")));
        assert!(!set_again("message", json!("well")));
    }

    #[test]
    fn a_new_message_keeps_the_transition_time_and_a_new_status_moves_it() {
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
