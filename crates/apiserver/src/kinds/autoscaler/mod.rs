//! Conversion of HorizontalPodAutoscalers between v1 and v2. v1 has fields only for the utilization of CPU; the rest
//! of an autoscaler is in annotations (`pkg/apis/autoscaling/v1/conversion.go`).

mod behavior;
mod metrics;

use serde_json::{Map, Value, json};

use super::defaults::autoscaler::default_metrics;

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const CURRENT_METRICS: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";
/// All annotations that represent fields; each conversion drops them first.
const ALL: [&str; 6] = [
    METRICS,
    BEHAVIOR,
    "autoscaling.alpha.kubernetes.io/scale-down-tolerance",
    "autoscaling.alpha.kubernetes.io/scale-up-tolerance",
    CURRENT_METRICS,
    CONDITIONS,
];

/// Converts an autoscaler of v1 to v2.
pub(super) fn to_v2(object: &mut Value) {
    let annotations = take_annotations(object);
    let read = |name: &str| -> Option<Value> { serde_json::from_str(annotations.get(name)?.as_str()?).ok() };
    let spec = &mut object["spec"];
    let mut list: Vec<Value> = match read(METRICS) {
        Some(Value::Array(others)) => others.iter().map(metrics::spec_to_v2).collect(),
        _ => Vec::new(),
    };
    if let Some(percentage) = take(spec, "targetCPUUtilizationPercentage") {
        let target = json!({ "type": "Utilization", "averageUtilization": percentage });
        list.push(json!({ "type": "Resource", "resource": { "name": "cpu", "target": target } }));
    }
    if let Some(fields) = spec.as_object_mut() {
        let metrics = if list.is_empty() { default_metrics() } else { Value::Array(list) };
        fields.insert("metrics".to_owned(), metrics);
        let behavior = read(BEHAVIOR).map(|stored| behavior::from_internal(&stored));
        if let Some(behavior) =
            behavior.filter(|behavior| behavior.as_object().is_some_and(|map| !map.is_empty()))
        {
            fields.insert("behavior".to_owned(), behavior);
        }
    }
    let Some(status) = object.get_mut("status").and_then(Value::as_object_mut) else { return };
    let percentage = status.remove("currentCPUUtilizationPercentage");
    if let Some(Value::Array(current)) = read(CURRENT_METRICS) {
        status.insert("currentMetrics".to_owned(), current.iter().map(metrics::status_to_v2).collect());
    } else if let Some(percentage) = percentage {
        let current = json!({ "averageUtilization": percentage });
        let metric = json!({ "type": "Resource", "resource": { "name": "cpu", "current": current } });
        status.insert("currentMetrics".to_owned(), json!([metric]));
    }
    if let Some(conditions @ Value::Array(_)) = read(CONDITIONS) {
        status.insert("conditions".to_owned(), conditions);
    }
}

/// Converts an autoscaler of v2 to v1.
pub(super) fn to_v1(object: &mut Value) {
    take_annotations(object);
    let mut annotations = Map::new();
    let spec = &mut object["spec"];
    let list = take(spec, "metrics").unwrap_or_default();
    let all = list.as_array().map(Vec::as_slice).unwrap_or_default();
    if let Some(metric) = all.iter().find(|metric| is_processor_target(metric)) {
        spec["targetCPUUtilizationPercentage"] = metric["resource"]["target"]["averageUtilization"].clone();
    }
    let others: Vec<String> =
        all.iter().filter(|metric| !is_processor_target(metric)).map(metrics::spec_to_v1).collect();
    if !others.is_empty() {
        annotations.insert(METRICS.to_owned(), json!(format!("[{}]", others.join(","))));
    }
    if let Some(rules) = take(spec, "behavior") {
        annotations.insert(BEHAVIOR.to_owned(), json!(behavior::to_internal(&rules)));
    }
    if let Some(status) = object.get_mut("status") {
        status_to_v1(status, &mut annotations);
    }
    if !annotations.is_empty() {
        let all = &mut object["metadata"]["annotations"];
        match all.as_object_mut() {
            Some(all) => all.append(&mut annotations),
            None => *all = Value::Object(annotations),
        }
    }
}

