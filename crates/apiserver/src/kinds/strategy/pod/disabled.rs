//! Fields of pods that need gates which are off by default.

use serde_json::Value;

/// Removes fields that need gates which are off by default, unless the old pod has them (`DropDisabledPodFields`).
pub(in crate::kinds::strategy) fn drop_disabled(object: &mut Value, old: Option<&Value>) {
    let before = old.map_or(&Value::Null, |old| &old["spec"]);
    if let Some(spec) = object.get_mut("spec") {
        drop_disabled_spec(spec, before);
    }
}

/// Removes fields from a specification, in pods and in templates: stop signals (`ContainerStopSignals`), trust bundles
/// and certificates in volumes (`ClusterTrustBundleProjection`, `PodCertificateRequest`), and groups for scheduling
/// (`GenericWorkload`).
fn drop_disabled_spec(spec: &mut Value, old: &Value) {
    let Some(spec) = spec.as_object_mut() else { return };
    if old["schedulingGroup"].is_null() {
        spec.remove("schedulingGroup");
    }
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            let uses = |old: &Value| !old["lifecycle"]["stopSignal"].is_null();
            if old[list].as_array().is_some_and(|list| list.iter().any(uses)) {
                continue;
            }
            let Some(container) = container.as_object_mut() else { continue };
            let Some(lifecycle) = container.get_mut("lifecycle").and_then(Value::as_object_mut) else {
                continue;
            };
            if lifecycle.remove("stopSignal").is_some() && lifecycle.is_empty() {
                container.remove("lifecycle");
            }
        }
    }
    for volume in spec.get_mut("volumes").and_then(Value::as_array_mut).into_iter().flatten() {
        let sources = volume.get_mut("projected").and_then(|projected| projected.get_mut("sources"));
        for source in sources.and_then(Value::as_array_mut).into_iter().flatten() {
            let Some(source) = source.as_object_mut() else { continue };
            for kind in ["clusterTrustBundle", "podCertificate"] {
                source.remove(kind);
            }
        }
    }
}
