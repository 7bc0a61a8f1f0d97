//! Admission plug-ins that an embedding program adds to the built-in ones.

use serde_json::Value;
use windtunnel_core::requests::admission::{AdmissionRequest, AdmittingCluster, Permission};
use windtunnel_core::{Identity, Object, Resource};

use crate::access::{Access, Attributes as AccessAttributes};
use crate::admission::{Admission, Admitter, Attributes};
use crate::call::Call;
use crate::kinds::objects::Objects;
use crate::metadata;
use crate::status::{Outcome, Refused};

/// The cluster of a plug-in.
#[derive(Debug)]
pub(crate) struct PluginCluster<'a> {
    pub(crate) objects: Objects<'a>,
    pub(crate) access: &'a mut Access,
    /// The minor of Kubernetes 1.x.
    pub(crate) minor: u32,
}

impl Admission {
    /// Lets plug-ins change an object that is created.
    ///
    /// # Errors
    /// A plug-in rejects it.
    pub(crate) fn mutate_by_plugins(
        &mut self,
        cluster: &mut PluginCluster<'_>,
        call: &Call<'_>,
        object: &mut Value,
    ) -> Outcome<()> {
        if self.plugins.is_empty() || !call.path.subresource.is_empty() {
            return Ok(());
        }
        let kind = &call.kind;
        let name = metadata::text(object, "name").to_owned();
        let request = AdmissionRequest {
            resource: &kind.resource,
            namespace: &call.path.namespace,
            name: &name,
            user: call.request.user,
            old: None,
        };
        let mut plugins = self.plugins.iter_mut();
        let decided = plugins.try_for_each(|plugin| plugin.mutate_created(&request, object, cluster));
        decided.map_err(|why| {
            let name = match metadata::text(object, "name") {
                "" => metadata::text(object, "generateName"),
                name => name,
            };
            Refused::forbidden(&kind.resource, name, &why)
        })
    }

    /// Checks the deletion of an object with all plug-ins.
    ///
    /// # Errors
    /// A plug-in rejects it.
    pub(crate) fn check_deletion_with_plugins(&self, call: &Call<'_>, old: Option<&Value>) -> Outcome<()> {
        let (kind, name) = (&call.kind, &*call.path.name);
        let request = AdmissionRequest {
            resource: &kind.resource,
            namespace: &call.path.namespace,
            name,
            user: call.request.user,
            old,
        };
        let mut plugins = self.plugins.iter();
        plugins
            .try_for_each(|plugin| plugin.check_deletion(&request))
            .map_err(|why| Refused::forbidden(&kind.resource, name, &why))
    }
}

impl Admitter<'_> {
    /// Checks a write with all plug-ins.
    ///
    /// # Errors
    /// A plug-in rejects it.
    pub(super) fn check_by_plugins(
        &self,
        call: &mut Call<'_>,
        attributes: Attributes<'_>,
        object: Option<&Value>,
    ) -> Outcome<()> {
        if !call.path.subresource.is_empty() {
            return Ok(());
        }
        let request = AdmissionRequest {
            resource: &call.kind.resource,
            namespace: attributes.namespace,
            name: attributes.name,
            user: call.request.user,
            old: attributes.old,
        };
        let objects = |resource: &Resource| list(self.objects(), resource);
        let mut warnings = Vec::new();
        for plugin in &self.admission.plugins {
            let found = plugin.check_write(&request, object, &objects);
            warnings.extend(found.map_err(|message| Refused::by_webhook(403, "Forbidden", message, None))?);
        }
        call.warnings.extend(warnings);
        Ok(())
    }
}

/// All objects of a kind. Empty if the server does not have the kind.
fn list(objects: Objects<'_>, resource: &Resource) -> Vec<Object> {
    let kind = objects.catalog.find(&resource.group, &resource.version, &resource.plural);
    let stored = kind.into_iter().flat_map(|kind| objects.store.list(kind.table, ""));
    stored.map(|(_, _, entry)| Object::from(entry.served().tree())).collect()
}

impl AdmittingCluster for PluginCluster<'_> {
    fn object(&self, resource: &Resource, namespace: &str, name: &str) -> Option<Object> {
        self.objects.get(resource, namespace, name)
    }

    fn objects(&self, resource: &Resource) -> Vec<Object> {
        list(self.objects, resource)
    }

    fn kubernetes_minor(&self) -> u32 {
        self.minor
    }

    fn allows(&mut self, user: &Identity, permission: Permission<'_>) -> bool {
        let asked = AccessAttributes {
            verb: permission.verb.into(),
            group: (&*permission.resource.group).into(),
            resource: (&*permission.resource.plural).into(),
            namespace: permission.namespace.into(),
            name: permission.name.into(),
            ..AccessAttributes::default()
        };
        self.access.may(self.objects, user, &asked)
    }
}
