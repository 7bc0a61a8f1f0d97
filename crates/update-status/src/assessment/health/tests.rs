//! When the insight of each cause appears, its text, and when it disappears.

use serde_json::json;

use super::*;
use crate::insight::HealthInsight;

const NOW: &str = "2024-01-01T02:00:00Z";
const BEFORE: &str = "2024-01-01T01:00:00Z";

/// The insights as `level | type | startedAt | summary | description`, one per line.
fn check(facts: &Facts<'_>, earlier: Option<&str>) -> String {
    let earlier = earlier.map(|text| text.parse().unwrap());
    let prior = PriorInsights { now: NOW.parse().unwrap(), earlier: &|_| earlier };
    let line = |insight: HealthInsight| {
        let text = serde_json::to_value(&insight).unwrap();
        let (impact, cell) = (&text["impact"], |value: &Value| value.as_str().unwrap_or_default().to_owned());
        [&impact["level"], &impact["type"], &text["startedAt"], &impact["summary"], &impact["description"]]
            .map(cell)
            .join(" | ")
    };
    let mut findings = Findings::new(prior);
    assess_cluster_version(facts, &mut findings);
    findings.found().into_iter().map(|found| line(found.insight)).collect::<Vec<_>>().join("\n")
}

fn facts(cluster_version: &Value) -> Facts<'_> {
    Facts { kubernetes_minor: Some(27), ..Facts::new(cluster_version) }
}

fn conditions(conditions: &Value) -> Value {
    let history = json!([{"state": "Partial", "version": "4.14.1", "startedTime": BEFORE}]);
    json!({"metadata": {"name": "version"}, "status": {"conditions": conditions, "history": history}})
}

#[test]
fn reports_an_unretrievable_payload_with_the_message_of_its_pod() {
    let message = "Retrieving payload failed version=\"4.14.1\" image=\"quay.io/x\" failure=pod is waiting";
    let with = |status: &str, reason: &str| {
        conditions(&json!([{
            "type": "ReleaseAccepted", "status": status, "reason": reason, "message": message,
            "lastTransitionTime": BEFORE,
        }]))
    };
    let found = check(&facts(&with("False", "RetrievePayload")), None);
    let wanted = "Warning | Update Stalled | 2024-01-01T01:00:00Z | The payload of release 4.14.1 cannot be \
                  retrieved | Retrieving payload failed version=\"4.14.1\" image=\"quay.io/x\" failure=pod is waiting";
    assert!(found.starts_with(wanted), "{found}");
    assert_eq!(check(&facts(&with("True", "PayloadLoaded")), None), "");
}

#[test]
fn names_a_payload_as_requested_if_the_message_has_no_name() {
    for (message, desired, name) in [
        ("version=\"\" image=\"quay.io/x\"", json!({"version": "4.14.1"}), "quay.io/x"),
        ("broken version=\"4", json!({"version": "4.14.1"}), "4.14.1"),
        ("", json!(null), "requested"),
    ] {
        let mut object = conditions(&json!([{
            "type": "ReleaseAccepted", "status": "False", "reason": "RetrievePayload", "message": message,
        }]));
        object["spec"] = json!({"desiredUpdate": desired});
        let found = check(&facts(&object), Some(BEFORE));
        assert!(found.contains(&format!("{BEFORE} | The payload of release {name} cannot")), "{found}");
    }
}

#[test]
fn reports_a_failing_update_only_during_the_update() {
    let with = |failing: &str, progressing: &str| {
        conditions(&json!([
            {"type": "Failing", "status": failing, "reason": "ClusterOperatorDegraded", "message": "m"},
            {"type": "Progressing", "status": progressing},
        ]))
    };
    let line = |verb: &str| {
        format!(
            "Warning | Update Stalled | {NOW} | Cluster Version version {verb} failing to proceed with the update \
             (ClusterOperatorDegraded) | m"
        )
    };
    assert_eq!(check(&facts(&with("True", "True")), None), line("is"));
    assert_eq!(check(&facts(&with("Unknown", "True")), None), line("may be"));
    assert_eq!(check(&facts(&with("False", "True")), None), "");
    assert_eq!(check(&facts(&with("True", "False")), None), "");
}

fn frozen(crd: &Value, minor: Option<u32>, earlier: Option<&str>) -> String {
    let object = json!({"metadata": {"name": "version"}, "status": {"capabilities": {
        "enabledCapabilities": ["Build", "Console", "DeploymentConfig"],
        "knownCapabilities": ["Build", "Console", 3],
    }}});
    check(&Facts { crd: Some(crd), kubernetes_minor: minor, ..Facts::new(&object) }, earlier)
}

fn crd(enumerated: &Value) -> Value {
    let list = json!({"type": "array", "items": {"enum": enumerated}});
    let lists = json!({"enabledCapabilities": list, "knownCapabilities": list});
    let status = json!({"properties": {"capabilities": {"properties": lists}}});
    let schema = json!({"openAPIV3Schema": {"properties": {"status": status}}});
    json!({"spec": {"versions": [
        {"name": "v0", "served": true, "storage": false, "schema": {}},
        {"name": "v1", "served": true, "storage": true, "schema": schema},
    ]}})
}

#[test]
fn a_status_is_frozen_while_the_server_rejects_values_unknown_to_the_crd() {
    let old = crd(&json!(["Console"]));
    let found = frozen(&old, Some(27), Some(BEFORE));
    let wanted = "Critical | Update Stalled | 2024-01-01T01:00:00Z | ClusterVersion version can no longer be \
                  written: its CRD does not know capabilities Build, DeploymentConfig | \
                  status.capabilities.enabledCapabilities holds Build, DeploymentConfig; \
                  status.capabilities.knownCapabilities holds Build, which the enum";
    assert!(found.starts_with(wanted), "{found}");
    assert!(found.contains("seen since 2024-01-01T01:00:00Z"), "{found}");
    assert!(found.ends_with("apply the CustomResourceDefinition of a release that knows them."), "{found}");
    assert!(frozen(&old, Some(30), None).contains("(Kubernetes 1.30)"));
    assert_eq!(frozen(&old, Some(31), None), "", "ratcheting");
    assert_eq!(frozen(&old, None, None), "", "unknown server");
    assert_eq!(frozen(&crd(&json!(["Console", "Build", "DeploymentConfig"])), Some(27), None), "");
    assert_eq!(frozen(&crd(&json!(null)), Some(27), None), "", "no enum");
    assert_eq!(frozen(&json!([]), Some(27), None), "", "no CRD");
}

#[test]
fn truncates_long_texts_to_the_api_limits() {
    let long = "x".repeat(5000);
    let object =
        json!({"metadata": {"name": long, "annotations": {"usc.openshift.io/force-health-insight": ""}}});
    let mut findings = Findings::new(PriorInsights { now: NOW.parse().unwrap(), earlier: &|_| None });
    assess_cluster_version(&facts(&object), &mut findings);
    assert_eq!(findings.found()[0].insight.impact.summary.chars().count(), 256);
}
