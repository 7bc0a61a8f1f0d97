//! Defaults of HorizontalPodAutoscalers.

use serde_json::{Value, json};

use super::{Fields, get_or_create, object_in, set_default};

/// The utilization of CPU that an autoscaler without metrics aims at, in percent.
const CPU_UTILIZATION: u32 = 80;

pub(super) fn autoscaler(object: &mut Fields, _minor: u32) {
    let is_v1 = object.get("apiVersion").is_some_and(|version| version == "autoscaling/v1");
    let Some(spec) = object_in(object, "spec") else { return };
    set_default(spec, "minReplicas", 1);
    if is_v1 {
        // Its metrics are defaulted when it is converted.
        return;
    }
    set_default(spec, "metrics", default_metrics());
    if let Some(behavior) = object_in(spec, "behavior") {
        let up = json!([
            { "type": "Pods", "value": 4, "periodSeconds": 15 },
            { "type": "Percent", "value": 100, "periodSeconds": 15 },
        ]);
        scaling_rules(behavior, "scaleUp", Some(0), up);
        let down = json!([{ "type": "Percent", "value": 100, "periodSeconds": 15 }]);
        scaling_rules(behavior, "scaleDown", None, down);
    }
}

/// The metrics of an autoscaler that has none.
pub(in crate::kinds) fn default_metrics() -> Value {
    let target = json!({ "type": "Utilization", "averageUtilization": CPU_UTILIZATION });
    json!([{ "type": "Resource", "resource": { "name": "cpu", "target": target } }])
}

/// Sets the defaults of the rules for one direction (`GenerateHPAScaleUpRules`, `GenerateHPAScaleDownRules`).
fn scaling_rules(behavior: &mut Fields, direction: &str, window: Option<u32>, policies: Value) {
    let Some(rules) = get_or_create(behavior, direction) else { return };
    if let Some(window) = window {
        set_default(rules, "stabilizationWindowSeconds", window);
    }
    set_default(rules, "selectPolicy", "Max");
    set_default(rules, "policies", policies);
}
