//! Admission of a server's writes, by its stored objects.

use serde_json::Value;

use crate::admission::Admitter;
use crate::admission::policy::typing;
use crate::call::Call;
use crate::server::ApiServer;

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

    /// Updates the status of each quota in the namespace of a write.
    pub(crate) fn update_quota_statuses(&mut self, call: &Call<'_>) {
        self.admission.update_quota_statuses(&self.catalog, &mut self.store, call);
    }
}
