//! Invented faults: the documented vocabulary, each with an end.

use serde_json::{Value, json};
use windtunnel_controllers::faults::FaultKind;

use super::Names;
use crate::explore::case::seconds;
use crate::explore::dice::Dice;

/// The answers of the API server that fail requests.
const ANSWERS: [&str; 9] = [
    "too-many-requests",
    "internal-error",
    "etcd-timed-out",
    "unavailable",
    "timeout",
    "conflict",
    "timeout-after-write",
    "connection-dropped",
    "connection-dropped-after-write",
];

/// The faults of releases that end.
const OF_RELEASES: [&str; 14] = [
    "manifest-unknown",
    "wrong-digest",
    "unauthorized",
    "unreachable",
    "unavailable",
    "slow",
    "hangs",
    "sigstore-missing",
    "openpgp-missing",
    "openpgp-wrong-key",
    "openpgp-unanswered",
    "corrupt",
    "containers-crash",
    "containers-out-of-memory",
];

/// The faults of programs.
const OF_PROGRAMS: [&str; 10] = [
    "crash-before-write",
    "crash-after-write",
    "watch-stale",
    "watch-dropped",
    "lease-lost",
    "killed",
    "last-in-turn",
    "last-in-turn",
    "slow",
    "slow",
];

/// Delays of slow components, in seconds.
const DELAYS: [u64; 5] = [1, 3, 10, 30, 90];

/// Components, and the kinds that they write.
const KINDS: [(&str, &[&str]); 7] = [
    (
        "cluster-version-operator",
        &[
            "ClusterVersion",
            "ClusterVersion",
            "ClusterOperator",
            "Deployment",
            "DaemonSet",
            "ConfigMap",
            "Lease",
        ],
    ),
    ("machine-config-controller/node", &["Node", "MachineConfigPool"]),
    ("machine-config-controller/drain", &["Node", "Pod"]),
    ("machine-config-controller/render", &["MachineConfig", "MachineConfigPool"]),
    ("machine-config-daemon", &["Node", "MachineConfigNode"]),
    ("kubelet", &["Node", "Pod", "Lease"]),
    ("operator", &["ClusterOperator"]),
];

/// Pods with faults.
const PODS: [&str; 2] =
    ["openshift-cluster-version/cluster-version-operator-*", "openshift-update-status-controller/*"];

/// Definitions of every cluster.
const DEFINITIONS: [&str; 2] =
    ["clusteroperators.config.openshift.io", "machineconfigpools.machineconfiguration.openshift.io"];

/// Invents a fault step.
pub(super) fn invent(dice: &mut Dice, names: &Names) -> Value {
    let mut fault = match dice.between(0, 18) {
        0..=4 => of_node(dice, names),
        5..=7 => of_operator(dice, names),
        8..=10 => of_requests(dice, names),
        11..=13 => of_program(dice, names),
        14 => json!({ "pod": PODS[0], "is": *dice.pick(&FaultKind::OF_PODS) }),
        15 => json!({ "pool": dice.pick(&names.pools), "is": "render-flips", "times": dice.between(1, 4) }),
        16 => json!({ "release": dice.pick(&names.releases), "is": *dice.pick(&OF_RELEASES) }),
        17 => json!({
            "webhook": { "verb": "update", "kind": "ClusterOperator", "name": dice.pick(&names.operators), "subresource": "status" },
            "is": "unreachable",
        }),
        _ => json!({ "crd": *dice.pick(&DEFINITIONS), "is": "stored-version" }),
    };
    if has_end(&fault) {
        let minutes = *dice.pick(&[1, 2, 5, 10, 20, 45, 90, 150]);
        fault["for"] = json!(seconds(60 * minutes));
    }
    json!({ "fault": fault })
}

/// Whether a fault ends only if its end is given.
fn has_end(fault: &Value) -> bool {
    let is = fault["is"].as_str().unwrap_or_default();
    let is_moment = ["killed", "watch-dropped", "render-flips"].contains(&is) || is.starts_with("crash-");
    !(is_moment && fault.get("pod").is_none()) && fault.get("times").is_none_or(|_| is == "reboot-loop")
}

fn of_node(dice: &mut Dice, names: &Names) -> Value {
    // Without a quorum of etcd no step of a case can begin or end another fault.
    let kinds: Vec<&str> = FaultKind::OF_NODES.into_iter().filter(|is| *is != "powered-off").collect();
    let is = *dice.pick(&kinds);
    let mut fault = json!({ "node": dice.pick(&names.nodes), "is": is });
    match is {
        "clock-ahead" | "clock-behind" => fault["by"] = json!(seconds(*dice.pick(&[10, 90, 600]))),
        "reboot-loop" => fault["times"] = json!(dice.between(1, 4)),
        _ => {}
    }
    fault
}

fn of_operator(dice: &mut Dice, names: &Names) -> Value {
    json!({ "operator": dice.pick(&names.operators), "is": *dice.pick(&FaultKind::OF_OPERATORS) })
}

fn of_requests(dice: &mut Dice, names: &Names) -> Value {
    let by = program(dice, names);
    let kinds = KINDS.iter().find(|(component, _)| by.starts_with(component)).map(|(_, kinds)| *kinds);
    let mut requests = json!({ "by": by });
    if let Some(kinds) = kinds.filter(|_| dice.chance(60)) {
        requests["kind"] = json!(*dice.pick(kinds));
    }
    let is = *dice.pick(&ANSWERS);
    if is == "conflict" {
        requests["verb"] = json!(*dice.pick(&["update", "update", "patch"]));
    } else if is.ends_with("-after-write") {
        requests["verb"] = json!(*dice.pick(&["update", "patch", "delete"]));
    }
    let mut fault = json!({ "api": requests, "is": is });
    if dice.chance(40) {
        fault["times"] = json!(dice.between(1, 5));
    }
    fault
}

fn of_program(dice: &mut Dice, names: &Names) -> Value {
    let is = *dice.pick(&OF_PROGRAMS);
    if is == "lease-lost" {
        return json!({ "process": "cluster-version-operator", "is": is });
    }
    let mut fault = json!({ "process": program(dice, names), "is": is });
    if is.starts_with("crash-") {
        fault["nth"] = json!(dice.between(1, 12));
    }
    if is == "slow" {
        fault["by"] = json!(seconds(*dice.pick(&DELAYS)));
    }
    fault
}

/// A simulated component.
fn program(dice: &mut Dice, names: &Names) -> String {
    let node = dice.pick(&names.nodes).clone();
    match dice.between(0, 9) {
        0..=2 => "cluster-version-operator".to_owned(),
        3 => "machine-config-controller/node".to_owned(),
        4 => "machine-config-controller/drain".to_owned(),
        5 => "machine-config-controller/render".to_owned(),
        6 => format!("kubelet/{node}"),
        7 => format!("operator/{}", dice.pick(&names.programs)),
        _ => format!("machine-config-daemon/{node}"),
    }
}
