//! Rejects the growth of claims whose storage class does not support it (`PersistentVolumeClaimResize`).

use serde_json::Value;
use windtunnel_core::Resource;
use windtunnel_core::quantity::Quantity;
use windtunnel_core::requests::admission::{
    AdmissionOperation, AdmissionPlugin, AdmissionRejection, AdmissionRequest, AdmittingCluster,
};

const CLAIMS: Resource = Resource::namespaced("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims");
const STORAGE_CLASSES: Resource = Resource::cluster("storage.k8s.io", "v1", "StorageClass", "storageclasses");

const UNBOUND: &str = "Only bound persistent volume claims can be expanded";
const UNSUPPORTED: &str = "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must \
                           support resize";

/// The plug-in.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PersistentVolumeClaimResize;

impl AdmissionPlugin for PersistentVolumeClaimResize {
    fn name(&self) -> &'static str {
        "PersistentVolumeClaimResize"
    }

    fn validate(
        &self,
        request: &AdmissionRequest<'_>,
        object: Option<&Value>,
        cluster: &mut dyn AdmittingCluster,
    ) -> Result<(), AdmissionRejection> {
        let is_update = request.operation == AdmissionOperation::Update && request.writes(&CLAIMS);
        let (true, Some(claim), Some(old)) = (is_update, object, request.old) else { return Ok(()) };
        if !size(claim).is_more(size(old)) {
            return Ok(());
        }
        if old["status"]["phase"] != "Bound" {
            return Err(AdmissionRejection::Forbidden(UNBOUND.to_owned()));
        }
        let name = class_of(claim);
        let class = (!name.is_empty() && name == class_of(old))
            .then(|| cluster.object(&STORAGE_CLASSES, "", name))
            .flatten();
        if class.is_some_and(|class| class["allowVolumeExpansion"] == true) {
            return Ok(());
        }
        Err(AdmissionRejection::Forbidden(UNSUPPORTED.to_owned()))
    }
}

/// The requested size; nothing if it is absent or invalid.
fn size(claim: &Value) -> Quantity {
    let text = claim["spec"]["resources"]["requests"]["storage"].as_str().unwrap_or_default();
    Quantity::parse(text).ok().flatten().unwrap_or(Quantity::ZERO)
}

/// The name of the storage class, in the annotation or in the field that replaced it.
fn class_of(claim: &Value) -> &str {
    let annotation = claim["metadata"]["annotations"]["volume.beta.kubernetes.io/storage-class"].as_str();
    annotation.or_else(|| claim["spec"]["storageClassName"].as_str()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::admission::builtin::testing::Cluster;

    fn claim(size: &str, class: Option<&str>, phase: &str) -> Value {
        let spec = json!({ "resources": { "requests": { "storage": size } }, "storageClassName": class });
        json!({ "spec": spec, "status": { "phase": phase } })
    }

    fn resized(to: &str, class: Option<&str>, phase: &str) -> Result<(), String> {
        let classes = [("fixed", json!(null)), ("growing", json!(true)), ("off", json!(false))];
        let classes = classes.map(|(name, grows)| {
            (STORAGE_CLASSES, json!({ "metadata": { "name": name }, "allowVolumeExpansion": grows }))
        });
        let mut cluster = Cluster::new(36).with(classes);
        let (new, old) = (claim(to, class, phase), claim("1Gi", class, phase));
        cluster.validate(&PersistentVolumeClaimResize, &CLAIMS, "", &new, Some(&old)).map_err(|why| match why
        {
            AdmissionRejection::Forbidden(text) => text,
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn claims_grow_if_they_are_bound_and_their_class_supports_it() {
        assert_eq!(resized("2Gi", Some("growing"), "Bound"), Ok(()));
        assert_eq!(resized("1Gi", Some("fixed"), "Pending"), Ok(()));
        assert_eq!(resized("1Mi", Some("fixed"), "Bound"), Ok(()));
        assert_eq!(resized("2Gi", Some("growing"), "Pending"), Err(UNBOUND.to_owned()));
        for class in [None, Some(""), Some("fixed"), Some("off"), Some("absent")] {
            assert_eq!(resized("2Gi", class, "Bound"), Err(UNSUPPORTED.to_owned()), "{class:?}");
        }
    }
}
