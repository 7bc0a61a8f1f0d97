//! Tests of the controller beside Jobs that the tests end.

use serde_json::{Value, json};
use windtunnel_core::resources::{CRON_JOBS, EVENTS, JOBS};
use windtunnel_core::{Object, Write};

use super::*;
use crate::testing::Rig;

fn rig(spec: &Value) -> Rig {
    let mut rig = Rig::new();
    rig.seat(|| Box::new(CronJobController::new()));
    let mut full = json!({
        "schedule": "*/5 * * * *",
        "concurrencyPolicy": "Allow",
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1,
        "jobTemplate": { "metadata": { "labels": { "a": "b" } }, "spec": { "x": 1 } },
    });
    for (field, value) in spec.as_object().unwrap() {
        full[field] = value.clone();
    }
    rig.put(&CRON_JOBS, json!({ "metadata": { "namespace": "ns", "name": "c" }, "spec": full }));
    rig
}

fn jobs(rig: &Rig) -> Vec<String> {
    rig.view.list(&JOBS).map(|job| job.name().to_owned()).collect()
}

fn cron_job(rig: &Rig) -> &Object {
    rig.view.get(&CRON_JOBS, "ns", "c").unwrap()
}

/// Ends a Job as the Job controller would.
fn end(rig: &mut Rig, name: &str, kind: &str) {
    let mut job = rig.view.get(&JOBS, "ns", name).unwrap().to_value();
    job["status"] = json!({
        "startTime": job["metadata"]["creationTimestamp"],
        "completionTime": windtunnel_core::clock::rfc3339(rig.now),
        "conditions": [{ "type": kind, "status": "True" }],
    });
    rig.write(&Write::update_status(&JOBS, job));
}

fn reasons(rig: &Rig) -> Vec<&str> {
    rig.view.list(&EVENTS).map(|event| event.text("/reason")).collect()
}

/// Minutes from 1970 to the start of 2024.
const START: i64 = 1_704_067_200 / 60;

fn name(minute: i64) -> String {
    format!("c-{}", START + minute)
}

#[test]
fn creates_a_job_at_each_time_of_the_schedule() {
    let mut rig = rig(&json!({}));
    rig.run(4 * 60);
    assert!(jobs(&rig).is_empty());
    rig.run(7 * 60);
    assert_eq!(jobs(&rig), [name(5), name(10)]);
    let job = rig.view.get(&JOBS, "ns", &name(5)).unwrap();
    assert_eq!((&job["spec"], &job["metadata"]["labels"]), (&json!({ "x": 1 }), &json!({ "a": "b" })));
    assert_eq!(
        job.annotation("batch.kubernetes.io/cronjob-scheduled-timestamp"),
        Some("2024-01-01T00:05:00Z")
    );
    assert!(owners::controls(cron_job(&rig), job));
    let status = &cron_job(&rig)["status"];
    assert_eq!(status["lastScheduleTime"], "2024-01-01T00:10:00Z");
    assert_eq!(status["active"].as_array().unwrap().len(), 2);
    end(&mut rig, &name(5), "Complete");
    rig.run(1);
    let status = &cron_job(&rig)["status"];
    assert_eq!(status["active"].as_array().unwrap().len(), 1);
    assert_eq!(status["lastSuccessfulTime"], "2024-01-01T00:11:00Z");
    assert!(reasons(&rig).contains(&"SawCompletedJob"));
}

#[test]
fn follows_the_concurrency_policy() {
    let mut rig1 = rig(&json!({ "concurrencyPolicy": "Forbid" }));
    rig1.run(12 * 60);
    assert_eq!(jobs(&rig1), [name(5)]);
    assert!(reasons(&rig1).contains(&"JobAlreadyActive"));
    // The missed start is made up for as soon as the Job ends.
    end(&mut rig1, &name(5), "Complete");
    rig1.run(1);
    assert_eq!(jobs(&rig1), [name(5), name(10)]);
    let mut rig2 = rig(&json!({ "concurrencyPolicy": "Replace" }));
    rig2.run(12 * 60);
    assert_eq!(jobs(&rig2), [name(10)]);
    assert_eq!(cron_job(&rig2)["status"]["active"].as_array().unwrap().len(), 1);
}

