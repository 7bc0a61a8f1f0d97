//! What a registration allows.

use serde_json::{Value, json};
use windtunnel_core::clock::Time;

use super::*;
use crate::insight::{Detail, Insight};

const NOW: &str = "2024-01-01T01:00:00Z";

fn at(text: &str) -> Time {
    text.parse().unwrap()
}

fn spec() -> Value {
    json!({
        "producer": {"namespace": "storage", "serviceAccount": "insights"},
        "about": [
            {"group": "storage.example.com", "resource": "clusters", "names": ["main", "spare"]},
            {"group": "machineconfiguration.openshift.io", "resource": "machineconfigpools"},
        ],
    })
}

fn registration() -> Registration {
    Registration::read("storage", &spec()).unwrap()
}

fn health(level: &str) -> Value {
    json!({
        "startedAt": "2024-01-01T00:30:00Z",
        "scope": {
            "type": "ControlPlane",
            "resources": [{"group": "storage.example.com", "resource": "clusters", "name": "main"}],
        },
        "impact": {"level": level, "type": "Data Loss", "summary": "A replica is missing", "description": "a\nb"},
        "remediation": {"reference": "https://example.com/replicas"},
    })
}

fn delivery(name: &str, health: &Value) -> Delivery {
    let spec = json!({"informer": "storage", "health": health});
    Delivery::new("storage".to_owned(), name.to_owned(), &spec, at("2024-01-01T00:55:00Z"))
}

/// Applies the rules to deliveries that are not observed otherwise.
fn admit<'a>(
    registration: &Registration,
    deliveries: impl IntoIterator<Item = &'a Delivery>,
    now: Time,
) -> Outcome {
    let renewed = deliveries.into_iter().map(|delivery| (delivery, delivery.renewed_by(now, None)));
    super::admit(registration, renewed, now)
}

/// The reason and message with which one insight is rejected; empty if it is admitted.
fn rejection(registration: &Registration, delivery: &Delivery) -> String {
    let outcome = admit(registration, [delivery], at(NOW));
    assert_eq!(outcome.admitted.len() + outcome.rejected.len(), 1, "{outcome:?}");
    outcome.rejected.first().map(|(_, rejection)| rejection.to_string()).unwrap_or_default()
}

#[test]
fn an_insight_within_the_registration_is_admitted() {
    let outcome = admit(&registration(), [&delivery("replica", &health("Warning"))], at(NOW));
    let [Insight { uid, acquired_at, detail: Detail::Health(health) }] = &outcome.admitted[..] else {
        panic!("{outcome:?}")
    };
    assert_eq!((uid.as_str(), *acquired_at), ("replica", at("2024-01-01T00:55:00Z")));
    assert_eq!(health.started_at, at("2024-01-01T00:30:00Z"));
    assert_eq!(outcome.next_expiry, Some(at("2024-01-01T01:05:00Z")));
}

#[test]
fn an_insight_beyond_the_registration_is_rejected_with_a_reason() {
    let change = |path: &str, value: Value| {
        let mut changed = health("Warning");
        *changed.pointer_mut(path).unwrap() = value;
        rejection(&registration(), &delivery("replica", &changed))
    };
    let pool = |name: &str| json!([{"group": "machineconfiguration.openshift.io", "resource": "machineconfigpools", "name": name}]);
    let long = "x".repeat(257);
    for (path, value, expected) in [
        (
            "/impact/level",
            json!("Error"),
            "LevelNotAllowed: spec.health.impact.level: Error is above Warning",
        ),
        ("/impact/level", json!("Fatal"), "InvalidInsight: spec.health: unknown variant `Fatal`"),
        (
            "/impact/summary",
            json!(" "),
            "InvalidInsight: spec.health.impact.summary: expected a line of text",
        ),
        ("/impact/summary", json!(long), "InvalidInsight: spec.health.impact.summary: expected at most 256"),
        (
            "/impact/summary",
            json!("a\u{1b}[2Jb"),
            "InvalidInsight: spec.health.impact.summary: expected no control",
        ),
        (
            "/impact/description",
            json!("a\rb"),
            "InvalidInsight: spec.health.impact.description: expected no control",
        ),
        (
            "/remediation/reference",
            json!("file:///etc"),
            "InvalidInsight: spec.health.remediation.reference: ",
        ),
        ("/scope/type", json!("WorkerPool"), "ScopeNotAllowed: spec.health.scope.type: "),
        (
            "/scope/resources",
            json!([]),
            "InvalidInsight: spec.health.scope.resources: expected 1 to 16 objects",
        ),
        ("/scope/resources", pool("worker"), "InvalidInsight: spec.health.scope.type: expected WorkerPool"),
        (
            "/scope/resources/0/name",
            json!("other"),
            "ObjectNotAllowed: spec.health.scope.resources: the informer may not speak about \
             clusters.storage.example.com: other",
        ),
    ] {
        let found = change(path, value);
        assert!(found.starts_with(expected), "{path}: {found}");
    }
    assert_eq!(change("/scope/resources", pool("master")), "");
    let found = rejection(&registration(), &delivery("a.b", &health("Info")));
    assert_eq!(found, "InvalidInsight: metadata.name: expected a DNS label");
}

