//! The pod garbage collector, as far as it takes pods away whose node is gone. (It would also thin out pods that have ended,
//! of which no cluster here has the 12500 that it takes.)

use jiff::SignedDuration;
use serde_json::json;
use windtunnel_core::clock::Time;
use windtunnel_core::condition;
use windtunnel_core::condition::Condition;
use windtunnel_core::resources::{NODES, PODS};
use windtunnel_core::{ChangeKind, Identity, Key, Object, View, Write};

use crate::workqueue::{Reconcile, WorkQueue};
use crate::{Actor, Input, Interest, Step};

/// How long a node must be gone: it may come back.
const QUARANTINE: SignedDuration = SignedDuration::from_secs(40);
/// How often the collector looks.
const PERIOD_SECONDS: i64 = 20;

/// The collector of kube-controller-manager.
#[derive(Debug, Clone, Default)]
pub struct PodGarbageCollector {
    queue: WorkQueue,
    started: bool,
}

impl PodGarbageCollector {
    /// A collector that has not looked at anything yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Finds the nodes that are gone while pods are bound to them.
    fn notice(&mut self, input: &Input<'_>) {
        if !std::mem::replace(&mut self.started, true) {
            for pod in input.view.list(&PODS) {
                self.suspect(pod, input);
            }
        }
        for change in input.changes {
            if change.key.is(&NODES) && change.kind == ChangeKind::Deleted {
                self.queue.add_at(change.key.clone(), look_at(input.now));
            } else if change.key.is(&PODS) && change.kind == ChangeKind::Added {
                self.suspect(&change.object, input);
            }
        }
        self.queue.answered(input.answers, input.now);
    }

    fn suspect(&mut self, pod: &Object, input: &Input<'_>) {
        let node = pod.text("/spec/nodeName");
        if !node.is_empty() && input.view.get(&NODES, "", node).is_none() {
            self.queue.add_at(NODES.key("", node), look_at(input.now));
        }
    }
}

/// The first look after the quarantine of a node that is gone since `since`.
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

/// Removes the pods of a node that is gone, without waiting for its kubelet.
fn collect(node: &Key, view: &View, now: Time) -> Vec<Write> {
    if view.get_key(node).is_some() {
        return Vec::new();
    }
    let bound = |pod: &&Object| pod.text("/spec/nodeName") == node.name;
    let mut writes = Vec::new();
    for pod in view.list(&PODS).filter(bound) {
        let (namespace, name) = (pod.namespace(), pod.name());
        if !matches!(pod.text("/status/phase"), "Succeeded" | "Failed") {
            let mut conditions = pod.list("/status/conditions").to_vec();
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
    fn pods_of_a_node_that_is_gone_go_after_its_quarantine() {
        let mut rig = rig();
        rig.write(&Write::delete_now(&NODES, "", "a"));
        rig.run(300);
        assert_eq!(rig.log, ["0:01:00 patch pods/ns/a Failed", "0:01:00 delete pods/ns/a"]);
    }

    #[test]
    fn a_node_that_comes_back_keeps_its_pods() {
        let mut rig = rig();
        rig.write(&Write::delete_now(&NODES, "", "a"));
        rig.run(30);
        rig.put(&NODES, json!({ "metadata": { "name": "a" } }));
        rig.run(300);
        assert_eq!(rig.log, Vec::<String>::new());
    }

    #[test]
    fn pods_that_are_bound_to_a_node_that_never_was_go_as_well() {
        let mut rig = rig();
        rig.put(
            &PODS,
            json!({ "metadata": { "namespace": "ns", "name": "lost" }, "spec": { "nodeName": "c" } }),
        );
        rig.run(300);
        assert_eq!(rig.log, ["0:01:00 patch pods/ns/lost Failed", "0:01:00 delete pods/ns/lost"]);
    }
}
