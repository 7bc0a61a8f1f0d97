//! Tests of alerts over time.

use serde_json::{Value, json};
use windtunnel_controllers::testing::Rig;
use windtunnel_core::Write;
use windtunnel_core::resources::{self, CLUSTER_OPERATORS, CLUSTER_VERSIONS, PODS, PROMETHEUS_RULES};

use crate::manifests;
use crate::monitoring::Prometheus;

const NAMESPACE: &str = "openshift-cluster-version";

/// A Prometheus in a cluster with the alert rules of the cluster-version operator, which runs.
fn rig() -> Rig {
    let mut rig = Rig::new();
    let base = manifests::objects("base").iter().filter(|object| object["kind"] == "PrometheusRule");
    for rules in base.chain(manifests::payload("cluster-version-operator-alerts", (4, 20))) {
        rig.put(&PROMETHEUS_RULES, rules.clone());
    }
    put_operator(&mut rig);
    // Without a ClusterVersion, ClusterOperatorDown fires for it.
    rig.put(&CLUSTER_VERSIONS, cluster_version(&json!([])));
    rig.seat(|| Box::new(Prometheus::new(std::sync::Arc::default())));
    rig
}

/// Writes the running operator and the objects by which Prometheus scrapes it.
fn put_operator(rig: &mut Rig) {
    for object in super::target() {
        rig.put(resources::find_for_object(object).unwrap(), object.clone());
    }
    rig.put(&PODS, pod("Running"));
}

fn pod(phase: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": "cluster-version-operator-1", "namespace": NAMESPACE,
            "labels": { "k8s-app": "cluster-version-operator" },
        },
        "status": { "phase": phase },
    })
}

fn operator(conditions: &[(&str, &str)]) -> Value {
    let conditions: Vec<Value> = conditions
        .iter()
        .map(|(kind, status)| json!({ "type": kind, "status": status, "reason": "Because" }))
        .collect();
    json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator",
        "metadata": { "name": "etcd" }, "status": { "conditions": conditions },
    })
}

fn cluster_version(conditions: &Value) -> Value {
    json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion",
        "metadata": { "name": "version" }, "status": { "conditions": conditions },
    })
}

fn report(rig: &mut Rig, conditions: &[(&str, &str)]) {
    rig.write(&Write::update_status(&CLUSTER_OPERATORS, operator(conditions)));
}

/// The reported alerts, one per line.
fn alerts(rig: &Rig) -> Vec<&str> {
    rig.log.iter().map(String::as_str).filter(|line| line.contains(" alert ")).collect()
}

const WELL: &[(&str, &str)] = &[("Available", "True"), ("Degraded", "False")];

#[test]
fn an_unavailable_operator_fires_after_ten_minutes_and_resolves_when_it_is_back() {
    let mut rig = rig();
    rig.put(&CLUSTER_OPERATORS, operator(WELL));
    rig.run(45);
    report(&mut rig, &[("Available", "False"), ("Degraded", "False")]);
    rig.run(1_000);
    report(&mut rig, WELL);
    rig.run(60);
    assert_eq!(
        alerts(&rig),
        [
            "0:01:00 alert ClusterOperatorDown pending",
            "0:11:00 alert ClusterOperatorDown firing",
            "0:17:30 alert ClusterOperatorDown inactive",
        ]
    );
}

#[test]
fn an_operator_without_conditions_is_down_and_degraded() {
    let mut rig = rig();
    rig.put(&CLUSTER_OPERATORS, operator(&[]));
    rig.run(3_600);
    assert_eq!(
        alerts(&rig),
        [
            "0:00:00 alert ClusterOperatorDown pending",
            "0:00:00 alert ClusterOperatorDegraded pending",
            "0:10:00 alert ClusterOperatorDown firing",
            "0:30:00 alert ClusterOperatorDegraded firing",
        ]
    );
}

