//! Certificate signing requests: their requester, and the times of their conditions.

use serde_json::{Value, json};
use windtunnel_core::Identity;
use windtunnel_core::clock::{Time, rfc3339};

/// The requester of a certificate is the user of the request, not a field of the object.
pub(super) fn prepare_create(object: &mut Value, user: &Identity) {
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else { return };
    for field in ["uid", "extra"] {
        spec.remove(field);
    }
    spec.insert("username".to_owned(), json!(user.user));
    if !user.uid.is_empty() {
        spec.insert("uid".to_owned(), json!(user.uid));
    }
    if !user.extra.is_empty() {
        spec.insert("extra".to_owned(), json!(user.extra));
    }
    let mut groups = user.groups.clone();
    if !groups.iter().any(|group| group == "system:authenticated") {
        groups.push("system:authenticated".to_owned());
    }
    spec.insert("groups".to_owned(), json!(groups));
}

/// A write of the status keeps the conditions that approve and deny, if it has as many of them
/// (`preserveConditionInstances`).
pub(super) fn keep_decisions(object: &mut Value, old: &Value) {
    for kind in ["Approved", "Denied"] {
        let before: Vec<Value> = conditions(old).filter(|one| one["type"] == kind).cloned().collect();
        if conditions(object).filter(|one| one["type"] == kind).count() != before.len() {
            continue;
        }
        let list = object.pointer_mut("/status/conditions").and_then(Value::as_array_mut);
        let now = list.into_iter().flatten();
        for (place, condition) in now.filter(|one| one["type"] == kind).zip(before) {
            *place = condition;
        }
    }
}

/// Sets the missing times of conditions (`populateConditionTimestamps`).
pub(super) fn set_times(object: &mut Value, old: &Value, now: Time) {
    let Some(list) = object.pointer_mut("/status/conditions").and_then(Value::as_array_mut) else { return };
    for condition in list {
        if condition["lastUpdateTime"].is_null() {
            condition["lastUpdateTime"] = json!(rfc3339(now));
        }
        if condition["lastTransitionTime"].is_null() {
            let same = conditions(old).find(|one| {
                one["type"] == condition["type"]
                    && one["status"] == condition["status"]
                    && !one["lastTransitionTime"].is_null()
            });
            condition["lastTransitionTime"] = match same {
                Some(same) => same["lastTransitionTime"].clone(),
                None => json!(rfc3339(now)),
            };
        }
    }
}

fn conditions(request: &Value) -> impl Iterator<Item = &Value> {
    request["status"]["conditions"].as_array().into_iter().flatten()
}
