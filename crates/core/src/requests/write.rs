//! Write requests and their answers, as data.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::resources::{NAMESPACES, PODS};
use crate::{Key, Object, Resource};

/// The user of a request, as the API server sees it (`user.Info`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// User name, such as `system:serviceaccount:openshift-cluster-version:default`.
    pub user: String,
    /// Groups. [`Identity::all_groups`] adds `system:authenticated` unless `system:unauthenticated` is among
    /// them.
    pub groups: Vec<String>,
    /// The user's uid if the authenticator knows it; otherwise empty.
    pub uid: String,
    /// Extra attributes of the user, by key.
    pub extra: BTreeMap<String, Vec<String>>,
}

/// The extra attributes of a user that name a program of the user's machine, and its process.
const PROGRAM: &str = "windtunnel.dev/program";
const PROCESS: &str = "windtunnel.dev/process";

/// The group of all users except the anonymous one.
const AUTHENTICATED: &str = "system:authenticated";
/// The group of the anonymous user.
const UNAUTHENTICATED: &str = "system:unauthenticated";

impl Identity {
    /// A cluster administrator, member of `system:masters`.
    pub fn admin() -> Self {
        Self::new("system:admin", &["system:masters"])
    }

    /// Creates a user with groups.
    pub fn new(user: impl Into<String>, groups: &[&str]) -> Self {
        let groups = groups.iter().map(|&group| group.to_owned()).collect();
        Self { user: user.into(), groups, ..Self::default() }
    }

    /// The user of requests without credentials.
    pub fn anonymous() -> Self {
        Self::new("system:anonymous", &[UNAUTHENTICATED])
    }

    /// Whether the user is a member of `system:masters`, which may do everything.
    pub fn is_privileged(&self) -> bool {
        self.groups.iter().any(|group| group == "system:masters")
    }

    /// All groups, including an implied `system:authenticated`.
    pub fn all_groups(&self) -> impl Iterator<Item = &str> {
        let is_about_authentication = |group: &String| group == AUTHENTICATED || group == UNAUTHENTICATED;
        let implied = (!self.groups.iter().any(is_about_authentication)).then_some(AUTHENTICATED);
        self.groups.iter().map(String::as_str).chain(implied)
    }

    /// The same user, whose requests come from this process of a program of the user's machine.
    #[must_use]
    pub fn with_program(mut self, program: &str, process: &str) -> Self {
        self.extra.insert(PROGRAM.to_owned(), vec![program.to_owned()]);
        self.extra.insert(PROCESS.to_owned(), vec![process.to_owned()]);
        self
    }

    /// The program of the user's machine that sends the requests; empty for all other clients.
    pub fn program(&self) -> &str {
        self.first_extra(PROGRAM)
    }

    /// The process of [`Identity::program`]; empty for all other clients.
    pub fn process(&self) -> &str {
        self.first_extra(PROCESS)
    }

    fn first_extra(&self, key: &str) -> &str {
        self.extra.get(key).and_then(|values| values.first()).map_or("", String::as_str)
    }

    /// The user of a ServiceAccount.
    pub fn service_account(namespace: &str, name: &str) -> Self {
        let of_namespace = format!("system:serviceaccounts:{namespace}");
        let groups = ["system:serviceaccounts", of_namespace.as_str()];
        Self::new(format!("system:serviceaccount:{namespace}:{name}"), &groups)
    }
}

/// Options of a deletion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeleteOptions {
    /// The grace period in seconds; `None` for the object's own (30 s for pods).
    pub grace_period_seconds: Option<i64>,
    /// A precondition: the uid of the object.
    pub uid: Option<String>,
    /// The handling of dependent objects; `None` for the default of the kind and the object's finalizers.
    pub propagation: Option<Propagation>,
}

/// The handling of the objects that a deleted object owns (`metav1.DeletionPropagation`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Propagation {
    /// They are deleted after their owner.
    Background,
    /// They are deleted before their owner.
    Foreground,
    /// They are kept, and their owner reference is removed.
    Orphan,
}

impl Propagation {
    /// Parses a value of `kubectl delete --cascade`.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Background, Self::Foreground, Self::Orphan].into_iter().find(|one| one.name() == name)
    }

    /// The value of `kubectl delete --cascade`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Background => "background",
            Self::Foreground => "foreground",
            Self::Orphan => "orphan",
        }
    }
}

