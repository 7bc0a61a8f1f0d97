//! Tests of metrics by queries.

mod alerts;
mod certificates;

use std::collections::BTreeMap;

use serde_json::{Value, json};
use windtunnel_controllers::counter::Counter;
use windtunnel_core::clock::Time;
use windtunnel_core::resources::{
    self, CLUSTER_OPERATORS, CLUSTER_VERSIONS, CONFIG_MAPS, INFRASTRUCTURES, NODES, PODS,
};
use windtunnel_core::{Change, ChangeKind, Object, Resource, View};

use super::{Counted, PAYLOAD, PAYLOAD_ERRORS, Transitions, is_true as is_true_at};
use crate::environment::Environment;
use crate::manifests::payload;
use crate::promql::{self, Sample, parse};

/// 2024-01-01T02:00:00Z.
const NOW: Time = Time::constant(1_704_074_400, 0);

fn is_true(query: &str, view: &View) -> Result<bool, String> {
    is_true_at(query, &Environment::default(), view, NOW)
}

fn put(view: &mut View, resource: &Resource, namespace: &str, name: &str, mut object: Value) {
    object["metadata"]["name"] = json!(name);
    object["metadata"]["namespace"] = json!(namespace);
    let (key, object) = (resource.key(namespace, name), Object::new(object));
    view.apply(&Change { key, kind: ChangeKind::Added, object, old: None });
}

/// The objects by which Prometheus scrapes the operator.
fn target() -> impl Iterator<Item = &'static Value> {
    let names = ["cluster-version-operator", "cluster-version-operator-monitoring"];
    names.into_iter().flat_map(|name| payload(name, (4, 20)))
}

fn cluster() -> View {
    let mut view = View::default();
    let entry = |version: &str, state: &str| {
        json!({
            "version": version, "image": format!("image-{version}"), "state": state,
            "startedTime": "2024-01-01T00:00:00Z", "completionTime": "2024-01-01T01:00:00Z",
        })
    };
    let cluster_version = json!({
        "spec": { "channel": "buggy" },
        "status": {
            "desired": { "version": "4.16.0", "image": "image-4.16.0" },
            "history": [entry("4.16.0", "Partial"), entry("4.15.3", "Completed"), entry("4.9.1", "Completed")],
            "capabilities": { "knownCapabilities": ["Console", "Storage"], "enabledCapabilities": ["Storage"] },
            "conditions": [
                { "type": "Failing", "status": "True", "reason": "Trouble", "lastTransitionTime": "2024-01-01T01:30:00Z" },
                { "type": "Progressing", "status": "True", "message": "Working towards 4.16.0: 3 of 12 done (25% complete)" },
                { "type": "RetrievedUpdates", "status": "False", "lastTransitionTime": "2024-01-01T01:00:00Z" },
            ],
            "conditionalUpdates": [{ "release": { "version": "4.16.9" }, "conditions": [
                { "type": "Recommended", "status": "Unknown", "reason": "EvaluationFailed",
                  "lastTransitionTime": "2024-01-01T01:59:00Z" },
            ] }],
            "conditionalUpdateRisks": [
                { "name": "Slow", "conditions": [{ "type": "Applies", "status": "True" }] },
                { "name": "Odd", "conditions": [{ "type": "Applies", "status": "Unknown" }] },
            ],
        },
    });
    put(&mut view, &CLUSTER_VERSIONS, "", "version", cluster_version);
    let conditions = json!([
        { "type": "Available", "status": "True", "reason": "AsExpected" },
        { "type": "Degraded", "status": "False" },
        { "type": "Upgradeable", "status": "Unknown" },
    ]);
    put(
        &mut view,
        &CLUSTER_OPERATORS,
        "",
        "etcd",
        json!({ "status": {
        "conditions": conditions, "versions": [{ "name": "operator", "version": "4.15.3" }],
    } }),
    );
    let pod = json!({ "metadata": { "labels": { "k8s-app": "cluster-version-operator" } }, "status": { "phase": "Running" } });
    put(&mut view, &PODS, "openshift-cluster-version", "cluster-version-operator-1", pod);
    for object in target() {
        let resource = resources::find_for_object(object).unwrap();
        put(&mut view, resource, "openshift-cluster-version", "cluster-version-operator", object.clone());
    }
    let labels = json!({ "node-role.kubernetes.io/worker": "", "example.com/zone": "a" });
    put(&mut view, &NODES, "", "worker-0", json!({ "metadata": { "labels": labels } }));
    let install = json!({ "data": { "invoker": "user", "version": "4.9.1" } });
    put(&mut view, &CONFIG_MAPS, "openshift-config", "openshift-install", install);
    put(
        &mut view,
        &INFRASTRUCTURES,
        "",
        "cluster",
        json!({ "status": { "platformStatus": { "type": "AWS", "aws": { "region": "us-east-1" } } } }),
    );
    view
}

