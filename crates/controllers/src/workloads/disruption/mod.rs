//! The disruption controller maintains the allowed evictions of each `PodDisruptionBudget`.

mod budget;

#[cfg(test)]
mod tests;

use windtunnel_core::clock::Time;
use windtunnel_core::resources::{
    DEPLOYMENTS, POD_DISRUPTION_BUDGETS, PODS, REPLICA_SETS, REPLICATION_CONTROLLERS, STATEFUL_SETS,
};
use windtunnel_core::selector::selector_matches;
use windtunnel_core::{Identity, Key, Object, Resource, View};

use crate::workqueue::WorkQueue;
use crate::{Actor, Input, Interest, Step};

/// The kinds with a desired number of pods.
pub(super) const SCALED: [Resource; 4] = [REPLICA_SETS, DEPLOYMENTS, STATEFUL_SETS, REPLICATION_CONTROLLERS];

/// The disruption controller of kube-controller-manager.
#[derive(Debug, Clone, Default)]
pub struct DisruptionController {
    queue: WorkQueue,
    started: bool,
}

impl DisruptionController {
    /// Creates a disruption controller.
    pub fn new() -> Self {
        Self::default()
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
        for budget in view.list_in(&POD_DISRUPTION_BUDGETS, pod.namespace()) {
            if selector_matches(&budget["spec"]["selector"], &pod["metadata"]["labels"]) {
                self.queue.add(POD_DISRUPTION_BUDGETS.key_of(budget));
            }
        }
    }

    fn add_namespace(&mut self, namespace: &str, view: &View) {
        for budget in view.list_in(&POD_DISRUPTION_BUDGETS, namespace) {
            self.queue.add(POD_DISRUPTION_BUDGETS.key_of(budget));
        }
    }

    fn sync(&mut self, key: &Key, view: &View, now: Time, step: &mut Step) {
        let Some(budget) = view.get_key(key) else { return self.queue.forget(key) };
        let found = budget::assess(budget, view, now);
        if let Some(at) = found.recheck_at {
            self.queue.add_at(key.clone(), at);
        }
        if let Some(write) = budget::write_status(budget, &found, now) {
            self.queue.send(key, write, &mut step.writes);
        }
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
        let mut step = Step::default();
        for key in self.queue.take_due(input.now) {
            self.sync(&key, input.view, input.now, &mut step);
        }
        step.wake_at = self.queue.next();
        step
    }
}
