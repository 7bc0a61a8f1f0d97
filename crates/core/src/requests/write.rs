//! One request to change the cluster, and its answer, as data.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::resources::{NAMESPACES, PODS};
use crate::{Key, Object, Resource};

/// Who writes: the user that the API server sees (`user.Info`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// User name, such as `system:serviceaccount:openshift-cluster-version:default`.
    pub user: String,
    /// Groups; who has neither `system:authenticated` nor `system:unauthenticated` is authenticated.
    pub groups: Vec<String>,
    /// Unique for all time, where whoever named the user knows; else empty.
    pub uid: String,
    /// What else is known, by key.
    pub extra: BTreeMap<String, Vec<String>>,
}

/// The group of all users but the anonymous one.
const AUTHENTICATED: &str = "system:authenticated";
/// The group of the anonymous user.
const UNAUTHENTICATED: &str = "system:unauthenticated";

impl Identity {
    /// A member of `system:masters`.
    pub fn admin() -> Self {
        Self::new("system:admin", &["system:masters"])
    }

    /// A user with groups.
    pub fn new(user: impl Into<String>, groups: &[&str]) -> Self {
        let groups = groups.iter().map(|&group| group.to_owned()).collect();
        Self { user: user.into(), groups, ..Self::default() }
    }

    /// Whoever shows no credentials.
    pub fn anonymous() -> Self {
        Self::new("system:anonymous", &[UNAUTHENTICATED])
    }

    /// Whether nothing is forbidden to this user.
    pub fn is_privileged(&self) -> bool {
        self.groups.iter().any(|group| group == "system:masters")
    }

    /// All groups, also the one that goes without saying.
    pub fn all_groups(&self) -> impl Iterator<Item = &str> {
        let told = |group: &String| group == AUTHENTICATED || group == UNAUTHENTICATED;
        let implied = (!self.groups.iter().any(told)).then_some(AUTHENTICATED);
        self.groups.iter().map(String::as_str).chain(implied)
    }

    /// The identity of a ServiceAccount.
    pub fn service_account(namespace: &str, name: &str) -> Self {
        let of_namespace = format!("system:serviceaccounts:{namespace}");
        let groups = ["system:serviceaccounts", of_namespace.as_str()];
        Self::new(format!("system:serviceaccount:{namespace}:{name}"), &groups)
    }
}

/// How an object is deleted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeleteOptions {
    /// Grace in seconds; `None` is the object's own (30 s for pods).
    pub grace_period_seconds: Option<i64>,
    /// Only if the object has this uid.
    pub uid: Option<String>,
    /// What becomes of the objects that it owns; `None` leaves that to the object's finalizers.
    pub propagation: Option<Propagation>,
}

/// What becomes of the objects that a deleted one owns (`metav1.DeletionPropagation`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Propagation {
    /// They go after it.
    Background,
    /// They go before it.
    Foreground,
    /// They stay, and are nobody's.
    Orphan,
}

impl Propagation {
    /// The one that people call so (`kubectl delete --cascade`).
    pub fn named(name: &str) -> Option<Self> {
        [Self::Background, Self::Foreground, Self::Orphan].into_iter().find(|one| one.name() == name)
    }

    /// What people call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Background => "background",
            Self::Foreground => "foreground",
            Self::Orphan => "orphan",
        }
    }
}

/// What to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Operation {
    /// Make the object; a `metadata.generateName` makes the name.
    Create(Value),
    /// Replace the object (or its subresource); `metadata.resourceVersion` guards against lost updates.
    Update(Value),
    /// RFC 7386.
    MergePatch(Value),
    /// RFC 6902: an array of operations.
    JsonPatch(Value),
    /// Remove it.
    Delete(DeleteOptions),
}

/// One request to change the cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct Write {
    /// Kind of the object.
    pub resource: Resource,
    /// Namespace; empty for cluster-scoped kinds.
    pub namespace: String,
    /// Name; empty where `generateName` makes it.
    pub name: String,
    /// `status`, `scale` ... or nothing for the object itself.
    pub subresource: Option<&'static str>,
    /// What to do.
    pub operation: Operation,
}

impl Write {
    /// A write of a whole object, whose metadata says where it goes.
    fn whole(
        resource: &Resource,
        object: Value,
        subresource: Option<&'static str>,
        operation: fn(Value) -> Operation,
    ) -> Self {
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
        let write = Self::on(resource, text("namespace"), text("name"), Operation::Create(Value::Null));
        Self { subresource, operation: operation(object), ..write }
    }

