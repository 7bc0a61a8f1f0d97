//! What OpenShift's kube-apiserver keeps from being deleted: its configuration (admission plugin
//! `config.openshift.io/DenyDeleteClusterConfiguration`) and the namespaces of that (`NamespaceLifecycle` there).

use crate::builder::Builder;
use crate::kinds::Kind;
use crate::server::ApiServer;
use crate::status::{Outcome, Refused};

/// Namespaces that no server lets go.
const NAMESPACES: [&str; 3] = ["default", "kube-system", "kube-public"];
/// Those that OpenShift's does not let go either.
const NAMESPACES_OF_OPENSHIFT: [&str; 4] =
    ["openshift-config", "openshift-config-managed", "openshift-cluster-version", "openshift-machine-api"];
const CONFIGURATION: &str = "config.openshift.io";

impl Builder {
    /// Whether the configuration of an OpenShift cluster may not be deleted: ClusterVersion `version`, what is called `cluster`
    /// in the group `config.openshift.io`, and their namespaces. Off by default, as upstream.
    #[must_use]
    pub fn openshift_admission(mut self, openshift: bool) -> Self {
        self.openshift_admission = openshift;
        self
    }
}

impl ApiServer {
    /// Keeps namespaces that may not be deleted, whether they are there or not.
    pub(crate) fn keep_namespace(&self, kind: &Kind, name: &str) -> Outcome<()> {
        let keeps =
            NAMESPACES.contains(&name) || self.admission.openshift && NAMESPACES_OF_OPENSHIFT.contains(&name);
        if kind.table == self.namespace_table && keeps {
            return Err(Refused::forbidden(&kind.resource, name, "this namespace may not be deleted"));
        }
        Ok(())
    }

    /// Keeps an object that the cluster cannot be without. Who deletes a collection names none, and is not asked.
    pub(crate) fn keep_configuration(&self, kind: &Kind, name: &str) -> Outcome<()> {
        let (group, plural) = (&*kind.resource.group, &*kind.resource.plural);
        let required = match plural {
            // They belong to who runs.
            "clusteroperators" => None,
            "clusterversions" => Some("version"),
            _ => Some("cluster"),
        };
        if !self.admission.openshift || group != CONFIGURATION || required != Some(name) {
            return Ok(());
        }
        let why = format!("deleting required {plural}.{group} resource, named {name}, is not allowed");
        Err(Refused::forbidden(&kind.resource, name, &why))
    }
}
