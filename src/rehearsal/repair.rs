//! Changes that let a stopped update go on.

use serde_json::Value;
use windtunnel_core::{Object, Resource};

use crate::plan::{Action, FaultTarget, ObjectRef};

/// A change that ends a stop in the rehearsed cluster.
#[derive(Debug, Clone)]
pub struct Repair {
    /// What an administrator does: a command, or a sentence.
    pub text: String,
    action: Action,
}

impl Repair {
    /// Deletes an object.
    pub(super) fn delete(resource: &Resource, object: &Object) -> Self {
        let (namespace, name) = (object.namespace(), object.name());
        let of = if namespace.is_empty() { String::new() } else { format!(" -n {namespace}") };
        Self {
            text: format!("oc delete {} {name}{of}", resource.plural),
            action: Action::Delete { object: reference(resource, namespace, name), cascade: None },
        }
    }

    /// Merges a patch into an object.
    pub(super) fn patch(resource: &Resource, namespace: &str, name: &str, patch: Value) -> Self {
        let of = if namespace.is_empty() { String::new() } else { format!(" -n {namespace}") };
        Self {
            text: format!("oc patch {} {name}{of} --type merge -p '{patch}'", resource.plural),
            action: Action::Patch { object: reference(resource, namespace, name), patch, status: false },
        }
    }

    /// Merges a patch into the status of an object without a namespace.
    pub(super) fn patch_status(resource: &Resource, name: &str, patch: Value) -> Self {
        Self {
            text: format!(
                "oc patch {} {name} --subresource status --type merge -p '{patch}'",
                resource.plural
            ),
            action: Action::Patch { object: reference(resource, "", name), patch, status: true },
        }
    }

    /// Ends a fault of the cluster.
    pub(super) fn heal(text: String, target: FaultTarget) -> Self {
        Self { text, action: Action::Heal(target) }
    }

    /// The change in the simulated cluster.
    pub(super) fn action(&self) -> &Action {
        &self.action
    }
}

fn reference(resource: &Resource, namespace: &str, name: &str) -> ObjectRef {
    ObjectRef { resource: resource.clone(), namespace: namespace.to_owned(), name: name.to_owned() }
}
