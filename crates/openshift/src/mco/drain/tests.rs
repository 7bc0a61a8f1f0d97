//! Tests of drains with different pods and disruption budgets.

use serde_json::{Value, json};
use windtunnel_controllers::testing::{Rig, check_recovery};
use windtunnel_core::DeleteOptions;
use windtunnel_core::resources::{CONTROLLER_CONFIGS, EVENTS, INFRASTRUCTURES, POD_DISRUPTION_BUDGETS};

use super::*;
use crate::mco::annotations::RELEASE_VERSION;
use crate::mco::{CONTROLLER_CONFIG, NAMESPACE};

const NEW: &str = "drain-b";

/// A node that is done, and the drain controller of a release.
fn prepare(rig: &mut Rig, version: &str) {
    let annotations = json!({ (RELEASE_VERSION): version });
    let config = json!({ "metadata": { "name": CONTROLLER_CONFIG, "annotations": annotations } });
    rig.put(&CONTROLLER_CONFIGS, config);
    let annotations = json!({ (DESIRED_DRAIN): "uncordon-a", (LAST_APPLIED_DRAIN): "uncordon-a" });
    rig.put(&NODES, json!({ "metadata": { "name": "w", "annotations": annotations } }));
    rig.seat(|| Box::new(DrainController::new(Streams::new(1))));
}

fn rig(version: &str) -> Rig {
    let mut rig = Rig::new();
    prepare(&mut rig, version);
    rig
}

/// A pod on the node with this termination grace period.
fn put_pod(rig: &mut Rig, name: &str, grace: i64, metadata: &Value) {
    let mut pod = json!({
        "metadata": { "namespace": "ns", "name": name, "labels": { "app": name } },
        "spec": { "nodeName": "w", "terminationGracePeriodSeconds": grace },
    });
    json_patch::merge(&mut pod["metadata"], metadata);
    rig.put(&PODS, pod);
}

fn put_budget(rig: &mut Rig, name: &str, app: &str, allowed: i64) {
    rig.put(
        &POD_DISRUPTION_BUDGETS,
        json!({
            "metadata": { "namespace": "ns", "name": name },
            "spec": { "selector": { "matchLabels": { "app": app } } },
            "status": { "disruptionsAllowed": allowed },
        }),
    );
}

fn set_request(rig: &mut Rig, request: &str) {
    let patch = json!({ "metadata": { "annotations": { (DESIRED_DRAIN): request } } });
    rig.write(&Write::merge_patch(&NODES, "", "w", patch));
}

fn cordon_by_hand(rig: &mut Rig, cordoned: &Value) {
    rig.write(&Write::merge_patch(&NODES, "", "w", json!({ "spec": { "unschedulable": cordoned } })));
}

fn node(rig: &Rig) -> &Object {
    rig.view.get(&NODES, "", "w").unwrap()
}

fn is_cordoned(rig: &Rig) -> bool {
    node(rig)["spec"]["unschedulable"] == true
}

fn applied(rig: &Rig) -> &str {
    node(rig).annotation(LAST_APPLIED_DRAIN).unwrap()
}

fn pods(rig: &Rig) -> Vec<&str> {
    rig.view.list(&PODS).map(Object::name).collect()
}

/// The times (in the log) of eviction requests for this pod.
fn evictions<'a>(rig: &'a Rig, pod: &str) -> Vec<&'a str> {
    let eviction = format!(" create {} ", PODS.key("ns", pod));
    let lines = rig.log.iter().filter(|line| format!("{line} ").contains(&eviction));
    lines.map(|line| line.split(' ').next().unwrap()).collect()
}

/// Count and message of the Event with this reason.
fn event<'a>(rig: &'a Rig, reason: &str) -> Option<(i64, &'a str)> {
    let mut events = rig.view.list(&EVENTS).filter(|event| event["reason"] == reason);
    events.next().map(|event| (event.number("/count").unwrap(), event.text("/message")))
}

#[test]
fn cordons_a_node_five_seconds_after_the_request_and_completes_when_all_pods_are_gone() {
    let mut rig = rig("4.18.3");
    put_pod(&mut rig, "web", 30, &json!({}));
    put_pod(&mut rig, "batch", 0, &json!({}));
    rig.run(10);
    set_request(&mut rig, NEW);
    rig.run(4);
    assert!(!is_cordoned(&rig));
    rig.run(2);
    assert!(is_cordoned(&rig));
    assert_eq!((pods(&rig), applied(&rig)), (vec!["web"], "uncordon-a"), "one pod is still terminating");
    let gone = DeleteOptions { grace_period_seconds: Some(0), ..DeleteOptions::default() };
    rig.write(&Write::delete_with(&PODS, "ns", "web", gone));
    rig.run(1);
    assert_eq!(applied(&rig), NEW);
    set_request(&mut rig, "uncordon-b");
    rig.run(6);
    assert_eq!((is_cordoned(&rig), applied(&rig)), (false, "uncordon-b"));
}

