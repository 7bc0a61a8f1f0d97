//! Detection of silent kubelets, and the resulting conditions of nodes and pods.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use serde_json::{Value, json};
use windtunnel_core::clock::{Time, after, rfc3339};
use windtunnel_core::resources::{LEASES, NODES, PODS};
use windtunnel_core::{Object, View, Write, condition};

use super::LEASE_NAMESPACE;

/// The minimum time after which a silent kubelet is considered unreachable (`node-monitor-grace-period`).
const GRACE_SECONDS: i64 = 40;

/// The conditions that kubelets post.
const POSTED: [&str; 4] = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];

/// The time of the last heartbeat of each kubelet, by the controller's clock, as the clocks of kubelets may
/// be wrong.
#[derive(Debug, Clone, Default)]
pub(super) struct LastHeartbeats {
    by_node: BTreeMap<String, Heartbeat>,
}

/// The values of the last heartbeat, and the time at which they were first seen.
#[derive(Debug, Clone)]
struct Heartbeat {
    renewed: String,
    posted: String,
    at: Time,
}

impl LastHeartbeats {
    /// The time from which the kubelet of a node counts as silent, by its Lease and its last posted status;
    /// `None` without a Lease.
    pub(super) fn silence_begins(&mut self, node: &Object, view: &View, now: Time) -> Option<Time> {
        let lease = view.get(&LEASES, LEASE_NAMESPACE, node.name())?;
        let seconds = lease.number("/spec/leaseDurationSeconds").unwrap_or(0).max(GRACE_SECONDS);
        let posted = condition::find_in_status(node, "Ready")
            .map_or("", |ready| ready["lastHeartbeatTime"].as_str().unwrap_or_default());
        let renewed = lease.text("/spec/renewTime");
        let heartbeat = self.by_node.get(node.name());
        let at = heartbeat.filter(|heartbeat| heartbeat.renewed == renewed && heartbeat.posted == posted);
        let at = at.map_or(now, |heartbeat| heartbeat.at);
        let heartbeat = Heartbeat { renewed: renewed.to_owned(), posted: posted.to_owned(), at };
        self.by_node.insert(node.name().to_owned(), heartbeat);
        Some(after(at, SignedDuration::from_secs(seconds)))
    }

    /// Removes the heartbeat of a deleted node.
    pub(super) fn forget(&mut self, node: &str) {
        self.by_node.remove(node);
    }
}

/// Whether all conditions that a kubelet posts are `Unknown`.
pub(super) fn is_marked_unknown(node: &Object) -> bool {
    POSTED
        .iter()
        .all(|kind| condition::find_in_status(node, kind).is_some_and(|found| found["status"] == "Unknown"))
}

/// Sets all conditions that the kubelet posts to `Unknown`.
pub(super) fn mark_unknown(node: &Object, now: Time) -> Write {
    crate::marks::NODE_SILENT.reach();
    let mut conditions = node.list("/status/conditions").to_vec();
    for kind in POSTED {
        let known = condition::find(&conditions, kind).is_some();
        let (reason, message) = if known {
            ("NodeStatusUnknown", "Kubelet stopped posting node status.")
        } else {
            ("NodeStatusNeverUpdated", "Kubelet never posted node status.")
        };
        match conditions.iter_mut().find(|condition| condition["type"] == kind) {
            Some(condition) if condition["status"] == "Unknown" => {}
            Some(condition) => {
                condition["status"] = json!("Unknown");
                condition["reason"] = json!(reason);
                condition["message"] = json!(message);
                condition["lastTransitionTime"] = json!(rfc3339(now));
            }
            None => conditions.push(never_posted(kind, node, [reason, message], now)),
        }
    }
    let patch = json!({ "status": { "conditions": conditions } });
    Write::merge_patch_status(&NODES, "", node.name(), patch)
}

fn never_posted(kind: &str, node: &Object, [reason, message]: [&str; 2], now: Time) -> Value {
    json!({
        "type": kind, "status": "Unknown", "reason": reason, "message": message,
        "lastHeartbeatTime": node["metadata"]["creationTimestamp"], "lastTransitionTime": rfc3339(now),
    })
}

/// Sets `Ready` of a pod to `False` because its node is unreachable.
pub(super) fn pod_not_ready(pod: &Object, now: Time) -> Option<Write> {
    let mut conditions = pod.list("/status/conditions").to_vec();
    let ready = conditions.iter_mut().find(|found| found["type"] == "Ready" && found["status"] == "True")?;
    crate::marks::POD_OF_SILENT_NODE.reach();
    ready["status"] = json!("False");
    ready["lastTransitionTime"] = json!(rfc3339(now));
    let patch = json!({ "status": { "conditions": conditions } });
    Some(Write::merge_patch_status(&PODS, pod.namespace(), pod.name(), patch))
}
