//! Tests of AgenticRuns and their readiness data.

use serde_json::{Value, json};
use windtunnel_core::resources::{CLUSTER_OPERATORS, MACHINE_CONFIG_POOLS, NODES, POD_DISRUPTION_BUDGETS};
use windtunnel_core::{Change, ChangeKind, Resource};

use super::*;

fn put(view: &mut View, resource: &Resource, object: Value) {
    let object = Object::new(object);
    let key = resource.key(object.namespace(), object.name());
    view.apply(&Change { kind: ChangeKind::Added, key, object, old: None });
}

#[test]
fn shortens_run_names_to_a_label_of_63_characters() {
    assert_eq!(name("5.0.1", "5.0.3"), "ota-5-0-1-to-5-0-3");
    assert_eq!(name("5.0.0-0.nightly+X", "5.1.0-rc.1"), "ota-5-0-0-0-nightly-x-to-5-1-0-rc-1");
    let long = name(&"5.0.0-a".repeat(9), "5.1.0");
    assert_eq!((long.len(), &long[60..]), (63, "xxx"));
}

#[test]
fn manages_runs_only_with_a_preview_feature_set_and_the_definition() {
    let own = |version: &str| Release {
        version: version.parse().unwrap(),
        ..Release::find(&"4.20.1".parse().unwrap()).unwrap()
    };
    let mut view = View::default();
    assert!(!are_enabled(&own("5.0.1"), &view));
    put(
        &mut view,
        &FEATURE_GATES,
        json!({ "metadata": { "name": "cluster" }, "spec": { "featureSet": "TechPreviewNoUpgrade" } }),
    );
    assert!(!are_enabled(&own("5.0.1"), &view));
    put(
        &mut view,
        &CUSTOM_RESOURCE_DEFINITIONS,
        json!({ "metadata": { "name": "agenticruns.agentic.openshift.io" } }),
    );
    assert!(are_enabled(&own("5.0.1"), &view) && are_enabled(&own("4.23.0"), &view));
    assert!(!are_enabled(&own("4.22.1"), &view));
    put(&mut view, &FEATURE_GATES, json!({ "metadata": { "name": "cluster" }, "spec": {} }));
    assert!(!are_enabled(&own("5.0.1"), &view));
}

