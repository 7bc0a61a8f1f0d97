//! The node lifecycle controller reports unreachable nodes, taints nodes by their conditions, and evicts pods
//! that do not tolerate the taints.
//!
//! A node is unreachable if its kubelet has neither renewed its Lease in `kube-node-lease` nor posted its
//! node status for some time. In environments without Leases, a node without one is only considered unreachable if its
//! kubelet never posted a status. A longer renewal interval is announced in `leaseDurationSeconds`. Times in Leases and
//! statuses are from the kubelet's clock, so the controller only checks whether they change.
//!
//! While no node is ready, the fault is likely with the control plane, and no pod is evicted.

mod events;
mod eviction;
mod silence;
mod tainting;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use windtunnel_core::clock::Time;
use windtunnel_core::resources::{LEASES, NODES, PODS};
use windtunnel_core::{Change, ChangeKind, Identity, Key, Object, View, Write, condition, pod};

use self::events::Logs;
use self::eviction::Timers;
use self::silence::LastHeartbeats;
use super::kubelet::lease::NAMESPACE as LEASE_NAMESPACE;
use super::workqueue::WorkQueue;
use super::{Actor, ControllerVersion, Input, Interest, Step};

/// The node lifecycle controller of kube-controller-manager.
#[derive(Debug, Clone, Default)]
pub struct NodeLifecycleController {
    queue: WorkQueue,
    kubelets: LastHeartbeats,
    evictions: Timers,
    events: Logs,
    version: ControllerVersion,
    /// The nodes that the controller has seen.
    known: BTreeSet<String>,
    /// Deleted nodes, and deleted pods with an eviction timer, until Events report them.
    gone: Vec<(Key, Object)>,
    /// Whether no node is ready.
    is_disrupted: bool,
    started: bool,
}

impl NodeLifecycleController {
    /// Creates a node lifecycle controller.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the version.
    #[must_use]
    pub fn with_version(mut self, version: ControllerVersion) -> Self {
        self.version = version;
        for log in [&mut self.events.nodes, &mut self.events.pods, &mut self.events.evictions] {
            log.set_version(version);
        }
        self
    }

    /// Expects all kubelets to renew a Lease, or to post their status.
    #[must_use]
    pub fn with_leases(mut self) -> Self {
        self.kubelets.expect_leases();
        self
    }

