//! The lines about nodes that the node controller prints, so that its log is a history of the update.

use windtunnel_controllers::Effect;
use windtunnel_core::clock::Time;
use windtunnel_core::log::{Severity, klog};
use windtunnel_core::{Change, Object};

use crate::mco::annotations::{CURRENT_CONFIG, DESIRED_CONFIG, REASON, STATE};

const ZONE: &str = "topology.kubernetes.io/zone";

/// The lines about a change of a node in a pool: its update completed, or its annotations and taints changed.
pub(super) fn about_node(change: &Change, pool: &str, now: Time) -> Vec<Effect> {
    let Some(old) = &change.old else { return Vec::new() };
    let node = &change.object;
    let zone = node.label(ZONE).map(|zone| format!("[zone={zone}]")).unwrap_or_default();
    let line = |text: String| {
        let message = format_args!("Pool {pool}{zone}: node {}: {text}", node.name());
        Effect::Log(klog(Severity::Info, now, "node_controller.go:1130", message))
    };
    changes(old, node).into_iter().map(line).collect()
}

fn changes(old: &Object, node: &Object) -> Vec<String> {
    let annotation = |object: &Object, key: &str| object.annotation(key).unwrap_or_default().to_owned();
    let (current, desired) = (annotation(node, CURRENT_CONFIG), annotation(node, DESIRED_CONFIG));
    let was_updating = annotation(old, CURRENT_CONFIG) != annotation(old, DESIRED_CONFIG);
    if was_updating && current == desired && annotation(node, STATE) == "Done" {
        return vec![format!("Completed update to {desired}")];
    }
    let changed = [CURRENT_CONFIG, DESIRED_CONFIG, STATE, REASON].into_iter().filter_map(|key| {
        let value = annotation(node, key);
        (annotation(old, key) != value).then(|| format!("changed annotation {key} = {value}"))
    });
    let mut texts: Vec<String> = changed.collect();
    if old["spec"]["taints"] != node["spec"]["taints"] {
        texts.push("changed taints".to_owned());
    }
    texts
}
