//! Containers with a process of their own: its probes and its volumes.

use windtunnel_core::resources::EVENTS;

use super::*;
use crate::environment::{NodeEnvironment, NodeSoftware};

/// A node where each container runs a process.
#[derive(Debug, Default)]
struct Processes(Standalone);

impl NodeEnvironment for Processes {
    fn image(&self, pullspec: &str) -> Image {
        self.0.image(pullspec)
    }

    fn payload(&self, pullspec: &str) -> Image {
        self.0.payload(pullspec)
    }

    fn has_processes(&self) -> bool {
        true
    }

    fn has_process(&self, _: &Object, _: &str) -> bool {
        true
    }

    fn software(&self, _: &str, _: &str) -> Option<NodeSoftware> {
        None
    }

    fn lease_stretch(&self) -> Option<i32> {
        None
    }
}

/// A node with a pod whose container has this spec in addition.
fn rig(container: &Value, result: Result<(), String>) -> Rig {
    let mut rig = Rig::new();
    rig.probe_result = Some(result);
    let node = json!({ "metadata": { "name": "master-0" }, "status": { "nodeInfo": { "kubeletVersion": "v1.27.8" } } });
    rig.put(&NODES, node);
    let environment = Arc::new(Processes::default());
    rig.seat(move || Box::new(Kubelet::new("master-0", Arc::clone(&environment) as _, &Streams::new(7))));
    let mut pod = program_pod();
    pod["spec"]["containers"][0]["image"] = "quay.io/me/web:1".into();
    pod["spec"]["volumes"] = json!([{ "name": "config", "configMap": { "name": "config" } }]);
    json_patch::merge(&mut pod["spec"]["containers"][0], container);
    rig.put(&PODS, pod);
    rig
}

fn is_ready(rig: &Rig) -> bool {
    condition::is_true(&pod(rig, "program"), "Ready")
}

fn restarts(rig: &Rig) -> i64 {
    pod(rig, "program").number("/status/containerStatuses/0/restartCount").unwrap_or_default()
}

fn messages(rig: &Rig, reason: &str) -> Vec<String> {
    let events = rig.view.list(&EVENTS).filter(|event: &&Object| event["reason"] == reason);
    events.map(|event| event.text("/message").to_owned()).collect()
}

#[test]
fn a_process_is_ready_when_its_probe_has_succeeded_often_enough() {
    let probe =
        json!({ "readinessProbe": { "periodSeconds": 10, "initialDelaySeconds": 5, "successThreshold": 2 } });
    let mut rig = rig(&probe, Ok(()));
    rig.run(18);
    assert!(!is_ready(&rig), "the first attempt is after ten seconds");
    rig.run(18);
    assert!(is_ready(&rig));
    rig.probe_result = Some(Err("HTTP probe failed with statuscode: 500".to_owned()));
    rig.run(20);
    assert!(is_ready(&rig), "two failures are too few");
    rig.run(15);
    assert!(!is_ready(&rig));
    assert_eq!(restarts(&rig), 0);
    let failed = "Readiness probe failed: HTTP probe failed with statuscode: 500";
    assert_eq!(messages(&rig, "Unhealthy"), [failed]);
}

#[test]
fn a_process_that_is_not_live_is_terminated_then_killed_then_restarted() {
    let probe = json!({ "livenessProbe": { "periodSeconds": 10, "terminationGracePeriodSeconds": 5 } });
    let mut rig = rig(&probe, Err("no answer".to_owned()));
    rig.run(40);
    let lines = |word: &str| rig.log.iter().filter(|line| line.contains(word)).count();
    assert_eq!(
        (lines("terminate pods/ns/program main"), lines("kill pods/ns/program main")),
        (1, 1),
        "{:#?}",
        rig.log
    );
    assert_eq!(restarts(&rig), 1);
    assert_eq!(messages(&rig, "Killing"), ["Container main failed liveness probe, will be restarted"]);
}

#[test]
fn other_probes_wait_for_the_startup_probe() {
    let probes = json!({
        "startupProbe": { "periodSeconds": 5, "failureThreshold": 100 },
        "livenessProbe": { "periodSeconds": 1, "failureThreshold": 1 },
    });
    let mut rig = rig(&probes, Err("not yet".to_owned()));
    rig.run(60);
    assert_eq!(restarts(&rig), 0);
    assert!(!is_ready(&rig) && messages(&rig, "Killing").is_empty());
    rig.probe_result = Some(Ok(()));
    rig.run(10);
    assert!(is_ready(&rig));
}

#[test]
fn an_answer_that_never_comes_changes_nothing() {
    let mut rig = rig(&json!({ "readinessProbe": {}, "livenessProbe": {} }), Ok(()));
    rig.probe_result = None;
    rig.run(120);
    assert!(!is_ready(&rig));
    assert_eq!(restarts(&rig), 0);
}

#[test]
fn volumes_of_a_process_are_refreshed_about_once_a_minute() {
    let mut rig = rig(&json!({}), Ok(()));
    rig.run(600);
    let refreshed = rig.log.iter().filter(|line| line.contains("refresh pods/ns/program")).count();
    assert!((6..=10).contains(&refreshed), "{refreshed}");
}
