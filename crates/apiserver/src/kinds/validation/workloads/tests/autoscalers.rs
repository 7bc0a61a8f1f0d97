//! Tests of autoscalers.

use serde_json::{Value, json};

use crate::kinds::validation::examples::{errors, rejects, rejects_updates};
use crate::kinds::validation::workloads::autoscaler::autoscaler;

fn valid() -> Value {
    json!({
        "metadata": { "name": "x" },
        "spec": {
            "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": "d" }, "minReplicas": 1, "maxReplicas": 5,
            "metrics": [metric("Resource", json!({ "name": "cpu", "target": { "type": "Utilization", "averageUtilization": 80 } }))],
        },
    })
}

#[expect(clippy::needless_pass_by_value, reason = "callers write it in place")]
fn metric(kind: &str, source: Value) -> Value {
    let field = kind[..1].to_lowercase() + &kind[1..];
    json!({ "type": kind, field: source })
}

#[test]
fn targets_name_an_object_of_a_group() {
    let target = |patch: Value| json!({ "spec": { "scaleTargetRef": patch } });
    rejects(
        autoscaler,
        &valid(),
        &[
            (
                target(json!({ "apiVersion": null })),
                "spec.scaleTargetRef.apiVersion: Invalid value: \"\": apiVersion must specify API group",
            ),
            (target(json!({ "apiVersion": "v1", "kind": "ReplicationController" })), ""),
            (
                target(json!({ "apiVersion": "a/b/c" })),
                "spec.scaleTargetRef.apiVersion: Invalid value: \"a/b/c\": unexpected GroupVersion string: a/b/c",
            ),
            (
                target(json!({ "name": "a/b" })),
                "spec.scaleTargetRef.name: Invalid value: \"a/b\": may not contain '/'",
            ),
        ],
    );
    let mut without_group = valid();
    without_group["spec"]["scaleTargetRef"]["apiVersion"] = json!("v1");
    assert_eq!(errors(autoscaler, &without_group, None, 33), "");
    rejects_updates(autoscaler, &without_group, &[(json!({ "spec": { "maxReplicas": 6 } }), "")]);
}

#[test]
fn replicas_are_in_order_and_scaling_to_zero_needs_a_metric() {
    rejects(
        autoscaler,
        &valid(),
        &[
            (
                json!({ "spec": { "maxReplicas": 0 } }),
                "spec.maxReplicas: Required value: must be set and greater than 0; spec.maxReplicas: Invalid value: 0: must be \
             greater than or equal to `minReplicas`",
            ),
            (
                json!({ "spec": { "minReplicas": 0 } }),
                "spec.minReplicas: Invalid value: 0: must be greater than or equal to 1; spec.metrics: Forbidden: must specify \
             at least one Object or External metric to support scaling to zero replicas",
            ),
        ],
    );
}

#[test]
fn metrics_have_one_source_and_a_target() {
    let metrics = |one: Value| json!({ "spec": { "metrics": [one] } });
    let unsupported = "spec.metrics[0].type: Unsupported value: \"X\": supported values: \"ContainerResource\", \"External\", \
                       \"Object\", \"Pods\", \"Resource\"";
    let twice = format!("{unsupported}; {unsupported}");
    rejects(
        autoscaler,
        &valid(),
        &[
            (metrics(json!({ "type": "X" })), &twice),
            (
                metrics(json!({ "type": "Pods" })),
                "spec.metrics[0].pods: Required value: must populate information for the given metric source",
            ),
            (
                metrics(metric(
                    "External",
                    json!({ "metric": { "name": "q" }, "target": { "type": "Value", "value": "1", "averageValue": "1" } }),
                )),
                "spec.metrics[0].external.target.value: Forbidden: may not set both a target value for metric and a per-pod target",
            ),
            (
                metrics(metric(
                    "Object",
                    json!({ "metric": { "name": "a/b" }, "describedObject": { "kind": "K", "name": "n" }, "target": { "type": "Value", "value": "0" } }),
                )),
                "spec.metrics[0].object.metric.name: Invalid value: \"a/b\": may not contain '/'; \
             spec.metrics[0].object.target.value: Invalid value: \"0\": must be positive",
            ),
            (
                metrics(metric(
                    "ContainerResource",
                    json!({ "name": "cpu", "target": { "type": "Utilization", "averageUtilization": 1 } }),
                )),
                "spec.metrics[0].containerResource.container: Required value: must specify a container",
            ),
        ],
    );
}

#[test]
fn behavior_has_bounds() {
    let down = |rules: Value| json!({ "spec": { "behavior": { "scaleDown": rules } } });
    rejects(
        autoscaler,
        &valid(),
        &[
            (
                down(json!({ "stabilizationWindowSeconds": 3601, "selectPolicy": "X" })),
                "spec.behavior.scaleDown.stabilizationWindowSeconds: Invalid value: 3601: must be less than or equal to 3600; \
             spec.behavior.scaleDown.selectPolicy: Unsupported value: \"X\": supported values: \"Disabled\", \"Max\", \
             \"Min\"; spec.behavior.scaleDown.policies: Required value: must specify at least one Policy",
            ),
            (
                down(json!({ "policies": [{ "type": "X", "value": 0, "periodSeconds": 1801 }] })),
                "spec.behavior.scaleDown.policies[0].type: Unsupported value: \"X\": supported values: \"Percent\", \"Pods\"; \
             spec.behavior.scaleDown.policies[0].value: Invalid value: 0: must be greater than zero; \
             spec.behavior.scaleDown.policies[0].periodSeconds: Invalid value: 1801: must be less than or equal to 1800",
            ),
            (
                down(
                    json!({ "policies": [{ "type": "Pods", "value": 1, "periodSeconds": 1 }], "tolerance": "-1" }),
                ),
                "spec.behavior.scaleDown.tolerance: Invalid value: \"-1\": must be greater than or equal to 0",
            ),
        ],
    );
}
