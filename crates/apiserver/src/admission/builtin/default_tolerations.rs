//! Lets a pod stay on an unready or unreachable node for five minutes, unless it has its own tolerations.

use serde_json::{Value, json};
use windtunnel_core::requests::admission::{
    AdmissionPlugin, AdmissionRejection, AdmissionRequest, AdmittingCluster,
};
use windtunnel_core::resources::PODS;

const TAINTS: [&str; 2] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];
const SECONDS: u32 = 300;

/// The plug-in.
#[derive(Debug, Clone, Copy)]
pub(super) struct DefaultTolerationSeconds;

impl AdmissionPlugin for DefaultTolerationSeconds {
    fn name(&self) -> &'static str {
        "DefaultTolerationSeconds"
    }

    fn mutate(
        &mut self,
        request: &AdmissionRequest<'_>,
        pod: &mut Value,
        _: &mut dyn AdmittingCluster,
    ) -> Result<(), AdmissionRejection> {
        if !request.writes(&PODS) {
            return Ok(());
        }
        let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else { return Ok(()) };
        let tolerations = spec.entry("tolerations").or_insert_with(|| json!([]));
        let Some(tolerations) = tolerations.as_array_mut() else { return Ok(()) };
        for key in TAINTS {
            if !tolerations.iter().any(|toleration| tolerates(toleration, key)) {
                tolerations.push(json!({
                    "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": SECONDS,
                }));
            }
        }
        Ok(())
    }
}

fn tolerates(toleration: &Value, key: &str) -> bool {
    let has = |field: &str, value: &str| toleration[field].is_null() || toleration[field] == value;
    has("key", key) && has("effect", "NoExecute")
}
