//! Admission plug-ins: Kubernetes' own, and those of a distribution that embeds the API server.
//!
//! The server has one ordered list of them. A write passes [`AdmissionPlugin::mutate`] of each plug-in after its object is decoded, and
//! [`AdmissionPlugin::validate`] of each after the object is complete.

use std::fmt::Debug;

use serde_json::Value;

use super::Identity;
use crate::clock::Time;
use crate::objects::{Object, Resource};

/// A plug-in that changes or rejects writes before they are stored.
///
/// API servers can be cloned, including their plug-ins, so clones must not share mutable state.
pub trait AdmissionPlugin: CloneAdmissionPlugin + Debug + Send + Sync {
    /// The name by which the plug-in is turned on and off (`--disable-admission-plugins`).
    fn name(&self) -> &'static str;

    /// Changes the object of a create or an update, before its defaults and its validation. A deletion and a connection have
    /// no object to change, so they pass only [`AdmissionPlugin::validate`].
    ///
    /// # Errors
    /// The write is rejected.
    fn mutate(
        &mut self,
        _request: &AdmissionRequest<'_>,
        _object: &mut Value,
        _cluster: &mut dyn AdmittingCluster,
    ) -> Result<(), AdmissionRejection> {
        Ok(())
    }

    /// Checks a write with the object to store; a deletion and some connections have none.
    ///
    /// # Errors
    /// The write is rejected.
    fn validate(
        &self,
        _request: &AdmissionRequest<'_>,
        _object: Option<&Value>,
        _cluster: &mut dyn AdmittingCluster,
    ) -> Result<(), AdmissionRejection> {
        Ok(())
    }

    /// Handles a change of stored objects of a kind, such as the kind that a plug-in has read into its own state.
    fn on_event(&mut self, _kind: &Resource) {}
}

/// Cloning of boxed plug-ins. All cloneable plug-ins implement it.
pub trait CloneAdmissionPlugin {
    /// Returns an independent plug-in with the same state.
    fn copied(&self) -> Box<dyn AdmissionPlugin>;
}

impl<T: AdmissionPlugin + Clone + 'static> CloneAdmissionPlugin for T {
    fn copied(&self) -> Box<dyn AdmissionPlugin> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn AdmissionPlugin> {
    fn clone(&self) -> Self {
        (**self).copied()
    }
}

/// The operation of a write, as webhooks and policies name it (`admission.Operation`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdmissionOperation {
    /// A new object, or a `POST` to a subresource such as `pods/eviction`.
    Create,
    /// A change of an object or of one of its subresources.
    Update,
    /// A deletion.
    Delete,
    /// A connection to a pod, a node or a Service.
    Connect,
}

impl AdmissionOperation {
    /// The name in rules and reviews.
    pub fn name(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
        }
    }
}

/// The write that a plug-in changes or checks.
#[derive(Debug, Clone, Copy)]
pub struct AdmissionRequest<'a> {
    /// The operation.
    pub operation: AdmissionOperation,
    /// The kind in the path of the request.
    pub resource: &'a Resource,
    /// The subresource; empty for the object itself.
    pub subresource: &'a str,
    /// The namespace; empty for cluster-scoped objects.
    pub namespace: &'a str,
    /// The name; empty if the server has not generated it yet.
    pub name: &'a str,
    /// The user.
    pub user: &'a Identity,
    /// The object before the write, if it exists.
    pub old: Option<&'a Value>,
}

impl AdmissionRequest<'_> {
    /// Whether the request writes objects of this kind themselves, and no subresource.
    pub fn writes(&self, resource: &Resource) -> bool {
        self.subresource.is_empty() && self.is_of(resource)
    }

    /// Whether the request is about objects of this kind in any version, or about a subresource of one.
    pub fn is_of(&self, resource: &Resource) -> bool {
        self.resource.plural == resource.plural && self.resource.group == resource.group
    }
}

/// Why a plug-in rejects a write.
#[derive(Debug, Clone, PartialEq)]
pub enum AdmissionRejection {
    /// 403 with the message `RESOURCE "NAME" is forbidden: TEXT`.
    Forbidden(String),
    /// The same, with a cause in the details of the status: `{"reason", "message", "field"}`.
    ForbiddenBecause(String, Value),
    /// 403 with this whole message.
    Denied(String),
    /// 422 with the message `KIND "NAME" is invalid: ...` for these fields.
    Invalid(Vec<InvalidField>),
    /// 404 for an object of this kind and name.
    NotFound(Box<Resource>, String),
    /// 500 with the message `Internal error occurred: TEXT`.
    Internal(String),
    /// 500 with this whole message and without a reason.
    Unclassified(String),
}

/// A field with an invalid value.
#[derive(Debug, Clone, PartialEq)]
pub struct InvalidField {
    /// The path of the field.
    pub field: String,
    /// Its value.
    pub value: Value,
    /// What is wrong with it.
    pub detail: String,
}

/// A permission, in the attributes of an RBAC rule.
#[derive(Debug, Clone, Copy)]
pub struct Permission<'a> {
    /// The verb, such as `use`.
    pub verb: &'a str,
    /// The kind.
    pub resource: &'a Resource,
    /// The subresource; empty for the objects themselves.
    pub subresource: &'a str,
    /// The namespace; empty for cluster-wide permissions.
    pub namespace: &'a str,
    /// The name of the object.
    pub name: &'a str,
}

/// The access to the cluster and to the answer of the request that plug-ins have.
pub trait AdmittingCluster {
    /// The object of this kind, namespace and name.
    fn object(&self, resource: &Resource, namespace: &str, name: &str) -> Option<Object>;

    /// The objects of a kind in a namespace, in order of namespace and name; in all of them if `namespace` is empty.
    fn objects(&self, resource: &Resource, namespace: &str) -> Vec<Object>;

    /// The kinds that the server has with this `apiVersion` and `kind`.
    fn kinds(&self, api_version: &str, kind: &str) -> Vec<Resource>;

    /// The minor of the server's Kubernetes 1.x.
    fn kubernetes_minor(&self) -> u32;

    /// The time of the request.
    fn now(&self) -> Time;

    /// Whether a user has a permission.
    fn allows(&mut self, user: &Identity, permission: Permission<'_>) -> bool;

    /// Draws the suffix of a generated name, given the kind and the prefix.
    fn draw_name_suffix(&mut self, resource: &Resource, prefix: &str) -> String;

    /// Adds a warning to the answer.
    fn warn(&mut self, warning: String);
}
