//! The node lifecycle controller reports unreachable nodes, taints nodes by their conditions, and evicts pods
//! that do not tolerate the taints.
//!
//! A node is unreachable if its kubelet has neither renewed its Lease in `kube-node-lease` nor posted its
//! node status for some time. A node without a Lease is never considered unreachable, for environments
//! without Leases. A longer renewal interval is announced in `leaseDurationSeconds`. Times in Leases and
//! statuses are from the kubelet's clock, so the controller only checks whether they change.

mod events;
mod eviction;
mod silence;
mod tainting;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use windtunnel_core::clock::Time;
use windtunnel_core::resources::{LEASES, NODES, PODS};
use windtunnel_core::{Change, ChangeKind, Identity, Key, Object, Resource, View, Write, condition};

use self::eviction::Timers;
use self::silence::LastHeartbeats;
use super::kubelet::lease::NAMESPACE as LEASE_NAMESPACE;
use super::recorder::{Notice, Recorder};
use super::workqueue::WorkQueue;
use super::{Actor, Input, Interest, Step};

/// The node lifecycle controller of kube-controller-manager.
#[derive(Debug, Clone, Default)]
pub struct NodeLifecycleController {
    queue: WorkQueue,
    kubelets: LastHeartbeats,
    evictions: Timers,
    events: BTreeMap<Key, Recorder>,
    started: bool,
}

impl NodeLifecycleController {
    /// Creates a node lifecycle controller.
    pub fn new() -> Self {
        Self::default()
    }

    fn notice(&mut self, input: &Input<'_>) {
        if !std::mem::replace(&mut self.started, true) {
            for node in input.view.list(&NODES) {
                self.queue.add(NODES.key("", node.name()));
            }
        }
        for change in input.changes {
            if change.key.is_kind(&NODES) && change.kind == ChangeKind::Deleted {
                self.kubelets.forget(&change.key.name);
            }
            if change.kind == ChangeKind::Deleted {
                self.events.remove(&change.key);
                self.evictions.cancel(&change.key);
            }
            if change.key.is_kind(&NODES) {
                self.queue.add(change.key.clone());
            } else if change.key.is_kind(&LEASES) {
                self.queue.add(NODES.key("", &change.key.name));
            } else if is_newly_bound(change) {
                self.queue.add(change.key.clone());
            }
        }
        self.queue.process_answers(input.answers, input.now);
    }

    fn sync(&mut self, key: &Key, view: &View, now: Time) -> Vec<Write> {
        let Some(object) = view.get_key(key) else { return Vec::new() };
        if key.is_kind(&PODS) {
            let Some(at) = self.evictions.due(key, object, view, now) else { return Vec::new() };
            if at <= now {
                return eviction::evict(object, now);
            }
            self.queue.add_at(key.clone(), at);
            return Vec::new();
        }
        self.sync_node(key, object, view, now)
    }

    fn sync_node(&mut self, key: &Key, node: &Object, view: &View, now: Time) -> Vec<Write> {
        if let Some(at) =
            self.kubelets.silence_begins(node, view, now).filter(|_| !silence::is_marked_unknown(node))
        {
            if at <= now {
                let was_ready = condition::is_true(node, "Ready");
                let notice = was_ready.then(|| events::node_not_ready(node));
                let event = notice.and_then(|notice| self.record_event(&NODES, node, notice, now));
                return [silence::mark_unknown(node, now)].into_iter().chain(event).collect();
            }
            self.queue.add_at(key.clone(), at);
        }
        if let Some(write) = tainting::taint(node, now) {
            return vec![write];
        }
        let drives_out = tainting::has_no_execute_taint(node);
        if !drives_out {
            self.evictions.cancel_all(node.name());
        }
        let is_silent = silence::is_marked_unknown(node);
        if !is_silent && !drives_out {
            return Vec::new();
        }
        let mut writes = Vec::new();
        for pod in view.list(&PODS).filter(|pod| pod.text("/spec/nodeName") == node.name()) {
            if drives_out {
                self.queue.add(PODS.key(pod.namespace(), pod.name()));
            }
            // The kubelet of a node that is not ready still updates its pods.
            if is_silent && let Some(write) = silence::pod_not_ready(pod, now) {
                writes.push(write);
                writes.extend(self.record_event(&PODS, pod, events::pod_not_ready(), now));
            }
        }
        writes
    }

    fn record_event(
        &mut self,
        resource: &Resource,
        object: &Object,
        notice: Notice,
        now: Time,
    ) -> Option<Write> {
        let events = self.events.entry(resource.key_of(object));
        events.or_insert_with(|| events::recorder_for(resource, object)).record(notice, now)
    }
}

/// Whether the change binds a pod to a node.
fn is_newly_bound(change: &Change) -> bool {
    let node = |pod: &Object| pod.text("/spec/nodeName").to_owned();
    change.kind != ChangeKind::Deleted
        && !node(&change.object).is_empty()
        && change.old.as_ref().is_none_or(|old| node(old).is_empty())
}

impl Actor for NodeLifecycleController {
    fn name(&self) -> &'static str {
        "node-lifecycle-controller"
    }

    fn identity(&self) -> Identity {
        Identity::service_account("kube-system", "node-controller")
    }

    fn interests(&self) -> Vec<Interest> {
        let leases = Interest::In(LEASES, LEASE_NAMESPACE.to_owned());
        vec![Interest::Kind(NODES), Interest::Kind(PODS), leases]
    }

    fn step(&mut self, input: &Input<'_>) -> Step {
        self.notice(input);
        let mut step = Step::default();
        // Processing a node queues its pods.
        loop {
            let due = self.queue.take_due(input.now);
            if due.is_empty() {
                break;
            }
            for key in due {
                for write in self.sync(&key, input.view, input.now) {
                    self.queue.send(&key, write, &mut step.writes);
                }
            }
        }
        step.wake_at = self.queue.next();
        step
    }
}
