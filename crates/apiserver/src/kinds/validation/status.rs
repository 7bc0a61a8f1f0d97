//! Validation of status writes.

use serde_json::{Value, json};

use super::{Errors, Path, items, non_negative, text};
use crate::metadata;

/// Accepts every status.
pub(super) fn accept_any(_object: &Value, _old: Option<&Value>, _errors: &mut Errors<'_>) {}

/// Requires the phase `Terminating` during deletion, and `Active` otherwise.
pub(super) fn namespace(object: &Value, _old: Option<&Value>, errors: &mut Errors<'_>) {
    let (wanted, empty) = if metadata::is_terminating(object) {
        ("Terminating", "is not empty")
    } else {
        ("Active", "is empty")
    };
    let phase = text(&object["status"]["phase"]);
    if phase != wanted {
        let why = format!("may only be '{wanted}' if `deletionTimestamp` {empty}");
        errors.invalid(Path::Field(&Path::Field(&Path::Root, "status"), "Phase"), phase, why);
    }
}

/// Requires counts that are not negative and do not exceed others. `limits` pairs a field with its upper
/// bound.
fn counts(object: &Value, fields: &[&str], limits: &[(&str, &str)], errors: &mut Errors<'_>) {
    let at = Path::Field(&Path::Root, "status");
    let status = &object["status"];
    for field in fields {
        non_negative(&status[*field], Path::Field(&at, field), errors);
    }
    let count = |field: &str| status[field].as_i64().unwrap_or(0);
    for (field, limit) in limits {
        if count(field) > count(limit) {
            let why = format!("cannot be greater than {}", limit_name(limit));
            errors.invalid(Path::Field(&at, field), count(field), why);
        }
    }
}

/// The name of a field in the message, as a real server words it.
fn limit_name(limit: &str) -> String {
    if limit == "replicas" { "status.replicas".to_owned() } else { limit.to_owned() }
}

pub(super) fn deployment(object: &Value, _old: Option<&Value>, errors: &mut Errors<'_>) {
    const FIELDS: [&str; 6] = [
        "observedGeneration",
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
        "unavailableReplicas",
    ];
    let limits = [
        ("updatedReplicas", "replicas"),
        ("readyReplicas", "replicas"),
        ("availableReplicas", "replicas"),
        ("availableReplicas", "readyReplicas"),
    ];
    counts(object, &FIELDS, &limits, errors);
}

/// Validates the status of ReplicaSets, StatefulSets and ReplicationControllers.
pub(super) fn replicas(object: &Value, _old: Option<&Value>, errors: &mut Errors<'_>) {
    const FIELDS: [&str; 7] = [
        "replicas",
        "fullyLabeledReplicas",
        "readyReplicas",
        "availableReplicas",
        "currentReplicas",
        "updatedReplicas",
        "observedGeneration",
    ];
    let limits = [
        ("fullyLabeledReplicas", "replicas"),
        ("readyReplicas", "replicas"),
        ("availableReplicas", "replicas"),
        ("currentReplicas", "replicas"),
        ("updatedReplicas", "replicas"),
        ("availableReplicas", "readyReplicas"),
    ];
    counts(object, &FIELDS, &limits, errors);
}

pub(super) fn daemon_set(object: &Value, _old: Option<&Value>, errors: &mut Errors<'_>) {
    const FIELDS: [&str; 8] = [
        "currentNumberScheduled",
        "numberMisscheduled",
        "desiredNumberScheduled",
        "numberReady",
        "observedGeneration",
        "updatedNumberScheduled",
        "numberAvailable",
        "numberUnavailable",
    ];
    counts(object, &FIELDS, &[], errors);
}

pub(super) fn budget(object: &Value, _old: Option<&Value>, errors: &mut Errors<'_>) {
    counts(object, &["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"], &[], errors);
}

/// A finished job must stay finished.
pub(super) fn job(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    counts(object, &["active", "succeeded", "failed", "ready", "terminating"], &[], errors);
    let at = Path::Field(&Path::Root, "status");
    let conditions = Path::Field(&at, "conditions");
    let is_true = |job: &Value, kind: &str| {
        items(&job["status"]["conditions"]).iter().any(|one| one["type"] == kind && one["status"] == "True")
    };
    let (complete, failed) = (is_true(object, "Complete"), is_true(object, "Failed"));
    if complete && failed {
        let why = "cannot set Complete=True and Failed=true conditions";
        errors.invalid(conditions, object["status"]["conditions"].clone(), why);
    }
    let completion = &object["status"]["completionTime"];
    if !completion.is_null() && !complete {
        let why = "cannot set completionTime when there is no Complete=True condition";
        errors.invalid(Path::Field(&at, "completionTime"), completion.clone(), why);
    }
    let finished = |job: &Value| is_true(job, "Complete") || is_true(job, "Failed");
    if old.is_some_and(finished) && !(complete || failed) {
        for kind in
            ["Complete", "Failed"].into_iter().filter(|kind| old.is_some_and(|old| is_true(old, kind)))
        {
            let why = format!("cannot disable the terminal {kind}=True condition");
            errors.invalid(conditions, json!(object["status"]["conditions"]), why);
        }
    }
}
