//! Tests of the statuses of Jobs.

use serde_json::{Value, json};

use crate::kinds::validation::examples::errors;
use crate::kinds::validation::workloads::job::job_status::check;

fn condition(kind: &str) -> Value {
    json!({ "type": kind, "status": "True" })
}

/// The errors of a change of the status of a Job, in Kubernetes 1.`minor`.
fn change(before: &Value, after: &Value, minor: u32) -> String {
    let job = |status: &Value| json!({ "spec": { "completions": 1, "completionMode": "NonIndexed" }, "status": status });
    errors(check, &job(after), Some(&job(before)), minor)
}

#[test]
fn a_job_completes_step_by_step() {
    let running = json!({ "active": 1, "startTime": "2024-01-01T00:00:00Z" });
    let met = json!({ "startTime": "2024-01-01T00:00:00Z", "succeeded": 1, "conditions": [condition("SuccessCriteriaMet")] });
    let complete = json!({
        "startTime": "2024-01-01T00:00:00Z", "succeeded": 1, "completionTime": "2024-01-01T00:01:00Z",
        "conditions": [condition("SuccessCriteriaMet"), condition("Complete")],
    });
    assert_eq!(change(&running, &met, 36), "");
    assert_eq!(change(&met, &complete, 36), "");
    assert_eq!(
        change(&complete, &running, 36),
        "status.succeeded: Invalid value: 0: cannot decrease the succeeded counter; status.conditions: Invalid value: \
         cannot disable the terminal Complete=True condition; status.conditions: Invalid value: cannot disable the \
         SuccessCriteriaMet=True condition"
    );
}

#[test]
fn contradictions_are_rejected() {
    let running = json!({ "active": 1, "startTime": "2024-01-01T00:00:00Z" });
    for (status, wanted) in [
        (
            json!({ "active": 1, "startTime": "2024-01-01T00:00:00Z", "conditions": [condition("Complete")] }),
            "status.completionTime: Required value: completionTime is required for Complete jobs; status.conditions: \
             Invalid value: cannot set Complete=True condition without the SuccessCriteriaMet=true condition; \
             status.active: Invalid value: 1: active>0 is invalid for finished job",
        ),
        (
            json!({ "active": 1, "startTime": "2024-01-01T00:00:00Z", "ready": 2 }),
            "status.ready: Invalid value: 2: cannot set more ready pods than active",
        ),
        (
            json!({ "active": 1, "startTime": "2024-01-01T00:00:00Z", "completedIndexes": "0" }),
            "status.completedIndexes: Invalid value: \"0\": cannot set non-empty completedIndexes when non-indexed \
             completion mode",
        ),
        (
            json!({ "active": 1 }),
            "status.startTime: Invalid value: null: field is immutable for unsuspended job once set",
        ),
        (
            json!({
                "active": 1, "startTime": "2024-01-01T00:00:00Z",
                "uncountedTerminatedPods": { "succeeded": ["a"], "failed": ["a", ""] },
            }),
            "status.uncountedTerminatedPods.failed[0]: Duplicate value: \"a\"; status.uncountedTerminatedPods.failed[1]: \
             Invalid value: \"\": must not be empty",
        ),
    ] {
        assert_eq!(change(&running, &status, 36), wanted, "{status}");
    }
    // Before jobs of other controllers, the server trusted its own.
    let complete = json!({ "active": 1, "conditions": [condition("Complete")] });
    assert_eq!(change(&running, &complete, 31), "");
}
