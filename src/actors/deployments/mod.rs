//! The Deployment controller, with the scheduler's choice of a node.
//!
//! A Deployment whose pod template is annotated `windtunnel.dev/program: "true"` gets real pods, always by the rule of
//! strategy `Recreate`: the pods of another template are gone before the first new one is made. There are no
//! `ReplicaSets` in between; the Deployment controls its pods itself. A pod is bound, when it is made, to a ready and
//! schedulable control-plane node. Any other Deployment gets no pods; a short while after a change of its generation
//! its status says that all of them are available.

mod rollout;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;

use self::rollout::Rollout;
use super::workqueue::WorkQueue;
use super::{Actor, Input, Interest, Step, owners};
use crate::base::clock::Time;
use crate::base::rng::Streams;
use crate::model::resources::{DEPLOYMENTS, NODES, PODS};
use crate::model::{Identity, Key, Object, View, Write};

/// Shortest and longest time until a Deployment without simulated pods is available, in seconds.
const ROLLOUT_SECONDS: (u64, u64) = (5, 30);

/// The Deployment controller of the kube-controller-manager.
#[derive(Debug)]
pub struct DeploymentController {
    streams: Streams,
    queue: WorkQueue,
    /// When the present generation of a Deployment without simulated pods is available.
    available_at: BTreeMap<Key, (i64, Time)>,
    /// Deployments that found no node for a pod.
    unscheduled: BTreeSet<Key>,
    started: bool,
}

impl DeploymentController {
    /// A Deployment controller that has seen nothing yet.
    pub fn new(streams: &Streams) -> Self {
        Self {
            streams: *streams,
            queue: WorkQueue::default(),
            available_at: BTreeMap::new(),
            unscheduled: BTreeSet::new(),
            started: false,
        }
    }

    fn notice(&mut self, input: &Input<'_>) {
        if !std::mem::replace(&mut self.started, true) {
            for deployment in input.view.list(&DEPLOYMENTS) {
                self.queue.add(DEPLOYMENTS.key(deployment.namespace(), deployment.name()));
            }
            for pod in input.view.list(&PODS) {
                self.add_owner(pod);
            }
        }
        for change in input.changes {
            if change.key.is(&DEPLOYMENTS) {
                self.queue.add(change.key.clone());
            } else if change.key.is(&PODS) {
                self.add_owner(&change.object);
            } else if change.key.is(&NODES) {
                self.unscheduled.iter().for_each(|deployment| self.queue.add(deployment.clone()));
            }
        }
        self.queue.answered(input.answers, input.now);
    }

    fn add_owner(&mut self, pod: &Object) {
        if let Some(deployment) = owners::controller_of(pod, &DEPLOYMENTS) {
            self.queue.add(deployment);
        }
    }

    fn sync(&mut self, key: &Key, view: &View, now: Time) -> Vec<Write> {
        self.unscheduled.remove(key);
        let Some(deployment) = view.get_key(key) else {
            self.available_at.remove(key);
            return Vec::new();
        };
        if deployment.is_terminating() {
            return Vec::new();
        }
        if !rollout::has_program(deployment) {
            return self.sync_without_pods(key, deployment, now).into_iter().collect();
        }
        let rollout = Rollout::of(deployment, view);
        let mut writes = rollout.removals();
        if rollout.wants_pod() {
            match rollout.node(view) {
                Some(node) => writes.push(rollout.create_pod(node)),
                None => _ = self.unscheduled.insert(key.clone()),
            }
        }
        writes.extend(rollout.status(now));
        writes
    }

    fn sync_without_pods(&mut self, key: &Key, deployment: &Object, now: Time) -> Option<Write> {
        let generation = deployment.generation();
        if deployment.number("/status/observedGeneration") == Some(generation) {
            self.available_at.remove(key);
            return None;
        }
        let (low, high) = ROLLOUT_SECONDS;
        let mut stream = self.streams.stream(&format!("deployment/{key}/{generation}"));
        let takes = SignedDuration::from_secs(i64::try_from(stream.between(low, high)).unwrap_or(0));
        let entry = self.available_at.entry(key.clone()).or_insert((generation, now + takes));
        if entry.0 != generation {
            *entry = (generation, now + takes);
        }
        if entry.1 <= now {
            return rollout::all_available(deployment, now);
        }
        self.queue.add_at(key.clone(), entry.1);
        None
    }
}

impl Actor for DeploymentController {
    fn name(&self) -> &'static str {
        "deployment-controller"
    }

    fn identity(&self) -> Identity {
        Identity::service_account("kube-system", "deployment-controller")
    }

    /// Pods are the ReplicaSet controller's to make and to remove.
    fn identity_for(&self, write: &Write) -> Option<Identity> {
        let of_pod = write.resource == PODS;
        of_pod.then(|| Identity::service_account("kube-system", "replicaset-controller"))
    }

    fn interests(&self) -> Vec<Interest> {
        vec![Interest::Kind(DEPLOYMENTS), Interest::Kind(PODS), Interest::Kind(NODES)]
    }

    fn step(&mut self, input: &Input<'_>) -> Step {
        self.notice(input);
        let mut step = Step::default();
        for deployment in self.queue.take_due(input.now) {
            for write in self.sync(&deployment, input.view, input.now) {
                self.queue.ask(&deployment, write, &mut step.writes);
            }
        }
        step.wake_at = self.queue.next();
        if let Some(deployment) = self.unscheduled.first() {
            step.why = format!("no control-plane node is ready and schedulable for {deployment}").into();
        }
        step
    }
}
