//! Admission plug-ins that an embedding program adds to the built-in ones.

use serde_json::Value;
use windtunnel_core::requests::admission::{AdmissionRequest, AdmittingCluster, Permission};
use windtunnel_core::{Identity, Object, Resource};

use crate::access::{Access, Attributes};
use crate::admission::Admission;
use crate::call::Call;
use crate::kinds::objects::Objects;
use crate::metadata;
use crate::status::{Outcome, Refused};

/// The cluster of a plug-in.
#[derive(Debug)]
pub(crate) struct PluginCluster<'a> {
    pub(crate) objects: Objects<'a>,
    pub(crate) access: &'a mut Access,
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

impl AdmittingCluster for PluginCluster<'_> {
    fn object(&self, resource: &Resource, namespace: &str, name: &str) -> Option<Object> {
        self.objects.get(resource, namespace, name)
    }

    fn objects(&self, resource: &Resource) -> Vec<Object> {
        let kind = self.objects.catalog.find(&resource.group, &resource.version, &resource.plural);
        let stored = kind.into_iter().flat_map(|kind| self.objects.store.list(kind.table, ""));
        stored.map(|(_, _, entry)| Object::from(entry.served().tree())).collect()
    }

    fn allows(&mut self, user: &Identity, permission: Permission<'_>) -> bool {
        let asked = Attributes {
            verb: permission.verb.into(),
            group: (&*permission.resource.group).into(),
            resource: (&*permission.resource.plural).into(),
            namespace: permission.namespace.into(),
            name: permission.name.into(),
            ..Attributes::default()
        };
        self.access.may(self.objects, user, &asked)
    }
}
