//! Nodes in, insights out.

use serde_json::{Value, json};

use super::*;

const NOW: &str = "2024-01-01T02:00:00Z";

/// A node with these annotations of the machine-config operator.
fn node(annotations: &[(&str, &str)]) -> Value {
    let mut node = json!({"metadata": {"name": "n", "annotations": {}}});
    for (key, text) in annotations {
        node["metadata"]["annotations"][format!("machineconfiguration.openshift.io/{key}")] = json!(text);
    }
    node
}

/// `Updating`, `Available`, `Degraded` as `<status> <reason>`, then estimate and message, while the newest release is that
/// of `new`.
fn told(node: &Value, paused: bool) -> Vec<String> {
    let pool = Pool::read(&json!({"metadata": {"name": "worker"}, "spec": {"paused": paused}}));
    let of = |config: &str| match config {
        "old" => Some("4.18.3"),
        "new" => Some("4.18.7"),
        _ => None,
    };
    let releases = Releases { of: &of, newest: "4.18.7" };
    let insight =
        serde_json::to_value(assess(&Node::read(node), &pool, releases, NOW.parse().unwrap())).unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let conditions = insight["conditions"].as_array().unwrap().iter();
    let mut told: Vec<String> =
        conditions.map(|c| format!("{} {}", text(&c["status"]), text(&c["reason"]))).collect();
    told.extend([text(&insight["estToComplete"]), text(&insight["message"])]);
    told
}

#[test]
fn a_node_goes_from_pending_to_completed_by_its_annotations() {
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
        assert_eq!(told(&node, false), [updating, WELL[0], WELL[1], estimate, ""], "{node}");
    }
    assert_eq!(told(&still("old"), true), ["False Paused", WELL[0], WELL[1], "0s", ""]);
}

#[test]
fn a_node_that_updates_is_not_told_to_be_unavailable_and_any_other_one_is() {
    let mut cordoned = node(&[("currentConfig", "old"), ("desiredConfig", "new"), ("state", "Working")]);
    cordoned["spec"]["unschedulable"] = json!(true);
    let condition = |kind: &str, status: &str| json!({"type": kind, "status": status, "lastTransitionTime": "2024-01-01T01:00:00Z"});
    cordoned["status"]["conditions"] =
        json!([condition("Ready", "False"), condition("DiskPressure", "Unknown")]);
    assert_eq!(told(&cordoned, false), ["True Updating", "True AsExpected", "False AsExpected", "10m0s", ""]);
    cordoned["metadata"]["annotations"]["machineconfiguration.openshift.io/desiredConfig"] = json!("old");
    let reason = "False Not ready | Disk pressure | Node is marked unschedulable";
    let message = "Node is not ready | Node has disk pressure | Node is marked unschedulable";
    assert_eq!(told(&cordoned, false), ["False Pending", reason, "False AsExpected", "", message]);
}

#[test]
fn a_daemon_that_failed_tells_why() {
    let annotations = [
        ("currentConfig", "old"),
        ("desiredConfig", "new"),
        ("state", "Degraded"),
        ("reason", "no space left"),
    ];
    let degraded = ["True Updating", "True AsExpected", "True no space left", "", "no space left"];
    assert_eq!(told(&node(&annotations), false), degraded);
}

#[test]
fn anything_that_is_no_node_is_pending_at_most() {
    let odd = [
        json!(null),
        json!([1]),
        json!("x"),
        json!({"metadata": 3}),
        json!({"status": {"conditions": [null, 7]}}),
    ];
    for object in odd {
        let wanted = [
            "False Pending",
            "False Machine Config Daemon is processing the node",
            "False AsExpected",
            "",
            IN_WORK,
        ];
        assert_eq!(told(&object, false), wanted, "{object}");
        assert_eq!(Pool::read(&object).name, "");
        assert!(pool_of(&Node::read(&object), [Pool::read(&object)].iter()).is_none());
    }
}

const IN_WORK: &str = "Machine Config Daemon is processing the node";
