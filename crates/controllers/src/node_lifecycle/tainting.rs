//! Taints that follow from the conditions of a node and from cordons.

use serde_json::{Value, json};
use windtunnel_core::clock::{Time, rfc3339};
use windtunnel_core::resources::NODES;
use windtunnel_core::{Object, Write, condition, node};

use crate::scheduler::taints::{NOT_READY, UNREACHABLE, UNSCHEDULABLE, taint as of};

/// Conditions that cause a `NoSchedule` taint while they are true.
const PRESSURES: [(&str, &str); 4] = [
    ("MemoryPressure", "node.kubernetes.io/memory-pressure"),
    ("DiskPressure", "node.kubernetes.io/disk-pressure"),
    ("PIDPressure", "node.kubernetes.io/pid-pressure"),
    ("NetworkUnavailable", "node.kubernetes.io/network-unavailable"),
];

/// The write that corrects the managed taints of a node; `None` if they are correct. `is_disrupted`: no node is ready.
pub(super) fn taint(node: &Object, is_disrupted: bool, now: Time) -> Option<Write> {
    let before = node::taints(node);
    let wanted = wanted(node, is_disrupted);
    let same = |one: &Value, other: &Value| one["key"] == other["key"] && one["effect"] == other["effect"];
    let mut taints: Vec<Value> = before
        .iter()
        .filter(|taint| !is_managed(taint) || wanted.iter().any(|wanted| same(wanted, taint)))
        .cloned()
        .collect();
    for mut missing in wanted {
        if !taints.iter().any(|taint| same(taint, &missing)) {
            missing["timeAdded"] = json!(rfc3339(now));
            taints.push(missing);
        }
    }
    if taints == before {
        return None;
    }
    crate::marks::TAINTS_REMOVED.reach_if(taints.len() < before.len());
    let taints = if taints.is_empty() { Value::Null } else { json!(taints) };
    let patch =
        json!({ "metadata": { "resourceVersion": node.resource_version() }, "spec": { "taints": taints } });
    Some(Write::merge_patch(&NODES, "", node.name(), patch))
}

/// Whether a node has `NoExecute` taints.
pub(super) fn has_no_execute_taint(node: &Object) -> bool {
    node::taints(node).iter().any(|taint| taint["effect"] == "NoExecute")
}

/// The managed taints that the state of a node requires.
fn wanted(node: &Object, is_disrupted: bool) -> Vec<Value> {
    let status = |kind: &str| {
        condition::find_in_status(node, kind).map_or("", |found| found["status"].as_str().unwrap_or(""))
    };
    let mut taints = Vec::new();
    if node::is_unschedulable(node) {
        taints.push(of(UNSCHEDULABLE, "NoSchedule"));
    }
    for (kind, key) in PRESSURES {
        if status(kind) == "True" {
            taints.push(of(key, "NoSchedule"));
        }
    }
    let key = match status("Ready") {
        "False" => NOT_READY,
        "Unknown" => UNREACHABLE,
        _ => return taints,
    };
    taints.push(of(key, "NoSchedule"));
    if !is_disrupted {
        taints.push(of(key, "NoExecute"));
    }
    taints
}

/// Whether this controller manages a taint. A node that never reported `Ready` has none of these.
fn is_managed(taint: &Value) -> bool {
    let (key, effect) = (taint["key"].as_str().unwrap_or(""), taint["effect"].as_str().unwrap_or(""));
    match (key, effect) {
        (NOT_READY | UNREACHABLE, "NoSchedule" | "NoExecute") | (UNSCHEDULABLE, "NoSchedule") => true,
        (key, "NoSchedule") => PRESSURES.iter().any(|(_, pressure)| *pressure == key),
        _ => false,
    }
}
