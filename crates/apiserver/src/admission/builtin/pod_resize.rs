//! Rejects new resources of a pod that its node cannot give it (`PodResizeValidator`).

use serde_json::{Value, json};
use windtunnel_core::quantity::Quantity;
use windtunnel_core::quota::amounts;
use windtunnel_core::requests::admission::{
    AdmissionOperation, AdmissionPlugin, AdmissionRejection, AdmissionRequest, AdmittingCluster,
};
use windtunnel_core::resources::{NODES, PODS};
use windtunnel_core::{Object, text_of};

use crate::gotext::quote;
use crate::profile::since;

/// The plug-in.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PodResizeValidator;

impl AdmissionPlugin for PodResizeValidator {
    fn name(&self) -> &'static str {
        "PodResizeValidator"
    }

    fn validate(
        &self,
        request: &AdmissionRequest<'_>,
        object: Option<&Value>,
        cluster: &mut dyn AdmittingCluster,
    ) -> Result<(), AdmissionRejection> {
        let is_resize = request.operation == AdmissionOperation::Update
            && request.is_of(&PODS)
            && request.subresource == "resize"
            && cluster.kubernetes_minor() >= since::RESIZE_CHECKED_BY_NODE;
        let (true, Some(pod), Some(old)) = (is_resize, object, request.old) else { return Ok(()) };
        let name = text_of(&pod["spec"], "nodeName");
        if name.is_empty() || pod["spec"] == old["spec"] {
            return Ok(());
        }
        let Some(node) = cluster.object(&NODES, "", name) else {
            return Err(AdmissionRejection::Forbidden(format!("node {} not found", quote(name))));
        };
        check_system(&node)?;
        check_capacity(&pod["spec"], &node)
    }
}

fn check_system(node: &Object) -> Result<(), AdmissionRejection> {
    let Some(system) = node.label("kubernetes.io/os").filter(|system| *system != "linux") else {
        return Ok(());
    };
    let (node, system) = (quote(node.name()), quote(system));
    let why = format!("pod resize is only supported on linux nodes, node {node} is {system}");
    Err(AdmissionRejection::ForbiddenBecause(why, json!({ "reason": "UnsupportedPlatform" })))
}

fn check_capacity(spec: &Value, node: &Object) -> Result<(), AdmissionRejection> {
    let (requests, allocatable) =
        (amounts::pod_amounts(spec, "requests"), amounts::read(&node["status"]["allocatable"]));
    let exceeded = |name: &str, value: fn(Quantity) -> i64| {
        let amount = |amounts: &amounts::Amounts| amounts.get(name).copied().unwrap_or(Quantity::ZERO);
        let (requested, allocatable) = (amount(&requests), amount(&allocatable));
        requested
            .is_more(allocatable)
            .then(|| format!("{name}, requested: {}, allocatable: {}", value(requested), value(allocatable)))
    };
    let exceeded: Vec<String> = [exceeded("cpu", Quantity::milli_value), exceeded("memory", Quantity::value)]
        .into_iter()
        .flatten()
        .collect();
    if exceeded.is_empty() {
        return Ok(());
    }
    let why = format!("node didn't have enough allocatable resources: {}", exceeded.join("; "));
    Err(AdmissionRejection::ForbiddenBecause(why, json!({ "reason": "NodeCapacity" })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::builtin::testing::Cluster;

    fn pod(cpu: &str, memory: &str, node: &str) -> Value {
        let resources = json!({ "requests": { "cpu": cpu, "memory": memory } });
        let containers = json!([{ "name": "a", "resources": resources }]);
        json!({ "metadata": { "name": "p" }, "spec": { "nodeName": node, "containers": containers } })
    }

    fn resize(to: &Value, system: &str) -> Result<(), AdmissionRejection> {
        let node = json!({ "metadata": { "name": "n", "labels": { "kubernetes.io/os": system } },
            "status": { "allocatable": { "cpu": "2", "memory": "1Gi" } } });
        let old = pod("1", "1Mi", text_of(&to["spec"], "nodeName"));
        Cluster::new(36).with([(NODES, node)]).validate(&PodResizeValidator, &PODS, "resize", to, Some(&old))
    }

    fn because(why: &str, reason: &str) -> Result<(), AdmissionRejection> {
        Err(AdmissionRejection::ForbiddenBecause(why.to_owned(), json!({ "reason": reason })))
    }

    #[test]
    fn pods_get_what_their_node_has() {
        assert_eq!(resize(&pod("2", "1Gi", "n"), "linux"), Ok(()));
        assert_eq!(resize(&pod("3", "2Gi", ""), "linux"), Ok(()));
        let expected = "node didn't have enough allocatable resources: cpu, requested: 2500, allocatable: 2000; memory, \
                        requested: 2147483648, allocatable: 1073741824";
        assert_eq!(resize(&pod("2500m", "2Gi", "n"), "linux"), because(expected, "NodeCapacity"));
        let expected = r#"pod resize is only supported on linux nodes, node "n" is "windows""#;
        assert_eq!(resize(&pod("2", "1Gi", "n"), "windows"), because(expected, "UnsupportedPlatform"));
        assert_eq!(resize(&pod("1", "1Mi", "n"), "windows"), Ok(()), "nothing changes");
        let missing = AdmissionRejection::Forbidden(r#"node "absent" not found"#.to_owned());
        assert_eq!(resize(&pod("2", "1Gi", "absent"), "linux"), Err(missing));
    }
}
