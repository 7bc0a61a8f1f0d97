//! Insight producers besides the controller: their objects are validated by the CRDs, and the controller publishes
//! what their registrations allow.

use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};

use super::cluster::{Cluster, definition_of, pass};
use super::insights_by_informer;

/// Creates the CRDs of producers.
pub(super) async fn install(cluster: &Cluster) {
    for plural in ["updateinformers", "updateinsights"] {
        cluster.create(definition_of(plural)).await;
    }
    pass(2).await;
}

/// The UpdateInformer of a producer in a namespace of the same name, with these fields in its spec.
#[expect(clippy::needless_pass_by_value, reason = "callers pass literals")]
fn informer(name: &str, fields: Value) -> Value {
    let mut spec =
        json!({"producer": {"namespace": name}, "about": [{"resource": "nodes", "names": ["w0"]}]});
    json_patch::merge(&mut spec, &fields);
    json!({
        "apiVersion": "update.openshift.io/v1alpha1", "kind": "UpdateInformer", "metadata": {"name": name},
        "spec": spec,
    })
}

/// An UpdateInsight with these fields in its spec.
#[expect(clippy::needless_pass_by_value, reason = "callers pass literals")]
fn insight(namespace: &str, name: &str, fields: Value) -> Value {
    let health = json!({
        "startedAt": "2024-01-01T00:00:00Z",
        "scope": {"type": "ControlPlane", "resources": [{"resource": "nodes", "name": "w0"}]},
        "impact": {"level": "Warning", "type": "Data Loss", "summary": "A replica is missing"},
        "remediation": {"reference": "https://example.com/replicas"},
    });
    let mut spec = json!({"informer": namespace, "health": health});
    json_patch::merge(&mut spec, &fields);
    json!({
        "apiVersion": "update.openshift.io/v1alpha1", "kind": "UpdateInsight",
        "metadata": {"name": name, "namespace": namespace}, "spec": spec,
    })
}

/// Registers a producer, with its namespace.
pub(super) async fn register(cluster: &Cluster, name: &str, fields: Value) {
    cluster.create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})).await;
    cluster.create(informer(name, fields)).await;
}

pub(super) async fn deliver(cluster: &Cluster, namespace: &str, name: &str, fields: Value) {
    cluster.create(insight(namespace, name, fields)).await;
}

/// The message with which the API server rejects an object.
async fn rejection(cluster: &Cluster, object: Value) -> String {
    let typed = serde_json::from_value(object.clone()).unwrap();
    let created = cluster.api(&object).create(&kube::api::PostParams::default(), &typed).await;
    created.unwrap_err().to_string()
}

/// The status of an UpdateInformer, with its conditions as `<type>=<status> <reason>`.
async fn report(cluster: &Cluster, name: &str) -> (Value, Vec<String>) {
    let object = cluster.api(&informer(name, json!({}))).get(name).await.unwrap();
    let status = object.data["status"].clone();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let conditions = status["conditions"].as_array().unwrap().iter();
    let line =
        |one: &Value| format!("{}={} {}", text(&one["type"]), text(&one["status"]), text(&one["reason"]));
    let lines = conditions.map(line).collect();
    (status, lines)
}

async fn control_plane(cluster: &Cluster) -> Vec<String> {
    insights_by_informer(&cluster.status().await["controlPlane"])
}

async fn cluster() -> Cluster {
    let cluster = Cluster::new(true).await;
    install(&cluster).await;
    cluster
}

#[tokio::test(start_paused = true)]
async fn insights_are_published_under_their_informer_until_they_expire() {
    let cluster = cluster().await;
    cluster.create_config_map().await;
    cluster.start();
    register(&cluster, "storage", json!({"expiry": "5m"})).await;
    deliver(&cluster, "storage", "replica", json!({})).await;
    pass(10).await;
    assert_eq!(control_plane(&cluster).await, ["cpi: cv-version", "storage: replica"]);
    let text = cluster.config_map().await["usc.x.storage.replica"].as_str().unwrap().to_owned();
    assert!(text.contains("summary: A replica is missing"), "{text}");
    let api = cluster.api(&insight("storage", "replica", json!({})));
    for _ in 0..3 {
        pass(240).await;
        let now = Patch::Merge(json!({"spec": {"renewTime": cluster.now()}}));
        api.patch("replica", &PatchParams::default(), &now).await.unwrap();
    }
    pass(240).await;
    assert_eq!(control_plane(&cluster).await, ["cpi: cv-version", "storage: replica"]);
    pass(70).await;
    assert_eq!(control_plane(&cluster).await, ["cpi: cv-version"]);
    assert!(cluster.config_map().await["usc.x.storage.replica"].is_null());
    let (status, conditions) = report(&cluster, "storage").await;
    let expected = [
        "Registered=True AsExpected",
        "Rejected=False AsExpected",
        "Silent=True InsightsExpired",
        "DeliveryRejected=False AsExpected",
    ];
    assert_eq!(conditions, expected);
    assert_eq!([&status["acceptedInsights"], &status["rejectedInsights"]], [0, 0]);
    assert_eq!(status["conditions"][2]["message"], "1 insights were not renewed within 300s");
}

