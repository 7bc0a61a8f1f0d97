//! The namespace controller deletes the content of terminating namespaces, reports the remaining content in
//! conditions, and removes the namespace's finalizer.
//!
//! Like the real controller it processes a namespace some seconds after its deletion, and again after half of
//! the estimated remaining time. It does not watch the content.

mod content;

#[cfg(test)]
mod tests;

use jiff::SignedDuration;
use serde_json::Value;
use windtunnel_core::clock::Time;
use windtunnel_core::condition::{self, Condition};
use windtunnel_core::resources::NAMESPACES;
use windtunnel_core::{Identity, Key, Object, View, Write};

use self::content::Content;
use crate::workqueue::{Reconcile, WorkQueue};
use crate::{Actor, Input, Interest, Step};

/// The delay before a namespace is processed, so that objects created last are visible.
const PAUSE: SignedDuration = SignedDuration::from_secs(5);
/// The finalizer that this controller removes.
const FINALIZER: &str = "kubernetes";

/// The namespace controller of kube-controller-manager.
#[derive(Debug, Clone, Default)]
pub struct NamespaceController {
    queue: WorkQueue,
    started: bool,
}

impl NamespaceController {
    /// Creates a namespace controller.
    pub fn new() -> Self {
        Self::default()
    }

    fn notice(&mut self, input: &Input<'_>) {
        if !std::mem::replace(&mut self.started, true) {
            for namespace in input.view.list(&NAMESPACES) {
                self.schedule_if_terminating(namespace, None, input.now);
            }
        }
        for change in input.changes {
            self.schedule_if_terminating(&change.object, change.old.as_ref(), input.now);
        }
        self.queue.process_answers(input.answers, input.now);
    }

    /// Schedules a namespace that has started to terminate.
    fn schedule_if_terminating(&mut self, namespace: &Object, old: Option<&Object>, now: Time) {
        if namespace.is_terminating() && !old.is_some_and(Object::is_terminating) {
            self.queue.add_at(NAMESPACES.key("", namespace.name()), now + PAUSE);
        }
    }
}

/// Removes the finalizer of the namespace.
fn finalized(namespace: &Object) -> Write {
    let mut value = namespace.to_value();
    if let Some(finalizers) = value["spec"]["finalizers"].as_array_mut() {
        finalizers.retain(|name| name != FINALIZER);
    }
    Write::finalize(value)
}

/// Writes the conditions if they differ from those in the API.
fn write_conditions(namespace: &Object, conditions: &[Condition], now: Time) -> Option<Write> {
    let before = namespace.conditions();
    let mut list: Vec<Value> = before.to_vec();
    for condition in conditions {
        condition::set(&mut list, condition, now);
    }
    if list == before {
        return None;
    }
    let mut value = namespace.to_value();
    value["status"]["conditions"] = Value::Array(list);
    Some(Write::update_status(&NAMESPACES, value))
}

impl Reconcile for NamespaceController {
    fn queue(&mut self) -> &mut WorkQueue {
        &mut self.queue
    }

    fn sync(&mut self, key: &Key, view: &View, now: Time) -> Vec<Write> {
        let Some(namespace) = view.get_key(key).filter(|found| found.is_terminating()) else {
            return Vec::new();
        };
        if !namespace.list("/spec/finalizers").iter().any(|name| name == FINALIZER) {
            return Vec::new();
        }
        let content = Content::in_namespace(&key.name, view);
        if content.is_empty() {
            return vec![finalized(namespace)];
        }
        let mut writes = content.deletions();
        if writes.is_empty() {
            // The remaining content is terminating. Waits for it and updates the conditions meanwhile.
            self.queue.add_at(key.clone(), now + content.pause(now));
            writes.extend(write_conditions(namespace, &content.conditions(), now));
        }
        writes
    }
}

impl Actor for NamespaceController {
    fn name(&self) -> &'static str {
        "namespace-controller"
    }

    fn identity(&self) -> Identity {
        Identity::service_account("kube-system", "namespace-controller")
    }

    fn interests(&self) -> Vec<Interest> {
        vec![Interest::Kind(NAMESPACES)]
    }

    fn step(&mut self, input: &Input<'_>) -> Step {
        self.notice(input);
        let mut step = self.reconcile(input);
        if let Some(namespace) = self.queue.waiting() {
            step.why = format!("the deletion of the content of {namespace}").into();
        }
        step
    }
}
