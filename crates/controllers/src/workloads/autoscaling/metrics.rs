//! Why an autoscaler gets no value of a metric in a cluster without APIs of metrics.

use serde_json::Value;

use crate::workloads::go_selector::go_selector;

const NO_CUSTOM: &str = "unable to fetch metrics from custom metrics API: no custom metrics API \
                         (custom.metrics.k8s.io) registered";
const NO_RESOURCE: &str = "unable to fetch metrics from resource metrics API: the server could not find the requested \
                           resource (get pods.metrics.k8s.io)";

/// A metric without a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MetricError {
    /// The reason of the Event and of the condition.
    pub(super) reason: &'static str,
    /// The message of the Event.
    pub(super) error: String,
    /// What the controller wanted to get.
    wanted: String,
    /// The message in the error about all metrics, if it says more than `error`.
    detail: Option<String>,
}

impl MetricError {
    /// The error as part of the one about all metrics.
    pub(super) fn context(&self) -> String {
        format!("failed to get {}: {}", self.wanted, self.detail.as_ref().unwrap_or(&self.error))
    }

    fn of(reason: &'static str, wanted: impl Into<String>, error: String) -> Self {
        Self { reason, error, wanted: wanted.into(), detail: None }
    }
}

/// Why the metric of an autoscaler in `namespace` has no value.
pub(super) fn failure(metric: &Value, namespace: &str) -> MetricError {
    match metric["type"].as_str().unwrap_or_default() {
        "Resource" => {
            let source = &metric["resource"];
            let wanted = format!("{} resource metric value", text(&source["name"]));
            MetricError::of("FailedGetResourceMetric", wanted, of_resource(source))
        }
        "ContainerResource" => {
            let source = &metric["containerResource"];
            let wanted = format!("{} container metric value", text(&source["container"]));
            MetricError::of("FailedGetContainerResourceMetric", wanted, of_resource(source))
        }
        "Pods" => {
            let name = text(&metric["pods"]["metric"]["name"]);
            let error = format!("unable to get metric {name}: {NO_CUSTOM}");
            MetricError::of("FailedGetPodsMetric", "pods metric value", error)
        }
        "External" => of_external(&metric["external"], namespace),
        _ => of_object(&metric["object"], namespace),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn of_resource(source: &Value) -> String {
    let name = text(&source["name"]);
    let amount = if source["target"]["averageValue"].is_null() { "utilization" } else { "usage" };
    format!("failed to get {name} {amount}: unable to get metrics for resource {name}: {NO_RESOURCE}")
}

fn of_object(source: &Value, namespace: &str) -> MetricError {
    let (name, object) = (text(&source["metric"]["name"]), &source["describedObject"]);
    let (kind, object) = (text(&object["kind"]), text(&object["name"]));
    let error = format!("unable to get metric {name}: {kind} on {namespace} {object}/{NO_CUSTOM}");
    let detail = (source["target"]["type"] == "AverageValue")
        .then(|| format!("failed to get {name} object metric: {error}"));
    MetricError { detail, ..MetricError::of("FailedGetObjectMetric", "object metric value", error) }
}

fn of_external(source: &Value, namespace: &str) -> MetricError {
    let name = text(&source["metric"]["name"]);
    let selector = &source["metric"]["selector"];
    let selector = if selector.is_null() { "nil".to_owned() } else { go_selector(selector) };
    let error = format!(
        "unable to get external metric {namespace}/{name}/{selector}: unable to fetch metrics from external metrics \
         API: the server could not find the requested resource (get {name}.external.metrics.k8s.io)"
    );
    let detail = Some(format!("failed to get {name} external metric: {error}"));
    let wanted = format!("{name} external metric value");
    MetricError { detail, ..MetricError::of("FailedGetExternalMetric", wanted, error) }
}