/// The operation of a write.
#[derive(Debug, Clone, PartialEq)]
pub enum Operation {
    /// Creates the object; the server generates a name from `metadata.generateName`.
    Create(Value),
    /// Replaces the object (or its subresource); `metadata.resourceVersion` prevents lost updates.
    Update(Value),
    /// Applies a merge patch (RFC 7386).
    MergePatch(Value),
    /// Applies a JSON patch (RFC 6902), an array of operations.
    JsonPatch(Value),
    /// Deletes the object.
    Delete(DeleteOptions),
}

/// A request to change an object.
#[derive(Debug, Clone, PartialEq)]
pub struct Write {
    /// Kind of the object.
    pub resource: Resource,
    /// Namespace; empty for cluster-scoped kinds.
    pub namespace: String,
    /// Name; empty if the server generates it.
    pub name: String,
    /// Subresource, such as `status` or `scale`; `None` for the object itself.
    pub subresource: Option<&'static str>,
    /// The operation.
    pub operation: Operation,
}

impl Write {
    /// A write of a complete object, with namespace and name from its metadata.
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

    /// Creates `object`, with namespace and name from its metadata.
    pub fn create(resource: &Resource, object: Value) -> Self {
        Self::whole(resource, object, None, Operation::Create)
    }

    /// Replaces the object with `object`.
    pub fn update(resource: &Resource, object: Value) -> Self {
        Self::whole(resource, object, None, Operation::Update)
    }

    /// Replaces the status with that of `object`.
    pub fn update_status(resource: &Resource, object: Value) -> Self {
        Self::whole(resource, object, Some("status"), Operation::Update)
    }

    /// Applies a merge patch to an object.
    pub fn merge_patch(resource: &Resource, namespace: &str, name: &str, patch: Value) -> Self {
        Self::on(resource, namespace, name, Operation::MergePatch(patch))
    }

    /// Applies a merge patch to the status of an object.
    pub fn merge_patch_status(resource: &Resource, namespace: &str, name: &str, patch: Value) -> Self {
        let write = Self::merge_patch(resource, namespace, name, patch);
        Self { subresource: Some("status"), ..write }
    }

    /// Applies a JSON patch to the status of an object.
    pub fn json_patch_status(resource: &Resource, namespace: &str, name: &str, patch: Value) -> Self {
        let write = Self::on(resource, namespace, name, Operation::JsonPatch(patch));
        Self { subresource: Some("status"), ..write }
    }

    /// Deletes an object with its own grace period.
    pub fn delete(resource: &Resource, namespace: &str, name: &str) -> Self {
        Self::on(resource, namespace, name, Operation::Delete(DeleteOptions::default()))
    }

    /// Deletes an object without a grace period, as a kubelet does once the containers of a pod have ended.
    pub fn delete_now(resource: &Resource, namespace: &str, name: &str) -> Self {
        let options = DeleteOptions { grace_period_seconds: Some(0), ..DeleteOptions::default() };
        Self::on(resource, namespace, name, Operation::Delete(options))
    }

    /// Requests the eviction of a pod, which its disruption budgets may reject.
    pub fn evict(namespace: &str, pod: &str) -> Self {
        let eviction = json!({
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": { "name": pod, "namespace": namespace },
        });
        let write = Self::on(&PODS, namespace, pod, Operation::Create(eviction));
        Self { subresource: Some("eviction"), ..write }
    }

    /// Deletes an object with options.
    pub fn delete_with(resource: &Resource, namespace: &str, name: &str, options: DeleteOptions) -> Self {
        Self::on(resource, namespace, name, Operation::Delete(options))
    }

    /// Replaces `spec.finalizers` of a namespace with those of `namespace`.
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

    /// The key of the written object.
    pub fn key(&self) -> Key {
        self.resource.key(&self.namespace, &self.name)
    }

    /// The verb in RBAC rules and audit logs.
    pub fn verb(&self) -> &'static str {
        match self.operation {
            Operation::Create(_) => "create",
            Operation::Update(_) => "update",
            Operation::MergePatch(_) | Operation::JsonPatch(_) => "patch",
            Operation::Delete(_) => "delete",
        }
    }
}

/// The rejection of a request by the API server: the content of its `metav1.Status`.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Rejection {
    /// HTTP status code.
    pub code: u16,
    /// Machine-readable reason, such as `Invalid` or `Conflict`; may be empty.
    pub reason: String,
    /// The message that clients print.
    pub message: String,
    /// `details` of the Status, including the causes; `Null` if there are none.
    pub details: Value,
}

/// The answer to a write: the stored object or the rejection.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The write.
    pub write: Write,
    /// The stored object or the rejection; for a deletion, the last state of the object.
    pub outcome: Result<Object, Rejection>,
}
