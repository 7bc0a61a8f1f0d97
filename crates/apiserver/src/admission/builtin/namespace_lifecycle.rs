//! Keeps objects out of namespaces that are missing or terminating, and keeps the namespaces that every cluster needs.

use serde_json::{Value, json};
use windtunnel_core::requests::admission::{
    AdmissionOperation, AdmissionPlugin, AdmissionRejection, AdmissionRequest, AdmittingCluster,
};
use windtunnel_core::resources::NAMESPACES;

/// The namespaces that cannot be deleted.
const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

/// The plug-in.
#[derive(Debug, Clone, Copy)]
pub(super) struct NamespaceLifecycle;

impl AdmissionPlugin for NamespaceLifecycle {
    fn name(&self) -> &'static str {
        "NamespaceLifecycle"
    }

    fn mutate(
        &mut self,
        request: &AdmissionRequest<'_>,
        _: &mut Value,
        cluster: &mut dyn AdmittingCluster,
    ) -> Result<(), AdmissionRejection> {
        let operation = request.operation;
        if request.is_of(&NAMESPACES) {
            let is_lost = operation == AdmissionOperation::Delete && IMMORTAL.contains(&request.name);
            return if is_lost {
                Err(AdmissionRejection::Forbidden("this namespace may not be deleted".to_owned()))
            } else {
                Ok(())
            };
        }
        let writes = matches!(operation, AdmissionOperation::Create | AdmissionOperation::Update);
        // A review must not reveal whether the namespace exists.
        if !writes || request.namespace.is_empty() || request.resource.plural == "localsubjectaccessreviews" {
            return Ok(());
        }
        let namespace = request.namespace;
        let Some(found) = cluster.object(&NAMESPACES, "", namespace) else {
            return Err(AdmissionRejection::NotFound(Box::new(NAMESPACES), namespace.to_owned()));
        };
        if operation == AdmissionOperation::Create && found["status"]["phase"] == "Terminating" {
            return Err(terminating(namespace));
        }
        Ok(())
    }
}

fn terminating(namespace: &str) -> AdmissionRejection {
    let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
    let cause = json!({
        "reason": "NamespaceTerminating",
        "message": format!("namespace {namespace} is being terminated"),
        "field": "metadata.namespace",
    });
    AdmissionRejection::ForbiddenBecause(why, cause)
}
