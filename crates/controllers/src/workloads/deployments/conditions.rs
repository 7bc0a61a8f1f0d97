//! The conditions of a Deployment: availability and progress of the rollout.

use jiff::SignedDuration;
use serde_json::{Value, json};
use windtunnel_core::Object;
use windtunnel_core::clock::{Time, after, parse_rfc3339, rfc3339};
use windtunnel_core::condition::{self, Condition};

const PROGRESSING: &str = "Progressing";
const DONE: &str = "NewReplicaSetAvailable";
const TIMED_OUT: &str = "ProgressDeadlineExceeded";
const PAUSED: &str = "DeploymentPaused";

/// The default of `spec.progressDeadlineSeconds`.
const DEADLINE_DEFAULT: i64 = 600;

/// The progress of a rollout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RolloutProgress {
    /// All pods have the current template and are available.
    Done,
    /// It has progressed since the last status.
    Further,
    /// It has not.
    Waiting,
}

/// Sets `Available`.
pub(super) fn put_available(list: &mut Vec<Value>, enough: bool, now: Time) {
    let condition = if enough {
        let message = "Deployment has minimum availability.";
        Condition::new("Available", "True", "MinimumReplicasAvailable", message)
    } else {
        let message = "Deployment does not have minimum availability.";
        Condition::new("Available", "False", "MinimumReplicasUnavailable", message)
    };
    put(list, &condition, now);
}

/// Sets `Progressing` for the rollout to the ReplicaSet `set`. A completed rollout may still lose pods. `is_settled`: all
/// pods have the current template.
pub(super) fn put_progress(
    list: &mut Vec<Value>,
    deployment: &Object,
    set: Option<&str>,
    rolled: RolloutProgress,
    is_settled: bool,
    now: Time,
) {
    if deadline_seconds(deployment).is_none() {
        list.retain(|condition| condition["type"] != PROGRESSING);
        return;
    }
    let before = condition::find_in_status(deployment, PROGRESSING);
    if is_settled && before.is_some_and(|before| before["reason"] == DONE) {
        return;
    }
    let name = deployment.name();
    let subject = set.map_or_else(|| format!("Deployment \"{name}\""), |set| format!("ReplicaSet \"{set}\""));
    let report = |status, reason, message: &str| {
        Condition::new(PROGRESSING, status, reason, format!("{subject} {message}"))
    };
    match rolled {
        RolloutProgress::Done => put(list, &report("True", DONE, "has successfully progressed."), now),
        RolloutProgress::Further => {
            replace(list, &report("True", "ReplicaSetUpdated", "is progressing."), now);
        }
        RolloutProgress::Waiting if deadline(deployment).is_some_and(|at| at <= now) => {
            crate::marks::ROLLOUT_DEADLINE.reach();
            put(list, &report("False", TIMED_OUT, "has timed out progressing."), now);
        }
        RolloutProgress::Waiting => {}
    }
}

/// Sets `Progressing` of a Deployment whose pods are not simulated, with the end of the rollout to `set`.
pub(super) fn put_done(list: &mut Vec<Value>, set: &str, now: Time) {
    let message = format!("ReplicaSet \"{set}\" has successfully progressed.");
    let done = Condition::new(PROGRESSING, "True", DONE, message);
    let is_known = condition::find(list, PROGRESSING).map(Condition::from_value);
    if is_known.as_ref() != Some(&done) {
        replace(list, &done, now);
    }
}

/// Sets `Progressing` for a ReplicaSet that the controller has created.
pub(super) fn put_created(list: &mut Vec<Value>, set: &str, now: Time) {
    let message = format!("Created new replica set \"{set}\"");
    put(list, &Condition::new(PROGRESSING, "True", "NewReplicaSetCreated", message), now);
}

/// Sets `Progressing` for a ReplicaSet that exists, if the condition does not.
pub(super) fn put_found(list: &mut Vec<Value>, set: &str, now: Time) {
    if condition::find(list, PROGRESSING).is_none() {
        let message = format!("Found new replica set \"{set}\"");
        put(list, &Condition::new(PROGRESSING, "True", "FoundNewReplicaSet", message), now);
    }
}