#[test]
fn does_not_evict_daemon_set_pods_and_mirror_pods() {
    let mut rig = rig("4.18.3");
    let owner =
        json!({ "apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "d", "controller": true });
    put_pod(&mut rig, "agent", 0, &json!({ "ownerReferences": [owner] }));
    put_pod(&mut rig, "static", 0, &json!({ "annotations": { (MIRROR): "hash" } }));
    put_pod(&mut rig, "bare", 0, &json!({}));
    set_request(&mut rig, NEW);
    rig.run(10);
    assert_eq!((pods(&rig), applied(&rig)), (vec!["agent", "static"], NEW));
}

#[test]
fn retries_a_blocked_eviction_every_five_seconds_and_pauses_after_ninety() {
    let mut rig = rig("4.18.3");
    put_pod(&mut rig, "web", 0, &json!({}));
    put_pod(&mut rig, "batch", 0, &json!({}));
    put_budget(&mut rig, "b", "web", 0);
    rig.run(10);
    set_request(&mut rig, NEW);
    rig.run(8);
    assert_eq!(pods(&rig), ["web"], "all other pods are evicted");
    rig.run(170);
    let at = evictions(&rig, "web");
    assert_eq!(at[..3], ["0:00:15", "0:00:20", "0:00:25"]);
    assert_eq!((at[17], at[18]), ("0:01:40", "0:02:45"), "{at:?}");
    assert!(event(&rig, "DrainThresholdExceeded").is_none());
    rig.write(&Write::merge_patch_status(
        &POD_DISRUPTION_BUDGETS,
        "ns",
        "b",
        json!({ "status": { "disruptionsAllowed": 1 } }),
    ));
    rig.run(6);
    assert_eq!(applied(&rig), NEW);
}

#[test]
fn publishes_an_event_after_ten_minutes_and_retries_every_five_minutes() {
    let mut rig = rig("4.19.0");
    for name in ["api", "web"] {
        put_pod(&mut rig, name, 0, &json!({}));
        put_budget(&mut rig, name, name, 0);
    }
    set_request(&mut rig, NEW);
    rig.run(5 + 690 - 1);
    assert!(event(&rig, "DrainThresholdExceeded").is_none());
    rig.run(2);
    let why =
        |pod: &str| format!("error when evicting pods/{pod:?} -n \"ns\": global timeout reached: 1m30s");
    let message = format!(
        "Drain failed. Drain has been failing for more than 10 minutes. Waiting 5 minutes then retrying. Error message from drain: [{}, {}]",
        why("api"),
        why("web")
    );
    assert_eq!(event(&rig, "DrainThresholdExceeded"), Some((1, message.as_str())));
    rig.run(390);
    assert_eq!(event(&rig, "DrainThresholdExceeded"), Some((2, message.as_str())));
    let pauses = evictions(&rig, "web");
    assert!(pauses.windows(2).any(|pair| pair == ["0:11:30", "0:16:35"]), "{pauses:?}");
    let events = rig.view.list(&EVENTS).filter(|event| event["reason"] == "DrainThresholdExceeded");
    for event in events {
        assert_eq!(event.namespace(), NAMESPACE);
        assert_eq!(event["source"], json!({ "component": "machineconfigcontroller-nodecontroller" }));
        assert_eq!(event["reportingComponent"], event["source"]["component"]);
        assert_eq!(event["involvedObject"]["namespace"], NAMESPACE);
        assert_eq!(event["involvedObject"]["uid"], node(&rig).uid());
    }
}

#[test]
fn a_drain_that_takes_long_is_published_from_4_19_on() {
    for (version, is_published) in [("4.18.3", false), ("4.19.0", true)] {
        let mut rig = rig(version);
        put_pod(&mut rig, "web", 0, &json!({}));
        put_budget(&mut rig, "b", "web", 0);
        set_request(&mut rig, NEW);
        rig.run(3_590);
        assert!(event(&rig, "DrainFailed").is_none());
        let attempts = evictions(&rig, "web").len();
        assert_eq!(event(&rig, "DrainThresholdExceeded").is_some(), is_published, "{version}");
        rig.run(600);
        let message = "node w: drain exceeded timeout: 1h0m0s. Will continue to retry.";
        let published = event(&rig, "DrainFailed").map(|(_, message)| message);
        assert_eq!(published, is_published.then_some(message), "{version}");
        assert!(evictions(&rig, "web").len() > attempts, "{version}: retries continue");
    }
}

#[test]
fn two_budgets_for_one_pod_fail_the_attempt_at_once() {
    let mut rig = rig("4.19.0");
    put_pod(&mut rig, "web", 0, &json!({}));
    put_budget(&mut rig, "one", "web", 1);
    put_budget(&mut rig, "two", "web", 1);
    set_request(&mut rig, NEW);
    rig.run(66);
    assert_eq!(evictions(&rig, "web"), ["0:00:05", "0:01:05"]);
    rig.run(660);
    let message = "Drain failed. Drain has been failing for more than 10 minutes. Waiting 5 minutes then retrying. Error message from drain: error when evicting pods/\"web\" -n \"ns\": This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
    assert_eq!(event(&rig, "DrainThresholdExceeded").map(|(_, message)| message), Some(message));
}

#[test]
fn waits_for_a_pod_with_a_long_grace_period() {
    let mut rig = rig("4.19.0");
    put_pod(&mut rig, "web", 1_800, &json!({}));
    set_request(&mut rig, NEW);
    rig.run(1_200);
    assert_eq!(evictions(&rig, "web"), ["0:00:05"], "a terminating pod is not evicted again");
    let (_, message) = event(&rig, "DrainThresholdExceeded").unwrap();
    let why =
        "error when waiting for pod \"web\" in namespace \"ns\" to terminate: global timeout reached: 1m30s";
    assert!(message.ends_with(why), "{message}");
}

#[test]
fn does_not_wait_for_a_pod_created_during_the_drain() {
    let mut rig = rig("4.18.3");
    put_pod(&mut rig, "web", 30, &json!({}));
    set_request(&mut rig, NEW);
    rig.run(10);
    put_pod(&mut rig, "version", 0, &json!({}));
    rig.run(10);
    let gone = DeleteOptions { grace_period_seconds: Some(0), ..DeleteOptions::default() };
    rig.write(&Write::delete_with(&PODS, "ns", "web", gone));
    rig.run(1);
    assert_eq!((pods(&rig), applied(&rig)), (vec!["version"], NEW));
}

#[test]
fn cordons_a_node_again_that_is_uncordoned_during_its_drain_from_4_18_on() {
    for (version, expected) in [("4.17.9", false), ("4.18.3", true)] {
        let mut rig = rig(version);
        put_pod(&mut rig, "web", 0, &json!({}));
        put_budget(&mut rig, "b", "web", 0);
        set_request(&mut rig, NEW);
        rig.run(30);
        assert!(is_cordoned(&rig));
        cordon_by_hand(&mut rig, &Value::Null);
        rig.run(6);
        assert_eq!(is_cordoned(&rig), expected, "{version}");
        rig.write(&Write::delete(&POD_DISRUPTION_BUDGETS, "ns", "b"));
        rig.run(90);
        assert_eq!((is_cordoned(&rig), applied(&rig)), (expected, NEW), "{version}");
    }
}

#[test]
fn keeps_a_manual_cordon_without_a_drain_request() {
    let mut rig = rig("4.18.3");
    cordon_by_hand(&mut rig, &json!(true));
    set_request(&mut rig, "uncordon-a");
    rig.run(60);
    assert!(is_cordoned(&rig));
}

#[test]
fn a_controller_restart_after_any_write_does_not_change_the_drain() {
    let story = |rig: &mut Rig| {
        prepare(rig, "4.18.3");
        put_pod(rig, "web", 0, &json!({}));
        put_pod(rig, "batch", 0, &json!({}));
        put_budget(rig, "b", "web", 0);
        set_request(rig, NEW);
        rig.run(100);
        rig.write(&Write::delete(&POD_DISRUPTION_BUDGETS, "ns", "b"));
        rig.run(200);
        set_request(rig, "uncordon-b");
        rig.run(30);
    };
    check_recovery(story, |rig| format!("{} {} {:?}", is_cordoned(rig), applied(rig), pods(rig)));
}

#[test]
fn a_drain_without_pods_takes_the_time_of_the_platform() {
    for (platform, least, most) in [("None", 0, 10), ("AWS", 30, 135), ("Azure", 100, 195)] {
        let mut rig = rig("4.18.3");
        let status = json!({ "platform": platform });
        rig.put(&INFRASTRUCTURES, json!({ "metadata": { "name": "cluster" }, "status": status }));
        rig.run(1);
        set_request(&mut rig, NEW);
        let is_drained = |rig: &Rig| node(rig).annotation(LAST_APPLIED_DRAIN) == Some(NEW);
        rig.run(least);
        assert!(!is_drained(&rig), "{platform}");
        rig.run(most - least);
        assert!(is_drained(&rig), "{platform}");
    }
}
