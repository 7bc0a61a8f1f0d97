//! Nodes in, insights out.

use serde_json::{Value, json};

use super::*;
use crate::insight::{NodeStatusInsight, UNAVAILABLE_DURING_UPDATE};

const NOW: &str = "2024-01-01T02:00:00Z";

/// A node with these annotations of the machine-config operator.
fn node(annotations: &[(&str, &str)]) -> Value {
    let mut node = json!({"metadata": {"name": "n", "annotations": {}}});
    for (key, text) in annotations {
        node["metadata"]["annotations"][format!("machineconfiguration.openshift.io/{key}")] = json!(text);
    }
    node
}

/// `Updating`, `Available` and `Degraded` as `<status> <reason>`, then estimate and message. The newest
/// release is that of `new`.
fn assessed(node: &Value, paused: bool) -> Vec<String> {
    let pool = Pool::read(&json!({"metadata": {"name": "worker"}, "spec": {"paused": paused}}));
    let of = |config: &str| match config {
        "old" => Some("4.18.3"),
        "new" => Some("4.18.7"),
        _ => None,
    };
    let releases = Releases { of: &of, newest: "4.18.7", migrates: false };
    let insight =
        serde_json::to_value(upstream(&Node::read(node), &pool, releases, NOW.parse().unwrap())).unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let conditions = insight["conditions"].as_array().unwrap().iter();
    let mut texts: Vec<String> =
        conditions.map(|c| format!("{} {}", text(&c["status"]), text(&c["reason"]))).collect();
    texts.extend([text(&insight["estToComplete"]), text(&insight["message"])]);
    texts
}

#[test]
fn annotations_move_a_node_from_pending_to_completed() {
    const WELL: [&str; 2] = ["True AsExpected", "False AsExpected"];
    let moving = |state, desired, applied| {
        let configs = [("currentConfig", "old"), ("desiredConfig", "new")];
        let drains = [("desiredDrain", desired), ("lastAppliedDrain", applied)];
        node(&[&configs[..], &drains, &[("state", state)]].concat())
    };
    let still = |config| node(&[("currentConfig", config), ("desiredConfig", config), ("state", "Done")]);
    for (node, updating, estimate) in [
        (still("old"), "False Pending", ""),
        (moving("Working", "drain-new", "uncordon-old"), "True Draining", "10m0s"),
        (moving("Working", "drain-new", "drain-new"), "True Updating", "10m0s"),
        (moving("Working", "uncordon-new", "drain-new"), "True Updating", "10m0s"),
        (moving("Rebooting", "drain-new", "drain-new"), "True Rebooting", "10m0s"),
        (still("new"), "False Completed", "0s"),
    ] {
        assert_eq!(assessed(&node, false), [updating, WELL[0], WELL[1], estimate, ""], "{node}");
    }
    assert_eq!(assessed(&still("old"), true), ["False Paused", WELL[0], WELL[1], "0s", ""]);
}

/// The reasons of `Updating` by upstream's rules and by ours, and whether our insight has the message
/// [`UNAVAILABLE_DURING_UPDATE`], for a node with these MachineConfigs. The pool's is `new`; `new` and `next` are of the newest
/// release.
fn both(current: &str, desired: Option<&str>, migrates: bool) -> (String, String, bool) {
    let annotations =
        [("currentConfig", Some(current)), ("desiredConfig", desired), ("state", Some("Working"))];
    let given: Vec<(&str, &str)> =
        annotations.iter().filter_map(|(key, text)| Some((*key, (*text)?))).collect();
    let pool =
        Pool::read(&json!({"metadata": {"name": "worker"}, "spec": {"configuration": {"name": "new"}}}));
    let of = |config: &str| match config {
        "old" => Some("4.18.3"),
        "new" | "next" => Some("4.18.7"),
        _ => None,
    };
    let (node, now) = (Node::read(&node(&given)), NOW.parse().unwrap());
    let releases = Releases { of: &of, newest: "4.18.7", migrates };
    let (ours, state) = assess(&node, &pool, releases, now);
    let reason = |insight: &NodeStatusInsight| insight.conditions[0].reason.clone();
    let is_away = ours.conditions[1].message == UNAVAILABLE_DURING_UPDATE;
    assert_eq!(is_away, state.is_updating, "its daemon works");
    (reason(&upstream(&node, &pool, releases, now)), reason(&ours), is_away)
}

#[test]
fn a_node_is_updating_only_towards_the_machine_config_of_its_pool() {
    for (current, desired, migrates, theirs, ours) in [
        ("old", Some("new"), false, "Updating", "Updating"),
        ("old", Some("next"), false, "Updating", "Pending"),
        ("next", Some("new"), false, "Updating", "Completed"),
        ("new", Some("new"), false, "Completed", "Completed"),
        ("next", Some("new"), true, "Updating", "Updating"),
        ("new", Some("next"), true, "Updating", "Pending"),
        ("next", Some("next"), true, "Completed", "Pending"),
        ("new", Some("new"), true, "Completed", "Completed"),
        ("next", None, true, "Completed", "Completed"),
        ("lost", Some("new"), true, "Pending", "Pending"),
    ] {
        let wanted = (theirs.to_owned(), ours.to_owned(), ours == "Updating");
        assert_eq!(both(current, desired, migrates), wanted, "{current} {desired:?} {migrates}");
    }
}

#[test]
fn an_unavailable_node_is_reported_unless_it_is_updating() {
    let mut cordoned = node(&[("currentConfig", "old"), ("desiredConfig", "new"), ("state", "Working")]);
    cordoned["spec"]["unschedulable"] = json!(true);
    let condition = |kind: &str, status: &str| json!({"type": kind, "status": status, "lastTransitionTime": "2024-01-01T01:00:00Z"});
    cordoned["status"]["conditions"] =
        json!([condition("Ready", "False"), condition("DiskPressure", "Unknown")]);
    assert_eq!(
        assessed(&cordoned, false),
        ["True Updating", "True AsExpected", "False AsExpected", "10m0s", ""]
    );
    cordoned["metadata"]["annotations"]["machineconfiguration.openshift.io/desiredConfig"] = json!("old");
    let reason = "False Not ready | Disk pressure | Node is marked unschedulable";
    let message = "Node is not ready | Node has disk pressure | Node is marked unschedulable";
    assert_eq!(assessed(&cordoned, false), ["False Pending", reason, "False AsExpected", "", message]);
}

#[test]
fn reports_the_reason_of_a_failed_daemon() {
    let annotations = [
        ("currentConfig", "old"),
        ("desiredConfig", "new"),
        ("state", "Degraded"),
        ("reason", "no space left"),
    ];
    let degraded = ["True Updating", "True AsExpected", "True no space left", "", "no space left"];
    assert_eq!(assessed(&node(&annotations), false), degraded);
}

#[test]
fn malformed_nodes_are_pending() {
    let malformed = [
        json!(null),
        json!([1]),
        json!("x"),
        json!({"metadata": 3}),
        json!({"status": {"conditions": [null, 7]}}),
    ];
    for object in malformed {
        let wanted = [
            "False Pending",
            "False Machine Config Daemon is processing the node",
            "False AsExpected",
            "",
            IN_WORK,
        ];
        assert_eq!(assessed(&object, false), wanted, "{object}");
        assert_eq!(Pool::read(&object).name, "");
        assert!(pool_of(&Node::read(&object), [Pool::read(&object)].iter()).is_none());
    }
}

const IN_WORK: &str = "Machine Config Daemon is processing the node";