#[test]
fn a_crash_looping_pod_fires_after_15_minutes_and_resolves_5_minutes_after_it_runs() {
    let mut rig = rig();
    let pod = |state: Value| {
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": { "name": "etcd-0", "namespace": "openshift-etcd" },
            "status": { "phase": "Running", "containerStatuses": [{ "name": "etcd", "state": state }] },
        })
    };
    let waiting = json!({ "waiting": { "reason": "CrashLoopBackOff" } });
    let running = json!({ "running": { "startedAt": "2024-01-01T00:00:00Z" } });
    rig.put(&PODS, pod(waiting.clone()));
    // The second in which the program runs between two failures does not interrupt the alert.
    for _ in 0..4 {
        rig.run(270);
        rig.write(&Write::update_status(&PODS, pod(running.clone())));
        rig.run(1);
        rig.write(&Write::update_status(&PODS, pod(waiting.clone())));
    }
    rig.run(16);
    rig.write(&Write::update_status(&PODS, pod(running)));
    rig.run(1_200);
    assert_eq!(
        alerts(&rig),
        [
            "0:00:00 alert KubePodCrashLooping pending",
            "0:15:00 alert KubePodCrashLooping firing",
            "0:23:00 alert KubePodCrashLooping inactive",
        ]
    );
}

#[test]
fn an_interrupted_alert_starts_over() {
    let mut rig = rig();
    rig.put(&CLUSTER_OPERATORS, operator(&[("Available", "True"), ("Degraded", "True")]));
    rig.run(1_790);
    report(&mut rig, WELL);
    rig.run(20);
    report(&mut rig, &[("Available", "True"), ("Degraded", "True")]);
    rig.run(1_500);
    assert_eq!(
        alerts(&rig),
        [
            "0:00:00 alert ClusterOperatorDegraded pending",
            "0:30:00 alert ClusterOperatorDegraded inactive",
            "0:30:30 alert ClusterOperatorDegraded pending",
        ]
    );
}

#[test]
fn an_operator_that_changes_often_fires_the_flapping_alert() {
    let mut rig = rig();
    rig.put(&CLUSTER_OPERATORS, operator(WELL));
    for round in 0..24 {
        rig.run(30);
        let status = if round % 2 == 0 { "False" } else { "True" };
        report(&mut rig, &[("Available", status), ("Degraded", "False")]);
    }
    rig.run(600);
    let flaps: Vec<&str> = alerts(&rig).into_iter().filter(|line| line.contains("Flapping")).collect();
    assert_eq!(
        flaps,
        [
            // Two minutes contain four scrapes, and so three changes at most.
            "0:02:00 alert ClusterOperatorFlapping pending",
            "0:12:00 alert ClusterOperatorFlapping firing",
            "0:13:00 alert ClusterOperatorFlapping inactive",
        ]
    );
}

#[test]
fn a_missing_cluster_version_operator_fires_an_alert() {
    let mut rig = rig();
    rig.run(10);
    rig.write(&Write::delete_now(&PODS, NAMESPACE, "cluster-version-operator-1"));
    rig.run(1_200);
    rig.put(&PODS, pod("Running"));
    rig.run(30);
    assert_eq!(
        alerts(&rig),
        [
            "0:00:30 alert ClusterVersionOperatorDown pending",
            "0:10:30 alert ClusterVersionOperatorDown firing",
            "0:20:30 alert ClusterVersionOperatorDown inactive",
        ]
    );
}

