//! Insights to JSON and back, with the API's field names.

use serde_json::{Value, json};

use super::*;

fn check(text: &Value) -> Insight {
    let insight: Insight = serde_json::from_value(text.clone()).unwrap();
    assert_eq!(&serde_json::to_value(&insight).unwrap(), text);
    insight
}

#[test]
fn a_cluster_version_insight_round_trips_with_the_api_field_names() {
    let insight = check(&json!({
        "uid": "cv-version", "acquiredAt": "2024-01-02T03:04:05Z", "type": "ClusterVersion",
        "clusterVersion": {
            "conditions": [{
                "type": "Updating", "status": "Unknown", "lastTransitionTime": "2024-01-02T03:04:05Z",
                "reason": "CannotDetermineUpdating", "message": "m",
            }],
            "resource": {"group": "config.openshift.io", "resource": "clusterversions", "name": "version"},
            "assessment": "Unknown",
            "versions": {
                "previous": {"version": "4.13.0", "metadata": [{"key": "Partial"}]},
                "target": {"version": "4.14.0", "metadata": [{"key": "Architecture", "value": "Multi"}]},
            },
            "completion": 0, "startedAt": null, "estimatedCompletedAt": "0001-01-01T01:00:00Z",
        },
    }));
    assert!(matches!(insight.detail, Detail::ClusterVersion(_)));
}

#[test]
fn a_cluster_operator_insight_round_trips_with_the_api_field_names() {
    check(&json!({
        "uid": "co-etcd", "acquiredAt": "2024-01-02T03:04:05Z", "type": "ClusterOperator",
        "clusterOperator": {
            "conditions": [], "name": "etcd",
            "resource": {"group": "config.openshift.io", "resource": "clusteroperators", "name": "etcd"},
        },
    }));
}

#[test]
fn a_node_insight_round_trips_with_the_api_field_names_in_order() {
    let text = r#"{"uid":"node-a","acquiredAt":"2024-01-02T03:04:05Z","type":"Node","node":{"conditions":[{"type":"Available","status":"False","lastTransitionTime":null,"reason":"Not ready","message":"m"}],"name":"a","resource":{"resource":"nodes","name":"a"},"poolResource":{"group":"machineconfiguration.openshift.io","resource":"machineconfigpools","name":"infra"},"scopeType":"WorkerPool","version":"4.18.3","estToComplete":"1h10m0s","message":"m"}}"#;
    let insight: Insight = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::to_string(&insight).unwrap(), text);
    for span in ["0s", "59s", "10m0s", "100h0m1s"] {
        let text = text.replace("1h10m0s", span);
        let insight: Insight = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_string(&insight).unwrap(), text);
    }
    let error = serde_json::from_str::<Insight>(&text.replace("1h10m0s", "soon")).unwrap_err().to_string();
    assert!(error.contains("of type Node") || error.contains("not a duration"), "{error}");
}

#[test]
fn a_health_insight_round_trips_with_the_api_field_names() {
    check(&json!({
        "uid": "abc", "acquiredAt": "2024-01-02T03:04:05Z", "type": "Health",
        "health": {
            "startedAt": "2024-01-02T03:04:05Z",
            "scope": {"type": "WorkerPool", "resources": [{"resource": "pods", "name": "a", "namespace": "b"}]},
            "impact": {"level": "Critical", "type": "Application Outage", "summary": "s", "description": "d"},
            "remediation": {"reference": "https://example.com", "estimatedFinish": "2024-01-02T04:04:05Z"},
        },
    }));
}

#[test]
fn rejects_an_insight_without_the_member_of_its_type() {
    for kind in ["Health", "Node", ""] {
        let text = json!({"uid": "x", "acquiredAt": "2024-01-02T03:04:05Z", "type": kind});
        let error = serde_json::from_value::<Insight>(text).unwrap_err().to_string();
        assert_eq!(error, format!("insight x of type {kind} has no member of that type"));
    }
    let late = json!({"uid": "x", "acquiredAt": "soon", "type": "Health"});
    let error = serde_json::from_value::<Insight>(late).unwrap_err().to_string();
    assert_eq!(error, "not an RFC 3339 time: \"soon\"");
}
