//! The status controller of ValidatingAdmissionPolicies checks the types of their expressions.

use std::fmt::Debug;
use std::sync::Arc;

use serde_json::{Value, json};
use windtunnel_core::clock::Time;
use windtunnel_core::resources::VALIDATING_ADMISSION_POLICIES;
use windtunnel_core::{Identity, Key, View, Write};

use crate::workqueue::{Reconcile, WorkQueue};
use crate::{Actor, Input, Interest, Step};

/// Checks expressions with the schemas of the kinds that a policy matches. The schemas are those of an API server.
pub trait TypeChecker: Debug + Send + Sync {
    /// Returns the `expressionWarnings` of a policy.
    fn warnings(&self, policy: &Value) -> Vec<Value>;
}

/// The ValidatingAdmissionPolicy status controller of kube-controller-manager.
#[derive(Debug, Clone)]
pub struct PolicyStatusController {
    checker: Arc<dyn TypeChecker>,
    queue: WorkQueue,
    started: bool,
}

impl PolicyStatusController {
    /// Creates a controller with the schemas of an API server.
    pub fn new(checker: Arc<dyn TypeChecker>) -> Self {
        Self { checker, queue: WorkQueue::default(), started: false }
    }

    fn notice(&mut self, input: &Input<'_>) {
        if !std::mem::replace(&mut self.started, true) {
            for policy in input.view.list(&VALIDATING_ADMISSION_POLICIES) {
                self.queue.add(VALIDATING_ADMISSION_POLICIES.key("", policy.name()));
            }
        }
        for change in input.changes {
            self.queue.add(change.key.clone());
        }
        self.queue.process_answers(input.answers, input.now);
    }
}

impl Reconcile for PolicyStatusController {
    fn queue(&mut self) -> &mut WorkQueue {
        &mut self.queue
    }

    fn sync(&mut self, key: &Key, view: &View, _: Time) -> Vec<Write> {
        let Some(policy) = view.get_key(key) else { return Vec::new() };
        let observed = policy.number("/status/observedGeneration").unwrap_or(0);
        if policy.generation() <= observed {
            return Vec::new();
        }
        let warnings = self.checker.warnings(policy);
        let checked = if warnings.is_empty() { json!({}) } else { json!({ "expressionWarnings": warnings }) };
        let mut value = policy.to_value();
        value["status"]["observedGeneration"] = json!(policy.generation());
        value["status"]["typeChecking"] = checked;
        vec![Write::update_status(&VALIDATING_ADMISSION_POLICIES, value)]
    }
}

impl Actor for PolicyStatusController {
    fn name(&self) -> &'static str {
        "validatingadmissionpolicy-status-controller"
    }

    fn identity(&self) -> Identity {
        Identity::service_account("kube-system", "validatingadmissionpolicy-status-controller")
    }

    fn interests(&self) -> Vec<Interest> {
        vec![Interest::Kind(VALIDATING_ADMISSION_POLICIES)]
    }

    fn step(&mut self, input: &Input<'_>) -> Step {
        self.notice(input);
        self.reconcile(input)
    }
}
