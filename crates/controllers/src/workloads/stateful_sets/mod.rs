//! The StatefulSet controller: pods with stable names and volumes, created in order and replaced in reverse order.

mod events;
mod ordinals;
mod pods;
mod rollout;
mod stateful_set_status;
mod volumes;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use windtunnel_core::clock::Time;
use windtunnel_core::resources::{PERSISTENT_VOLUME_CLAIMS, PODS, STATEFUL_SETS};
use windtunnel_core::selector::selector_matches;
use windtunnel_core::{Change, Identity, Key, Object, View, Write};

use self::rollout::Rollout;
use crate::environment::NodeEnvironment;
use crate::event_log::EventLog;
use crate::workloads::claims::claim_pods;
use crate::workloads::payload_pods::PayloadPods;
use crate::workqueue::{Reconcile, WorkQueue};
use crate::{Actor, ControllerVersion, Input, Interest, PayloadWorkloads, Step, owners};

/// The StatefulSet controller of kube-controller-manager.
#[derive(Debug, Clone)]
pub struct StatefulSetController {
    payload: PayloadPods,
    queue: WorkQueue,
    events: EventLog,
    version: ControllerVersion,
    started: bool,
}

impl Default for StatefulSetController {
    fn default() -> Self {
        Self {
            payload: PayloadPods::default(),
            queue: WorkQueue::default(),
            events: EventLog::of("statefulset-controller"),
            version: ControllerVersion::default(),
            started: false,
        }
    }
}

impl StatefulSetController {
    /// Creates a StatefulSet controller.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the version.
    #[must_use]
    pub fn with_version(mut self, version: ControllerVersion) -> Self {
        self.version = version;
        self.events.set_version(version);
        self
    }

    /// Sets how StatefulSets of a payload run.
    #[must_use]
    pub fn with_payload(self, payload: PayloadWorkloads) -> Self {
        Self { payload: PayloadPods::new(payload), ..self }
    }

    fn notice(&mut self, input: &Input<'_>) {
        if !std::mem::replace(&mut self.started, true) {
            for set in input.view.list(&STATEFUL_SETS) {
                self.queue.add(STATEFUL_SETS.key_of(set));
            }
        }
        for change in input.changes {
            if change.key.is_kind(&STATEFUL_SETS) {
                self.queue.add(change.key.clone());
            } else {
                self.add_sets_of(change, input.view);
            }
        }
        let capitalizes = self.version.differences_in(input.view).capitalizes;
        for (set, answer) in self.queue.settle_answers(input.answers, input.now) {
            if let Some(notice) = events::notice(&set, answer, capitalizes) {
                self.events.add(&set, notice);
            }
        }
    }

    /// Queues the sets that a pod or a claim belongs to, or may belong to.
    fn add_sets_of(&mut self, change: &Change, view: &View) {
        let owners = [Some(&change.object), change.old.as_ref()].into_iter().flatten();
        let owners: Vec<Key> =
            owners.filter_map(|object| owners::controller_of(object, &STATEFUL_SETS)).collect();
        if !owners.is_empty() {
            for set in owners {
                self.queue.add(set);
            }
            return;
        }
        if owners::controller(&change.object).is_some() {
            return;
        }
        for set in view.list_in(&STATEFUL_SETS, change.object.namespace()) {
            let is_concerned = if change.key.is_kind(&PODS) {
                selects(set, &change.object)
            } else {
                !set.list("/spec/volumeClaimTemplates").is_empty()
            };
            if is_concerned {
                self.queue.add(STATEFUL_SETS.key_of(set));
            }
        }
    }
}

/// Whether a set selects a pod: by its labels and its name.
fn selects(set: &Object, pod: &Object) -> bool {
    ordinals::ordinal(set, pod.name()).is_some()
        && selector_matches(&set["spec"]["selector"], &pod["metadata"]["labels"])
}

impl Reconcile for StatefulSetController {
    fn queue(&mut self) -> &mut WorkQueue {
        &mut self.queue
    }

    fn sync(&mut self, key: &Key, view: &View, now: Time) -> Vec<Write> {
        let Some(set) = view.get_key(key).filter(|set| !self.payload.runs_without_pods(set)) else {
            self.events.forget(key);
            return Vec::new();
        };
        let claims = claim_pods(set, &STATEFUL_SETS, view, |pod| selects(set, pod));
        if !claims.is_empty() && !set.is_terminating() {
            return claims;
        }
        let rollout = Rollout::of(set, view, now);
        if let Some(at) = rollout.recheck_at() {
            self.queue.add_at(key.clone(), at);
        }
        let mut writes = rollout.revision_writes();
        writes.extend(rollout.pod_writes());
        writes.extend(stateful_set_status::write_status(set, &rollout));
        writes
    }

    fn events(&mut self) -> Option<&mut EventLog> {
        Some(&mut self.events)
    }
}

impl Actor for StatefulSetController {
    fn name(&self) -> &'static str {
        "statefulset-controller"
    }

    fn identity(&self) -> Identity {
        Identity::service_account("kube-system", "statefulset-controller")
    }

    fn set_environment(&mut self, environment: &Arc<dyn NodeEnvironment>) {
        self.payload.set_environment(environment);
    }

    fn interests(&self) -> Vec<Interest> {
        let kinds = [STATEFUL_SETS, PODS, PERSISTENT_VOLUME_CLAIMS];
        kinds.into_iter().map(Interest::Kind).collect()
    }

    fn step(&mut self, input: &Input<'_>) -> Step {
        self.notice(input);
        self.reconcile(input)
    }
}
