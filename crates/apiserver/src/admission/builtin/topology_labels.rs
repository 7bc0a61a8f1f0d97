//! Labels pods with the zone and the region of their node (`PodTopologyLabels`).

use serde_json::{Value, json};
use windtunnel_core::requests::admission::{
    AdmissionOperation, AdmissionPlugin, AdmissionRejection, AdmissionRequest, AdmittingCluster,
};
use windtunnel_core::resources::{NODES, PODS};

use crate::profile::since;

const LABELS: [&str; 2] = ["topology.kubernetes.io/zone", "topology.kubernetes.io/region"];

/// The plug-in. The server adds the labels of a binding to the pod.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PodTopologyLabels;

impl AdmissionPlugin for PodTopologyLabels {
    fn name(&self) -> &'static str {
        "PodTopologyLabels"
    }

    fn mutate(
        &mut self,
        request: &AdmissionRequest<'_>,
        object: &mut Value,
        cluster: &mut dyn AdmittingCluster,
    ) -> Result<(), AdmissionRejection> {
        let is_new = request.operation == AdmissionOperation::Create && request.is_of(&PODS);
        if !is_new || cluster.kubernetes_minor() < since::TOPOLOGY_LABELS {
            return Ok(());
        }
        let node = match request.subresource {
            "" => object["spec"]["nodeName"].as_str(),
            "binding" if object["target"]["kind"] == "Node" => object["target"]["name"].as_str(),
            _ => None,
        };
        let Some(node) = node.and_then(|name| cluster.object(&NODES, "", name)) else { return Ok(()) };
        for key in LABELS {
            if let Some(value) = node.label(key) {
                object["metadata"]["labels"][key] = json!(value);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::builtin::testing::Cluster;

    fn labels(minor: u32, subresource: &str, mut object: Value) -> Value {
        let labels =
            json!({ "topology.kubernetes.io/zone": "z", "topology.kubernetes.io/region": "r", "a": "b" });
        let node = json!({ "metadata": { "name": "n", "labels": labels } });
        let mut cluster = Cluster::new(minor).with([(NODES, node)]);
        cluster.mutate(&mut PodTopologyLabels, &PODS, subresource, &mut object, None).unwrap();
        object["metadata"]["labels"].take()
    }

    #[test]
    fn pods_and_bindings_get_the_labels_of_the_node() {
        let all = json!({ "topology.kubernetes.io/zone": "z", "topology.kubernetes.io/region": "r" });
        assert_eq!(labels(36, "", json!({ "spec": { "nodeName": "n" } })), all);
        assert_eq!(labels(36, "binding", json!({ "target": { "kind": "Node", "name": "n" } })), all);
        let own = json!({ "metadata": { "labels": { "topology.kubernetes.io/zone": "x", "c": "d" } },
            "spec": { "nodeName": "n" } });
        let merged =
            json!({ "topology.kubernetes.io/zone": "z", "topology.kubernetes.io/region": "r", "c": "d" });
        assert_eq!(labels(36, "", own), merged);
    }

    #[test]
    fn other_requests_keep_their_labels() {
        assert_eq!(labels(34, "", json!({ "spec": { "nodeName": "n" } })), Value::Null);
        assert_eq!(labels(36, "", json!({ "spec": {} })), Value::Null);
        assert_eq!(labels(36, "", json!({ "spec": { "nodeName": "absent" } })), Value::Null);
        assert_eq!(labels(36, "binding", json!({ "target": { "kind": "X", "name": "n" } })), Value::Null);
        assert_eq!(labels(36, "binding", json!({ "target": { "name": "n" } })), Value::Null);
        assert_eq!(labels(36, "eviction", json!({})), Value::Null);
    }
}
