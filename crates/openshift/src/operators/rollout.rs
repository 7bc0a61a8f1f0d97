//! A rollout in the status of a ClusterOperator.

use serde_json::Value;
use windtunnel_core::Object;
use windtunnel_core::clock::{Time, parse_rfc3339};
use windtunnel_core::condition::{self, Condition};

use super::health::{self, WORKING_TOWARDS};
use super::reported_version;

/// Target and start of the rollout in the `ClusterOperator`'s status.
pub(super) fn rollout_in(object: &Object) -> Option<(&str, Time)> {
    let progressing = condition::find_with_status(object, "Progressing", "True")?;
    let target = health::target_in(progressing["message"].as_str()?)?;
    Some((target, progressing["lastTransitionTime"].as_str().and_then(parse_rfc3339)?))
}

/// The object during a rollout.
pub(super) fn progress(object: &Object, version: &str, now: Time) -> Value {
    let mut value = object.to_value();
    let progressing =
        Condition::new("Progressing", "True", "Progressing", format!("{WORKING_TOWARDS}{version}"));
    // An operator that was never deployed has no Available condition until its rollout completes.
    let others: &[(&str, &str)] = match reported_version(object) {
        Some(_) => &[("Available", "True"), ("Degraded", "False")],
        None => &[("Degraded", "False")],
    };
    set_conditions(&mut value, &progressing, others, now);
    value
}

/// Sets `progressing`, and the other conditions if they are missing.
pub(super) fn set_conditions(value: &mut Value, progressing: &Condition, others: &[(&str, &str)], now: Time) {
    let mut list = value["status"]["conditions"].as_array().cloned().unwrap_or_default();
    condition::set(&mut list, progressing, now);
    for (kind, status) in others.iter().chain(&[("Upgradeable", "True")]) {
        if condition::find(&list, kind).is_none() {
            condition::set(&mut list, &Condition::new(kind, status, health::WELL, health::WELL_MESSAGE), now);
        }
    }
    value["status"]["conditions"] = Value::Array(list);
}
