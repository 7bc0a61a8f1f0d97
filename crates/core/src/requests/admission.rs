//! Admission plug-ins that are compiled into an API server, as those of a distribution are.

use std::fmt::Debug;

use serde_json::Value;

use crate::objects::{Object, Resource};

use super::Identity;

/// A plug-in that changes or rejects writes before they are stored.
///
/// An API server is a value that can be copied; a plug-in is part of it, so [`AdmissionPlugin::copied`] must give a plug-in that shares
/// nothing that changes. A rejection is the text after `RESOURCE "NAME" is forbidden: `, with which the server answers 403.
pub trait AdmissionPlugin: Debug + Send + Sync {
    /// A plug-in with the same state.
    fn copied(&self) -> Box<dyn AdmissionPlugin>;

    /// Changes a new object, before webhooks and policies see it.
    ///
    /// # Errors
    /// The text of a rejection.
    fn mutate_created(
        &mut self,
        _request: &AdmissionRequest<'_>,
        _object: &mut Value,
        _cluster: &mut dyn AdmittingCluster,
    ) -> Result<(), String> {
        Ok(())
    }

    /// Decides about the deletion of an object: once before the server looks whether it exists, without
    /// [`AdmissionRequest::old`], and once with it. Deletions of collections are not asked about.
    ///
    /// # Errors
    /// The text of a rejection.
    fn check_deletion(&self, _request: &AdmissionRequest<'_>) -> Result<(), String> {
        Ok(())
    }

    /// Notes that objects of a kind changed.
    fn note_change(&mut self, _kind: &Resource) {}
}

impl Clone for Box<dyn AdmissionPlugin> {
    fn clone(&self) -> Self {
        (**self).copied()
    }
}

/// The write that a plug-in decides about.
#[derive(Debug, Clone, Copy)]
pub struct AdmissionRequest<'a> {
    /// The kind of the object.
    pub resource: &'a Resource,
    /// Its namespace; empty for objects of the cluster.
    pub namespace: &'a str,
    /// Its name; empty where the server has not generated it yet.
    pub name: &'a str,
    /// The user.
    pub user: &'a Identity,
    /// The object before the write, where there is one.
    pub old: Option<&'a Value>,
}

/// A permission, by the attributes of an RBAC rule.
#[derive(Debug, Clone, Copy)]
pub struct Permission<'a> {
    /// The verb, such as `use`.
    pub verb: &'a str,
    /// The kind.
    pub resource: &'a Resource,
    /// The namespace; empty for the cluster.
    pub namespace: &'a str,
    /// The name of the object.
    pub name: &'a str,
}

/// The cluster as plug-ins see it.
pub trait AdmittingCluster {
    /// The object of this kind, namespace and name.
    fn object(&self, resource: &Resource, namespace: &str, name: &str) -> Option<Object>;

    /// All objects of a kind, in order of namespace and name.
    fn objects(&self, resource: &Resource) -> Vec<Object>;

    /// Whether a user has a permission.
    fn allows(&mut self, user: &Identity, permission: Permission<'_>) -> bool;
}
