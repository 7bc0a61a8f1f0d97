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

/// The time after which a kubelet that never posted a status is considered unreachable (`node-startup-grace-period`).
const STARTUP_SECONDS: i64 = 60;

/// The conditions that kubelets post.
const POSTED: [&str; 4] = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];

/// The time of the last heartbeat of each kubelet, by the controller's clock, as the clocks of kubelets may
/// be wrong.
#[derive(Debug, Clone, Default)]
pub(super) struct LastHeartbeats {
    by_node: BTreeMap<String, Heartbeat>,
    expects_leases: bool,
}

/// The values of the last heartbeat, and the time at which they were first seen.
#[derive(Debug, Clone)]
struct Heartbeat {
    renewed: String,
    posted: String,
    at: Time,
}

impl LastHeartbeats {
    /// Expects all kubelets to renew a Lease, or to post their status.
    pub(super) fn expect_leases(&mut self) {
        self.expects_leases = true;
    }

    /// The time from which the kubelet of a node counts as silent, by its Lease and its last posted status; `None` if it
    /// never does. `default`: the seconds that it may be silent if all kubelets renew Leases.
    pub(super) fn silence_begins(
        &mut self,
        node: &Object,
        view: &View,
        default: i64,
        now: Time,
    ) -> Option<Time> {
        let lease = view.get(&LEASES, LEASE_NAMESPACE, node.name());
        let ready = condition::find_in_status(node, "Ready");
        let Some(ready) = ready else {
            let renewed = lease.map_or("", |lease| lease.text("/spec/renewTime"));
            let created = node.time("/metadata/creationTimestamp").unwrap_or(now);
            let first = if renewed.is_empty() { created } else { now };
            return Some(self.silent_after(node, renewed, "", first, STARTUP_SECONDS));
        };
        if lease.is_none() && !self.expects_leases {
            return None;
        }
        let grace = if self.expects_leases { default } else { GRACE_SECONDS };
        let announced = lease.and_then(|lease| lease.number("/spec/leaseDurationSeconds")).unwrap_or(0);
        let posted = ready["lastHeartbeatTime"].as_str().unwrap_or_default();
        let renewed = lease.map_or("", |lease| lease.text("/spec/renewTime"));
        Some(self.silent_after(node, renewed, posted, now, announced.max(grace)))
    }

    /// The end of the grace time after a heartbeat with these values, which counts from `first` if it is new.
    fn silent_after(&mut self, node: &Object, renewed: &str, posted: &str, first: Time, grace: i64) -> Time {
        let known = self.by_node.get(node.name());
        let known = known.filter(|heartbeat| heartbeat.renewed == renewed && heartbeat.posted == posted);
        let at = known.map_or(first, |heartbeat| heartbeat.at);
        let heartbeat = Heartbeat { renewed: renewed.to_owned(), posted: posted.to_owned(), at };
        self.by_node.insert(node.name().to_owned(), heartbeat);
        after(at, SignedDuration::from_secs(grace))
    }

    /// Removes the heartbeat of a deleted node.
    pub(super) fn forget(&mut self, node: &str) {
        self.by_node.remove(node);
    }
}

/// Whether all conditions that a kubelet posts are `Unknown`.
pub(super) fn is_marked_unknown(node: &Object) -> bool {
    POSTED.iter().all(|kind| condition::has_status(node, kind, "Unknown"))
}

/// Sets all conditions that the kubelet posts to `Unknown`.
pub(super) fn mark_unknown(node: &Object, now: Time) -> Write {
    crate::marks::NODE_SILENT.reach();
    let mut conditions = node.conditions().to_vec();
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
    let mut conditions = pod.conditions().to_vec();
    let ready = conditions.iter_mut().find(|found| found["type"] == "Ready" && found["status"] == "True")?;
    crate::marks::POD_OF_SILENT_NODE.reach();
    ready["status"] = json!("False");
    ready["lastTransitionTime"] = json!(rfc3339(now));
    let patch = json!({ "status": { "conditions": conditions } });
    Some(Write::merge_patch_status(&PODS, pod.namespace(), pod.name(), patch))
}