#[test]
fn readiness_report_has_nine_checks_with_their_findings() {
    let mut view = View::default();
    let condition =
        |kind: &str, status: &str| json!({ "type": kind, "status": status, "reason": "R", "message": "M" });
    for (name, kind, status) in
        [("etcd", "Available", "True"), ("dns", "Degraded", "True"), ("network", "Upgradeable", "False")]
    {
        let status = json!({ "conditions": [condition(kind, status)] });
        put(&mut view, &CLUSTER_OPERATORS, json!({ "metadata": { "name": name }, "status": status }));
    }
    let pool = json!({ "metadata": { "name": "worker" }, "spec": { "paused": true }, "status": { "machineCount": 3 } });
    put(&mut view, &MACHINE_CONFIG_POOLS, pool);
    let node = json!({ "metadata": { "name": "n" }, "spec": { "unschedulable": true }, "status": { "conditions": [condition("Ready", "Unknown")] } });
    put(&mut view, &NODES, node);
    for (name, allowed, healthy) in [("blocks", 0, 2), ("empty", 0, 0), ("lets-go", 1, 2)] {
        let status = json!({ "disruptionsAllowed": allowed, "currentHealthy": healthy, "desiredHealthy": 2 });
        let budget = json!({ "metadata": { "name": name, "namespace": "ns" }, "spec": { "minAvailable": "100%" }, "status": status });
        put(&mut view, &POD_DISRUPTION_BUDGETS, budget);
    }
    let versions = json!([{ "name": "v1", "served": true }, { "name": "v1beta1", "served": false }]);
    let definition = json!({ "metadata": { "name": "a.b.io" }, "spec": { "versions": versions },
                             "status": { "storedVersions": ["v1beta1", "v1"] } });
    put(&mut view, &CUSTOM_RESOURCE_DEFINITIONS, definition);
    let history: Vec<Value> =
        (0..7).map(|n| json!({ "version": format!("5.0.{n}"), "state": "Completed" })).collect();
    let cluster_version = Object::new(json!({ "spec": { "channel": "fast-5.0" }, "status": {
        "history": history, "conditions": [condition("Upgradeable", "False"), condition("Progressing", "False")] } }));
    let report = readiness::report(&cluster_version, "5.0.1", "5.0.3", &view);
    let checks = &report["checks"];
    assert_eq!(
        report["meta"],
        json!({ "total_checks": 9, "checks_ok": 7, "checks_errored": 2, "elapsed_seconds": 0 })
    );
    assert_eq!(
        checks["cluster_conditions"]["upgradeable"],
        json!({ "status": "False", "reason": "R", "message": "M" })
    );
    assert_eq!(checks["cluster_conditions"]["recent_history"].as_array().unwrap().len(), 5);
    assert_eq!(
        checks["operator_health"]["summary"],
        json!({ "total_operators": 3, "not_upgradeable_count": 1, "degraded_count": 1, "not_available_count": 0 })
    );
    assert_eq!(
        checks["operator_health"]["mcp_summary"],
        json!({ "paused": 1, "degraded": 0, "updating": 0 })
    );
    assert_eq!(
        checks["node_capacity"]["summary"],
        json!({ "total": 1, "ready": 0, "not_ready": 1, "unschedulable": 1 })
    );
    assert_eq!(checks["pdb_drain"]["summary"], json!({ "total": 3, "blocking": 1 }));
    assert_eq!(checks["pdb_drain"]["blocking_pdbs"][0]["name"], "blocks");
    assert_eq!(checks["etcd_health"]["summary"]["operator_available"], true);
    assert_eq!(
        checks["crd_compat"]["version_issues"],
        json!([{ "crd": "a.b.io", "stored_version": "v1beta1", "issue": "stored version no longer served" }])
    );
    for (check, error) in [
        ("network", "failed to get Network config"),
        ("olm_operator_lifecycle", "failed to list subscriptions"),
    ] {
        let expected = format!("{error}: the server could not find the requested resource");
        assert_eq!(
            (&checks[check]["_status"], &checks[check]["_error"]),
            (&json!("error"), &json!(expected))
        );
    }
}

#[test]
fn removed_apis_are_blockers_and_deprecated_apis_are_warnings() {
    let mut view = View::default();
    let counts = Resource::cluster("apiserver.openshift.io", "v1", "APIRequestCount", "apirequestcounts");
    put(
        &mut view,
        &CUSTOM_RESOURCE_DEFINITIONS,
        json!({ "metadata": { "name": "apirequestcounts.apiserver.openshift.io" } }),
    );
    for (name, removed, requests, deprecated) in [
        ("gone", "4.25", 3, "False"),
        ("unused", "4.25", 0, "True"),
        ("later", "5.1", 3, "True"),
        ("current", "", 9, "False"),
    ] {
        let conditions = json!([{ "type": "Deprecated", "status": deprecated, "message": "M" }]);
        let status =
            json!({ "removedInRelease": removed, "requestCount": requests, "conditions": conditions });
        put(&mut view, &counts, json!({ "metadata": { "name": name }, "status": status }));
    }
    let found =
        &readiness::report(&Object::new(json!({})), "5.0.1", "5.0.3", &view)["checks"]["api_deprecations"];
    let names = |list: &str| -> Vec<&str> {
        found[list].as_array().unwrap().iter().map(|one| one["resource"].as_str().unwrap()).collect()
    };
    assert_eq!((names("blocker_apis"), names("warning_apis")), (vec!["gone"], vec!["later"]));
    assert_eq!(found["summary"], json!({ "blockers": 1, "warnings": 1, "total": 4 }));
}
