//! Taints a new node, so that it gets no pods until it is known to be ready.

use serde_json::{Value, json};
use windtunnel_core::requests::admission::{
    AdmissionOperation, AdmissionPlugin, AdmissionRejection, AdmissionRequest, AdmittingCluster,
};
use windtunnel_core::resources::NODES;

const NOT_READY: &str = "node.kubernetes.io/not-ready";

/// The plug-in.
#[derive(Debug, Clone, Copy)]
pub(super) struct TaintNodesByCondition;

impl AdmissionPlugin for TaintNodesByCondition {
    fn name(&self) -> &'static str {
        "TaintNodesByCondition"
    }

    fn mutate(
        &mut self,
        request: &AdmissionRequest<'_>,
        node: &mut Value,
        _: &mut dyn AdmittingCluster,
    ) -> Result<(), AdmissionRejection> {
        if request.operation != AdmissionOperation::Create || !request.writes(&NODES) {
            return Ok(());
        }
        let Some(object) = node.as_object_mut() else { return Ok(()) };
        let spec = object.entry("spec").or_insert_with(|| json!({}));
        let taints = spec.as_object_mut().map(|spec| spec.entry("taints").or_insert_with(|| json!([])));
        let Some(taints) = taints.and_then(Value::as_array_mut) else { return Ok(()) };
        if !taints.iter().any(|taint| taint["key"] == NOT_READY && taint["effect"] == "NoSchedule") {
            taints.push(json!({ "key": NOT_READY, "effect": "NoSchedule" }));
        }
        Ok(())
    }
}
