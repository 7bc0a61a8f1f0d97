//! Jobs with their statuses and pods.

mod parallel;

use serde_json::{Value, json};
use windtunnel_core::resources::{CLUSTER_OPERATORS, JOBS, PODS};
use windtunnel_core::{DeleteOptions, Object, Propagation, View, Write, condition};

use super::JobController;
use crate::ControllerVersion;
use crate::cleanup::garbage_collector::GarbageCollector;
use crate::testing::{Rig, check_recovery};

fn rig(kubernetes: &str) -> Rig {
    let mut rig = Rig::new();
    prepare(&mut rig, kubernetes);
    rig
}

fn prepare(rig: &mut Rig, kubernetes: &str) {
    let name = "kube-controller-manager";
    rig.put(
        &CLUSTER_OPERATORS,
        json!({ "metadata": { "name": name }, "status": { "versions": [{ "name": name, "version": kubernetes }] } }),
    );
    rig.seat(|| Box::new(JobController::new()));
}

fn job() -> Value {
    json!({
        "metadata": { "namespace": "ns", "name": "version-4.14.8-abcde" },
        "spec": {
            "activeDeadlineSeconds": 120,
            "template": {
                "spec": { "nodeName": "master-0", "restartPolicy": "OnFailure", "containers": [{ "name": "a" }] },
            },
        },
    })
}

fn pods(view: &View) -> Vec<Object> {
    view.list(&PODS).cloned().collect()
}

fn end_pods(rig: &mut Rig, phase: &str) {
    for pod in pods(&rig.view).iter().filter(|pod| pod.text("/status/phase").is_empty()) {
        let patch = json!({ "status": { "phase": phase } });
        rig.write(&Write::merge_patch_status(&PODS, "ns", pod.name(), patch));
    }
}

/// Checks the log without the writes of Events.
fn check(rig: &Rig, expected: &[&str]) {
    let log: Vec<&String> = rig.log.iter().filter(|line| !line.contains(" events/")).collect();
    assert_eq!(log, expected, "{log:#?}");
}

#[test]
fn a_job_creates_a_pod_and_completes_with_it() {
    let mut rig = rig("1.27.8");
    rig.put(&JOBS, job());
    rig.run(5);
    let pod = pods(&rig.view).remove(0);
    assert_eq!(pod.label("job-name"), Some("version-4.14.8-abcde"));
    assert_eq!(pod.label("controller-uid"), Some("uid-of-version-4.14.8-abcde"));
    assert_eq!(pod.text("/spec/nodeName"), "master-0");
    assert_eq!(rig.view.list(&JOBS).next().unwrap().number("/status/active"), Some(1));
    end_pods(&mut rig, "Succeeded");
    rig.run(200);
    check(
        &rig,
        &[
            "0:00:00 update jobs.batch/ns/version-4.14.8-abcde",
            "0:00:00 create pods/ns/version-4.14.8-abcde-p7vtg",
            "0:00:00 update jobs.batch/ns/version-4.14.8-abcde",
            "0:00:05 update jobs.batch/ns/version-4.14.8-abcde",
            "0:00:05 patch pods/ns/version-4.14.8-abcde-p7vtg Succeeded",
            "0:00:05 update jobs.batch/ns/version-4.14.8-abcde Complete=True",
        ],
    );
    let status = &rig.view.list(&JOBS).next().unwrap()["status"];
    assert_eq!(status["succeeded"], 1);
    assert!(status["active"].is_null());
    assert_eq!(status["completionTime"], "2024-01-01T00:00:05Z");
}