#[tokio::test(start_paused = true)]
async fn a_new_process_knows_how_old_insights_are_and_keeps_their_times() {
    let cluster = cluster().await;
    register(&cluster, "storage", json!({})).await;
    deliver(&cluster, "storage", "replica", json!({})).await;
    let process = cluster.start();
    pass(10).await;
    let acquired = async || {
        let status = cluster.status().await;
        let informers = status["controlPlane"]["informers"].as_array().unwrap().clone();
        informers
            .iter()
            .find(|one| one["name"] == "storage")
            .map(|one| one["insights"][0]["acquiredAt"].clone())
    };
    let before = acquired().await;
    process.abort();
    pass(400).await;
    let process = cluster.start();
    pass(10).await;
    assert!(before.is_some() && acquired().await == before);
    process.abort();
    pass(300).await;
    cluster.start();
    pass(10).await;
    assert_eq!(acquired().await, None, "it was not renewed for ten minutes");
}

#[tokio::test(start_paused = true)]
async fn the_api_server_rejects_reserved_names_and_broken_objects() {
    let cluster = cluster().await;
    register(&cluster, "storage", json!({})).await;
    for (object, expected) in [
        (informer("cpi", json!({})), "cpi, ni and x are names of the controller"),
        (informer("a.b", json!({})), "the name is a DNS label"),
        (informer("a", json!({"expiry": "30s"})), "an expiry is from 1m to 24h"),
        (informer("a", json!({"maxInsights": 33})), "spec.maxInsights"),
        (informer("a", json!({"about": []})), "spec.about"),
        (
            informer("a", json!({"producer": {"namespace": "openshift-update-status-controller"}})),
            "the namespace of the controller has the insights that its endpoint stores",
        ),
        (
            insight("storage", "a", json!({"health": {"impact": {"level": "Fatal"}}})),
            "spec.health.impact.level",
        ),
        (
            insight("storage", "a", json!({"health": {"impact": {"summary": null}}})),
            "spec.health.impact.summary",
        ),
        (insight("storage", &"x".repeat(64), json!({})), "the name is a DNS label"),
    ] {
        let found = rejection(&cluster, object).await;
        assert!(found.contains(expected), "expected {expected}, found {found}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_lying_producer_publishes_nothing_and_harms_no_other() {
    let cluster = cluster().await;
    cluster.start();
    for name in ["honest", "liar"] {
        register(&cluster, name, json!({})).await;
    }
    deliver(&cluster, "honest", "a", json!({})).await;
    deliver(&cluster, "liar", "a", json!({"informer": "honest"})).await;
    deliver(&cluster, "liar", "b", json!({"informer": "cpi"})).await;
    deliver(&cluster, "liar", "c", json!({"health": {"impact": {"level": "Critical"}}})).await;
    let about = json!([{"group": "config.openshift.io", "resource": "clusterversions", "name": "version"}]);
    deliver(&cluster, "liar", "d", json!({"health": {"scope": {"resources": about}}})).await;
    pass(10).await;
    assert_eq!(control_plane(&cluster).await, ["cpi: cv-version", "honest: a"]);
    let (status, conditions) = report(&cluster, "liar").await;
    assert_eq!(conditions[1], "Rejected=True LevelNotAllowed");
    assert_eq!([&status["acceptedInsights"], &status["rejectedInsights"]], [0, 4]);
    let message = status["conditions"][1]["message"].as_str().unwrap();
    assert!(message.starts_with("UpdateInsight liar/c: ") && message.ends_with("; and 3 more"), "{message}");
    assert_eq!(report(&cluster, "honest").await.1[1], "Rejected=False AsExpected");
}

#[tokio::test(start_paused = true)]
async fn insights_leave_with_their_objects_and_with_their_registration() {
    let cluster = cluster().await;
    cluster.start();
    for name in ["one", "two"] {
        register(&cluster, name, json!({})).await;
        deliver(&cluster, name, "a", json!({})).await;
        deliver(&cluster, name, "b", json!({})).await;
    }
    pass(10).await;
    assert_eq!(control_plane(&cluster).await, ["cpi: cv-version", "one: a b", "two: a b"]);
    cluster.api(&insight("one", "a", json!({}))).delete("a", &DeleteParams::default()).await.unwrap();
    cluster.api(&informer("two", json!({}))).delete("two", &DeleteParams::default()).await.unwrap();
    pass(10).await;
    assert_eq!(control_plane(&cluster).await, ["cpi: cv-version", "one: b"]);
}