#[test]
fn keeps_as_many_finished_jobs_as_the_limits_allow() {
    let mut rig = rig(&json!({ "schedule": "* * * * *", "successfulJobsHistoryLimit": 2 }));
    for minute in 1..=6 {
        rig.run(61);
        end(&mut rig, &name(minute), if minute % 2 == 0 { "Complete" } else { "Failed" });
    }
    rig.run(1);
    assert_eq!(jobs(&rig), [name(4), name(5), name(6)]);
}

#[test]
fn a_suspended_one_starts_nothing_and_makes_up_for_one_start() {
    let mut rig = rig(&json!({ "suspend": true }));
    rig.run(22 * 60);
    assert!(jobs(&rig).is_empty());
    rig.write(&Write::merge_patch(&CRON_JOBS, "ns", "c", json!({ "spec": { "suspend": false } })));
    rig.run(1);
    assert_eq!(jobs(&rig), [name(20)]);
}

#[test]
fn a_start_after_its_deadline_is_missed() {
    let mut rig = rig(&json!({ "suspend": true, "startingDeadlineSeconds": 60 }));
    rig.run(22 * 60);
    rig.write(&Write::merge_patch(&CRON_JOBS, "ns", "c", json!({ "spec": { "suspend": false } })));
    rig.run(1);
    assert!(jobs(&rig).is_empty());
    rig.run(4 * 60);
    assert_eq!(jobs(&rig), [name(25)]);
}

#[test]
fn an_unknown_time_zone_stops_the_schedule() {
    let mut rig = rig(&json!({ "timeZone": "Moon/Sea" }));
    rig.run(12 * 60);
    assert!(jobs(&rig).is_empty());
    assert!(reasons(&rig).contains(&"UnknownTimeZone"));
}

#[test]
fn a_time_zone_shifts_the_schedule() {
    if jiff::tz::TimeZone::get("Asia/Kolkata").is_err() {
        return; // The machine has no database of time zones.
    }
    let mut rig = rig(&json!({ "schedule": "0 1 * * *", "timeZone": "Asia/Kolkata" }));
    rig.run(20 * 3600);
    // One o'clock in Kolkata is 19:30 in UTC.
    assert_eq!(jobs(&rig), [name(19 * 60 + 30)]);
    let job = rig.view.list(&JOBS).next().unwrap();
    let scheduled = job.annotation("batch.kubernetes.io/cronjob-scheduled-timestamp");
    assert_eq!(scheduled, Some("2024-01-02T01:00:00+05:30"));
}

#[test]
fn a_restarted_controller_continues() {
    for crash in 1..8 {
        let mut rig = rig(&json!({}));
        rig.crash_after_writes = Some(crash);
        rig.run(11 * 60);
        assert_eq!(jobs(&rig), [name(5), name(10)], "crash after {crash} writes");
        assert_eq!(
            cron_job(&rig)["status"]["active"].as_array().unwrap().len(),
            2,
            "crash after {crash} writes"
        );
    }
}

#[test]
fn events_report_schedules_that_never_come_or_name_a_time_zone() {
    let mut never = rig(&json!({ "schedule": "0 0 31 2 *" }));
    never.run(3600);
    assert_eq!(reasons(&never), ["InvalidSchedule"]);
    let event = never.view.list(&EVENTS).next().unwrap();
    let text = "invalid schedule: 0 0 31 2 * : time difference between two schedules is less than 1 second";
    assert_eq!((event.text("/message"), event.text("/type")), (text, "Warning"));
    assert_eq!(event.text("/reportingComponent"), "cronjob-controller");
    assert_eq!(event["involvedObject"]["resourceVersion"], *cron_job(&never).resource_version());
    let mut zoned = rig(&json!({ "schedule": "TZ=UTC */5 * * * *" }));
    zoned.run(1);
    assert!(reasons(&zoned).contains(&"UnsupportedSchedule"));
}
