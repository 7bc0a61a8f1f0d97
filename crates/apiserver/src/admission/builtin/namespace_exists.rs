//! Rejects writes in namespaces that do not exist (`NamespaceExists`).

use serde_json::Value;
use windtunnel_core::requests::admission::{
    AdmissionOperation, AdmissionPlugin, AdmissionRejection, AdmissionRequest, AdmittingCluster,
};
use windtunnel_core::resources::NAMESPACES;

/// The plug-in.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct NamespaceExists;

impl AdmissionPlugin for NamespaceExists {
    fn name(&self) -> &'static str {
        "NamespaceExists"
    }

    fn validate(
        &self,
        request: &AdmissionRequest<'_>,
        _object: Option<&Value>,
        cluster: &mut dyn AdmittingCluster,
    ) -> Result<(), AdmissionRejection> {
        let name = request.namespace;
        let is_exempt =
            name.is_empty() || request.is_of(&NAMESPACES) || request.operation == AdmissionOperation::Connect;
        if is_exempt || cluster.object(&NAMESPACES, "", name).is_some() {
            return Ok(());
        }
        Err(AdmissionRejection::NotFound(Box::new(NAMESPACES), name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windtunnel_core::Resource;
    use windtunnel_core::resources::{NODES, PODS};

    use super::*;
    use crate::admission::builtin::testing::Cluster;

    #[test]
    fn objects_need_an_existing_namespace() {
        let mut cluster = Cluster::new(36).with([(NAMESPACES, json!({ "metadata": { "name": "a" } }))]);
        let mut check = |kind: Resource, namespace: &str| {
            let object = json!({ "metadata": { "namespace": namespace } });
            cluster.validate(&NamespaceExists, &kind, "", &object, None)
        };
        assert_eq!(check(PODS, "a"), Ok(()));
        assert_eq!(check(NODES, ""), Ok(()));
        assert_eq!(check(NAMESPACES, "b"), Ok(()));
        assert_eq!(check(PODS, "b"), Err(AdmissionRejection::NotFound(Box::new(NAMESPACES), "b".to_owned())));
    }
}
