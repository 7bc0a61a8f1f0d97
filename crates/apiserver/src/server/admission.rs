//! Admission of a server's writes, by its stored objects.

use serde_json::Value;

use crate::admission::builtin::runtime_class;
use crate::admission::policy::typing;
use crate::admission::{Admitter, PluginCluster};
use crate::call::Call;
use crate::kinds::objects::Objects;
use crate::server::ApiServer;
use crate::status::Outcome;

impl ApiServer {
    /// The admission configuration, with the parts that it reads.
    pub(crate) fn admitter(&self) -> Admitter<'_> {
        Admitter {
            admission: &self.admission,
            catalog: &self.catalog,
            store: &self.store,
            access: &self.access,
            profile: &self.profile,
            namespaces: self.tables.namespaces,
        }
    }

    /// The warnings about the types of expressions in a ValidatingAdmissionPolicy (`status.typeChecking.expressionWarnings`),
    /// by the schemas of the kinds that it matches.
    pub fn policy_warnings(&self, policy: &Value) -> Vec<Value> {
        typing::warnings(&self.catalog, policy)
    }

    /// Sets the ServiceAccount, its token volume and its image pull secrets in a new pod.
    ///
    /// # Errors
    /// 403 if the ServiceAccount does not exist.
    pub(crate) fn set_service_account(&mut self, call: &mut Call<'_>, object: &mut Value) -> Outcome<()> {
        let Self { admission, catalog, store, draws, .. } = self;
        let draw =
            |resource: &_, namespace: &str, prefix: &str| draws.name_suffix(resource, namespace, prefix);
        admission.set_service_account(Objects { catalog, store }, call, object, draw)
    }

    /// Applies the runtime class of a new pod.
    ///
    /// # Errors
    /// 403 if the class does not exist, or if the pod contradicts it.
    pub(crate) fn apply_runtime_class(&self, call: &Call<'_>, object: &mut Value) -> Outcome<()> {
        runtime_class::apply_runtime_class(
            Objects { catalog: &self.catalog, store: &self.store },
            call,
            object,
        )
    }

    /// Checks the overhead of a valid new pod against its runtime class.
    ///
    /// # Errors
    /// 403 if the pod contradicts its class.
    pub(crate) fn check_overhead(&self, call: &Call<'_>, object: &Value) -> Outcome<()> {
        let objects = Objects { catalog: &self.catalog, store: &self.store };
        runtime_class::check_overhead(objects, call, object)
    }

    /// Lets plug-ins change an object that is created.
    ///
    /// # Errors
    /// A plug-in rejects it.
    pub(crate) fn mutate_by_plugins(&mut self, call: &Call<'_>, object: &mut Value) -> Outcome<()> {
        let Self { admission, access, catalog, store, profile, .. } = self;
        let objects = Objects { catalog, store };
        let mut cluster = PluginCluster { objects, access, minor: profile.minor };
        admission.mutate_by_plugins(&mut cluster, call, object)
    }

    /// Updates the status of each quota in the namespace of a write.
    pub(crate) fn update_quota_statuses(&mut self, call: &Call<'_>) {
        self.admission.update_quota_statuses(&self.catalog, &mut self.store, call);
    }
}
