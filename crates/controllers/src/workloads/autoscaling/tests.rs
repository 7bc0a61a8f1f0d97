//! Autoscalers of a Deployment that is never under load.

use serde_json::{Value, json};
use windtunnel_core::resources::{AUTOSCALERS, DEPLOYMENTS, EVENTS};
use windtunnel_core::{Object, Write, condition};

use super::AutoscalerController;
use crate::testing::Rig;

fn rig(replicas: i64) -> Rig {
    let mut rig = Rig::new();
    rig.seat(|| Box::new(AutoscalerController::new()));
    let deployment =
        json!({ "metadata": { "namespace": "ns", "name": "web" }, "spec": { "replicas": replicas } });
    rig.put(&DEPLOYMENTS, deployment);
    put(&mut rig, "web");
    rig
}

fn put(rig: &mut Rig, target: &str) {
    let reference = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "name": target });
    let target = json!({ "type": "Utilization", "averageUtilization": 80 });
    let metric = json!({ "type": "Resource", "resource": { "name": "cpu", "target": target } });
    let spec =
        json!({ "scaleTargetRef": reference, "minReplicas": 2, "maxReplicas": 4, "metrics": [metric] });
    rig.put(&AUTOSCALERS, json!({ "metadata": { "namespace": "ns", "name": "h" }, "spec": spec }));
}

fn replicas(rig: &Rig) -> Option<i64> {
    rig.view.get(&DEPLOYMENTS, "ns", "web").unwrap().number("/spec/replicas")
}

fn found(rig: &Rig) -> &Object {
    rig.view.get(&AUTOSCALERS, "ns", "h").unwrap()
}

/// The reasons of the conditions.
fn conditions(rig: &Rig) -> Vec<&str> {
    found(rig).list("/status/conditions").iter().filter_map(|one| one["reason"].as_str()).collect()
}

fn events(rig: &Rig) -> Vec<String> {
    let text = |event: &Object| format!("{} {}", event.text("/reason"), event.text("/message"));
    let mut events: Vec<String> = rig.view.list(&EVENTS).map(text).collect();
    events.sort();
    events
}

#[test]
fn keeps_a_workload_within_its_bounds() {
    for (replicas_before, after, bound) in
        [(1, 2, "below Spec.MinReplicas"), (9, 4, "above Spec.MaxReplicas")]
    {
        let mut rig = rig(replicas_before);
        rig.run(16);
        assert_eq!(replicas(&rig), Some(after));
        assert_eq!(conditions(&rig), ["SucceededRescale"]);
        assert_eq!(found(&rig).number("/status/desiredReplicas"), Some(after));
        let expected =
            format!("SuccessfulRescale New size: {after}; reason: Current number of replicas {bound}");
        assert_eq!(events(&rig), [expected]);
    }
}

#[test]
fn reports_that_there_are_no_metrics() {
    let mut rig = rig(3);
    rig.run(46);
    assert_eq!(replicas(&rig), Some(3));
    assert_eq!(conditions(&rig), ["SucceededGetScale", "FailedGetResourceMetric"]);
    let error = "failed to get cpu utilization: unable to get metrics for resource cpu: unable to fetch metrics from \
                 resource metrics API: the server could not find the requested resource (get pods.metrics.k8s.io)";
    let active = condition::find_in_status(found(&rig), "ScalingActive").unwrap();
    assert_eq!(active["message"], format!("the HPA was unable to compute the replica count: {error}"));
    let all = format!(
        "invalid metrics (1 invalid out of 1), first error is: failed to get cpu resource metric value: {error}"
    );
    let expected =
        [format!("FailedComputeMetricsReplicas {all}"), format!("FailedGetResourceMetric {error}")];
    assert_eq!(events(&rig), expected);
    assert!(rig.view.list(&EVENTS).all(|event| event["count"] == 3), "one per 15 seconds");
}

#[test]
fn reports_a_missing_target_and_a_disabled_one() {
    let mut rig = rig(0);
    rig.run(16);
    assert_eq!(conditions(&rig), ["SucceededGetScale", "ScalingDisabled"]);
    rig.write(&Write::delete_now(&DEPLOYMENTS, "ns", "web"));
    rig.run(15);
    assert_eq!(conditions(&rig)[0], "FailedGetScale");
    assert_eq!(events(&rig), [r#"FailedGetScale deployments/scale.apps "web" not found"#]);
    let able = condition::find_in_status(found(&rig), "AbleToScale").unwrap();
    assert_eq!(able["status"], Value::from("False"));
}
