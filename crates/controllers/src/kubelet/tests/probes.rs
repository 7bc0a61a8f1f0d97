//! Pods with injected faults of probes and processes.

use windtunnel_core::condition;
use windtunnel_core::resources::EVENTS;

use super::*;
use crate::faults::{Fault, FaultKind};

/// A node with a pod that has been running for a minute.
fn rig(probes: &Value) -> Rig {
    let mut rig = Rig::new();
    seat(&mut rig, Pull::Succeeds, "v1.27.8");
    let mut pod = program_pod();
    json_patch::merge(&mut pod["spec"]["containers"][0], probes);
    rig.put(&PODS, pod);
    rig.run(60);
    assert!(is_ready(&rig));
    rig
}

fn set_fault(rig: &mut Rig, kind: Option<FaultKind>) {
    let fault = kind.map(|kind| Fault { message: "no answer".to_owned(), ..Fault::new(kind) });
    rig.write(&Write::merge_patch(&PODS, "ns", "program", Fault::annotation_patch(fault.as_ref())));
}

fn is_ready(rig: &Rig) -> bool {
    condition::is_true(&pod(rig, "program"), "Ready")
}

fn restarts(rig: &Rig) -> i64 {
    pod(rig, "program").number("/status/containerStatuses/0/restartCount").unwrap()
}

/// The back-off of the container.
fn back_off(rig: &Rig) -> String {
    let pod = pod(rig, "program");
    let message = pod.text("/status/containerStatuses/0/state/waiting/message").to_owned();
    message.split(' ').nth(1).unwrap_or_default().to_owned()
}

fn event_messages(rig: &Rig, reason: &str) -> Vec<String> {
    let events = rig.view.list(&EVENTS).filter(|event| event["reason"] == reason);
    events.map(|event| event.text("/message").to_owned()).collect()
}

#[test]
fn a_pod_becomes_unready_at_the_failure_threshold_of_its_probe() {
    for (probes, seconds) in
        [(json!({}), 30), (json!({ "readinessProbe": { "periodSeconds": 5, "failureThreshold": 2 } }), 10)]
    {
        let mut rig = rig(&probes);
        set_fault(&mut rig, Some(FaultKind::Unready));
        rig.run(seconds - 1);
        assert!(is_ready(&rig), "{seconds}");
        rig.run(1);
        assert!(!is_ready(&rig), "{seconds}");
        rig.run(600);
        assert_eq!(event_messages(&rig, "Unhealthy"), ["Readiness probe failed: no answer"]);
        assert_eq!((restarts(&rig), pod(&rig, "program").text("/status/phase")), (0, "Running"));
        set_fault(&mut rig, None);
        rig.run(1);
        assert!(is_ready(&rig));
    }
}

#[test]
fn a_crashing_container_has_growing_back_off_up_to_five_minutes() {
    let mut rig = rig(&json!({}));
    set_fault(&mut rig, Some(FaultKind::CrashLooping));
    let mut pauses: Vec<String> = Vec::new();
    for _ in 0..1_500 {
        rig.run(1);
        let pause = back_off(&rig);
        if !pause.is_empty() && pauses.last() != Some(&pause) {
            pauses.push(pause);
        }
    }
    assert_eq!(pauses, ["10s", "20s", "40s", "1m20s", "2m40s", "5m0s"]);
    assert_eq!(pod(&rig, "program").text("/status/phase"), "Running", "it has been running");
    let starts = |rig: &Rig| rig.log.iter().filter(|line| line.contains("start pods/ns/program")).count();
    assert_eq!(starts(&rig), 1, "a crashing program does nothing, so only the start before the fault counts");
    set_fault(&mut rig, None);
    rig.run(301);
    assert!(is_ready(&rig));
    assert_eq!(starts(&rig), 2);
    let before = restarts(&rig);
    rig.run(600);
    assert_eq!(restarts(&rig), before);
    // It ran for long enough that the back-off is reset.
    set_fault(&mut rig, Some(FaultKind::CrashLooping));
    rig.run(4);
    assert_eq!(restarts(&rig), before + 1);
    rig.run(4);
    assert_eq!(back_off(&rig), "10s");
}

#[test]
fn restarts_a_container_whose_liveness_probe_fails() {
    let mut rig = rig(&json!({ "livenessProbe": { "periodSeconds": 20 } }));
    set_fault(&mut rig, Some(FaultKind::NotLive));
    rig.run(59);
    assert_eq!(restarts(&rig), 0);
    rig.run(3);
    assert_eq!(restarts(&rig), 1);
    assert_eq!(event_messages(&rig, "Unhealthy"), ["Liveness probe failed: no answer"]);
    assert_eq!(event_messages(&rig, "Killing"), ["Container main failed liveness probe, will be restarted"]);
    assert!(rig.log.iter().any(|line| line.contains("kill pods/ns/program")), "{:#?}", rig.log);
    // The failure threshold applies anew to the restarted container.
    rig.run(55);
    assert_eq!(restarts(&rig), 1);
    rig.run(10);
    assert_eq!(back_off(&rig), "10s");
}
