//! The ReplicaSet controller maintains the desired number of pods.

mod ranks;
mod status;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde_json::json;
use windtunnel_core::clock::Time;
use windtunnel_core::resources::{PODS, REPLICA_SETS};
use windtunnel_core::selector::selector_matches;
use windtunnel_core::{ChangeKind, Identity, Key, Object, View, Write};

use crate::owners;
use crate::workqueue::{Reconcile, WorkQueue};
use crate::{Actor, Input, Interest, Step};

/// The ReplicaSet controller of kube-controller-manager.
#[derive(Debug, Clone, Default)]
pub struct ReplicaSetController {
    queue: WorkQueue,
    /// The message of the last rejected pod creation.
    refusals: BTreeMap<Key, String>,
    started: bool,
}

impl ReplicaSetController {
    /// Creates a ReplicaSet controller.
    pub fn new() -> Self {
        Self::default()
    }

    fn notice(&mut self, input: &Input<'_>) {
        if !std::mem::replace(&mut self.started, true) {
            for set in input.view.list(&REPLICA_SETS) {
                self.queue.add(REPLICA_SETS.key(set.namespace(), set.name()));
            }
        }
        for change in input.changes {
            if change.key.is_kind(&REPLICA_SETS) {
                self.queue.add(change.key.clone());
            } else if let Some(set) = owners::controller_of(&change.object, &REPLICA_SETS) {
                self.queue.add(set);
            } else if owners::controller(&change.object).is_none() && change.kind != ChangeKind::Deleted {
                self.add_choosers(&change.object, input.view);
            }
        }
        for (set, answer) in self.queue.process_answers(input.answers, input.now) {
            if let (Err(refusal), "create") = (&answer.outcome, answer.write.verb()) {
                self.refusals.insert(set, refusal.message.clone());
            }
        }
        for answer in input.answers.iter().filter(|answer| answer.write.verb() == "create") {
            if let Some(set) =
                answer.outcome.as_ref().ok().and_then(|pod| owners::controller_of(pod, &REPLICA_SETS))
            {
                self.refusals.remove(&set);
            }
        }
    }

    /// Queues the ReplicaSets that may adopt a pod without a controller.
    fn add_choosers(&mut self, pod: &Object, view: &View) {
        for set in view.list_in(&REPLICA_SETS, pod.namespace()) {
            if selector_matches(&set["spec"]["selector"], &pod["metadata"]["labels"]) {
                self.queue.add(REPLICA_SETS.key(set.namespace(), set.name()));
            }
        }
    }
}

/// Adopts, creates or deletes pods to reach the desired number.
fn scale(set: &Object, pods: &[&Object], view: &View) -> Vec<Write> {
    let adopted: Vec<Write> = view
        .list_in(&PODS, set.namespace())
        .filter(|pod| owners::controller(pod).is_none() && owners::is_active(pod))
        .filter(|pod| selector_matches(&set["spec"]["selector"], &pod["metadata"]["labels"]))
        .map(|pod| adopt(set, pod))
        .collect();
    if !adopted.is_empty() {
        return adopted;
    }
    let wanted = usize::try_from(set.number("/spec/replicas").unwrap_or(1)).unwrap_or(0);
    if pods.len() <= wanted {
        let create = || Write::create(&PODS, owners::pod_from_template(set, &REPLICA_SETS, set.name(), &[]));
        return std::iter::repeat_with(create).take(wanted - pods.len()).collect();
    }
    let victims = ranks::pods_to_delete(pods, pods.len() - wanted);
    victims.into_iter().map(|pod| Write::delete(&PODS, pod.namespace(), pod.name())).collect()
}

fn adopt(set: &Object, pod: &Object) -> Write {
    let mut references = pod.list("/metadata/ownerReferences").to_vec();
    references.push(owners::reference(set, &REPLICA_SETS));
    let patch = json!({ "metadata": { "uid": pod.uid(), "ownerReferences": references } });
    Write::merge_patch(&PODS, pod.namespace(), pod.name(), patch)
}

impl Reconcile for ReplicaSetController {
    fn queue(&mut self) -> &mut WorkQueue {
        &mut self.queue
    }

    fn sync(&mut self, key: &Key, view: &View, now: Time) -> Vec<Write> {
        let Some(set) = view.get_key(key) else {
            self.refusals.remove(key);
            return Vec::new();
        };
        let pods: Vec<&Object> = owners::pods_of(view, set).filter(|pod| owners::is_active(pod)).collect();
        let mut writes = if set.is_terminating() { Vec::new() } else { scale(set, &pods, view) };
        let counts = status::Counts::of(set, &pods, now);
        if let Some(at) = counts.recheck_at {
            self.queue.add_at(key.clone(), at);
        }
        writes.extend(status::write_status(set, &counts, self.refusals.get(key).map(String::as_str), now));
        writes
    }
}

impl Actor for ReplicaSetController {
    fn name(&self) -> &'static str {
        "replicaset-controller"
    }

    fn identity(&self) -> Identity {
        Identity::service_account("kube-system", "replicaset-controller")
    }

    fn interests(&self) -> Vec<Interest> {
        vec![Interest::Kind(REPLICA_SETS), Interest::Kind(PODS)]
    }

    fn step(&mut self, input: &Input<'_>) -> Step {
        self.notice(input);
        let mut step = self.reconcile(input);
        if let Some((set, why)) = self.refusals.first_key_value() {
            step.why = format!("a pod of {set}: {why}").into();
        }
        step
    }
}
