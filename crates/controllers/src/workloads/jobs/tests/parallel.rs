//! Jobs with several pods, indexes, suspension and pod failure policies.

use windtunnel_core::resources::EVENTS;

use super::*;

/// The recorded Events.
fn events(rig: &Rig) -> Vec<String> {
    rig.view
        .list(&EVENTS)
        .map(|event| format!("{} {}", event.text("/reason"), event.text("/message")))
        .collect()
}

/// A Job with additional fields in its spec, whose pods are not restarted.
fn with(more: &Value) -> Value {
    let mut job = job();
    job["metadata"]["name"] = json!("sum");
    job["spec"]["template"]["spec"]["restartPolicy"] = json!("Never");
    job["spec"]["activeDeadlineSeconds"] = Value::Null;
    json_patch::merge(&mut job["spec"], more);
    job
}

fn the_job(rig: &Rig) -> Object {
    rig.view.list(&JOBS).next().unwrap().clone()
}

/// The number of pods that have not ended.
fn open(rig: &Rig) -> usize {
    let is_open = |pod: &&Object| !matches!(pod.text("/status/phase"), "Succeeded" | "Failed");
    rig.view.list(&PODS).filter(is_open).count()
}

/// Type and reason of each true condition.
fn conditions(rig: &Rig) -> Vec<String> {
    let job = the_job(rig);
    let met = job.list("/status/conditions").iter().filter(|condition| condition["status"] == "True");
    met.map(|condition| {
        let text = |field: &str| condition[field].as_str().unwrap_or_default();
        format!("{} {}", text("type"), text("reason")).trim().to_owned()
    })
    .collect()
}

fn end_pod(rig: &mut Rig, name: &str, status: &Value) {
    rig.write(&Write::merge_patch_status(&PODS, "ns", name, json!({ "status": status })));
}

#[test]
fn runs_pods_in_parallel_until_enough_have_succeeded() {
    let mut rig = rig("1.33.1");
    rig.put(&JOBS, with(&json!({ "parallelism": 2, "completions": 3 })));
    rig.run(1);
    assert_eq!((open(&rig), the_job(&rig).number("/status/active")), (2, Some(2)));
    let first = pods(&rig.view)[0].clone();
    end_pod(&mut rig, first.name(), &json!({ "phase": "Succeeded" }));
    rig.run(1);
    assert_eq!((open(&rig), the_job(&rig).number("/status/succeeded")), (2, Some(1)));
    // A counted pod stays counted after its deletion.
    rig.write(&Write::delete_now(&PODS, "ns", first.name()));
    end_pods(&mut rig, "Succeeded");
    rig.run(1);
    let status = the_job(&rig)["status"].clone();
    assert_eq!((status["succeeded"].clone(), status["active"].clone()), (json!(3), Value::Null));
    assert_eq!((status["ready"].clone(), status["terminating"].clone()), (json!(0), json!(0)));
    assert_eq!(status["uncountedTerminatedPods"], json!({}));
    assert_eq!(conditions(&rig), ["SuccessCriteriaMet CompletionsReached", "Complete CompletionsReached"]);
    let events = events(&rig);
    let created = events.iter().filter(|text| text.starts_with("SuccessfulCreate Created pod: sum-"));
    assert_eq!(created.count(), 3);
    assert_eq!(events.last().unwrap(), "Completed Job completed");
}

#[test]
fn without_completions_no_pods_are_created_after_the_first_success() {
    let mut rig = rig("1.27.8");
    rig.put(&JOBS, with(&json!({ "parallelism": 3 })));
    rig.run(1);
    assert_eq!(open(&rig), 3);
    let first = pods(&rig.view)[0].name().to_owned();
    end_pod(&mut rig, &first, &json!({ "phase": "Succeeded" }));
    rig.run(60);
    assert_eq!((open(&rig), conditions(&rig).len()), (2, 0));
    end_pods(&mut rig, "Succeeded");
    rig.run(1);
    assert_eq!(
        (conditions(&rig), the_job(&rig).number("/status/succeeded")),
        (vec!["Complete".to_owned()], Some(3))
    );
}

#[test]
fn each_index_has_to_succeed_once_including_retries() {
    for (minor, labelled) in [("1.27.8", false), ("1.33.1", true)] {
        let mut rig = rig(minor);
        rig.put(&JOBS, with(&json!({ "parallelism": 2, "completions": 3, "completionMode": "Indexed" })));
        rig.run(1);
        let key = "batch.kubernetes.io/job-completion-index";
        let indexes = |rig: &Rig| -> Vec<String> {
            let open = pods(&rig.view).into_iter().filter(|pod| pod.text("/status/phase").is_empty());
            open.map(|pod| pod.annotation(key).unwrap().to_owned()).collect()
        };
        assert_eq!(indexes(&rig), ["0", "1"]);
        let second = pods(&rig.view)[1].clone();
        assert_eq!((second.text("/spec/hostname"), second.label(key).is_some()), ("sum-1", labelled));
        assert!(second.name().starts_with("sum-1-"), "{}", second.name());
        let place = if labelled { "labels" } else { "annotations" };
        let path = second.text("/spec/containers/0/env/0/valueFrom/fieldRef/fieldPath");
        assert_eq!(path, format!("metadata.{place}['{key}']"));
        end_pod(&mut rig, second.name(), &json!({ "phase": "Succeeded" }));
        rig.run(1);
        assert_eq!(
            (the_job(&rig).text("/status/completedIndexes"), indexes(&rig)),
            ("1", vec!["0".to_owned(), "2".to_owned()])
        );
        // A failed index is retried.
        let first = pods(&rig.view)[0].name().to_owned();
        end_pod(&mut rig, &first, &json!({ "phase": "Failed" }));
        rig.run(11);
        assert_eq!((indexes(&rig).len(), the_job(&rig).number("/status/failed")), (2, Some(1)));
        end_pods(&mut rig, "Succeeded");
        rig.run(1);
        assert_eq!(
            (the_job(&rig).text("/status/completedIndexes"), the_job(&rig).number("/status/succeeded")),
            ("0-2", Some(3))
        );
        assert!(condition::is_true(&the_job(&rig), "Complete"));
    }
}

