//! The node status that a kubelet reports: boot id and software after a boot, readiness once the network is
//! configured, and injected faults.

use jiff::SignedDuration;
use serde_json::{Value, json};
use windtunnel_core::clock::{Time, after, rfc3339};
use windtunnel_core::condition::{self, Condition};
use windtunnel_core::resources::NODES;
use windtunnel_core::rng::Streams;
use windtunnel_core::{Object, Write, node};

use super::pod::random_duration;
use crate::environment::NodeEnvironment;
use crate::faults::{Fault, FaultKind};
use crate::machine::Boot;
use crate::recorder::{Notice, Recorder, Subject};

/// The time from the start of a kubelet until the network is configured and the node is ready, in
/// milliseconds. A recorded update has 24 s; first boots, which pull images, have more (`tests/timings/real.json`).
const READY_MILLIS: (u64, u64) = (20_000, 40_000);

/// The conditions of a healthy node besides `Ready`: type, reason and message.
const WELL: [(&str, &str, &str); 3] = [
    ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
];

/// The message of `Ready=False` while the network of the node is not configured.
const NOT_READY: &str = "[container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady \
    message:Network plugin returns error: No CNI configuration file in /etc/kubernetes/cni/net.d/. Has your network \
    provider started?]";

/// The kubelet's state for its node.
#[derive(Debug, Clone)]
pub(super) struct NodeStatus {
    /// The boot to report; `None` if the machine has not booted since the node was created.
    boot: Option<Boot>,
    ready_at: Option<Time>,
    /// Whether the node was cordoned at the last check.
    cordoned: Option<bool>,
    events: Recorder,
}

impl NodeStatus {
    /// Creates the state for `node`, with nothing reported yet.
    pub(super) fn new(node: &str, boot: Option<Boot>) -> Self {
        let involved = json!({ "kind": "Node", "name": node, "uid": node });
        let source = json!({ "component": "kubelet", "host": node });
        let subject = Subject { involved, namespace: "default".to_owned(), source };
        // After a boot the kubelet assumes that the node is not cordoned. Otherwise it knows the current
        // state.
        let cordoned = boot.as_ref().map(|_| false);
        Self { boot, ready_at: None, cordoned, events: Recorder::of(subject) }
    }

    /// The time of the boot to report.
    pub(super) fn booted_at(&self) -> Option<Time> {
        self.boot.as_ref().map(|boot| boot.at)
    }

    /// Sets whether Events name their reporting controller besides their source.
    pub(super) fn set_reporting(&mut self, reports_controller: bool) {
        self.events.set_reporting(reports_controller);
    }

    /// Shifts the pending time when the clock is set.
    pub(super) fn leap(&mut self, by: SignedDuration) {
        self.ready_at = self.ready_at.map(|at| after(at, by));
    }

    /// Returns the writes that are due, and the time of the next check.
    pub(super) fn sync(
        &mut self,
        node: &Object,
        environment: &dyn NodeEnvironment,
        streams: Streams,
        now: Time,
    ) -> (Vec<Write>, Option<Time>) {
        let (mut writes, next_check) = self.sync_status(node, environment, streams, now);
        writes.extend(self.cordon_event(node).and_then(|notice| self.events.record(notice, now)));
        (writes, next_check)
    }

    /// The Event for a node that was cordoned or uncordoned.
    fn cordon_event(&mut self, node: &Object) -> Option<Notice> {
        let is = node::is_unschedulable(node);
        let was = self.cordoned.replace(is).unwrap_or(is);
        let reason = if is { "NodeNotSchedulable" } else { "NodeSchedulable" };
        (was != is).then(|| Notice::normal(reason, format!("Node {} status is now: {reason}", node.name())))
    }

    fn sync_status(
        &mut self,
        node: &Object,
        environment: &dyn NodeEnvironment,
        streams: Streams,
        now: Time,
    ) -> (Vec<Write>, Option<Time>) {
        let fault = Fault::from_annotations(node);
        // Without a boot or fault to report, the kubelet writes only to correct `Ready=Unknown`.
        if self.boot.is_none() && fault.is_none() && !is_unknown(node) {
            return (Vec::new(), None);
        }
        let next_check = self.network_at(streams, now).filter(|at| *at > now);
        let conditions = conditions(node, next_check.is_none(), fault.flatten().as_ref(), now);
        let rebooted = self.boot.as_ref().filter(|boot| node.text("/status/nodeInfo/bootID") != boot.id);
        if rebooted.is_none() && equal_except_times(&conditions, node.conditions()) {
            return (Vec::new(), next_check);
        }
        let mut notices = Vec::new();
        let name = node.name();
        if let Some(Boot { id, .. }) = rebooted {
            notices.push(Notice::normal("Starting", "Starting kubelet."));
            notices
                .push(Notice::warning("Rebooted", format!("Node {name} has been rebooted, boot id: {id}")));
        }
        let ready = condition::is_true_in(&conditions, "Ready");
        if ready != condition::is_true(node, "Ready") || rebooted.is_some() {
            let reason = if ready { "NodeReady" } else { "NodeNotReady" };
            notices.push(Notice::normal(reason, format!("Node {name} status is now: {reason}")));
        }
        let status = json!({ "conditions": conditions, "nodeInfo": self.node_info(node, environment) });
        let mut writes = vec![Write::merge_patch_status(&NODES, "", name, json!({ "status": status }))];
        writes.extend(notices.into_iter().filter_map(|notice| self.events.record(notice, now)));
        (writes, next_check)
    }

