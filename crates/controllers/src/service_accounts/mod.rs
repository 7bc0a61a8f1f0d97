//! Controllers that give every namespace the ServiceAccount `default`, the default account of pods, and the
//! ConfigMap `kube-root-ca.crt`, by which pods verify the API server.

mod root_ca;

#[cfg(test)]
mod tests;

use serde_json::json;
use windtunnel_core::clock::Time;
use windtunnel_core::resources::{NAMESPACES, SERVICE_ACCOUNTS};
use windtunnel_core::{Identity, Key, Object, Resource, View, Write};

pub use self::root_ca::RootCaPublisher;
use super::workqueue::{Reconcile, WorkQueue};
use super::{Actor, Input, Interest, Step};

/// The name of the ServiceAccount.
const DEFAULT: &str = "default";

/// The service account controller of kube-controller-manager. It maintains the ServiceAccount `default` of
/// each namespace that is not terminating.
#[derive(Debug, Clone, Default)]
pub struct ServiceAccountsController {
    queue: WorkQueue,
    started: bool,
}

impl ServiceAccountsController {
    /// Creates a service account controller.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Reconcile for ServiceAccountsController {
    fn queue(&mut self) -> &mut WorkQueue {
        &mut self.queue
    }

    fn sync(&mut self, namespace: &Key, view: &View, _now: Time) -> Vec<Write> {
        if !is_active(namespace, view) || view.get(&SERVICE_ACCOUNTS, &namespace.name, DEFAULT).is_some() {
            return Vec::new();
        }
        let account = json!({ "metadata": { "namespace": namespace.name, "name": DEFAULT } });
        vec![Write::create(&SERVICE_ACCOUNTS, account)]
    }
}

impl Actor for ServiceAccountsController {
    fn name(&self) -> &'static str {
        "service-account-controller"
    }

    fn identity(&self) -> Identity {
        Identity::service_account("kube-system", "service-account-controller")
    }

    fn interests(&self) -> Vec<Interest> {
        vec![Interest::Kind(NAMESPACES), Interest::Kind(SERVICE_ACCOUNTS)]
    }

    fn step(&mut self, input: &Input<'_>) -> Step {
        let first = !std::mem::replace(&mut self.started, true);
        notice(&mut self.queue, first, input, &SERVICE_ACCOUNTS, DEFAULT);
        self.reconcile(input)
    }
}

/// Whether the namespace exists and is not terminating.
fn is_active(namespace: &Key, view: &View) -> bool {
    view.get_key(namespace).is_some_and(|namespace| !namespace.is_terminating())
}

/// Queues namespaces that changed, and those whose object of this kind and name changed.
fn notice(queue: &mut WorkQueue, first: bool, input: &Input<'_>, kind: &Resource, name: &str) {
    let key_of = |namespace: &str| NAMESPACES.key("", namespace);
    if first {
        input.view.list(&NAMESPACES).map(Object::name).for_each(|namespace| queue.add(key_of(namespace)));
    }
    for change in input.changes {
        if change.key.is_kind(&NAMESPACES) {
            queue.add(change.key.clone());
        } else if change.key.is_kind(kind) && change.key.name == name {
            queue.add(key_of(&change.key.namespace));
        }
    }
    queue.process_answers(input.answers, input.now);
}
