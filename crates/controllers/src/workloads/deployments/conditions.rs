//! The conditions of a Deployment: availability and progress of the rollout.

use jiff::SignedDuration;
use serde_json::{Value, json};
use windtunnel_core::Object;
use windtunnel_core::clock::{Time, after, parse_rfc3339, rfc3339};
use windtunnel_core::condition::{self, Condition};

const PROGRESSING: &str = "Progressing";
const DONE: &str = "NewReplicaSetAvailable";

/// The progress of a rollout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RolloutProgress {
    /// All pods have the current template and are available.
    Done,
    /// It has progressed since the last status.
    Further,
    Waiting {
        /// Whether all existing pods have the current template.
        settled: bool,
    },
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
    put(list, &condition, false, now);
}

/// Sets `Progressing` for the rollout to `set`; does nothing before that exists.
pub(super) fn put_progress(
    list: &mut Vec<Value>,
    deployment: &Object,
    set: Option<&str>,
    rolled: RolloutProgress,
    now: Time,
) {
    let Some(set) = set else { return };
    let report = |status, reason, message: &str| {
        Condition::new(PROGRESSING, status, reason, format!("ReplicaSet \"{set}\" {message}"))
    };
    let before = condition::find(list, PROGRESSING).map(Condition::from_value);
    let is_of_set = before.as_ref().is_some_and(|before| before.message.contains(&format!("\"{set}\"")));
    let was_done = is_of_set && before.is_some_and(|before| before.reason == DONE);
    match rolled {
        // A completed rollout may still lose pods.
        RolloutProgress::Waiting { settled: true } if was_done => {}
        RolloutProgress::Done => put(list, &report("True", DONE, "has successfully progressed."), false, now),
        _ if !is_of_set => {
            let message = format!("Created new replica set \"{set}\"");
            put(list, &Condition::new(PROGRESSING, "True", "NewReplicaSetCreated", message), false, now);
        }
        RolloutProgress::Further => {
            put(list, &report("True", "ReplicaSetUpdated", "is progressing."), true, now);
        }
        RolloutProgress::Waiting { .. } if deadline(deployment).is_some_and(|at| at <= now) => {
            crate::marks::ROLLOUT_DEADLINE.reach();
            put(list, &report("False", "ProgressDeadlineExceeded", "has timed out progressing."), false, now);
        }
        RolloutProgress::Waiting { .. } => {}
    }
}

/// The time at which a rollout without progress fails.
pub(super) fn deadline(deployment: &Object) -> Option<Time> {
    let found = condition::find_in_status(deployment, PROGRESSING)?;
    let is_open = !matches!(found["reason"].as_str(), Some(DONE | "ProgressDeadlineExceeded"));
    let since = found["lastUpdateTime"].as_str().and_then(parse_rfc3339).filter(|_| is_open)?;
    let seconds = deployment.number("/spec/progressDeadlineSeconds").unwrap_or(600);
    // The first whole second after the deadline.
    Some(after(since, SignedDuration::from_secs(seconds.saturating_add(1))))
}

/// Copies the `ReplicaFailure` condition of a ReplicaSet that could not create pods.
pub(super) fn put_failure(list: &mut Vec<Value>, failure: Option<&Value>) {
    list.retain(|condition| condition["type"] != "ReplicaFailure");
    if let Some(failure) = failure {
        let mut failure = failure.clone();
        failure["lastUpdateTime"] = failure["lastTransitionTime"].clone();
        list.push(failure);
    }
}

/// Sets a condition if it differs, or always if `renewed`, which updates its `lastUpdateTime`
/// (`SetDeploymentCondition`).
fn put(list: &mut Vec<Value>, condition: &Condition, renewed: bool, now: Time) {
    let old = condition::find(list, &condition.kind);
    if !renewed && old.is_some_and(|old| Condition::from_value(old) == *condition) {
        return;
    }
    let since =
        old.filter(|old| old["status"] == *condition.status).map(|old| old["lastTransitionTime"].clone());
    let entry = json!({
        "type": condition.kind, "status": condition.status, "reason": condition.reason,
        "message": condition.message, "lastUpdateTime": rfc3339(now),
        "lastTransitionTime": since.unwrap_or_else(|| json!(rfc3339(now))),
    });
    match list.iter_mut().find(|old| old["type"] == *condition.kind) {
        Some(old) => *old = entry,
        None => list.push(entry),
    }
}