#[test]
fn the_deadline_deletes_the_pod_and_fails_the_job() {
    let mut rig = rig("1.27.8");
    rig.put(&JOBS, job());
    rig.run(200);
    check(
        &rig,
        &[
            "0:00:00 update jobs.batch/ns/version-4.14.8-abcde",
            "0:00:00 create pods/ns/version-4.14.8-abcde-p7vtg",
            "0:00:00 update jobs.batch/ns/version-4.14.8-abcde",
            "0:02:00 delete pods/ns/version-4.14.8-abcde-p7vtg",
            "0:02:00 update jobs.batch/ns/version-4.14.8-abcde",
            "0:02:00 update jobs.batch/ns/version-4.14.8-abcde",
            "0:02:00 patch pods/ns/version-4.14.8-abcde-p7vtg",
            "0:02:00 update jobs.batch/ns/version-4.14.8-abcde Failed=True DeadlineExceeded Job was active longer than specified deadline",
        ],
    );
    let status = &rig.view.list(&JOBS).next().unwrap()["status"];
    assert_eq!((status["failed"].as_i64(), status["active"].as_i64()), (Some(1), None));
}

#[test]
fn newer_versions_announce_a_failure_while_a_pod_terminates() {
    let mut rig = rig("1.31.6");
    rig.put(&JOBS, job());
    rig.run(130);
    let pod = pods(&rig.view).remove(0);
    assert!(pod.is_terminating());
    rig.write(&Write::delete_now(&PODS, "ns", pod.name()));
    rig.run(10);
    check(
        &rig,
        &[
            "0:00:00 update jobs.batch/ns/version-4.14.8-abcde",
            "0:00:00 create pods/ns/version-4.14.8-abcde-p7vtg",
            "0:00:00 update jobs.batch/ns/version-4.14.8-abcde",
            "0:02:00 delete pods/ns/version-4.14.8-abcde-p7vtg",
            "0:02:00 update jobs.batch/ns/version-4.14.8-abcde FailureTarget=True DeadlineExceeded Job was active longer than specified deadline",
            "0:02:00 update jobs.batch/ns/version-4.14.8-abcde FailureTarget=True DeadlineExceeded Job was active longer than specified deadline",
            "0:02:00 patch pods/ns/version-4.14.8-abcde-p7vtg",
            "0:02:00 update jobs.batch/ns/version-4.14.8-abcde FailureTarget=True DeadlineExceeded Job was active longer than specified deadline",
            "0:02:10 update jobs.batch/ns/version-4.14.8-abcde FailureTarget=True DeadlineExceeded Job was active longer than specified deadline; Failed=True DeadlineExceeded Job was active longer than specified deadline",
        ],
    );
}

#[test]
fn replaces_failed_pods_up_to_the_backoff_limit() {
    let mut rig = rig("1.27.8");
    let mut job = job();
    job["spec"]["backoffLimit"] = json!(2);
    rig.put(&JOBS, job);
    for _ in 0..119 {
        rig.run(1);
        end_pods(&mut rig, "Failed");
    }
    check(
        &rig,
        &[
            "0:00:00 update jobs.batch/ns/version-4.14.8-abcde",
            "0:00:00 create pods/ns/version-4.14.8-abcde-p7vtg",
            "0:00:00 update jobs.batch/ns/version-4.14.8-abcde",
            "0:00:01 update jobs.batch/ns/version-4.14.8-abcde",
            "0:00:01 patch pods/ns/version-4.14.8-abcde-p7vtg Failed",
            "0:00:01 update jobs.batch/ns/version-4.14.8-abcde",
            "0:00:11 create pods/ns/version-4.14.8-abcde-2wh6g",
            "0:00:11 update jobs.batch/ns/version-4.14.8-abcde",
            "0:00:11 update jobs.batch/ns/version-4.14.8-abcde",
            "0:00:11 patch pods/ns/version-4.14.8-abcde-2wh6g Failed",
            "0:00:11 update jobs.batch/ns/version-4.14.8-abcde",
            "0:00:31 create pods/ns/version-4.14.8-abcde-wlfw2",
            "0:00:31 update jobs.batch/ns/version-4.14.8-abcde",
            "0:00:31 update jobs.batch/ns/version-4.14.8-abcde",
            "0:00:31 patch pods/ns/version-4.14.8-abcde-wlfw2 Failed",
            "0:00:31 update jobs.batch/ns/version-4.14.8-abcde Failed=True BackoffLimitExceeded Job has reached the specified backoff limit",
        ],
    );
}

