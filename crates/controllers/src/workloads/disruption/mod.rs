//! The disruption controller maintains the allowed evictions of each `PodDisruptionBudget`.

mod budget;

#[cfg(test)]
mod tests;

use windtunnel_core::clock::Time;
use windtunnel_core::resources::{
    DEPLOYMENTS, POD_DISRUPTION_BUDGETS, PODS, REPLICA_SETS, REPLICATION_CONTROLLERS, STATEFUL_SETS,
};
use windtunnel_core::selector::selector_matches;
use windtunnel_core::{Identity, Key, Object, Resource, View, Write};

use crate::event_log::EventLog;
use crate::recorder::Notice;
use crate::workloads::payload_pods::PayloadPods;
use crate::workqueue::{Reconcile, WorkQueue};
use crate::{Actor, ControllerVersion, Input, Interest, PayloadWorkloads, Step};

/// The kinds with a desired number of pods.
pub(super) const SCALED: [Resource; 4] = [REPLICA_SETS, DEPLOYMENTS, STATEFUL_SETS, REPLICATION_CONTROLLERS];

/// The disruption controller of kube-controller-manager.
#[derive(Debug, Clone)]
pub struct DisruptionController {
    payload: PayloadPods,
    queue: WorkQueue,
    events: EventLog,
    started: bool,
}

impl Default for DisruptionController {
    fn default() -> Self {
        Self {
            payload: PayloadPods::default(),
            queue: WorkQueue::default(),
            events: EventLog::of("controllermanager"),
            started: false,
        }
    }
}

impl DisruptionController {
    /// Creates a disruption controller.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the version.
    #[must_use]
    pub fn with_version(mut self, version: ControllerVersion) -> Self {
        self.events.set_version(version);
        self
    }

    /// Sets how workloads of a payload run. Nothing is wrong with a budget of a payload whose pods do not run.
    #[must_use]
    pub fn with_payload(self, payload: PayloadWorkloads) -> Self {
        Self { payload: PayloadPods::new(payload), ..self }
    }

    fn notice(&mut self, input: &Input<'_>) {
        if !std::mem::replace(&mut self.started, true) {
            for budget in input.view.list(&POD_DISRUPTION_BUDGETS) {
                self.queue.add(POD_DISRUPTION_BUDGETS.key_of(budget));
            }
        }
        for change in input.changes {
            if change.key.is_kind(&POD_DISRUPTION_BUDGETS) {
                self.queue.add(change.key.clone());
            } else if change.key.is_kind(&PODS) {
                for pod in std::iter::once(&change.object).chain(&change.old) {
                    self.add_budgets_of(pod, input.view);
                }
            } else {
                let scaled = |object: &Object| object["spec"]["replicas"].clone();
                let same = |old: &Object| scaled(old) == scaled(&change.object);
                if !change.old.as_ref().is_some_and(same) {
                    self.add_namespace(&change.key.namespace, input.view);
                }
            }
        }
        self.queue.process_answers(input.answers, input.now);
    }

    fn add_budgets_of(&mut self, pod: &Object, view: &View) {
        let all = view.list_in(&POD_DISRUPTION_BUDGETS, pod.namespace());
        let selects =
            |budget: &&Object| selector_matches(&budget["spec"]["selector"], &pod["metadata"]["labels"]);
        let budgets: Vec<&Object> = all.filter(selects).collect();
        if let [first, _, ..] = budgets[..] {
            let text = format!(
                "Pod {:?}/{:?} matches multiple PodDisruptionBudgets.  Chose {:?} arbitrarily.",
                pod.namespace(),
                pod.name(),
                first.name()
            );
            self.events.add(&PODS.key_of(pod), Notice::warning("MultiplePodDisruptionBudgets", text));
        }
        for budget in budgets {
            self.queue.add(POD_DISRUPTION_BUDGETS.key_of(budget));
        }
    }

    fn add_namespace(&mut self, namespace: &str, view: &View) {
        for budget in view.list_in(&POD_DISRUPTION_BUDGETS, namespace) {
            self.queue.add(POD_DISRUPTION_BUDGETS.key_of(budget));
        }
    }
}

impl Reconcile for DisruptionController {
    fn queue(&mut self) -> &mut WorkQueue {
        &mut self.queue
    }

    fn sync(&mut self, key: &Key, view: &View, now: Time) -> Vec<Write> {
        let Some(budget) = view.get_key(key) else {
            self.queue.forget(key);
            self.events.forget(key);
            return Vec::new();
        };
        let found = budget::assess(budget, view, now);
        if let Some(at) = found.recheck_at {
            self.queue.add_at(key.clone(), at);
        }
        for pod in &found.kept {
            let text =
                format!("Pod was expected by PDB {}/{} to be deleted but it wasn't", key.namespace, key.name);
            self.events.add(&PODS.key(&key.namespace, pod), Notice::warning("NotDeleted", text));
        }
        if !self.payload.runs_without_pods(budget) {
            for notice in found.notices(budget) {
                self.events.add(key, notice);
            }
        }
        budget::write_status(budget, &found, now).into_iter().collect()
    }

    fn events(&mut self) -> Option<&mut EventLog> {
        Some(&mut self.events)
    }
}

impl Actor for DisruptionController {
    fn name(&self) -> &'static str {
        "disruption-controller"
    }

    fn identity(&self) -> Identity {
        Identity::service_account("kube-system", "disruption-controller")
    }

    fn interests(&self) -> Vec<Interest> {
        let kinds = [POD_DISRUPTION_BUDGETS, PODS].into_iter().chain(SCALED);
        kinds.map(Interest::Kind).collect()
    }

    fn step(&mut self, input: &Input<'_>) -> Step {
        self.notice(input);
        self.reconcile(input)
    }
}
