//! A minimal deletion for actor tests, with grace periods of pods and finalizers.

use jiff::SignedDuration;
use serde_json::{Value, json};
use windtunnel_core::clock::{Time, rfc3339};
use windtunnel_core::{DeleteOptions, Object, Propagation, Write, resources};

/// The object with its deletion timestamp; `None` if it is removed at once.
pub(super) fn delete(write: &Write, old: &Object, options: &DeleteOptions, now: Time) -> Option<Value> {
    let mut value = old.to_value();
    let metadata = &mut value["metadata"];
    let mut finalizers = old.list("/metadata/finalizers").to_vec();
    let is_policy = |name: &Value| *name == "foregroundDeletion" || *name == "orphan";
    let orphans = write.resource == resources::JOBS && !finalizers.iter().any(is_policy);
    if let Some(policy) = options.propagation.or(orphans.then_some(Propagation::Orphan)) {
        finalizers.retain(|name| !is_policy(name));
        match policy {
            Propagation::Background => {}
            Propagation::Foreground => finalizers.push(json!("foregroundDeletion")),
            Propagation::Orphan => finalizers.push(json!("orphan")),
        }
    }
    let is_pod = write.resource == resources::PODS;
    let own = old.number("/spec/terminationGracePeriodSeconds").unwrap_or(30);
    let grace = if is_pod { options.grace_period_seconds.unwrap_or(own) } else { 0 };
    if grace == 0 && finalizers.is_empty() && !has_spec_finalizers(old) {
        return None;
    }
    if !finalizers.is_empty() {
        metadata["finalizers"] = json!(finalizers);
    } else if let Some(metadata) = metadata.as_object_mut() {
        metadata.remove("finalizers");
    }
    if old.number("/metadata/deletionGracePeriodSeconds").is_none_or(|left| grace < left) {
        metadata["deletionTimestamp"] = json!(rfc3339(now + SignedDuration::from_secs(grace)));
        metadata["deletionGracePeriodSeconds"] = json!(grace);
    }
    Some(value)
}

/// Whether a terminating object can be removed: nothing delays it any longer.
pub(super) fn is_over(value: &Value) -> bool {
    let is_empty = |list: &Value| list.as_array().is_none_or(Vec::is_empty);
    value["metadata"]["deletionTimestamp"].is_string()
        && value["metadata"]["deletionGracePeriodSeconds"] == 0
        && is_empty(&value["metadata"]["finalizers"])
        && !has_spec_finalizers(value)
}

/// Whether the `spec.finalizers` of a namespace delay its removal.
fn has_spec_finalizers(value: &Value) -> bool {
    value["spec"]["finalizers"].as_array().is_some_and(|list| !list.is_empty())
}
