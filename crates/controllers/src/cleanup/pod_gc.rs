//! The pod garbage collector, limited to deleting pods of nodes that are gone. The real one also deletes
//! terminated pods, but only beyond 12500, which no simulated cluster has.

use jiff::SignedDuration;
use serde_json::json;
use windtunnel_core::clock::Time;
use windtunnel_core::condition::{self, Condition};
use windtunnel_core::resources::{NODES, PODS};
use windtunnel_core::{ChangeKind, Identity, Key, Object, View, Write, pod};

use crate::workqueue::{Reconcile, WorkQueue};
use crate::{Actor, Input, Interest, Step};

/// The time for which a node must be gone, as it may come back.
const QUARANTINE: SignedDuration = SignedDuration::from_secs(40);
/// The interval of the collector.
const PERIOD_SECONDS: i64 = 20;

/// The pod garbage collector of kube-controller-manager.
#[derive(Debug, Clone, Default)]
pub struct PodGarbageCollector {
    queue: WorkQueue,
    started: bool,
}

impl PodGarbageCollector {
    /// Creates a pod garbage collector.
    pub fn new() -> Self {
        Self::default()
    }

    /// Schedules nodes that are gone while pods are bound to them.
    fn notice(&mut self, input: &Input<'_>) {
        if !std::mem::replace(&mut self.started, true) {
            for pod in input.view.list(&PODS) {
                self.schedule_if_node_missing(pod, input);
            }
        }
        for change in input.changes {
            if change.key.is_kind(&NODES) && change.kind == ChangeKind::Deleted {
                self.queue.add_at(change.key.clone(), look_at(input.now));
            } else if change.key.is_kind(&PODS) && change.kind == ChangeKind::Added {
                self.schedule_if_node_missing(&change.object, input);
            }
        }
        self.queue.process_answers(input.answers, input.now);
    }

    fn schedule_if_node_missing(&mut self, pod: &Object, input: &Input<'_>) {
        let node = pod::node_name(pod);
        if !node.is_empty() && input.view.get(&NODES, "", node).is_none() {
            self.queue.add_at(NODES.key("", node), look_at(input.now));
        }
    }
}

/// The first run of the collector after the quarantine of a node that is gone since `since`.
fn look_at(since: Time) -> Time {
    let seconds = (since + QUARANTINE).as_second();
    let into = seconds.rem_euclid(PERIOD_SECONDS);
    Time::from_second(seconds - into + PERIOD_SECONDS).unwrap_or(Time::MAX)
}

impl Reconcile for PodGarbageCollector {
    fn queue(&mut self) -> &mut WorkQueue {
        &mut self.queue
    }

    fn sync(&mut self, node: &Key, view: &View, now: Time) -> Vec<Write> {
        collect(node, view, now)
    }
}

impl Actor for PodGarbageCollector {
    fn name(&self) -> &'static str {
        "pod-garbage-collector"
    }

    fn identity(&self) -> Identity {
        Identity::service_account("kube-system", "pod-garbage-collector")
    }

    fn interests(&self) -> Vec<Interest> {
        vec![Interest::Kind(NODES), Interest::Kind(PODS)]
    }

    fn step(&mut self, input: &Input<'_>) -> Step {
        self.notice(input);
        self.reconcile(input)
    }
}

/// Deletes the pods of a missing node with grace period 0, as no kubelet will end them.
fn collect(node: &Key, view: &View, now: Time) -> Vec<Write> {
    if view.get_key(node).is_some() {
        return Vec::new();
    }
    let mut writes = Vec::new();
    for pod in view.pods_on(&node.name) {
        crate::marks::POD_OF_GONE_NODE.reach();
        let (namespace, name) = (pod.namespace(), pod.name());
        if !pod::has_ended(pod) {
            let mut conditions = pod.conditions().to_vec();
            let message = "PodGC: node no longer exists";
            condition::set(
                &mut conditions,
                &Condition::new("DisruptionTarget", "True", "DeletionByPodGC", message),
                now,
            );
            let patch = json!({ "status": { "phase": "Failed", "conditions": conditions } });
            writes.push(Write::merge_patch_status(&PODS, namespace, name, patch));
        }
        writes.push(Write::delete_now(&PODS, namespace, name));
    }
    writes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Rig;

    fn rig() -> Rig {
        let mut rig = Rig::new();
        for name in ["a", "b"] {
            rig.put(&NODES, json!({ "metadata": { "name": name } }));
            let pod =
                json!({ "metadata": { "namespace": "ns", "name": name }, "spec": { "nodeName": name } });
            rig.put(&PODS, pod);
        }
        rig.seat(|| Box::new(PodGarbageCollector::new()));
        rig.run(10);
        rig
    }

    #[test]
    fn deletes_pods_of_a_missing_node_after_the_quarantine() {
        let mut rig = rig();
        rig.write(&Write::delete_now(&NODES, "", "a"));
        rig.run(300);
        assert_eq!(rig.log, ["0:01:00 patch pods/ns/a Failed", "0:01:00 delete pods/ns/a"]);
    }

    #[test]
    fn keeps_pods_of_a_node_that_comes_back() {
        let mut rig = rig();
        rig.write(&Write::delete_now(&NODES, "", "a"));
        rig.run(30);
        rig.put(&NODES, json!({ "metadata": { "name": "a" } }));
        rig.run(300);
        assert_eq!(rig.log, Vec::<String>::new());
    }

    #[test]
    fn deletes_pods_bound_to_a_node_that_never_existed() {
        let mut rig = rig();
        rig.put(
            &PODS,
            json!({ "metadata": { "namespace": "ns", "name": "lost" }, "spec": { "nodeName": "c" } }),
        );
        rig.run(300);
        assert_eq!(rig.log, ["0:01:00 patch pods/ns/lost Failed", "0:01:00 delete pods/ns/lost"]);
    }
}