    fn notice(&mut self, input: &Input<'_>) {
        let is_first = !std::mem::replace(&mut self.started, true);
        let has_news = is_first || input.changes.iter().any(|change| change.key.is_kind(&NODES));
        let was_disrupted = self.is_disrupted;
        if has_news {
            let mut nodes = input.view.list(&NODES);
            self.is_disrupted = !nodes.any(|node| condition::is_true(node, "Ready"));
        }
        if is_first || self.is_disrupted != was_disrupted {
            for node in input.view.list(&NODES) {
                self.queue.add(NODES.key("", node.name()));
            }
        }
        for change in input.changes {
            if change.kind == ChangeKind::Deleted {
                self.notice_deletion(change);
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

    fn notice_deletion(&mut self, change: &Change) {
        let key = &change.key;
        let is_known_node = key.is_kind(&NODES) && self.known.remove(&key.name);
        if self.evictions.cancel(key) || is_known_node {
            self.gone.push((key.clone(), change.object.clone()));
        } else {
            self.events.forget(key);
        }
        if key.is_kind(&NODES) {
            self.kubelets.forget(&key.name);
        }
    }

    /// The Events about deleted objects.
    fn events_of_gone(&mut self, view: &View, now: Time) -> Vec<(Key, Write)> {
        let gone = std::mem::take(&mut self.gone);
        let event = |(key, object): (Key, Object)| {
            let write = if key.is_kind(&NODES) {
                self.events.nodes.record(&NODES, &object, events::removed(&key.name), view, now)
            } else {
                self.eviction_event(&object, true, view, now)
            };
            self.events.forget(&key);
            Some((key, write?))
        };
        gone.into_iter().filter_map(event).collect()
    }

    fn eviction_event(&mut self, pod: &Object, is_canceled: bool, view: &View, now: Time) -> Option<Write> {
        let component = self.version.differences_in(view).taint_evictor;
        self.events.evictions.set_component(component);
        self.events.evictions.record(&PODS, pod, events::eviction(pod, is_canceled), view, now)
    }

    fn sync(&mut self, key: &Key, view: &View, now: Time) -> Vec<Write> {
        let Some(object) = view.get_key(key) else { return Vec::new() };
        if key.is_kind(&PODS) {
            self.sync_pod(key, object, view, now)
        } else {
            self.sync_node(key, object, view, now)
        }
    }

    fn sync_pod(&mut self, key: &Key, pod: &Object, view: &View, now: Time) -> Vec<Write> {
        let Some(at) = self.evictions.due(key, pod, view, now) else {
            let is_canceled = self.evictions.cancel(key);
            let event = is_canceled.then(|| self.eviction_event(pod, true, view, now));
            return event.flatten().into_iter().collect();
        };
        if at > now {
            self.queue.add_at(key.clone(), at);
            return Vec::new();
        }
        self.evictions.cancel(key);
        let event = self.eviction_event(pod, false, view, now);
        event.into_iter().chain(eviction::evict(pod, now)).collect()
    }

    fn sync_node(&mut self, key: &Key, node: &Object, view: &View, now: Time) -> Vec<Write> {
        let mut writes = Vec::new();
        if self.known.insert(node.name().to_owned()) {
            let notice = events::registered(node.name());
            writes.extend(self.events.nodes.record(&NODES, node, notice, view, now));
        }
        let grace = self.version.differences_in(view).grace_seconds;
        let silence = self.kubelets.silence_begins(node, view, grace, now);
        if let Some(at) = silence.filter(|_| !silence::is_marked_unknown(node)) {
            if at <= now {
                let notice = condition::is_true(node, "Ready").then(|| events::node_not_ready(node));
                let event =
                    notice.and_then(|notice| self.events.nodes.record(&NODES, node, notice, view, now));
                writes.push(silence::mark_unknown(node, now));
                writes.extend(event);
                return writes;
            }
            self.queue.add_at(key.clone(), at);
        }
        if let Some(write) = tainting::taint(node, self.is_disrupted, now) {
            writes.push(write);
            return writes;
        }
        writes.extend(self.sync_pods_of(node, view, now));
        writes
    }

    /// Evicts the pods of a node with `NoExecute` taints, and marks those of an unreachable node.
    fn sync_pods_of(&mut self, node: &Object, view: &View, now: Time) -> Vec<Write> {
        let mut writes = Vec::new();
        let drives_out = tainting::has_no_execute_taint(node);
        if !drives_out {
            for pod in self.evictions.cancel_all(node.name()) {
                let pod = view.get_key(&pod);
                writes.extend(pod.and_then(|pod| self.eviction_event(pod, true, view, now)));
            }
        }
        let is_silent = silence::is_marked_unknown(node);
        if !is_silent && !drives_out {
            return writes;
        }
        for pod in view.pods_on(node.name()) {
            if drives_out {
                self.queue.add(PODS.key_of(pod));
            }
            // The kubelet of a node that is not ready still updates its pods.
            if is_silent && let Some(write) = silence::pod_not_ready(pod, now) {
                writes.push(write);
                writes.extend(self.events.pods.record(&PODS, pod, events::pod_not_ready(), view, now));
            }
        }
        writes
    }
}

/// Whether the change binds a pod to a node.
fn is_newly_bound(change: &Change) -> bool {
    let node = |pod: &Object| pod::node_name(pod).to_owned();
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
        for (key, event) in self.events_of_gone(input.view, input.now) {
            self.queue.send(&key, event, &mut step.writes);
        }
        step.wake_at = self.queue.next();
        step
    }
}