    /// The time at which the network of a booted machine is configured.
    fn network_at(&mut self, streams: Streams, now: Time) -> Option<Time> {
        let boot = self.boot.as_ref()?;
        let draw = || {
            now + random_duration(&mut streams.stream(&format!("kubelet/ready/{}", boot.id)), READY_MILLIS)
        };
        Some(*self.ready_at.get_or_insert_with(draw))
    }

    /// The node info, with the id and the software of the boot.
    fn node_info(&self, node: &Object, environment: &dyn NodeEnvironment) -> Value {
        let mut info = node["status"]["nodeInfo"].clone();
        let Some(boot) = &self.boot else { return info };
        info["bootID"] = json!(boot.id);
        let architecture = node.text("/status/nodeInfo/architecture");
        if let Some(software) = environment.software(&boot.os_image, architecture) {
            info["kubeletVersion"] = json!(software.kubelet);
            info["osImage"] = json!(software.os);
            info["kernelVersion"] = json!(software.kernel);
            info["containerRuntimeVersion"] = json!(software.container_runtime);
        }
        info
    }
}

/// The conditions of a node that is ready since `since`.
pub fn ready_conditions(since: Time) -> Vec<Value> {
    conditions(&Object::new(Value::Null), true, None, since)
}

/// The conditions of a node that registered at `since`, while its network is not configured.
pub fn registered_conditions(since: Time) -> Vec<Value> {
    conditions(&Object::new(Value::Null), false, None, since)
}

/// The new conditions of a node. Keeps conditions of other writers.
fn conditions(node: &Object, network: bool, fault: Option<&Fault>, now: Time) -> Vec<Value> {
    let mut list = node.conditions().to_vec();
    let fault = |kind| fault.filter(|fault| fault.kind == kind);
    // Each condition is set once: a change to `False` and back would move its `lastTransitionTime`.
    for (kind, reason, message) in WELL {
        match kind {
            "DiskPressure" if fault(FaultKind::DiskPressure).is_some() => {
                put(&mut list, kind, "True", "KubeletHasDiskPressure", "kubelet has disk pressure", now);
            }
            _ => put(&mut list, kind, "False", reason, message, now),
        }
    }
    match fault(FaultKind::NotReady) {
        Some(fault) => put(&mut list, "Ready", "False", "KubeletNotReady", fault.message_or(NOT_READY), now),
        None if !network => put(&mut list, "Ready", "False", "KubeletNotReady", NOT_READY, now),
        None => put(&mut list, "Ready", "True", "KubeletReady", "kubelet is posting ready status", now),
    }
    list
}

/// Whether the node lifecycle controller has set `Ready` to `Unknown`.
fn is_unknown(node: &Object) -> bool {
    condition::has_status(node, "Ready", "Unknown")
}

/// Whether two lists of conditions are equal except for their times.
fn equal_except_times(one: &[Value], other: &[Value]) -> bool {
    let parsed = |list: &[Value]| list.iter().map(Condition::from_value).collect::<Vec<_>>();
    parsed(one) == parsed(other)
}

fn put(list: &mut Vec<Value>, kind: &str, status: &str, reason: &str, message: &str, now: Time) {
    let mut condition = json!({
        "type": kind, "status": status, "reason": reason, "message": message,
        "lastHeartbeatTime": rfc3339(now), "lastTransitionTime": rfc3339(now),
    });
    match list.iter_mut().find(|old| old["type"] == kind) {
        Some(old) => {
            if old["status"] == status {
                condition["lastTransitionTime"] = old["lastTransitionTime"].clone();
            }
            *old = condition;
        }
        None => list.push(condition),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(conditions: &[Value]) -> Object {
        Object::new(json!({ "status": { "conditions": conditions } }))
    }

    #[test]
    fn a_condition_keeps_its_transition_time_while_its_status_stays() {
        let [start, full, restart] = [0, 60, 120].map(|second| Time::constant(second, 0));
        let fault = Fault::new(FaultKind::DiskPressure);
        let well = node(&ready_conditions(start));
        let pressed = node(&conditions(&well, true, Some(&fault), full));
        let restarted = conditions(&pressed, false, Some(&fault), restart);
        let found = restarted.iter().map(|one| [&one["type"], &one["status"], &one["lastTransitionTime"]]);
        let expected = [
            ("MemoryPressure", "False", start),
            ("DiskPressure", "True", full),
            ("PIDPressure", "False", start),
            ("Ready", "False", restart),
        ];
        let expected = expected.map(|(kind, status, at)| [kind.to_owned(), status.to_owned(), rfc3339(at)]);
        assert_eq!(
            found.map(|one| one.map(|value| value.as_str().unwrap().to_owned())).collect::<Vec<_>>(),
            expected
        );
    }
}