#[test]
fn metrics_are_computed_from_objects() {
    let view = cluster();
    let check = |query: &str, expected: bool| {
        // Risks have this form: 1 for matching clusters, or else 0 by a metric that every cluster has.
        let risk = format!("topk(1, group({query}) or 0 * group(cluster_version))");
        assert_eq!(is_true(&risk, &view), Ok(expected), "{query}");
    };
    for (query, expected) in [
        (r#"cluster_version{type="initial",version=~"4[.]9[.].*"}"#, true),
        (r#"cluster_version{type="current",version="4.16.0",from_version="4.15.3"}"#, true),
        (r#"cluster_version{type="completed",version="4.16.0"}"#, false),
        (r#"cluster_version{type="completed"} == 1704070800"#, true),
        (r#"cluster_version_available_updates{channel="buggy"}"#, true),
        (r#"cluster_version_capability{name="Storage"} == 1"#, true),
        (r#"cluster_version_capability{name="Console"} == 1"#, false),
        (r#"cluster_operator_conditions{name="etcd",condition="Available",reason="AsExpected"} == 1"#, true),
        (r#"cluster_operator_conditions{name="etcd",condition="Degraded"} == 0"#, true),
        (r#"cluster_operator_conditions{condition="Upgradeable"}"#, false),
        (r#"cluster_operator_conditions{name="version",condition="Failing",reason="Trouble"} == 1"#, true),
        (r#"cluster_operator_up{name="etcd",version="4.15.3",reason="AsExpected"} == 1"#, true),
        (r#"cluster_version{type="failure",version="4.16.0",from_version="4.15.3"} == 1704072600"#, true),
        ("time() - cluster_version_operator_update_retrieval_timestamp_seconds == 3600", true),
        (
            r#"time() - cluster_version_conditional_update_condition_seconds{version="4.16.9",status="Unknown"} == 60"#,
            true,
        ),
        (r#"cluster_version_risk_conditions{condition="Applies",risk="Slow"} == 1"#, true),
        (r#"cluster_version_risk_conditions{condition="Applies",risk="Odd"} == -1"#, true),
        (r#"up{job="cluster-version-operator",namespace="openshift-cluster-version"} == 1"#, true),
        (r#"cluster_installer{type="openshift-install",version="4.9.1",invoker="user"}"#, true),
        (r#"cluster_infrastructure_provider{type="AWS",region="us-east-1"}"#, true),
        (r#"cluster_infrastructure_provider{type="GCP"}"#, false),
        (r#"apiserver_storage_objects{resource="nodes"} == 1"#, true),
        (r#"apiserver_storage_objects{resource="clusteroperators.config.openshift.io"} > 1"#, false),
        (r#"kube_configmap_info{namespace="openshift-config",configmap="openshift-install"}"#, true),
        (
            r#"kube_node_role{role="worker"} * on (node) group_left kube_node_labels{label_example_com_zone="a"}"#,
            true,
        ),
        ("metric_of_nobody", false),
    ] {
        check(query, expected);
    }
}

#[test]
fn the_operator_exports_nothing_while_it_does_not_run() {
    let mut view = cluster();
    let pod = json!({ "metadata": { "labels": { "k8s-app": "cluster-version-operator" } }, "status": { "phase": "Pending" } });
    put(&mut view, &PODS, "openshift-cluster-version", "cluster-version-operator-1", pod);
    let values_of = |query: &str| match super::query(
        &parse(query).unwrap(),
        &Environment::default(),
        &view,
        Counted::default(),
        NOW,
    )
    .unwrap()
    {
        promql::Value::Vector(samples) => samples.iter().map(|sample| sample.value).collect::<Vec<_>>(),
        promql::Value::Scalar(number) => vec![number],
        other => panic!("{other:?}"),
    };
    assert_eq!(values_of("cluster_operator_up"), Vec::<f64>::new());
    assert_eq!(values_of(r#"up{job="cluster-version-operator"}"#), [0.0]);
    assert_eq!(values_of(r#"kube_node_role{role="worker"}"#), [1.0]);
    // An operator that evaluates a query runs, whatever the status of its pod.
    assert_eq!(is_true("group(cluster_operator_up)", &view), Ok(true));
}

#[test]
fn transitions_are_counted_until_the_operators_pod_is_deleted() {
    let view = cluster();
    let operator = |status: &str| {
        let conditions =
            json!([{ "type": "Available", "status": status }, { "type": "Degraded", "status": "False" }]);
        Object::new(json!({ "metadata": { "name": "etcd" }, "status": { "conditions": conditions } }))
    };
    let mut transitions = Transitions::default();
    let mut statuses = ["True", "False", "False", "True"].map(operator).into_iter();
    let mut old = statuses.next().unwrap();
    for object in statuses {
        let key = CLUSTER_OPERATORS.key("", "etcd");
        let change = Change { key, kind: ChangeKind::Modified, object: object.clone(), old: Some(old) };
        transitions.notice(&change);
        old = object;
    }
    let counted = |transitions: &Transitions| {
        let query =
            parse(r#"cluster_operator_condition_transitions{name="etcd",condition="Available"}"#).unwrap();
        let counted = Counted { transitions: Some(transitions), counters: &[] };
        match super::query(&query, &Environment::default(), &view, counted, NOW).unwrap() {
            promql::Value::Vector(samples) => samples.first().map(|sample| sample.value),
            _ => None,
        }
    };
    assert_eq!(counted(&transitions), Some(2.0));
    let name = "cluster-version-operator-1";
    let object = view.get(&PODS, "openshift-cluster-version", name).unwrap().clone();
    let key = PODS.key("openshift-cluster-version", name);
    transitions.notice(&Change { key, kind: ChangeKind::Deleted, old: Some(object.clone()), object });
    assert_eq!(counted(&transitions), None);
}

#[test]
fn the_operators_counters_are_exported_while_it_runs() {
    let counter = |metric, kind: Option<&str>, count| {
        let mut labels = BTreeMap::from([("version".to_owned(), "4.14.8".to_owned())]);
        labels.extend(kind.map(|kind| ("type".to_owned(), kind.to_owned())));
        Counter { by: "cluster-version-operator".to_owned(), metric, labels, count }
    };
    let counters = [
        counter(PAYLOAD_ERRORS, None, 7),
        counter(PAYLOAD, Some("applied"), 837),
        counter(PAYLOAD, Some("pending"), 5),
    ];
    let values = |query: &str| {
        let counted = Counted { transitions: None, counters: &counters };
        let query = parse(query).unwrap();
        let promql::Value::Vector(samples) =
            super::query(&query, &Environment::default(), &cluster(), counted, NOW).unwrap()
        else {
            panic!("a scalar")
        };
        let values = samples.iter().map(|sample| (sample.labels["version"].clone(), sample.value));
        values.collect::<Vec<_>>()
    };
    let expected = |count: f64| [("4.14.8".to_owned(), count)];
    assert_eq!(values(r#"cluster_operator_payload_errors{job="cluster-version-operator"}"#), expected(7.0));
    assert_eq!(values(r#"cluster_version_payload{type="applied"}"#), expected(837.0));
    assert_eq!(values(r#"cluster_version_payload{type="pending"}"#), expected(5.0));
}

#[test]
fn samples_of_other_exporters_can_be_queried_too() {
    let sample = |metric: &str, name: &str, value: f64| {
        let labels = [(promql::NAME, metric), ("name", name)];
        Sample { labels: labels.map(|(name, value)| (name.to_owned(), value.to_owned())).into(), value }
    };
    let metrics = vec![sample("csv_succeeded", "web.v1", 1.0), sample("csv_count", "", 2.0)];
    let environment = Environment { metrics, ..Environment::default() };
    let query = |text: &str| is_true_at(text, &environment, &cluster(), NOW);
    assert_eq!(query(r#"csv_succeeded{name=~"web.*"}"#), Ok(true));
    assert_eq!(query("csv_count - 1"), Ok(true));
    assert_eq!(query(r#"0 * csv_succeeded{name="web.v1"}"#), Ok(false));
    assert!(query(r#"csv_succeeded{name="cli.v1"}"#).is_err());
}

#[test]
fn the_result_of_a_query_must_be_one_sample_of_one_or_zero() {
    let view = cluster();
    let error = |query: &str| is_true(query, &view).unwrap_err();
    assert_eq!(error("nothing"), "invalid PromQL result length must be one, but is 0");
    assert_eq!(error("cluster_version_capability"), "invalid PromQL result length must be one, but is 2");
    assert_eq!(error("2 * group(cluster_version)"), "invalid PromQL result (must be 0 or 1): 2");
    assert_eq!(error("1"), "invalid PromQL result type is scalar, not vector");
    assert!(error("group(").starts_with("bad_data: "));
    assert_eq!(is_true("group(cluster_version)", &View::default()).unwrap_err(), error("nothing"));
}

#[test]
fn a_selector_is_touched_only_by_changes_of_its_samples() {
    let operator = |progressing: &str, degraded: &str| {
        let conditions = [("Progressing", progressing), ("Degraded", degraded)];
        let conditions = conditions.map(|(kind, status)| json!({ "type": kind, "status": status }));
        Object::new(json!({ "metadata": { "name": "etcd" }, "status": { "conditions": conditions } }))
    };
    let change = |resource: &Resource, kind: ChangeKind, old: Option<Object>, object: Object| Change {
        key: resource.key("", "etcd"),
        kind,
        object,
        old,
    };
    let modified = |progressing: &str, degraded: &str| {
        let old = Some(operator("False", "False"));
        change(&CLUSTER_OPERATORS, ChangeKind::Modified, old, operator(progressing, degraded))
    };
    let is_touched = |query: &str, change: &Change| {
        let expr = parse(query).unwrap();
        let compared = super::metrics::Compared::of(change);
        expr.any_selector_with_labels(&|selector, labels| {
            super::metrics::is_touched(selector, labels, &compared)
        })
    };
    let degraded = "cluster_operator_conditions{condition=\"Degraded\"} == 1";
    assert!(is_touched(degraded, &modified("False", "True")));
    assert!(!is_touched(degraded, &modified("True", "False")), "the selector selects another condition");
    assert!(is_touched("cluster_operator_conditions", &modified("True", "False")));
    assert!(!is_touched("cluster_operator_up", &modified("True", "True")), "its availability is unchanged");
    let gone = change(&CLUSTER_OPERATORS, ChangeKind::Deleted, None, operator("False", "False"));
    assert!(is_touched("cluster_operator_up", &gone));
    let grouped = "group by (name) (cluster_operator_conditions{condition=\"Degraded\"})";
    assert!(!is_touched(grouped, &modified("False", "True")), "the group is unchanged");
    assert!(is_touched(grouped, &modified("False", "Unknown")), "an unknown condition has no sample");
    assert!(is_touched(&grouped.replace("name", "condition"), &gone));
    assert!(is_touched(&grouped.replace("group", "max"), &modified("False", "True")));

    let pod = |app: &str, phase: &str| {
        let labels = json!({ "k8s-app": app });
        Object::new(json!({
            "metadata": { "name": "p", "namespace": "openshift-cluster-version", "labels": labels },
            "status": { "phase": phase },
        }))
    };
    let begins =
        |app: &str| change(&PODS, ChangeKind::Modified, Some(pod(app, "Pending")), pod(app, "Running"));
    assert!(is_touched("up", &begins("cluster-version-operator")));
    assert!(!is_touched("up", &begins("version-4.14.8")), "it is not scraped");
}
