//! The default classes of claims (`DefaultStorageClass`) and of ingresses (`DefaultIngressClass`).

use std::cmp::Reverse;

use serde_json::{Value, json};
use windtunnel_core::requests::admission::{
    AdmissionOperation, AdmissionPlugin, AdmissionRejection, AdmissionRequest, AdmittingCluster,
};
use windtunnel_core::{Object, Resource};

use crate::profile::since;

const CLAIMS: Resource = Resource::namespaced("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims");
const STORAGE_CLASSES: Resource = Resource::cluster("storage.k8s.io", "v1", "StorageClass", "storageclasses");
const INGRESSES: Resource = Resource::namespaced("networking.k8s.io", "v1", "Ingress", "ingresses");
const INGRESS_CLASSES: Resource =
    Resource::cluster("networking.k8s.io", "v1", "IngressClass", "ingressclasses");

/// The annotations that mark a default storage class.
const DEFAULT_STORAGE_CLASS: [&str; 2] =
    ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"];
/// The annotation that marks a default ingress class.
const DEFAULT_INGRESS_CLASS: [&str; 1] = ["ingressclass.kubernetes.io/is-default-class"];

/// Sets the storage class of new claims without one.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DefaultStorageClass;

/// Sets the class of new ingresses without one.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DefaultIngressClass;

impl AdmissionPlugin for DefaultStorageClass {
    fn name(&self) -> &'static str {
        "DefaultStorageClass"
    }

    fn mutate(
        &mut self,
        request: &AdmissionRequest<'_>,
        object: &mut Value,
        cluster: &mut dyn AdmittingCluster,
    ) -> Result<(), AdmissionRejection> {
        let is_new = request.operation == AdmissionOperation::Create && request.writes(&CLAIMS);
        if !is_new || has_class(object, "storageClassName", "volume.beta.kubernetes.io/storage-class") {
            return Ok(());
        }
        let defaults = defaults(cluster.objects(&STORAGE_CLASSES, ""), &DEFAULT_STORAGE_CLASS);
        if defaults.len() > 1 && cluster.kubernetes_minor() < since::NEWEST_STORAGE_CLASS {
            return Err(too_many(&format!("{} default StorageClasses were found", defaults.len())));
        }
        set_class(object, "storageClassName", &defaults);
        Ok(())
    }
}

impl AdmissionPlugin for DefaultIngressClass {
    fn name(&self) -> &'static str {
        "DefaultIngressClass"
    }

    fn mutate(
        &mut self,
        request: &AdmissionRequest<'_>,
        object: &mut Value,
        cluster: &mut dyn AdmittingCluster,
    ) -> Result<(), AdmissionRejection> {
        let is_new = request.operation == AdmissionOperation::Create && request.writes(&INGRESSES);
        if !is_new || has_class(object, "ingressClassName", "kubernetes.io/ingress.class") {
            return Ok(());
        }
        let defaults = defaults(cluster.objects(&INGRESS_CLASSES, ""), &DEFAULT_INGRESS_CLASS);
        if defaults.len() > 1 && cluster.kubernetes_minor() < since::NEWEST_INGRESS_CLASS {
            return Err(too_many(&format!(
                "{} default IngressClasses were found, only 1 allowed",
                defaults.len()
            )));
        }
        set_class(object, "ingressClassName", &defaults);
        Ok(())
    }
}

/// Whether an object names a class, in the field or in the annotation that was there before it. An empty name is one.
fn has_class(object: &Value, field: &str, annotation: &str) -> bool {
    !object["spec"][field].is_null() || object["metadata"]["annotations"].get(annotation).is_some()
}

/// The default classes: the newest first, then by name.
fn defaults(classes: Vec<Object>, annotations: &[&str]) -> Vec<Object> {
    let is_default = |class: &Object| annotations.iter().any(|name| class.annotation(name) == Some("true"));
    let mut defaults: Vec<Object> = classes.into_iter().filter(is_default).collect();
    defaults.sort_by_key(|class| {
        (Reverse(class.text("/metadata/creationTimestamp").to_owned()), class.name().to_owned())
    });
    defaults
}

fn set_class(object: &mut Value, field: &str, defaults: &[Object]) {
    if let Some(class) = defaults.first() {
        object["spec"][field] = json!(class.name());
    }
}

fn too_many(why: &str) -> AdmissionRejection {
    AdmissionRejection::Forbidden(format!("Internal error occurred: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::builtin::testing::Cluster;

    fn class(kind: &Resource, annotation: &str, name: &str, created: &str) -> (Resource, Value) {
        let metadata =
            json!({ "name": name, "creationTimestamp": created, "annotations": { annotation: "true" } });
        (kind.clone(), json!({ "metadata": metadata }))
    }

    fn admitted(mut cluster: Cluster, claim: Value) -> Result<Value, AdmissionRejection> {
        let mut claim = claim;
        cluster.mutate(&mut DefaultStorageClass, &CLAIMS, "", &mut claim, None)?;
        Ok(claim["spec"]["storageClassName"].clone())
    }

    #[test]
    fn the_newest_default_class_counts_then_the_name() {
        let classes = || {
            let [stable, beta] = DEFAULT_STORAGE_CLASS;
            Cluster::new(36).with([
                class(&STORAGE_CLASSES, stable, "old", "2024-01-01T00:00:00Z"),
                class(&STORAGE_CLASSES, stable, "z", "2024-02-01T00:00:00Z"),
                class(&STORAGE_CLASSES, beta, "b", "2024-02-01T00:00:00Z"),
                class(&STORAGE_CLASSES, "x", "none", "2025-01-01T00:00:00Z"),
            ])
        };
        assert_eq!(admitted(classes(), json!({ "spec": {} })), Ok(json!("b")));
        let named = json!({ "spec": { "storageClassName": "" } });
        assert_eq!(admitted(classes(), named), Ok(json!("")));
        let annotations = json!({ "volume.beta.kubernetes.io/storage-class": "c" });
        let annotated = json!({ "metadata": { "annotations": annotations }, "spec": {} });
        assert_eq!(admitted(classes(), annotated), Ok(Value::Null));
        assert_eq!(admitted(Cluster::new(36), json!({ "spec": {} })), Ok(Value::Null));
        let why = admitted(classes().at(25), json!({ "spec": {} })).unwrap_err();
        assert_eq!(why, too_many("3 default StorageClasses were found"));
    }

    #[test]
    fn ingresses_get_the_default_class_at_their_creation() {
        let [annotation] = DEFAULT_INGRESS_CLASS;
        let mut cluster = Cluster::new(36).with([class(&INGRESS_CLASSES, annotation, "a", "")]);
        let mut ingress = json!({ "spec": {} });
        let old = ingress.clone();
        cluster.mutate(&mut DefaultIngressClass, &INGRESSES, "", &mut ingress, Some(&old)).unwrap();
        assert_eq!(ingress["spec"], json!({}));
        cluster.mutate(&mut DefaultIngressClass, &INGRESSES, "", &mut ingress, None).unwrap();
        assert_eq!(ingress["spec"]["ingressClassName"], "a");
        let mut ingress =
            json!({ "metadata": { "annotations": { "kubernetes.io/ingress.class": "" } }, "spec": {} });
        cluster.mutate(&mut DefaultIngressClass, &INGRESSES, "", &mut ingress, None).unwrap();
        assert_eq!(ingress["spec"], json!({}));
    }
}
