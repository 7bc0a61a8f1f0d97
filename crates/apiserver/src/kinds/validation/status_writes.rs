//! Validation of status writes.

use serde_json::Value;

use super::{Errors, Path, conditions, items, non_negative, text};
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
        errors.invalid(Path::Root.child("status").child("Phase"), phase, why);
    }
}

/// Validates the status of a validating policy (`validateValidatingAdmissionPolicyStatus`). The rest of a policy is
/// validated with its expressions.
pub(super) fn policy(object: &Value, _old: Option<&Value>, errors: &mut Errors<'_>) {
    let (status, at) = (&object["status"], Path::Root.child("status"));
    let (place, found) = (at.child("typeChecking"), &status["typeChecking"]["expressionWarnings"]);
    let place = place.child("expressionWarnings");
    for (index, warning) in items(found).iter().enumerate() {
        let at = place.index(index);
        if text(&warning["warning"]).is_empty() {
            errors.required(at.child("warning"), "");
        }
        if text(&warning["fieldRef"]).trim().is_empty() {
            errors.required(at.child("fieldRef"), "");
        }
    }
    conditions::check(&status["conditions"], at.child("conditions"), errors);
}

/// The counts of a status: fields that must not be negative, and pairs of a field with its upper bound and the words
/// of the message.
struct Counts {
    fields: &'static [&'static str],
    bounds: &'static [(&'static str, &'static str, &'static str)],
}

const REPLICAS: &str = "status.replicas";
const DEPLOYMENT: Counts = Counts {
    fields: &[
        "observedGeneration",
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
        "unavailableReplicas",
        "terminatingReplicas",
        "collisionCount",
    ],
    bounds: &[
        ("updatedReplicas", "replicas", REPLICAS),
        ("readyReplicas", "replicas", REPLICAS),
        ("availableReplicas", "replicas", REPLICAS),
        ("availableReplicas", "readyReplicas", "readyReplicas"),
    ],
};
const REPLICA_SET: Counts = Counts {
    fields: &[
        "replicas",
        "fullyLabeledReplicas",
        "readyReplicas",
        "availableReplicas",
        "observedGeneration",
        "terminatingReplicas",
    ],
    bounds: &[
        ("fullyLabeledReplicas", "replicas", REPLICAS),
        ("readyReplicas", "replicas", REPLICAS),
        ("availableReplicas", "replicas", REPLICAS),
        ("availableReplicas", "readyReplicas", "readyReplicas"),
    ],
};
const STATEFUL_SET: Counts = Counts {
    fields: &[
        "replicas",
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
        "availableReplicas",
        "observedGeneration",
        "collisionCount",
    ],
    bounds: &[
        ("readyReplicas", "replicas", REPLICAS),
        ("currentReplicas", "replicas", REPLICAS),
        ("updatedReplicas", "replicas", REPLICAS),
        ("availableReplicas", "replicas", REPLICAS),
        ("availableReplicas", "readyReplicas", "status.readyReplicas"),
    ],
};
const DAEMON_SET: Counts = Counts {
    fields: &[
        "currentNumberScheduled",
        "numberMisscheduled",
        "desiredNumberScheduled",
        "numberReady",
        "observedGeneration",
        "updatedNumberScheduled",
        "numberAvailable",
        "numberUnavailable",
        "collisionCount",
    ],
    bounds: &[],
};

impl Counts {
    fn check(&self, object: &Value, errors: &mut Errors<'_>) {
        let at = Path::Root.child("status");
        let status = &object["status"];
        for field in self.fields {
            non_negative(&status[*field], at.child(field), errors);
        }
        let count = |field: &str| status[field].as_i64().unwrap_or(0);
        for (field, bound, words) in self.bounds {
            if count(field) > count(bound) {
                errors.invalid(at.child(field), count(field), format!("cannot be greater than {words}"));
            }
        }
    }
}

/// Requires that collisions of names are counted upwards (`IsDecremented`).
fn counts_collisions(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    let count = |object: &Value| object["status"]["collisionCount"].as_i64();
    let Some(before) = old.and_then(count) else { return };
    let now = count(object);
    if now.is_none_or(|now| now < before) {
        let status = Path::Root.child("status");
        errors.invalid(status.child("collisionCount"), now.unwrap_or(0), "cannot be decremented");
    }
}

/// Validates the status of a Deployment (`ValidateDeploymentStatusUpdate`).
pub(super) fn deployment(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    DEPLOYMENT.check(object, errors);
    counts_collisions(object, old, errors);
}

/// Validates the status of a ReplicaSet or a ReplicationController (`ValidateReplicaSetStatus`).
pub(super) fn replica_set(object: &Value, _old: Option<&Value>, errors: &mut Errors<'_>) {
    REPLICA_SET.check(object, errors);
}

/// Validates the status of a StatefulSet (`ValidateStatefulSetStatusUpdate`).
pub(super) fn stateful_set(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    STATEFUL_SET.check(object, errors);
    counts_collisions(object, old, errors);
}

/// Validates the status of a DaemonSet (`ValidateDaemonSetStatusUpdate`).
pub(super) fn daemon_set(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    DAEMON_SET.check(object, errors);
    counts_collisions(object, old, errors);
}
