//! Makes kubelets pull the images of all pods, so that they check the credentials of each pod (`AlwaysPullImages`).

use std::collections::BTreeSet;

use serde_json::{Value, json};
use windtunnel_core::requests::admission::{
    AdmissionOperation, AdmissionPlugin, AdmissionRejection, AdmissionRequest, AdmittingCluster,
};
use windtunnel_core::resources::PODS;

use crate::gotext::quote;

const ALWAYS: &str = "Always";
const CONTAINERS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

/// The plug-in.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AlwaysPullImages;

impl AdmissionPlugin for AlwaysPullImages {
    fn name(&self) -> &'static str {
        "AlwaysPullImages"
    }

    fn mutate(
        &mut self,
        request: &AdmissionRequest<'_>,
        object: &mut Value,
        _cluster: &mut dyn AdmittingCluster,
    ) -> Result<(), AdmissionRejection> {
        if !is_covered(request, object) {
            return Ok(());
        }
        for list in CONTAINERS {
            for container in object["spec"].get_mut(list).and_then(Value::as_array_mut).into_iter().flatten()
            {
                container["imagePullPolicy"] = json!(ALWAYS);
            }
        }
        let volumes = object["spec"].get_mut("volumes").and_then(Value::as_array_mut).into_iter().flatten();
        for image in volumes.filter_map(|volume| volume.get_mut("image")).filter(|image| image.is_object()) {
            image["pullPolicy"] = json!(ALWAYS);
        }
        Ok(())
    }

    fn validate(
        &self,
        request: &AdmissionRequest<'_>,
        object: Option<&Value>,
        _cluster: &mut dyn AdmittingCluster,
    ) -> Result<(), AdmissionRejection> {
        let Some(pod) = object.filter(|object| is_covered(request, object)) else { return Ok(()) };
        let errors: Vec<String> = policies(pod)
            .filter(|(_, policy)| *policy != ALWAYS)
            .map(|(field, policy)| {
                let (name, policy) = (quote(request.name), quote(policy));
                format!(
                    r#"pods {name} is forbidden: {field}: Unsupported value: {policy}: supported values: "Always""#
                )
            })
            .collect();
        match &*errors {
            [] => Ok(()),
            [error] => Err(AdmissionRejection::Unclassified(error.clone())),
            errors => Err(AdmissionRejection::Unclassified(format!("[{}]", errors.join(", ")))),
        }
    }
}

/// The fields of a pod with pull policies.
fn policies(pod: &Value) -> impl Iterator<Item = (String, &str)> {
    fn indexed<'a>(pod: &'a Value, list: &str) -> impl Iterator<Item = (usize, &'a Value)> + use<'a> {
        pod["spec"][list].as_array().into_iter().flatten().enumerate()
    }
    let containers = CONTAINERS.into_iter().flat_map(move |list| {
        indexed(pod, list).map(move |(index, container)| {
            let policy = container["imagePullPolicy"].as_str().unwrap_or_default();
            (format!("spec.{list}[{index}].imagePullPolicy"), policy)
        })
    });
    let volumes = indexed(pod, "volumes").filter(|(_, volume)| volume["image"].is_object());
    containers.chain(volumes.map(|(index, volume)| {
        let policy = volume["image"]["pullPolicy"].as_str().unwrap_or_default();
        (format!("spec.volumes[{index}].image.pullPolicy"), policy)
    }))
}

/// Whether a request creates a pod or brings a new image into one.
fn is_covered(request: &AdmissionRequest<'_>, pod: &Value) -> bool {
    if !request.writes(&PODS) {
        return false;
    }
    match (request.operation, request.old) {
        (AdmissionOperation::Create, _) => true,
        (AdmissionOperation::Update, Some(old)) => !images(pod).is_subset(&images(old)),
        _ => false,
    }
}

fn images(pod: &Value) -> BTreeSet<&str> {
    let containers = CONTAINERS.iter().flat_map(|list| pod["spec"][list].as_array().into_iter().flatten());
    containers.filter_map(|container| container["image"].as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::builtin::testing::Cluster;

    fn pod(image: &str) -> Value {
        let container = json!([{ "image": image, "imagePullPolicy": "Never" }]);
        let volumes = json!([{ "image": { "reference": "x" } }, { "emptyDir": {} }]);
        json!({ "metadata": { "name": "p" },
            "spec": { "containers": container, "initContainers": container, "volumes": volumes } })
    }

    #[test]
    fn new_images_are_always_pulled() {
        let mut new = pod("a");
        Cluster::new(36).mutate(&mut AlwaysPullImages, &PODS, "", &mut new, None).unwrap();
        assert!(policies(&new).all(|(_, policy)| policy == ALWAYS));
        assert_eq!(policies(&new).count(), 3);
        let mut same = pod("a");
        Cluster::new(36).mutate(&mut AlwaysPullImages, &PODS, "", &mut same, Some(&pod("a"))).unwrap();
        assert_eq!(same, pod("a"));
        let mut other = pod("b");
        Cluster::new(36).mutate(&mut AlwaysPullImages, &PODS, "", &mut other, Some(&pod("a"))).unwrap();
        assert!(policies(&other).all(|(_, policy)| policy == ALWAYS));
    }

    #[test]
    fn other_policies_are_rejected() {
        let mut pod = pod("a");
        let check =
            |pod: &Value| Cluster::new(36).validate(&AlwaysPullImages, &PODS, "", pod, None).unwrap_err();
        let one = |field: &str, policy: &str| {
            format!(
                r#"pods "p" is forbidden: {field}: Unsupported value: "{policy}": supported values: "Always""#
            )
        };
        let all = [
            one("spec.initContainers[0].imagePullPolicy", "Never"),
            one("spec.containers[0].imagePullPolicy", "Never"),
            one("spec.volumes[0].image.pullPolicy", ""),
        ];
        assert_eq!(check(&pod), AdmissionRejection::Unclassified(format!("[{}]", all.join(", "))));
        pod["spec"]["initContainers"] = json!([]);
        pod["spec"]["volumes"] = json!([]);
        assert_eq!(check(&pod), AdmissionRejection::Unclassified(all[1].clone()));
    }
}
