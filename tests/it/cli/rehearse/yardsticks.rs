//! Rules that others use in production to say before an update whether it stops, over the same objects.
//!
//! * `predictor`: `StaticPredictor` in RedHatInsights/ccx-upgrades-inference at 3093d125
//! * `checks`: the checks of openshift/managed-upgrade-operator before an update, at 3e662ecd. Whether there is room for another
//!   machine and the metrics of another operator about budgets are in no dump.

use serde_json::Value;

/// Namespaces whose alerts the predictor ignores.
const EXCLUDED: [&str; 14] = [
    "openshift-cnv",
    "openshift-compliance",
    "openshift-operators",
    "openshift-storage",
    "openshift-logging",
    "openshift-gitops",
    "openshift-pipelines",
    "openshift-image-registry",
    "openshift-marketplace",
    "openshift-redhat-marketplace",
    "openshift-distributed-tracing",
    "openshift-gitlab-runner",
    "openshift-devspaces",
    "openshift-logs",
];

/// The annotations of a node with its configurations.
const CURRENT: &str = "machineconfiguration.openshift.io/currentConfig";
const DESIRED: &str = "machineconfiguration.openshift.io/desiredConfig";

/// Whether the predictor expects a failure: two critical alerts of the platform fire, or an operator is bad.
pub(super) fn predictor(objects: &[Value], alerts: &[Value]) -> bool {
    let is_suspicious = |alert: &&Value| {
        let namespace = alert["labels"]["namespace"].as_str().unwrap_or_default();
        alert["labels"]["severity"] == "critical"
            && namespace.starts_with("openshift-")
            && !EXCLUDED.contains(&namespace)
    };
    alerts.iter().filter(is_suspicious).count() >= 2 || objects.iter().any(is_bad_operator)
}

/// Whether a check of the operator fails.
pub(super) fn checks(objects: &[Value], alerts: &[Value]) -> bool {
    let is_critical = |alert: &Value| {
        let namespace = alert["labels"]["namespace"].as_str().unwrap_or_default();
        let is_platforms = ["openshift", "kube-"].iter().any(|start| namespace.starts_with(start));
        alert["labels"]["severity"] == "critical" && (is_platforms || namespace == "default")
    };
    alerts.iter().any(is_critical)
        || objects.iter().any(|object| {
            is_bad_operator(object)
                || is_cordoned(object)
                || is_under_pressure(object)
                || is_budget_without_room(object)
        })
}

fn has_condition(object: &Value, kind: &str, status: &str) -> bool {
    let conditions = object["status"]["conditions"].as_array();
    conditions.into_iter().flatten().any(|found| found["type"] == kind && found["status"] == status)
}

fn is_bad_operator(object: &Value) -> bool {
    object["kind"] == "ClusterOperator"
        && (has_condition(object, "Degraded", "True") || has_condition(object, "Available", "False"))
}

/// A worker that somebody cordoned.
fn is_cordoned(object: &Value) -> bool {
    let labels = &object["metadata"]["labels"];
    let is_worker = !labels["node-role.kubernetes.io/worker"].is_null()
        && labels["node-role.kubernetes.io/infra"].is_null();
    let annotations = &object["metadata"]["annotations"];
    let is_updating = annotations[CURRENT] != annotations[DESIRED];
    object["kind"] == "Node" && is_worker && object["spec"]["unschedulable"] == true && !is_updating
}

fn is_under_pressure(object: &Value) -> bool {
    let pressures = ["MemoryPressure", "DiskPressure", "PIDPressure"];
    object["kind"] == "Node" && pressures.iter().any(|kind| has_condition(object, kind, "True"))
}

/// A budget that never allows an eviction. Of the platform's own ones as well: the operator compares with `openshift-*`.
fn is_budget_without_room(object: &Value) -> bool {
    let spec = &object["spec"];
    object["kind"] == "PodDisruptionBudget"
        && (spec["maxUnavailable"] == 0 || spec["maxUnavailable"] == "0%" || spec["minAvailable"] == "100%")
}