    /// Creates `object`; its metadata says where and under which name.
    pub fn create(resource: &Resource, object: Value) -> Self {
        Self::whole(resource, object, None, Operation::Create)
    }

    /// Replaces the object by `object`.
    pub fn update(resource: &Resource, object: Value) -> Self {
        Self::whole(resource, object, None, Operation::Update)
    }

    /// Replaces the status by that of `object`.
    pub fn update_status(resource: &Resource, object: Value) -> Self {
        Self::whole(resource, object, Some("status"), Operation::Update)
    }

    /// Changes an object by a merge patch.
    pub fn merge_patch(resource: &Resource, namespace: &str, name: &str, patch: Value) -> Self {
        Self::on(resource, namespace, name, Operation::MergePatch(patch))
    }

    /// Changes an object's status by a merge patch.
    pub fn merge_patch_status(resource: &Resource, namespace: &str, name: &str, patch: Value) -> Self {
        let write = Self::merge_patch(resource, namespace, name, patch);
        Self { subresource: Some("status"), ..write }
    }

    /// Changes an object's status by a JSON patch.
    pub fn json_patch_status(resource: &Resource, namespace: &str, name: &str, patch: Value) -> Self {
        let write = Self::on(resource, namespace, name, Operation::JsonPatch(patch));
        Self { subresource: Some("status"), ..write }
    }

    /// Deletes an object with its own grace.
    pub fn delete(resource: &Resource, namespace: &str, name: &str) -> Self {
        Self::on(resource, namespace, name, Operation::Delete(DeleteOptions::default()))
    }

    /// Deletes an object at once, as a kubelet does when its containers have ended.
    pub fn delete_now(resource: &Resource, namespace: &str, name: &str) -> Self {
        let options = DeleteOptions { grace_period_seconds: Some(0), ..DeleteOptions::default() };
        Self::on(resource, namespace, name, Operation::Delete(options))
    }

    /// Asks for the eviction of a pod, which its disruption budgets may refuse.
    pub fn evict(namespace: &str, pod: &str) -> Self {
        let eviction = json!({
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": { "name": pod, "namespace": namespace },
        });
        let write = Self::on(&PODS, namespace, pod, Operation::Create(eviction));
        Self { subresource: Some("eviction"), ..write }
    }

    /// Deletes an object in the way that the options say.
    pub fn delete_with(resource: &Resource, namespace: &str, name: &str, options: DeleteOptions) -> Self {
        Self::on(resource, namespace, name, Operation::Delete(options))
    }

    /// Replaces the finalizers of a namespace's spec by those of `namespace`.
    pub fn finalize(namespace: Value) -> Self {
        Self::whole(&NAMESPACES, namespace, Some("finalize"), Operation::Update)
    }

    /// Binds a pod to a node.
    pub fn bind(namespace: &str, pod: &str, node: &str) -> Self {
        let binding = json!({
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": { "namespace": namespace, "name": pod },
            "target": { "apiVersion": "v1", "kind": "Node", "name": node },
        });
        Self::whole(&PODS, binding, Some("binding"), Operation::Create)
    }

    fn on(resource: &Resource, namespace: &str, name: &str, operation: Operation) -> Self {
        Self {
            resource: resource.clone(),
            namespace: if resource.namespaced { namespace.to_owned() } else { String::new() },
            name: name.to_owned(),
            subresource: None,
            operation,
        }
    }

    /// Which object is written.
    pub fn key(&self) -> Key {
        self.resource.key(&self.namespace, &self.name)
    }

    /// The verb as RBAC and audit logs name it.
    pub fn verb(&self) -> &'static str {
        match self.operation {
            Operation::Create(_) => "create",
            Operation::Update(_) => "update",
            Operation::MergePatch(_) | Operation::JsonPatch(_) => "patch",
            Operation::Delete(_) => "delete",
        }
    }
}

/// Why the API server refused a request: the facts of its `metav1.Status`.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// HTTP status code.
    pub code: u16,
    /// Machine-readable reason, such as `Invalid` or `Conflict`; may be empty.
    pub reason: String,
    /// The sentence that clients print.
    pub message: String,
    /// `details` of the Status, with the causes; `Null` where there are none.
    pub details: Value,
}

/// The answer to a write: the object as stored, or the refusal.
#[derive(Debug, Clone)]
pub struct Answer {
    /// What was asked.
    pub write: Write,
    /// What came of it. A deletion answers with the object's last state.
    pub outcome: Result<Object, Refusal>,
}
