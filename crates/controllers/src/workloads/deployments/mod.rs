//! The Deployment controller: one ReplicaSet per pod template, scaled until the current one has all pods.
//!
//! Deployments of a release payload have no simulated programs and get no ReplicaSets: some time after a
//! change of generation, their status reports all pods as available. A Deployment whose pod template has the
//! annotation `windtunnel.dev/program: "true"` is handled like any other, and so are all with
//! [`PayloadWorkloads::InPods`].

mod conditions;
mod rollout;
mod sets;
mod status;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::SignedDuration;
use windtunnel_core::clock::Time;
use windtunnel_core::resources::{DEPLOYMENTS, PODS, REPLICA_SETS};
use windtunnel_core::rng::Streams;
use windtunnel_core::{Change, ChangeKind, Identity, Key, Object, View, Write};

use self::sets::Sets;
use crate::environment::NodeEnvironment;
use crate::owners;
use crate::workloads::payload_pods::PayloadPods;
use crate::workqueue::{Reconcile, WorkQueue};
use crate::{Actor, Input, Interest, PayloadWorkloads, Step};

/// The minimum and maximum time until a Deployment without simulated pods is available, in seconds.
const ROLLOUT_SECONDS: (u64, u64) = (5, 30);

/// The Deployment controller of the kube-controller-manager.
#[derive(Debug, Clone)]
pub struct DeploymentController {
    streams: Streams,
    payload: PayloadPods,
    queue: WorkQueue,
    /// The time at which the current generation of a Deployment without simulated pods is available.
    available_at: BTreeMap<Key, (i64, Time)>,
    started: bool,
}

impl DeploymentController {
    /// Creates a Deployment controller.
    pub fn new(streams: &Streams) -> Self {
        Self {
            streams: *streams,
            payload: PayloadPods::default(),
            queue: WorkQueue::default(),
            available_at: BTreeMap::new(),
            started: false,
        }
    }

    /// Sets how Deployments of a payload run.
    #[must_use]
    pub fn with_payload(self, payload: PayloadWorkloads) -> Self {
        Self { payload: PayloadPods::new(payload), ..self }
    }

    fn notice(&mut self, input: &Input<'_>) {
        if !std::mem::replace(&mut self.started, true) {
            for deployment in input.view.list(&DEPLOYMENTS) {
                self.queue.add(DEPLOYMENTS.key(deployment.namespace(), deployment.name()));
            }
        }
        for change in input.changes {
            if let Some(deployment) = concerned(change, input.view) {
                self.queue.add(deployment);
            }
        }
        self.queue.process_answers(input.answers, input.now);
    }

    fn sync_without_pods(&mut self, key: &Key, deployment: &Object, now: Time) -> Option<Write> {
        let generation = deployment.generation();
        if deployment.is_terminating() || deployment.number("/status/observedGeneration") == Some(generation)
        {
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
            return status::all_available(deployment, now);
        }
        self.queue.add_at(key.clone(), entry.1);
        None
    }
}

/// The Deployment that a change affects. Pods matter only when they have ended or are deleted, as a
/// Deployment may wait for that.
fn concerned(change: &Change, view: &View) -> Option<Key> {
    if change.key.is_kind(&DEPLOYMENTS) {
        return Some(change.key.clone());
    }
    if change.key.is_kind(&REPLICA_SETS) {
        return owners::controller_of(&change.object, &DEPLOYMENTS);
    }
    let is_over = change.kind == ChangeKind::Deleted || !owners::is_active(&change.object);
    let set = owners::controller_of(&change.object, &REPLICA_SETS).filter(|_| is_over)?;
    owners::controller_of(view.get_key(&set)?, &DEPLOYMENTS)
}

impl Reconcile for DeploymentController {
    fn queue(&mut self) -> &mut WorkQueue {
        &mut self.queue
    }

    fn sync(&mut self, key: &Key, view: &View, now: Time) -> Vec<Write> {
        let Some(deployment) = view.get_key(key) else {
            self.available_at.remove(key);
            return Vec::new();
        };
        if self.payload.runs_without_pods(deployment) {
            return self.sync_without_pods(key, deployment, now).into_iter().collect();
        }
        let sets = Sets::of(deployment, view);
        if deployment.is_terminating() {
            return status::write_status(deployment, &sets, now).into_iter().collect();
        }
        if let Some(at) = conditions::deadline(deployment).filter(|at| *at > now) {
            self.queue.add_at(key.clone(), at);
        }
        // One write at a time, as each depends on the result of the one before.
        let mut writes = rollout::next(deployment, &sets, view);
        if writes.is_empty() {
            writes.extend(status::write_status(deployment, &sets, now));
        }
        if writes.is_empty() {
            writes.extend(sets.obsolete(deployment));
        }
        writes
    }
}

impl Actor for DeploymentController {
    fn name(&self) -> &'static str {
        "deployment-controller"
    }

    fn identity(&self) -> Identity {
        Identity::service_account("kube-system", "deployment-controller")
    }

    fn set_environment(&mut self, environment: &Arc<dyn NodeEnvironment>) {
        self.payload.set_environment(environment);
    }

    fn interests(&self) -> Vec<Interest> {
        vec![Interest::Kind(DEPLOYMENTS), Interest::Kind(REPLICA_SETS), Interest::Kind(PODS)]
    }

    fn step(&mut self, input: &Input<'_>) -> Step {
        self.notice(input);
        self.reconcile(input)
    }
}
