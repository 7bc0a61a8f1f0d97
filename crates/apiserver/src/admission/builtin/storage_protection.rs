//! Protects new volumes, claims and volume classes from deletion while they are in use.

use serde_json::{Value, json};
use windtunnel_core::Resource;
use windtunnel_core::requests::admission::{
    AdmissionOperation, AdmissionPlugin, AdmissionRejection, AdmissionRequest, AdmittingCluster,
};

use crate::metadata;

/// The kinds with their finalizers.
const PROTECTED: [(Resource, &str); 3] = [
    (
        Resource::namespaced("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims"),
        "kubernetes.io/pvc-protection",
    ),
    (Resource::cluster("", "v1", "PersistentVolume", "persistentvolumes"), "kubernetes.io/pv-protection"),
    (
        Resource::cluster("storage.k8s.io", "v1", "VolumeAttributesClass", "volumeattributesclasses"),
        "kubernetes.io/vac-protection",
    ),
];

/// The plug-in.
#[derive(Debug, Clone, Copy)]
pub(super) struct StorageObjectInUseProtection;

impl AdmissionPlugin for StorageObjectInUseProtection {
    fn name(&self) -> &'static str {
        "StorageObjectInUseProtection"
    }

    fn mutate(
        &mut self,
        request: &AdmissionRequest<'_>,
        object: &mut Value,
        _: &mut dyn AdmittingCluster,
    ) -> Result<(), AdmissionRejection> {
        if request.operation != AdmissionOperation::Create {
            return Ok(());
        }
        let Some((_, protection)) = PROTECTED.into_iter().find(|(resource, _)| request.writes(resource))
        else {
            return Ok(());
        };
        let finalizers = metadata::metadata_mut(object).entry("finalizers").or_insert_with(|| json!([]));
        if let Some(finalizers) = finalizers.as_array_mut()
            && !finalizers.iter().any(|name| *name == protection)
        {
            finalizers.push(json!(protection));
        }
        Ok(())
    }
}
