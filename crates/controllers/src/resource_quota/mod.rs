//! The ResourceQuota controller copies the limits of quotas to their status, and counts the usage in their namespaces.

#[cfg(test)]
mod tests;

use jiff::SignedDuration;
use serde_json::{Value, json};
use windtunnel_core::clock::{Time, after};
use windtunnel_core::quota::UsageCount;
use windtunnel_core::resources::{CUSTOM_RESOURCE_DEFINITIONS, RESOURCE_QUOTAS};
use windtunnel_core::{Change, Identity, Key, Object, View, Write};

use crate::workqueue::{Reconcile, WorkQueue};
use crate::{Actor, Input, Interest, Step};

/// The interval at which all quotas are counted again (`--resource-quota-sync-period`).
const RESYNC: SignedDuration = SignedDuration::from_mins(5);
/// Kinds that count under names of their own, which exist even without objects.
const NAMED: [&str; 8] = [
    "configmaps",
    "persistentvolumeclaims",
    "pods",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "serviceaccounts",
    "services",
];

/// The ResourceQuota controller of kube-controller-manager.
#[derive(Debug, Clone, Default)]
pub struct ResourceQuotaController {
    queue: WorkQueue,
    resync_at: Option<Time>,
}

impl ResourceQuotaController {
    /// Creates a ResourceQuota controller.
    pub fn new() -> Self {
        Self::default()
    }

    fn notice(&mut self, input: &Input<'_>) {
        self.resync_at = self.resync_at.map(|at| after(at, input.clock_shift));
        if self.resync_at.is_none_or(|at| at <= input.now) {
            self.resync_at = Some(after(input.now, RESYNC));
            for quota in input.view.list(&RESOURCE_QUOTAS) {
                self.queue.add(RESOURCE_QUOTAS.key_of(quota));
            }
        }
        for change in input.changes {
            self.add_quotas_of(change, input.view);
        }
        self.queue.process_answers(input.answers, input.now);
    }

    /// Queues the quotas that may limit a changed object.
    fn add_quotas_of(&mut self, change: &Change, view: &View) {
        if change.key.is_kind(&RESOURCE_QUOTAS) {
            self.queue.add(change.key.clone());
        }
        if change.key.is_kind(&CUSTOM_RESOURCE_DEFINITIONS) {
            for quota in view.list(&RESOURCE_QUOTAS) {
                self.queue.add(RESOURCE_QUOTAS.key_of(quota));
            }
        }
        for quota in view.list_in(&RESOURCE_QUOTAS, &change.key.namespace) {
            let mut count = UsageCount::new(&quota["spec"], &quota["spec"]["hard"], Time::MIN);
            if count.add_kind(&change.key.group, &change.key.plural) {
                self.queue.add(RESOURCE_QUOTAS.key_of(quota));
            }
        }
    }
}

/// The usage in the namespace of a quota. Earlier values stay for resources of unknown kinds.
fn usage(quota: &Object, view: &View, now: Time) -> Value {
    let hard = &quota["spec"]["hard"];
    let mut count = UsageCount::new(&quota["spec"], hard, now);
    for plural in NAMED {
        count.add_kind("", plural);
    }
    for name in hard.as_object().into_iter().flat_map(|hard| hard.keys()) {
        if let Some(counted) = name.strip_prefix("count/") {
            let (plural, group) = counted.split_once('.').unwrap_or((counted, ""));
            count.add_kind(group, plural);
        }
    }
    for (key, object) in view.objects_in(quota.namespace()) {
        if count.add_kind(&key.group, &key.plural) {
            count.add(&key.group, &key.plural, object);
        }
    }
    let mut used = count.to_value();
    for (name, amount) in quota["status"]["used"].as_object().into_iter().flatten() {
        if hard.get(name).is_some() && used.get(name).is_none() {
            used[name] = amount.clone();
        }
    }
    used
}

impl Reconcile for ResourceQuotaController {
    fn queue(&mut self) -> &mut WorkQueue {
        &mut self.queue
    }

    fn sync(&mut self, key: &Key, view: &View, now: Time) -> Vec<Write> {
        let Some(quota) = view.get_key(key).filter(|quota| !quota.is_terminating()) else {
            return Vec::new();
        };
        let hard = quota["spec"]["hard"].as_object().cloned().unwrap_or_default();
        let status = json!({ "hard": hard, "used": usage(quota, view, now) });
        if quota["status"] == status {
            return Vec::new();
        }
        let mut value = quota.to_value();
        value["status"] = status;
        vec![Write::update_status(&RESOURCE_QUOTAS, value)]
    }
}

impl Actor for ResourceQuotaController {
    fn name(&self) -> &'static str {
        "resourcequota-controller"
    }

    fn identity(&self) -> Identity {
        Identity::service_account("kube-system", "resourcequota-controller")
    }

    fn interests(&self) -> Vec<Interest> {
        vec![Interest::Everything]
    }

    fn step(&mut self, input: &Input<'_>) -> Step {
        self.notice(input);
        let mut step = self.reconcile(input);
        step.wake_at = step.wake_at.into_iter().chain(self.resync_at).min();
        step
    }
}