#[test]
fn deletes_the_pods_of_a_deleted_job() {
    let mut rig = rig("1.27.8");
    rig.seat(|| Box::new(GarbageCollector::new()));
    rig.put(&JOBS, job());
    rig.run(5);
    let options = DeleteOptions { propagation: Some(Propagation::Background), ..DeleteOptions::default() };
    rig.write(&Write::delete_with(&JOBS, "ns", "version-4.14.8-abcde", options));
    rig.run(5);
    assert!(pods(&rig.view).iter().all(Object::is_terminating));
}

#[test]
fn orphaned_pods_lose_finalizer_and_owner() {
    let mut rig = rig("1.27.8");
    rig.seat(|| Box::new(GarbageCollector::new()));
    rig.put(&JOBS, job());
    rig.run(5);
    rig.write(&Write::delete(&JOBS, "ns", "version-4.14.8-abcde"));
    rig.run(5);
    assert_eq!(rig.view.list(&JOBS).count(), 0);
    let left = pods(&rig.view);
    assert_eq!(left.len(), 1);
    let metadata = &left[0]["metadata"];
    let is_empty = |field: &str| metadata[field].as_array().is_none_or(Vec::is_empty);
    assert!(is_empty("finalizers") && is_empty("ownerReferences"), "{metadata}");
}

#[test]
fn recovers_after_a_crash_at_each_write() {
    for kubernetes in ["1.27.8", "1.31.6"] {
        let story = |rig: &mut Rig| {
            prepare(rig, kubernetes);
            rig.put(&JOBS, job());
            rig.run(125);
            for pod in pods(&rig.view) {
                rig.write(&Write::delete_now(&PODS, "ns", pod.name()));
            }
            rig.run(20);
        };
        check_recovery(story, |rig| {
            let job = rig.view.list(&JOBS).next().unwrap();
            let reasons =
                job.list("/status/conditions").iter().map(|condition| condition["type"].to_string());
            format!("{:?} {} {}", reasons.collect::<Vec<_>>(), job["status"]["failed"], pods(&rig.view).len())
        });
    }
}

#[test]
fn a_payload_job_succeeds_without_pods_unless_it_has_a_simulated_program() {
    let mut rig = rig("1.31.1");
    let mut of_payload = job();
    of_payload["metadata"]["ownerReferences"] =
        json!([{ "kind": "ClusterVersion", "name": "version", "uid": "u" }]);
    let mut program = of_payload.clone();
    program["metadata"]["name"] = json!("program");
    program["spec"]["template"]["metadata"]["annotations"] = json!({ "windtunnel.dev/program": "true" });
    rig.put(&JOBS, of_payload);
    rig.put(&JOBS, program);
    rig.run(30);
    let succeeded: Vec<Option<i64>> =
        rig.view.list(&JOBS).map(|job| job.number("/status/succeeded")).collect();
    assert_eq!(succeeded, [None, Some(1)], "{:#?}", rig.log);
    assert_eq!(pods(&rig.view).len(), 1, "of the program");
}

#[test]
fn without_operators_the_versions_of_controller_and_server_decide_about_announcements() {
    for (minor, server, announced) in [
        (Some(27), None, false),
        (Some(33), None, true),
        (Some(27), Some(31), false),
        (Some(27), Some(32), true),
        (None, Some(27), false),
        (None, Some(33), true),
        (None, None, true),
    ] {
        let mut rig = Rig::new();
        let version = minor.map_or_else(ControllerVersion::default, ControllerVersion::fixed).beside(server);
        rig.seat(move || Box::new(JobController::new().with_version(version)));
        rig.put(&JOBS, job());
        rig.run(5);
        end_pods(&mut rig, "Succeeded");
        rig.run(5);
        let job = rig.view.list(&JOBS).next().unwrap();
        assert!(condition::is_true(job, "Complete"));
        assert_eq!(condition::is_true(job, "SuccessCriteriaMet"), announced, "{minor:?} {server:?}");
    }
}
