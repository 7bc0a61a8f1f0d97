//! The ReplicaSet controller maintains the desired number of pods. The same code serves ReplicationControllers.

mod ranks;
mod replica_set_status;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde_json::json;
use windtunnel_core::clock::Time;
use windtunnel_core::resources::{PODS, REPLICA_SETS, REPLICATION_CONTROLLERS};
use windtunnel_core::selector::selector_matches;
use windtunnel_core::{ChangeKind, Identity, Key, Object, Resource, View, Write};

use crate::event_log::{EventLog, add_pod_events};
use crate::workloads::claims::claim_pods;
use crate::workqueue::{Reconcile, WorkQueue};
use crate::{Actor, ControllerVersion, Input, Interest, Step, owners};

/// The ReplicaSet controller of kube-controller-manager, or its ReplicationController manager.
#[derive(Debug, Clone)]
pub struct ReplicaSetController {
    kind: Resource,
    queue: WorkQueue,
    /// The message of the last rejected pod creation.
    rejections: BTreeMap<Key, String>,
    events: EventLog,
    version: ControllerVersion,
    started: bool,
}

impl Default for ReplicaSetController {
    fn default() -> Self {
        Self::for_kind(REPLICA_SETS)
    }
}

impl ReplicaSetController {
    /// Creates a ReplicaSet controller.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a controller of ReplicationControllers.
    pub fn for_replication_controllers() -> Self {
        Self::for_kind(REPLICATION_CONTROLLERS)
    }

    fn for_kind(kind: Resource) -> Self {
        let component = if kind == REPLICA_SETS { "replicaset-controller" } else { "replication-controller" };
        Self {
            kind,
            queue: WorkQueue::default(),
            rejections: BTreeMap::new(),
            events: EventLog::of(component),
            version: ControllerVersion::default(),
            started: false,
        }
    }

    /// Sets the version.
    #[must_use]
    pub fn with_version(mut self, version: ControllerVersion) -> Self {
        self.version = version;
        self.events.set_version(version);
        self
    }

    fn notice(&mut self, input: &Input<'_>) {
        if !std::mem::replace(&mut self.started, true) {
            for set in input.view.list(&self.kind) {
                self.queue.add(self.kind.key(set.namespace(), set.name()));
            }
        }
        for change in input.changes {
            if change.key.is_kind(&self.kind) {
                self.queue.add(change.key.clone());
                continue;
            }
            // The former controller of a pod notices that it lost the pod.
            let owners = [Some(&change.object), change.old.as_ref()].into_iter().flatten();
            for set in owners.filter_map(|pod| owners::controller_of(pod, &self.kind)) {
                self.queue.add(set);
            }
            if owners::controller(&change.object).is_none() && change.kind != ChangeKind::Deleted {
                self.add_choosers(&change.object, input.view);
            }
        }
        let answers = self.queue.settle_answers(input.answers, input.now);
        add_pod_events(&mut self.events, &self.kind, &answers);
        for (set, answer) in answers {
            if let (Err(rejection), "create") = (&answer.outcome, answer.write.verb()) {
                self.rejections.insert(set, rejection.message.clone());
            }
        }
        for answer in input.answers.iter().filter(|answer| answer.write.verb() == "create") {
            if let Some(set) =
                answer.outcome.as_ref().ok().and_then(|pod| owners::controller_of(pod, &self.kind))
            {
                self.rejections.remove(&set);
            }
        }
    }

    /// Queues the sets that may adopt a pod without a controller.
    fn add_choosers(&mut self, pod: &Object, view: &View) {
        for set in view.list_in(&self.kind, pod.namespace()) {
            if self.selects(set, pod) {
                self.queue.add(self.kind.key(set.namespace(), set.name()));
            }
        }
    }

    /// Whether a set selects a pod. The selector of a ReplicationController is a map of labels.
    fn selects(&self, set: &Object, pod: &Object) -> bool {
        let selector = &set["spec"]["selector"];
        let labels = &pod["metadata"]["labels"];
        if self.kind == REPLICATION_CONTROLLERS {
            let selector = selector.as_object().filter(|labels| !labels.is_empty());
            return selector
                .is_some_and(|wanted| selector_matches(&json!({ "matchLabels": wanted }), labels));
        }
        selector_matches(selector, labels)
    }

    /// Adopts or releases pods, or creates or deletes pods to reach the desired number.
    fn scale(&self, set: &Object, pods: &[&Object], view: &View) -> Vec<Write> {
        let claims = claim_pods(set, &self.kind, view, |pod| self.selects(set, pod));
        if !claims.is_empty() {
            return claims;
        }
        let wanted = wanted_replicas(set);
        if pods.len() <= wanted {
            let create = || Write::create(&PODS, owners::pod_from_template(set, &self.kind, set.name(), &[]));
            return std::iter::repeat_with(create).take(wanted - pods.len()).collect();
        }
        let victims = ranks::pods_to_delete(pods, pods.len() - wanted);
        victims.into_iter().map(|pod| Write::delete(&PODS, pod.namespace(), pod.name())).collect()
    }
}

/// Whether a pod is terminating and has not ended.
fn is_ending(pod: &Object) -> bool {
    pod.is_terminating() && !matches!(pod.text("/status/phase"), "Succeeded" | "Failed")
}

fn wanted_replicas(set: &Object) -> usize {
    usize::try_from(set.number("/spec/replicas").unwrap_or(1)).unwrap_or(0)
}

impl Reconcile for ReplicaSetController {
    fn queue(&mut self) -> &mut WorkQueue {
        &mut self.queue
    }

    fn sync(&mut self, key: &Key, view: &View, now: Time) -> Vec<Write> {
        let Some(set) = view.get_key(key) else {
            self.rejections.remove(key);
            self.events.forget(key);
            return Vec::new();
        };
        let (pods, terminating): (Vec<&Object>, Vec<&Object>) = owners::pods_of(view, set)
            .filter(|pod| owners::is_active(pod) || is_ending(pod))
            .partition(|pod| owners::is_active(pod));
        if pods.len() >= wanted_replicas(set) {
            self.rejections.remove(key);
        }
        let mut writes = if set.is_terminating() { Vec::new() } else { self.scale(set, &pods, view) };
        let counts = replica_set_status::Counts::of(set, &pods, now);
        if let Some(at) = counts.recheck_at {
            self.queue.add_at(key.clone(), at);
        }
        let counts_terminating =
            self.kind == REPLICA_SETS && self.version.differences_in(view).counts_terminating;
        let counts = counts.with_terminating(counts_terminating.then_some(terminating.len()));
        let rejection = self.rejections.get(key).map(String::as_str);
        writes.extend(replica_set_status::write_status(&self.kind, set, &counts, rejection, now));
        writes
    }

    fn events(&mut self) -> Option<&mut EventLog> {
        Some(&mut self.events)
    }
}

impl Actor for ReplicaSetController {
    fn name(&self) -> &'static str {
        if self.kind == REPLICA_SETS { "replicaset-controller" } else { "replicationcontroller-controller" }
    }

    fn identity(&self) -> Identity {
        let account =
            if self.kind == REPLICA_SETS { "replicaset-controller" } else { "replication-controller" };
        Identity::service_account("kube-system", account)
    }

    fn interests(&self) -> Vec<Interest> {
        vec![Interest::Kind(self.kind.clone()), Interest::Kind(PODS)]
    }

    fn step(&mut self, input: &Input<'_>) -> Step {
        self.notice(input);
        let mut step = self.reconcile(input);
        if let Some((set, why)) = self.rejections.first_key_value() {
            step.why = format!("a pod of {set}: {why}").into();
        }
        step
    }
}