fn status_to_v1(status: &mut Value, annotations: &mut Map<String, Value>) {
    let current = take(status, "currentMetrics").unwrap_or_default();
    let all = current.as_array().map(Vec::as_slice).unwrap_or_default();
    let is_processor = |metric: &&Value| metric["type"] == "Resource" && metric["resource"]["name"] == "cpu";
    if let Some(metric) = all.iter().find(is_processor) {
        let percentage = &metric["resource"]["current"]["averageUtilization"];
        if !percentage.is_null() {
            status["currentCPUUtilizationPercentage"] = percentage.clone();
        }
    }
    if !all.is_empty() {
        let all: Vec<String> = all.iter().map(metrics::status_to_v1).collect();
        annotations.insert(CURRENT_METRICS.to_owned(), json!(format!("[{}]", all.join(","))));
    }
    if let Some(Value::Array(conditions)) = take(status, "conditions").filter(|list| *list != json!([])) {
        let fields = ["type", "status", "lastTransitionTime", "reason", "message"];
        let all: Vec<String> = conditions.iter().map(|one| metrics::ordered(one, &fields)).collect();
        annotations.insert(CONDITIONS.to_owned(), json!(format!("[{}]", all.join(","))));
    }
}

/// Whether a metric is the one that v1 has a field for: CPU, by utilization.
fn is_processor_target(metric: &Value) -> bool {
    metric["type"] == "Resource"
        && metric["resource"]["name"] == "cpu"
        && !metric["resource"]["target"]["averageUtilization"].is_null()
}

fn take(object: &mut Value, field: &str) -> Option<Value> {
    object.as_object_mut()?.remove(field)
}

/// Removes and returns the annotations that represent fields.
fn take_annotations(object: &mut Value) -> Map<String, Value> {
    let mut taken = Map::new();
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return taken };
    let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) else {
        return taken;
    };
    for name in ALL {
        taken.extend(annotations.remove_entry(name));
    }
    if annotations.is_empty() {
        metadata.remove("annotations");
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_and_behavior_survive_v1_in_annotations() {
        let v2 = json!({
            "metadata": { "name": "x", "annotations": { "a": "b" } },
            "spec": {
                "maxReplicas": 5,
                "metrics": [
                    { "type": "Resource", "resource": { "name": "memory", "target": { "type": "AverageValue", "averageValue": "1Gi" } } },
                    { "type": "Pods", "pods": { "metric": { "name": "q" }, "target": { "type": "AverageValue", "averageValue": "3" } } },
                    { "type": "Resource", "resource": { "name": "cpu", "target": { "type": "Utilization", "averageUtilization": 50 } } },
                ],
                "behavior": { "scaleDown": { "stabilizationWindowSeconds": 5, "policies": [{ "type": "Pods", "value": 1, "periodSeconds": 15 }] } },
            },
        });
        let mut object = v2.clone();
        to_v1(&mut object);
        assert_eq!(object["spec"], json!({ "maxReplicas": 5, "targetCPUUtilizationPercentage": 50 }));
        assert_eq!(
            object["metadata"]["annotations"][METRICS],
            r#"[{"type":"Resource","resource":{"name":"memory","targetAverageValue":"1Gi"}},{"type":"Pods","pods":{"metricName":"q","targetAverageValue":"3"}}]"#
        );
        assert_eq!(
            object["metadata"]["annotations"][BEHAVIOR],
            r#"{"ScaleUp":null,"ScaleDown":{"StabilizationWindowSeconds":5,"SelectPolicy":null,"Policies":[{"Type":"Pods","Value":1,"PeriodSeconds":15}],"Tolerance":null}}"#
        );
        to_v2(&mut object);
        assert_eq!(object, v2);
    }

    #[test]
    fn an_autoscaler_without_metrics_gets_the_default() {
        let mut object = json!({ "spec": { "maxReplicas": 1 } });
        to_v2(&mut object);
        assert_eq!(object["spec"]["metrics"], default_metrics());
    }
}