#[test]
fn a_suspended_job_has_no_pods_and_resuming_restarts_its_deadline() {
    let mut rig = rig("1.33.1");
    rig.put(&JOBS, with(&json!({ "suspend": true, "activeDeadlineSeconds": 60 })));
    rig.run(100);
    assert_eq!((open(&rig), conditions(&rig)), (0, vec!["Suspended JobSuspended".to_owned()]));
    assert!(the_job(&rig)["status"]["startTime"].is_null());
    let suspend = |rig: &mut Rig, value: bool| {
        rig.write(&Write::merge_patch(&JOBS, "ns", "sum", json!({ "spec": { "suspend": value } })));
    };
    suspend(&mut rig, false);
    rig.run(50);
    assert_eq!((open(&rig), conditions(&rig).len()), (1, 0));
    suspend(&mut rig, true);
    rig.run(1);
    let pod = pods(&rig.view).remove(0);
    assert!(pod.is_terminating());
    rig.write(&Write::delete_now(&PODS, "ns", pod.name()));
    rig.run(100);
    suspend(&mut rig, false);
    rig.run(50);
    assert_eq!(conditions(&rig).len(), 0, "{:?}", conditions(&rig));
    rig.run(20);
    assert_eq!(conditions(&rig)[0], "FailureTarget DeadlineExceeded");
    let events: Vec<String> = events(&rig).into_iter().filter(|text| !text.contains("pod")).collect();
    assert_eq!(events, ["Suspended Job suspended", "Resumed Job resumed"]);
}

#[test]
fn too_many_container_restarts_fail_the_job() {
    let mut rig = rig("1.27.8");
    let mut job = with(&json!({ "backoffLimit": 2 }));
    job["spec"]["template"]["spec"]["restartPolicy"] = json!("OnFailure");
    rig.put(&JOBS, job);
    rig.run(1);
    let name = pods(&rig.view)[0].name().to_owned();
    let restarted = |times: i64| json!({ "phase": "Running", "containerStatuses": [{ "name": "a", "state": { "running": {} }, "restartCount": times }] });
    end_pod(&mut rig, &name, &restarted(1));
    rig.run(1);
    assert_eq!(conditions(&rig).len(), 0);
    end_pod(&mut rig, &name, &restarted(2));
    rig.run(1);
    assert_eq!(conditions(&rig), ["Failed BackoffLimitExceeded"]);
}

#[test]
fn applies_the_rules_of_the_pod_failure_policy() {
    let rules = json!([
        { "action": "Ignore", "onPodConditions": [{ "type": "DisruptionTarget", "status": "True" }] },
        { "action": "FailJob", "onExitCodes": { "containerName": "a", "operator": "In", "values": [42] } },
        { "action": "Count", "onExitCodes": { "operator": "NotIn", "values": [1] } },
    ]);
    let ended = |code: i64, conditions: &Value| {
        json!({
            "phase": "Failed",
            "conditions": conditions,
            "containerStatuses": [{ "name": "a", "state": { "terminated": { "exitCode": code } } }],
        })
    };
    let mut rig = rig("1.33.1");
    rig.put(&JOBS, with(&json!({ "backoffLimit": 1, "podFailurePolicy": { "rules": rules } })));
    rig.run(1);
    let name = |rig: &Rig| {
        let open = pods(&rig.view).into_iter().find(|pod| pod.text("/status/phase").is_empty());
        open.map(|pod| pod.name().to_owned()).unwrap_or_default()
    };
    let ignored = name(&rig);
    end_pod(&mut rig, &ignored, &ended(137, &json!([{ "type": "DisruptionTarget", "status": "True" }])));
    rig.run(1);
    assert_eq!((the_job(&rig).number("/status/failed"), open(&rig)), (None, 1), "replaced at once");
    let counted = name(&rig);
    end_pod(&mut rig, &counted, &ended(1, &json!([])));
    rig.run(11);
    assert_eq!((the_job(&rig).number("/status/failed"), open(&rig)), (Some(1), 1));
    let fatal = name(&rig);
    end_pod(&mut rig, &fatal, &ended(42, &json!([])));
    rig.run(1);
    assert_eq!(conditions(&rig), ["FailureTarget PodFailurePolicy", "Failed PodFailurePolicy"]);
    let message = the_job(&rig)["status"]["conditions"][1]["message"].clone();
    let expected =
        format!("Container a for pod ns/{fatal} failed with exit code 42 matching FailJob rule at index 1");
    assert_eq!(message, expected.as_str());
}

#[test]
fn counts_each_pod_once_despite_crashes() {
    let story = |rig: &mut Rig| {
        prepare(rig, "1.33.1");
        rig.put(&JOBS, with(&json!({ "parallelism": 2, "completions": 4, "completionMode": "Indexed" })));
        for _ in 0..4 {
            rig.run(30);
            if let Some(pod) = pods(&rig.view).iter().find(|pod| pod.text("/status/phase").is_empty()) {
                end_pod(rig, pod.name(), &json!({ "phase": "Succeeded" }));
            }
        }
        rig.run(30);
    };
    check_recovery(story, |rig| {
        let status = the_job(rig)["status"].clone();
        format!("{:?} {} {}", conditions(rig), status["succeeded"], status["completedIndexes"])
    });
}