/// Sets `Progressing` for a ReplicaSet that the API server rejects.
pub(super) fn put_rejected(list: &mut Vec<Value>, why: &str, now: Time) {
    put(list, &Condition::new(PROGRESSING, "False", "ReplicaSetCreateError", why), now);
}

/// Sets `Progressing` of a Deployment that was paused or resumed since its last status (`checkPausedConditions`).
pub(super) fn put_pause(list: &mut Vec<Value>, deployment: &Object, now: Time) {
    let reason =
        condition::find(list, PROGRESSING).map_or("", |found| found["reason"].as_str().unwrap_or(""));
    if deadline_seconds(deployment).is_none() || reason == TIMED_OUT {
        return;
    }
    let (reason, message) = match (deployment["spec"]["paused"] == true, reason == PAUSED) {
        (true, false) => (PAUSED, "Deployment is paused"),
        (false, true) => ("DeploymentResumed", "Deployment is resumed"),
        _ => return,
    };
    put(list, &Condition::new(PROGRESSING, "Unknown", reason, message), now);
}

/// Whether the controller watches the progress of a Deployment.
pub(super) fn has_deadline(deployment: &Object) -> bool {
    deadline_seconds(deployment).is_some()
}

/// The seconds that a rollout may take without progress. The largest number means no deadline.
fn deadline_seconds(deployment: &Object) -> Option<i64> {
    let seconds = deployment.number("/spec/progressDeadlineSeconds").unwrap_or(DEADLINE_DEFAULT);
    (seconds < i64::from(i32::MAX)).then_some(seconds)
}

/// The time at which a rollout without progress fails.
pub(super) fn deadline(deployment: &Object) -> Option<Time> {
    let seconds = deadline_seconds(deployment)?;
    let found = condition::find_in_status(deployment, PROGRESSING)?;
    let is_open = !matches!(found["reason"].as_str(), Some(DONE | TIMED_OUT));
    let since = found["lastUpdateTime"].as_str().and_then(parse_rfc3339).filter(|_| is_open)?;
    // The first whole second after the deadline.
    Some(after(since, SignedDuration::from_secs(seconds.saturating_add(1))))
}

/// Copies the `ReplicaFailure` condition of a ReplicaSet that could not create pods.
pub(super) fn put_failure(list: &mut Vec<Value>, failure: Option<&Value>) {
    let Some(failure) = failure else {
        list.retain(|condition| condition["type"] != "ReplicaFailure");
        return;
    };
    let old = condition::find(list, "ReplicaFailure");
    if old.is_some_and(|old| old["status"] == failure["status"] && old["reason"] == failure["reason"]) {
        return;
    }
    list.retain(|condition| condition["type"] != "ReplicaFailure");
    let mut failure = failure.clone();
    failure["lastUpdateTime"] = failure["lastTransitionTime"].clone();
    list.push(failure);
}

/// Sets a condition whose status or reason differs (`SetDeploymentCondition`).
fn put(list: &mut Vec<Value>, condition: &Condition, now: Time) {
    let old = condition::find(list, &condition.kind);
    let is_same = |old: &Value| old["status"] == *condition.status && old["reason"] == *condition.reason;
    if !old.is_some_and(is_same) {
        replace(list, condition, now);
    }
}

/// Moves a condition to the end of the list, with a new `lastUpdateTime`.
fn replace(list: &mut Vec<Value>, condition: &Condition, now: Time) {
    let old = condition::find(list, &condition.kind);
    let since =
        old.filter(|old| old["status"] == *condition.status).map(|old| old["lastTransitionTime"].clone());
    let entry = json!({
        "type": condition.kind, "status": condition.status, "reason": condition.reason,
        "message": condition.message, "lastUpdateTime": rfc3339(now),
        "lastTransitionTime": since.unwrap_or_else(|| json!(rfc3339(now))),
    });
    list.retain(|old| old["type"] != *condition.kind);
    list.push(entry);
}
