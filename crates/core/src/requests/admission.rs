//! Admission plug-ins that are compiled into an API server, such as those of a Kubernetes distribution.

use std::fmt::Debug;

use serde_json::Value;

use crate::objects::{Object, Resource};

use super::Identity;

/// A plug-in that changes or rejects writes before they are stored.
///
/// API servers can be cloned, including their plug-ins, so clones must not share mutable state. The server
/// answers a rejection with 403. The text of a rejection follows after `RESOURCE "NAME" is forbidden: `.
pub trait AdmissionPlugin: CloneAdmissionPlugin + Debug + Send + Sync {
    /// Modifies a new object, before webhooks and policies see it.
    ///
    /// # Errors
    /// The text of the rejection.
    fn mutate_created(
        &mut self,
        _request: &AdmissionRequest<'_>,
        _object: &mut Value,
        _cluster: &mut dyn AdmittingCluster,
    ) -> Result<(), String> {
        Ok(())
    }

    /// Allows or rejects the deletion of an object. The server calls it twice: without
    /// [`AdmissionRequest::old`] before it looks up the object, and with it afterwards. It does not call it
    /// for deletions of collections.
    ///
    /// # Errors
    /// The text of the rejection.
    fn check_deletion(&self, _request: &AdmissionRequest<'_>) -> Result<(), String> {
        Ok(())
    }

    /// Checks a create or an update with the object to store, or a deletion without one. `objects` lists all
    /// stored objects of a kind. Returns warnings for the client.
    ///
    /// # Errors
    /// The whole message of the rejection, which the server answers with 403.
    fn check_write(
        &self,
        _request: &AdmissionRequest<'_>,
        _object: Option<&Value>,
        _objects: &dyn Fn(&Resource) -> Vec<Object>,
    ) -> Result<Vec<String>, String> {
        Ok(Vec::new())
    }

    /// Handles a change of objects of a kind.
    fn note_change(&mut self, _kind: &Resource) {}
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

/// The write that a plug-in checks.
#[derive(Debug, Clone, Copy)]
pub struct AdmissionRequest<'a> {
    /// The kind of the object.
    pub resource: &'a Resource,
    /// Its namespace; empty for cluster-scoped objects.
    pub namespace: &'a str,
    /// Its name; empty if the server has not generated it yet.
    pub name: &'a str,
    /// The user.
    pub user: &'a Identity,
    /// The object before the write, if it exists.
    pub old: Option<&'a Value>,
}

/// A permission, in the attributes of an RBAC rule.
#[derive(Debug, Clone, Copy)]
pub struct Permission<'a> {
    /// The verb, such as `use`.
    pub verb: &'a str,
    /// The kind.
    pub resource: &'a Resource,
    /// The namespace; empty for cluster-wide permissions.
    pub namespace: &'a str,
    /// The name of the object.
    pub name: &'a str,
}

/// The access to the cluster that plug-ins have.
pub trait AdmittingCluster {
    /// The object of this kind, namespace and name.
    fn object(&self, resource: &Resource, namespace: &str, name: &str) -> Option<Object>;

    /// All objects of a kind, in order of namespace and name.
    fn objects(&self, resource: &Resource) -> Vec<Object>;

    /// The minor of the server's Kubernetes 1.x.
    fn kubernetes_minor(&self) -> u32;

    /// Whether a user has a permission.
    fn allows(&mut self, user: &Identity, permission: Permission<'_>) -> bool;
}
