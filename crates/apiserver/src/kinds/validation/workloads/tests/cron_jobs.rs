//! Tests of CronJobs.

use serde_json::{Value, json};

use super::template;
use crate::kinds::validation::examples::{rejects, rejects_updates};
use crate::kinds::validation::workloads::cron::cron_job;

fn valid() -> Value {
    json!({
        "metadata": { "name": "x" },
        "spec": {
            "schedule": "* * * * *", "concurrencyPolicy": "Allow",
            "jobTemplate": { "spec": { "template": template("Never") } },
        },
    })
}

#[test]
fn schedules_zones_and_names_are_valid() {
    let long = "x".repeat(53);
    let too_long = format!("metadata.name: Invalid value: \"{long}\": must be no more than 52 characters");
    rejects(
        cron_job,
        &valid(),
        &[
            (json!({ "spec": { "schedule": "" } }), "spec.schedule: Required value"),
            (
                json!({ "spec": { "schedule": "TZ=UTC * * * * *" } }),
                "spec.schedule: Invalid value: \"TZ=UTC * * * * *\": cannot use TZ or CRON_TZ in schedule, use timeZone field \
             instead",
            ),
            (
                json!({ "spec": { "timeZone": "" } }),
                "spec.timeZone: Invalid value: \"\": timeZone must be nil or non-empty string",
            ),
            (
                json!({ "spec": { "timeZone": "Local" } }),
                "spec.timeZone: Invalid value: \"Local\": timeZone must be an explicit time zone as defined in \
             https://www.iana.org/time-zones",
            ),
            (
                json!({ "spec": { "timeZone": "a/../b" } }),
                "spec.timeZone: Invalid value: \"a/../b\": unknown time zone a/../b",
            ),
            (
                json!({ "spec": { "concurrencyPolicy": "X" } }),
                "spec.concurrencyPolicy: Unsupported value: \"X\": supported values: \"Allow\", \"Forbid\", \"Replace\"",
            ),
            (
                json!({ "spec": { "jobTemplate": { "spec": { "manualSelector": true, "selector": {} } } } }),
                "spec.jobTemplate.spec.selector: Invalid value: {}: `selector` will be auto-generated; \
             spec.jobTemplate.spec.manualSelector: Unsupported value: true: supported values: \"nil\", \"false\"",
            ),
            (json!({ "metadata": { "name": long } }), &too_long),
        ],
    );
}

#[test]
fn a_schedule_with_a_zone_may_stay() {
    let mut old = valid();
    old["spec"]["schedule"] = json!("TZ=UTC * * * * *");
    rejects_updates(
        cron_job,
        &old,
        &[
            (json!({ "spec": { "suspend": true } }), ""),
            (
                json!({ "spec": { "timeZone": "UTC" } }),
                "spec.schedule: Invalid value: \"TZ=UTC * * * * *\": cannot use both timeZone field and TZ or CRON_TZ in schedule",
            ),
        ],
    );
}