#[test]
fn failed_update_retrieval_fires_after_an_hour_unless_there_is_no_channel() {
    let run = |reason: &str| {
        let mut rig = rig();
        let condition = json!([{
            "type": "RetrievedUpdates", "status": "False", "reason": reason,
            "lastTransitionTime": "2024-01-01T00:00:00Z",
        }]);
        rig.write_as_new(&CLUSTER_VERSIONS, cluster_version(&condition));
        rig.run(4_200);
        alerts(&rig).iter().map(|line| (*line).to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(run("RemoteFailed"), ["1:00:00 alert CannotRetrieveUpdates firing"]);
    assert!(run("NoChannel").is_empty());
}

#[test]
fn a_rejected_release_and_upgradeable_false_fire_after_an_hour() {
    let mut rig = rig();
    let conditions = json!([
        { "type": "ReleaseAccepted", "status": "False", "reason": "RetrievePayload" },
        { "type": "Upgradeable", "status": "False", "reason": "MultipleReasons" },
    ]);
    rig.write_as_new(&CLUSTER_VERSIONS, cluster_version(&conditions));
    rig.run(4_000);
    let firing: Vec<&str> = alerts(&rig).into_iter().filter(|line| line.ends_with("firing")).collect();
    assert_eq!(
        firing,
        ["1:00:00 alert ClusterNotUpgradeable firing", "1:00:00 alert ClusterReleaseNotAccepted firing"]
    );
}

#[test]
fn an_alert_with_changed_annotations_is_reported_again() {
    let mut rig = rig();
    let with = |reason: &str| {
        cluster_version(&json!([{ "type": "Upgradeable", "status": "False", "reason": reason }]))
    };
    rig.write_as_new(&CLUSTER_VERSIONS, with("MultipleReasons"));
    rig.run(70);
    for _ in 0..2 {
        rig.write(&Write::update_status(&CLUSTER_VERSIONS, with("ClusterVersionOverridesSet")));
        rig.run(70);
    }
    assert_eq!(
        alerts(&rig),
        ["0:00:00 alert ClusterNotUpgradeable pending", "0:01:30 alert ClusterNotUpgradeable pending"]
    );
}

#[test]
fn an_alert_ends_with_its_rule_and_is_kept_when_rules_are_added() {
    let mut rig = rig();
    rig.put(&CLUSTER_OPERATORS, operator(&[("Available", "False"), ("Degraded", "False")]));
    rig.run(310);
    let rules = json!({
        "apiVersion": "monitoring.coreos.com/v1", "kind": "PrometheusRule",
        "metadata": { "name": "another", "namespace": "default" },
        "spec": { "groups": [{ "name": "a", "rules": [{ "alert": "Own", "expr": "cluster_operator_up == 0" }] }] },
    });
    rig.put(&PROMETHEUS_RULES, rules);
    rig.run(390);
    rig.write(&Write::delete_now(&PROMETHEUS_RULES, "default", "another"));
    rig.run(60);
    assert_eq!(
        alerts(&rig),
        [
            "0:00:00 alert ClusterOperatorDown pending",
            "0:05:30 alert Own firing",
            "0:10:00 alert ClusterOperatorDown firing",
            "0:12:00 alert Own inactive",
        ]
    );
}

#[test]
fn expands_templates_and_reports_invalid_rules() {
    let mut rig = Rig::new();
    let rule = |name: &str, expr: Value, hold: &str| {
        let text = "{{ $labels.name }} is {{$value}}, {{ pathPrefix }}, \
                    {{ query \"cluster_operator_up\" | first | label \"name\" }}";
        json!({
            "alert": name, "expr": expr, "for": hold, "labels": { "about": "{{ $labels.name }}" },
            "annotations": { "summary": text },
        })
    };
    let rules = [
        rule("Good", json!("cluster_operator_up == 1"), "0s"),
        rule("Broken", json!("cluster_operator_up =="), "0s"),
        rule("Unclear", json!("cluster_operator_up"), "soon"),
        json!({ "record": "other", "expr": 1 }),
    ];
    rig.put(
        &PROMETHEUS_RULES,
        json!({
            "apiVersion": "monitoring.coreos.com/v1", "kind": "PrometheusRule",
            "metadata": { "name": "mine", "namespace": "default" },
            "spec": { "groups": [{ "name": "a", "rules": rules }] },
        }),
    );
    put_operator(&mut rig);
    rig.put(&CLUSTER_OPERATORS, operator(WELL));
    let (found, faults) = super::super::rules::load_rules(&rig.view, rig.now);
    assert_eq!(
        faults,
        [
            "rule Broken of PrometheusRule/default/mine: expected an expression, found the end",
            "rule Unclear of PrometheusRule/default/mine: `for: soon` is no duration",
        ]
    );
    let moment = super::super::metrics::Moment::of(&rig.view, rig.now);
    let value = crate::promql::evaluate(&found[0].expr, &moment).unwrap();
    let crate::promql::Value::Vector(samples) = value else { panic!("{value:?}") };
    let (labels, annotations) = found[0].alert(&samples[0], &moment);
    assert_eq!((&*labels["alertname"], &*labels["about"]), ("Good", "etcd"));
    assert_eq!(annotations["summary"], "etcd is 1, {{ pathPrefix }}, etcd");
}
