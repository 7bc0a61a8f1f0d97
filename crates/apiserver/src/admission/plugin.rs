//! Admission plug-ins that an embedding program adds to the built-in ones.

use std::mem;

use serde_json::Value;
use windtunnel_core::requests::admission::{AdmissionPlugin, AdmissionRequest, AdmittingCluster, Permission};
use windtunnel_core::{Identity, Object, Resource};

use crate::pipeline::call::Call;
use crate::server::ApiServer;
use crate::server::builder::Builder;
use crate::status::{Outcome, Refused};
use crate::{access, metadata};

impl Builder {
    /// Adds an admission plug-in. Plug-ins run in the order in which they are added.
    #[must_use]
    pub fn admission_plugin(mut self, plugin: impl AdmissionPlugin + 'static) -> Self {
        self.plugins.push(Box::new(plugin));
        self
    }
}

impl ApiServer {
    /// Lets plug-ins change an object that is created.
    ///
    /// # Errors
    /// A plug-in rejects it.
    pub(crate) fn mutate_by_plugins(&mut self, call: &Call<'_>, object: &mut Value) -> Outcome<()> {
        if self.admission.plugins.is_empty() || !call.path.subresource.is_empty() {
            return Ok(());
        }
        let kind = &call.kind;
        let mut plugins = mem::take(&mut self.admission.plugins);
        let name = metadata::text(object, "name").to_owned();
        let request = AdmissionRequest {
            resource: &kind.resource,
            namespace: &call.path.namespace,
            name: &name,
            user: call.request.user,
            old: None,
        };
        let decided = plugins.iter_mut().try_for_each(|plugin| plugin.mutate_created(&request, object, self));
        self.admission.plugins = plugins;
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
        let mut plugins = self.admission.plugins.iter();
        plugins
            .try_for_each(|plugin| plugin.check_deletion(&request))
            .map_err(|why| Refused::forbidden(&kind.resource, name, &why))
    }
}

impl AdmittingCluster for ApiServer {
    fn object(&self, resource: &Resource, namespace: &str, name: &str) -> Option<Object> {
        Self::object(self, resource, namespace, name)
    }

    fn objects(&self, resource: &Resource) -> Vec<Object> {
        let kind = self.catalog.find(&resource.group, &resource.version, &resource.plural);
        let stored = kind.into_iter().flat_map(|kind| self.store.list(kind.table, ""));
        stored.map(|(_, _, entry)| Object::from(entry.served().tree())).collect()
    }

    fn allows(&mut self, user: &Identity, permission: Permission<'_>) -> bool {
        let asked = access::Attributes {
            verb: permission.verb.into(),
            group: (&*permission.resource.group).into(),
            resource: (&*permission.resource.plural).into(),
            namespace: permission.namespace.into(),
            name: permission.name.into(),
            ..access::Attributes::default()
        };
        self.may(user, &asked)
    }
}