#[test]
fn insights_about_workers_name_their_pool() {
    let mut spec = spec();
    spec["scopes"] = json!(["WorkerPool"]);
    let registration = Registration::read("storage", &spec).unwrap();
    let mut health = health("Info");
    health["scope"]["type"] = json!("WorkerPool");
    let found = rejection(&registration, &delivery("replica", &health));
    assert!(
        found.starts_with("InvalidInsight: spec.health.scope: expected the MachineConfigPool"),
        "{found}"
    );
    let pool = json!({"group": "machineconfiguration.openshift.io", "resource": "machineconfigpools", "name": "worker"});
    health["scope"]["resources"].as_array_mut().unwrap().push(pool);
    assert_eq!(rejection(&registration, &delivery("replica", &health)), "");
}

#[test]
fn an_insight_expires_unless_its_spec_changes() {
    let object = |times: &[(&str, &str)]| {
        let managers: Vec<Value> =
            times.iter().map(|(field, time)| json!({"time": time, "fieldsV1": {*field: {}}})).collect();
        delivery_of_object(&json!({
            "metadata": {
                "namespace": "storage", "name": "replica", "creationTimestamp": "2024-01-01T00:40:00Z",
                "managedFields": managers,
            },
            "spec": {"informer": "storage", "health": health("Info")},
        }))
        .unwrap()
    };
    let expired = |times: &[(&str, &str)]| admit(&registration(), [&object(times)], at(NOW)).expired;
    assert_eq!(expired(&[]), 1);
    assert_eq!(expired(&[("f:spec", "2024-01-01T00:50:00Z")]), 1);
    assert_eq!(expired(&[("f:spec", "2024-01-01T00:50:01Z")]), 0);
    assert_eq!(expired(&[("f:metadata", "2024-01-01T00:59:00Z")]), 1, "a label renews nothing");
    assert_eq!(expired(&[("f:spec", "2099-01-01T00:00:00Z")]), 1, "a forged time renews nothing");
}

#[test]
fn the_worst_insights_are_kept_within_the_limits() {
    let mut spec = spec();
    spec["maxInsights"] = json!(2);
    let registration = Registration::read("storage", &spec).unwrap();
    let deliveries = [("c", "Info"), ("b", "Info"), ("a", "Info"), ("d", "Warning")]
        .map(|(name, level)| delivery(name, &health(level)));
    let outcome = admit(&registration, &deliveries, at(NOW));
    let uids: Vec<&str> = outcome.admitted.iter().map(|insight| insight.uid.as_str()).collect();
    assert_eq!(uids, ["d", "a"]);
    let rejected: Vec<String> = outcome.rejected.iter().map(|(key, why)| format!("{key} {why}")).collect();
    let why = "TooManyInsights: spec.maxInsights of the informer is 2";
    assert_eq!(rejected, [format!("storage/b {why}"), format!("storage/c {why}")]);
    let mut large = health("Info");
    large["impact"]["description"] = json!("x".repeat(4096));
    let deliveries: Vec<Delivery> = (0..9).map(|number| delivery(&format!("n{number}"), &large)).collect();
    let outcome = admit(&self::registration(), &deliveries, at(NOW));
    assert_eq!((outcome.admitted.len(), outcome.rejected.len()), (7, 2));
    assert_eq!(outcome.rejected[0].1.reason, RejectionReason::TooLarge);
}

#[test]
fn a_clock_that_is_ahead_starts_no_problem_in_the_future() {
    let mut ahead = health("Info");
    ahead["startedAt"] = json!("2024-01-02T00:00:00Z");
    let outcome = admit(&registration(), [&delivery("replica", &ahead)], at(NOW));
    let Detail::Health(health) = &outcome.admitted[0].detail else { panic!("{outcome:?}") };
    assert_eq!(health.started_at, at("2024-01-01T00:55:00Z"));
}

#[test]
fn invalid_registrations_are_rejected() {
    for (name, path, value, expected) in [
        ("cpi", "/about", json!([]), "cpi is a name of the controller"),
        ("x", "/about", json!([]), "x is a name of the controller"),
        ("storage", "/about", Value::Null, "spec: invalid type: null"),
        ("storage", "/expiry", json!("30s"), "spec.expiry: expected 1m to 24h, found 30s"),
        ("storage", "/expiry", json!("soon"), "spec: expected an expiry such as `10m`, found \"soon\""),
        ("storage", "/maxInsights", json!(33), "spec.maxInsights: expected 1 to 32, found 33"),
        (
            "storage",
            "/producer",
            json!({"namespace": "openshift-update-status-controller"}),
            "spec.producer.namespace: openshift-update-status-controller has the insights",
        ),
    ] {
        let mut spec = spec();
        spec[&path[1..]] = value;
        let found = Registration::read(name, &spec).unwrap_err();
        assert!(found.starts_with(expected), "{found}");
    }
    assert_eq!(registration().user().unwrap(), "system:serviceaccount:storage:insights");
}
