//! The Deployment controller: one ReplicaSet per pod template, scaled until the current one has all pods.
//!
//! Deployments of a release payload have no simulated programs and get no ReplicaSets: some time after a
//! change of generation, their status reports all pods as available. A Deployment whose pod template has the
//! annotation `windtunnel.dev/program: "true"` is handled like any other, and so are all with
//! [`PayloadWorkloads::InPods`].

mod conditions;
mod deployment_status;
mod events;
mod rollout;
mod scaling;
mod sets;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::SignedDuration;
use windtunnel_core::clock::Time;
use windtunnel_core::resources::{DEPLOYMENTS, PODS, REPLICA_SETS};
use windtunnel_core::rng::Streams;
use windtunnel_core::{Answer, Change, ChangeKind, Identity, Key, Object, View, Write};

use self::deployment_status::Counts;
use self::events::Scalings;
use self::sets::Sets;
use crate::environment::NodeEnvironment;
use crate::event_log::{EventLog, is_of_terminating_namespace};
use crate::recorder::Notice;
use crate::workloads::payload_pods::PayloadPods;
use crate::workqueue::{REFUSAL_PAUSE, Reconcile, WorkQueue};
use crate::{Actor, ControllerVersion, Input, Interest, PayloadWorkloads, Step, owners};

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
    /// Why the API server rejected the ReplicaSet of a Deployment, and when to try again.
    rejected: BTreeMap<Key, (String, Time)>,
    scalings: Scalings,
    events: EventLog,
    version: ControllerVersion,
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
            rejected: BTreeMap::new(),
            scalings: Scalings::default(),
            events: EventLog::of("deployment-controller"),
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
        for (deployment, answer) in self.queue.settle_answers(input.answers, input.now) {
            if answer.write.resource == REPLICA_SETS {
                self.notice_set(deployment, answer, input.now);
            }
        }
    }

    /// Adds the Event about a ReplicaSet that was created, scaled or rejected.
    fn notice_set(&mut self, deployment: Key, answer: &Answer, now: Time) {
        let scaling = self.scalings.take(&answer.write.key());
        match &answer.outcome {
            Ok(_) => {
                if let Some(notice) = scaling {
                    self.events.add(&deployment, notice);
                }
            }
            Err(rejection) if answer.write.verb() == "create" && rejection.reason != "AlreadyExists" => {
                if is_of_terminating_namespace(rejection) {
                    return;
                }
                let set = &answer.write.name;
                let why = format!("Failed to create new replica set \"{set}\": {}", rejection.message);
                self.events.add(&deployment, Notice::warning("ReplicaSetCreateError", why.clone()));
                self.queue.add(deployment.clone());
                self.rejected.insert(deployment, (why, now + REFUSAL_PAUSE));
            }
            Err(_) => {}
        }
    }

    fn sync_without_pods(&mut self, key: &Key, deployment: &Object, view: &View, now: Time) -> Option<Write> {
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
            return deployment_status::all_available(deployment, self.version.differences_in(view), now);
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
            self.forget(key);
            return Vec::new();
        };
        if self.payload.runs_without_pods(deployment) {
            return self.sync_without_pods(key, deployment, view, now).into_iter().collect();
        }
        let sets = Sets::of(deployment, view);
        let differences = self.version.differences_in(view);
        if deployment.is_terminating() {
            let counts = Counts::of(&sets, differences);
            return deployment_status::write_status(deployment, &sets, &counts, false, now)
                .into_iter()
                .collect();
        }
        if let Some(at) = conditions::deadline(deployment).filter(|at| *at > now) {
            self.queue.add_at(key.clone(), at);
        }
        let mut writes = sets::adoptions(deployment, view);
        if writes.is_empty() {
            writes.extend(deployment_status::write_conditions(deployment, |list| {
                conditions::put_pause(list, deployment, now);
            }));
        }
        // One write at a time, as each depends on the result of the one before.
        if writes.is_empty() {
            writes = self.next_writes(key, deployment, &sets, view, now);
        }
        self.scalings.add(&writes, view, differences.scaling);
        writes
    }

    fn events(&mut self) -> Option<&mut EventLog> {
        Some(&mut self.events)
    }
}

impl DeploymentController {
    /// The next writes for a Deployment whose ReplicaSets have all their owners.
    fn next_writes(
        &mut self,
        key: &Key,
        deployment: &Object,
        sets: &Sets<'_>,
        view: &View,
        now: Time,
    ) -> Vec<Write> {
        if let Some(new) = sets.new {
            self.rejected.remove(key);
            let corrected = sets.corrected(deployment, new);
            if let Some(write) = corrected.or_else(|| deployment_status::write_revision(deployment, new, now))
            {
                return vec![write];
            }
        } else if let Some((why, at)) = self.rejected.get(key).filter(|(_, at)| *at > now) {
            self.queue.add_at(key.clone(), *at);
            let change = |list: &mut Vec<_>| conditions::put_rejected(list, why, now);
            let write = conditions::has_deadline(deployment)
                .then(|| deployment_status::write_conditions(deployment, change));
            return write.flatten().into_iter().collect();
        }
        let is_paused = deployment["spec"]["paused"] == true;
        let is_rolled_out = !is_paused && !scaling::is_scaled(deployment, sets);
        let mut writes = if is_rolled_out {
            rollout::next(deployment, sets, view)
        } else {
            scaling::writes(deployment, sets)
        };
        if writes.is_empty() && (is_paused || is_rolled_out && deployment_status::is_complete(deployment)) {
            writes = sets.obsolete(deployment);
        }
        if writes.is_empty() {
            let counts = Counts::of(sets, self.version.differences_in(view));
            writes.extend(deployment_status::write_status(deployment, sets, &counts, is_rolled_out, now));
        }
        writes
    }

    fn forget(&mut self, key: &Key) {
        self.available_at.remove(key);
        self.rejected.remove(key);
        self.events.forget(key);
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
