//! Lets pods that request an extended resource run on the nodes reserved for it (`ExtendedResourceToleration`).

use std::collections::BTreeSet;

use serde_json::{Value, json};
use windtunnel_core::requests::admission::{
    AdmissionPlugin, AdmissionRejection, AdmissionRequest, AdmittingCluster,
};
use windtunnel_core::resources::PODS;
use windtunnel_core::text_of;

use crate::names::labels::label_key;

/// The plug-in.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ExtendedResourceToleration;

impl AdmissionPlugin for ExtendedResourceToleration {
    fn name(&self) -> &'static str {
        "ExtendedResourceToleration"
    }

    fn mutate(
        &mut self,
        request: &AdmissionRequest<'_>,
        object: &mut Value,
        _cluster: &mut dyn AdmittingCluster,
    ) -> Result<(), AdmissionRejection> {
        if request.writes(&PODS) {
            for resource in requested(object) {
                tolerate(object, &resource);
            }
        }
        Ok(())
    }
}

/// The extended resources that containers request.
fn requested(pod: &Value) -> BTreeSet<String> {
    let lists = ["containers", "initContainers"];
    let containers = lists.iter().flat_map(|list| pod["spec"][list].as_array().into_iter().flatten());
    let requests = containers.filter_map(|container| container["resources"]["requests"].as_object());
    requests.flat_map(|requests| requests.keys()).filter(|name| is_extended(name)).cloned().collect()
}

/// Whether a resource is not one of Kubernetes (`IsExtendedResourceName`).
fn is_extended(name: &str) -> bool {
    let is_native = !name.contains('/') || name.contains("kubernetes.io/");
    !is_native && !name.starts_with("requests.") && label_key(&format!("requests.{name}")).is_empty()
}

/// Adds the toleration of the taint for a resource, in place of those that have a time limit.
fn tolerate(pod: &mut Value, resource: &str) {
    let toleration = json!({ "key": resource, "operator": "Exists", "effect": "NoSchedule" });
    let is_same = |other: &Value| {
        let fields = ["key", "operator", "effect", "value"];
        fields.iter().all(|field| text_of(other, field) == text_of(&toleration, field))
    };
    let mut tolerations = pod["spec"]["tolerations"].as_array().cloned().unwrap_or_default();
    let mut is_present = false;
    for other in tolerations.iter_mut().filter(|other| is_same(other)) {
        *other = toleration.clone();
        is_present = true;
    }
    if !is_present {
        tolerations.push(toleration);
    }
    pod["spec"]["tolerations"] = json!(tolerations);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::builtin::testing::Cluster;

    #[test]
    fn pods_tolerate_the_taints_of_the_resources_that_they_request() {
        let container = |resources: &[&str]| {
            let requests: Value = resources.iter().map(|name| ((*name).to_owned(), json!("1"))).collect();
            json!([{ "resources": { "requests": requests } }])
        };
        let mut pod = json!({ "spec": {
            "containers": container(&["cpu", "example.com/b", "a.kubernetes.io/c", "requests.x/y"]),
            "initContainers": container(&["example.com/a", "example.com/b"]),
            "tolerations": [{ "key": "example.com/b", "operator": "Exists", "effect": "NoSchedule", "x": 1 }],
        } });
        Cluster::new(36).mutate(&mut ExtendedResourceToleration, &PODS, "", &mut pod, None).unwrap();
        let toleration = |key: &str| json!({ "key": key, "operator": "Exists", "effect": "NoSchedule" });
        assert_eq!(
            pod["spec"]["tolerations"],
            json!([toleration("example.com/b"), toleration("example.com/a")])
        );
    }
}
