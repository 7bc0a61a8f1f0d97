//! Objects that OpenShift's kube-apiserver does not delete: the cluster's configuration (admission plug-in
//! `config.openshift.io/DenyDeleteClusterConfiguration`) and its namespaces (`NamespaceLifecycle` there).

use serde_json::Value;
use windtunnel_core::requests::admission::{
    AdmissionOperation, AdmissionPlugin, AdmissionRejection, AdmissionRequest, AdmittingCluster,
};
use windtunnel_core::resources;

const NAMESPACES: [&str; 4] =
    ["openshift-config", "openshift-config-managed", "openshift-cluster-version", "openshift-machine-api"];
const GROUP: &str = "config.openshift.io";

/// Rejects the deletion of ClusterVersion `version`, of objects named `cluster` in the group
/// `config.openshift.io`, and of the namespaces of both.
#[derive(Debug, Clone, Copy, Default)]
pub struct ClusterConfiguration;

impl AdmissionPlugin for ClusterConfiguration {
    fn name(&self) -> &'static str {
        "config.openshift.io/DenyDeleteClusterConfiguration"
    }

    fn mutate(
        &mut self,
        request: &AdmissionRequest<'_>,
        _: &mut Value,
        _: &mut dyn AdmittingCluster,
    ) -> Result<(), AdmissionRejection> {
        if request.operation != AdmissionOperation::Delete {
            return Ok(());
        }
        let (resource, name) = (request.resource, request.name);
        if *resource == resources::NAMESPACES && NAMESPACES.contains(&name) {
            return Err(AdmissionRejection::Forbidden("this namespace may not be deleted".to_owned()));
        }
        let (group, plural) = (&*resource.group, &*resource.plural);
        let required = match plural {
            // Each ClusterOperator belongs to its operator, which may delete it.
            "clusteroperators" => None,
            "clusterversions" => Some("version"),
            _ => Some("cluster"),
        };
        if group != GROUP || required != Some(name) {
            return Ok(());
        }
        let why = format!("deleting required {plural}.{group} resource, named {name}, is not allowed");
        Err(AdmissionRejection::Forbidden(why))
    }
}
