//! Protects the namespaces that every cluster needs (admission plug-in `NamespaceLifecycle`).

use crate::admission::Admitter;
use crate::kinds::Kind;
use crate::status::{Outcome, Refused};

const NAMESPACES: [&str; 3] = ["default", "kube-system", "kube-public"];

impl Admitter<'_> {
    /// Rejects the deletion of a namespace that every cluster needs, whether it exists or not.
    pub(crate) fn check_namespace_deletion(&self, kind: &Kind, name: &str) -> Outcome<()> {
        if kind.table == self.namespaces && NAMESPACES.contains(&name) {
            return Err(Refused::forbidden(&kind.resource, name, "this namespace may not be deleted"));
        }
        Ok(())
    }
}
