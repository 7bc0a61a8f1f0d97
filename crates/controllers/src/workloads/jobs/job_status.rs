//! The status of a Job.

use serde_json::{Value, json};
use windtunnel_core::clock::{Time, rfc3339};
use windtunnel_core::condition::{self, Condition};
use windtunnel_core::resources::JOBS;
use windtunnel_core::{Object, Write};

use super::ending::End;
use super::number;
use super::scale::Scale;
use super::tally::Tally;

/// The first Kubernetes minor version that reports the number of terminating pods
/// (`JobPodReplacementPolicy`).
const REPORTS_TERMINATING: u32 = 29;

/// The status of a Job that starts now.
pub(super) fn begun(job: &Object, now: Time) -> Value {
    let mut status = status(job);
    status["startTime"] = json!(rfc3339(now));
    status
}

fn status(job: &Object) -> Value {
    if job["status"].is_object() { job["status"].clone() } else { json!({}) }
}

/// Writes the status.
pub(super) fn write(job: &Object, status: Value) -> Write {
    let mut value = job.to_value();
    value["status"] = status;
    Write::update_status(&JOBS, value)
}

/// The status with the counts of a Job, which assumes that the pods of `scale` are created and deleted.
pub(super) fn with_counts(job: &Object, tally: &Tally<'_>, scale: &Scale<'_>, minor: u32) -> Value {
    let mut status = status(job);
    let stays = |pod: &&&Object| !scale.leaving.iter().any(|other| other.uid() == pod.uid());
    let active: Vec<&&Object> = tally.active.iter().filter(stays).collect();
    let ready = active.iter().filter(|pod| condition::is_true(pod, "Ready")).count();
    let counts = [
        ("active", number(active.len() + scale.coming())),
        ("succeeded", tally.succeeded),
        ("failed", tally.failed),
    ];
    for (field, count) in counts {
        set_field(&mut status, field, (count > 0).then(|| json!(count)));
    }
    status["ready"] = json!(ready);
    if minor >= REPORTS_TERMINATING {
        status["terminating"] = json!(tally.terminating() + number(scale.leaving.len()));
    }
    let mut uncounted = json!({});
    for (kind, uids) in ["succeeded", "failed"].into_iter().zip(&tally.uncounted) {
        set_field(&mut uncounted, kind, (!uids.is_empty()).then(|| json!(uids)));
    }
    status["uncountedTerminatedPods"] = uncounted;
    if let Some(completed) = &tally.completed {
        let text = completed.render();
        set_field(&mut status, "completedIndexes", (!text.is_empty()).then(|| json!(text)));
    }
    status
}

fn set_field(object: &mut Value, field: &str, value: Option<Value>) {
    let Some(fields) = object.as_object_mut() else { return };
    match value {
        Some(value) => _ = fields.insert(field.to_owned(), value),
        None => _ = fields.remove(field),
    }
}

/// Adds the condition `kind` for an end.
pub(super) fn add_condition(status: &mut Value, kind: &str, end: &End, now: Time) {
    set(status, &Condition::new(kind, "True", end.reason, end.message.clone()), now);
}

/// Whether a status has `Suspended=True`.
pub(super) fn is_suspended(status: &Value) -> bool {
    let list = status["conditions"].as_array().map_or(&[][..], Vec::as_slice);
    condition::is_true_in(list, "Suspended")
}

/// Sets `Suspended`; a resumed Job gets a new start time.
pub(super) fn suspend(status: &mut Value, is_suspended: bool, now: Time) {
    let condition = if is_suspended {
        Condition::new("Suspended", "True", "JobSuspended", "Job suspended")
    } else {
        Condition::new("Suspended", "False", "JobResumed", "Job resumed")
    };
    set(status, &condition, now);
    set_field(status, "startTime", (!is_suspended).then(|| json!(rfc3339(now))));
}

fn set(status: &mut Value, condition: &Condition, now: Time) {
    let mut list = status["conditions"].as_array().cloned().unwrap_or_default();
    let is_news =
        condition::find(&list, &condition.kind).is_none_or(|found| found["status"] != *condition.status);
    condition::set(&mut list, condition, now);
    for entry in list.iter_mut().filter(|entry| is_news && entry["type"] == *condition.kind) {
        entry["lastProbeTime"] = json!(rfc3339(now));
    }
    status["conditions"] = Value::Array(list);
}
