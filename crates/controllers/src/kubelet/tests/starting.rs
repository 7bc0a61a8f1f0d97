//! Starts of containers: startup probes, sidecars and missing environment variables.

use windtunnel_core::resources::CONFIG_MAPS;

use super::*;
use crate::faults::{Fault, FaultKind};

fn rig_with(spec: &Value) -> Rig {
    let mut rig = Rig::new();
    seat(&mut rig, Pull::Succeeds, "v1.31.1");
    let mut pod = program_pod();
    json_patch::merge(&mut pod["spec"], spec);
    rig.put(&PODS, pod);
    rig
}

fn container(name: &str, more: &Value) -> Value {
    let mut container = json!({ "name": name, "image": IMAGE });
    json_patch::merge(&mut container, more);
    container
}

/// `started` and `ready` of the first container.
fn state(rig: &Rig) -> (bool, bool) {
    let pod = pod(rig, "program");
    let status = &pod["status"]["containerStatuses"][0];
    (status["started"] == true, status["ready"] == true)
}

fn event_messages(rig: &Rig, reason: &str) -> Vec<String> {
    let events = rig.view.list(&EVENTS).filter(|event| event["reason"] == reason);
    events.map(|event| event.text("/message").to_owned()).collect()
}

/// The second in which the container reaches this state.
fn second(rig: &mut Rig, wanted: (bool, bool)) -> u32 {
    (0..200)
        .find(|_| {
            rig.run(1);
            state(rig) == wanted
        })
        .unwrap()
}

#[test]
fn startup_and_readiness_probes_delay_started_and_ready() {
    let probe =
        json!({ "startupProbe": { "initialDelaySeconds": 25, "periodSeconds": 10 }, "readinessProbe": {} });
    let mut rig = rig_with(&json!({ "containers": [container("main", &probe)] }));
    let runs = (0..60).find(|_| {
        rig.run(1);
        pod(&rig, "program")["status"]["containerStatuses"][0]["state"]["running"].is_object()
    });
    assert!(runs.is_some());
    assert_eq!(state(&rig), (false, false));
    assert_eq!(pod(&rig, "program").text("/status/phase"), "Running");
    let later = second(&mut rig, (true, true));
    assert!((28..=30).contains(&later), "{later}: at the third probe");

    let mut rig = rig_with(
        &json!({ "containers": [container("main", &json!({ "readinessProbe": { "initialDelaySeconds": 40 } }))] }),
    );
    let up = second(&mut rig, (true, false));
    let ready = second(&mut rig, (true, true));
    assert!(up < 12 && (38..=40).contains(&ready), "{up}, {ready}");
}

#[test]
fn restarts_a_container_whose_startup_probe_fails() {
    let probe = json!({ "startupProbe": { "periodSeconds": 5, "failureThreshold": 4 } });
    let mut rig = rig_with(&json!({ "containers": [container("main", &probe)] }));
    let fault = Fault { message: "not yet".to_owned(), ..Fault::new(FaultKind::NotStarted) };
    rig.write(&Write::merge_patch(&PODS, "ns", "program", Fault::annotation_patch(Some(&fault))));
    rig.run(60);
    assert_eq!(event_messages(&rig, "Unhealthy")[0], "Startup probe failed: not yet");
    assert_eq!(event_messages(&rig, "Killing"), ["Container main failed startup probe, will be restarted"]);
    assert!(pod(&rig, "program").number("/status/containerStatuses/0/restartCount").unwrap() > 0);
    assert_eq!(state(&rig), (false, false));
    rig.write(&Write::merge_patch(&PODS, "ns", "program", Fault::annotation_patch(None)));
    rig.run(60);
    assert_eq!(state(&rig), (true, true));
}

#[test]
fn a_sidecar_runs_until_the_main_containers_end() {
    let inits =
        json!([container("proxy", &json!({ "restartPolicy": "Always" })), container("copy", &json!({}))]);
    let spec = json!({ "restartPolicy": "Never", "initContainers": inits, "containers": [container("main", &json!({}))] });
    let mut rig = rig_with(&spec);
    rig.run(60);
    let states: Vec<String> = rig
        .log
        .iter()
        .filter_map(|line| line.split_once("patch pods/ns/program ").map(|(_, states)| states.to_owned()))
        .collect();
    assert_eq!(
        states,
        [
            "Pending proxy:PodInitializing copy:PodInitializing main:PodInitializing",
            "Pending proxy:running copy:running main:PodInitializing",
            "Running proxy:running copy:Completed main:running",
            "Succeeded proxy:Completed copy:Completed main:Completed",
        ]
    );
}

#[test]
fn restarts_a_failed_sidecar_without_repeating_init_containers() {
    let inits =
        json!([container("proxy", &json!({ "restartPolicy": "Always" })), container("copy", &json!({}))]);
    let mut rig = rig_with(&json!({ "initContainers": inits }));
    rig.run(60);
    let status =
        |rig: &Rig, index: usize| pod(rig, "program")["status"]["initContainerStatuses"][index].clone();
    assert_eq!(
        (status(&rig, 0)["ready"].clone(), status(&rig, 0)["started"].clone()),
        (json!(true), json!(true))
    );
    assert!(condition::is_true(&pod(&rig, "program"), "Ready"));
    rig.process_ends(&key("program"), "proxy");
    rig.run(2);
    assert_eq!(status(&rig, 0)["restartCount"], 1);
    assert_eq!(status(&rig, 1)["restartCount"], 0);
    assert!(condition::is_true(&pod(&rig, "program"), "Ready"));
}

#[test]
fn a_missing_config_map_or_secret_keeps_a_container_waiting() {
    let from = |source: Value| json!({ "env": [{ "name": "A", "valueFrom": source }] });
    let key = json!({ "configMapKeyRef": { "name": "settings", "key": "a" } });
    let mut rig = rig_with(&json!({ "containers": [container("main", &from(key))] }));
    let waiting = |rig: &Rig| {
        let waiting = pod(rig, "program")["status"]["containerStatuses"][0]["state"]["waiting"].clone();
        let text = |field: &str| waiting[field].as_str().unwrap_or_default().to_owned();
        format!("{}: {}", text("reason"), text("message"))
    };
    rig.run(30);
    assert_eq!(waiting(&rig), "CreateContainerConfigError: configmap \"settings\" not found");
    assert_eq!(event_messages(&rig, "Failed"), ["Error: configmap \"settings\" not found"]);
    let map = json!({ "metadata": { "namespace": "ns", "name": "settings" }, "data": { "b": "1" } });
    rig.put(&CONFIG_MAPS, map);
    rig.run(30);
    assert_eq!(waiting(&rig), "CreateContainerConfigError: couldn't find key a in ConfigMap ns/settings");
    rig.write(&Write::merge_patch(&CONFIG_MAPS, "ns", "settings", json!({ "data": { "a": "1" } })));
    rig.run(30);
    assert_eq!(state(&rig), (true, true));

    let optional = json!({ "secretKeyRef": { "name": "none", "key": "a", "optional": true } });
    let mut rig = rig_with(&json!({ "containers": [container("main", &from(optional))] }));
    rig.run(30);
    assert_eq!(state(&rig), (true, true));
    let whole = json!({ "envFrom": [{ "secretRef": { "name": "none" } }] });
    let mut rig = rig_with(&json!({ "containers": [container("main", &whole)] }));
    rig.run(30);
    assert_eq!(waiting(&rig), "CreateContainerConfigError: secret \"none\" not found");
}
