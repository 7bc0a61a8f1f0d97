//! Deliveries over HTTPS, without HTTP: authentication, authority, schema, limits, and what is stored.

use std::sync::Arc;
use std::time::Duration;

use kube::api::Patch;
use kube::api::PatchParams;
use serde_json::{Value, json};
use windtunnel_update_status::controller::deliveries::{AUDIENCE, Deliveries, DeliveryError};

use super::cluster::{Cluster, pass};
use super::{insights_by_informer, producers};

/// Lets the ServiceAccount `insights` of a producer's namespace deliver for its informer.
pub(super) async fn allow(cluster: &Cluster, name: &str) {
    let account = json!({"name": "insights", "namespace": name});
    cluster.create(json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account})).await;
    let role = format!("{name}-insights");
    cluster
        .create(json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": role},
            "rules": [{
                "apiGroups": ["update.openshift.io"], "resources": ["updateinformers/insights"],
                "resourceNames": [name], "verbs": ["create"],
            }],
        }))
        .await;
    cluster
        .create(json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": role},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": "insights", "namespace": name}],
        }))
        .await;
    let informer =
        json!({"apiVersion": "update.openshift.io/v1alpha1", "kind": "UpdateInformer", "metadata": {}});
    let account = Patch::Merge(json!({"spec": {"producer": {"serviceAccount": "insights"}}}));
    cluster.api(&informer).patch(name, &PatchParams::default(), &account).await.unwrap();
}

/// A token of a ServiceAccount for these audiences.
pub(crate) async fn token_of(
    client: &kube::Client,
    namespace: &str,
    account: &str,
    audiences: &[&str],
) -> String {
    let request = json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": audiences},
    });
    let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token");
    let request = http::Request::post(path)
        .header("content-type", "application/json")
        .body(request.to_string().into_bytes())
        .unwrap();
    let answer: Value = client.request(request).await.unwrap();
    answer["status"]["token"].as_str().unwrap().to_owned()
}

/// A token of the ServiceAccount `insights`.
pub(super) async fn token(cluster: &Cluster, namespace: &str, audiences: &[&str]) -> String {
    token_of(&cluster.client, namespace, "insights", audiences).await
}

/// A delivery of insights with these uids.
pub(super) fn body(uids: &[&str]) -> Value {
    let health = json!({
        "startedAt": "2024-01-01T00:00:00Z",
        "scope": {"type": "ControlPlane", "resources": [{"resource": "nodes", "name": "w0"}]},
        "impact": {"level": "Warning", "type": "Data Loss", "summary": "A replica is missing"},
        "remediation": {"reference": "https://example.com/replicas"},
    });
    let insights: Vec<Value> = uids.iter().map(|uid| json!({"uid": uid, "health": health})).collect();
    json!({"insights": insights})
}

/// A cluster with the producers `storage` and `other`, the controller, and its endpoint.
async fn cluster() -> (Cluster, Deliveries) {
    let cluster = Cluster::new(true).await;
    producers::install(&cluster).await;
    for name in ["storage", "other"] {
        producers::register(&cluster, name, json!({})).await;
        allow(&cluster, name).await;
    }
    cluster.start();
    let deliveries = Deliveries::new(cluster.client.clone(), cluster.clock.clone(), Arc::new(()));
    (cluster, deliveries)
}

async fn deliver(deliveries: &Deliveries, token: &str, body: &Value) -> Result<Value, DeliveryError> {
    deliveries.deliver("storage", Some(token), body.to_string().as_bytes()).await
}

async fn control_plane(cluster: &Cluster) -> Vec<String> {
    pass(10).await;
    insights_by_informer(&cluster.status().await["controlPlane"])
}

#[tokio::test(start_paused = true)]
async fn a_delivery_replaces_the_one_before_and_expires() {
    let (cluster, deliveries) = cluster().await;
    let token = token(&cluster, "storage", &[AUDIENCE]).await;
    let answer = deliver(&deliveries, &token, &body(&["a", "b"])).await.unwrap();
    assert_eq!(answer["insights"], 2);
    assert_eq!(control_plane(&cluster).await, ["cpi: cv-version", "storage: a b"]);
    deliver(&deliveries, &token, &body(&["b", "c"])).await.unwrap();
    assert_eq!(control_plane(&cluster).await, ["cpi: cv-version", "storage: b c"]);
    for _ in 0..3 {
        pass(400).await;
        deliver(&deliveries, &token, &body(&["c"])).await.unwrap();
    }
    assert_eq!(control_plane(&cluster).await, ["cpi: cv-version", "storage: c"]);
    pass(600).await;
    assert_eq!(control_plane(&cluster).await, ["cpi: cv-version"]);
}

#[tokio::test(start_paused = true)]
async fn only_the_producer_with_the_right_delivers() {
    let (cluster, deliveries) = cluster().await;
    let body = body(&["a"]);
    let bytes = body.to_string().into_bytes();
    let code = async |informer: &str, token: Option<&str>| {
        let error = deliveries.deliver(informer, token, &bytes).await.unwrap_err();
        (error.code, error.message)
    };
    let storage = token(&cluster, "storage", &[AUDIENCE]).await;
    let other = token(&cluster, "other", &[AUDIENCE]).await;
    let of_api = token(&cluster, "storage", &[]).await;
    assert_eq!(code("storage", None).await.0, 401);
    assert_eq!(code("storage", Some("forged")).await.0, 401);
    let (found, message) = code("storage", Some(&of_api)).await;
    assert!(found == 401 && message.ends_with("not for the audience update-status-controller"), "{message}");
    let (found, message) = code("storage", Some(&other)).await;
    assert!(found == 403 && message.contains("may not create updateinformers/insights"), "{message}");
    assert_eq!(code("nobody", Some(&storage)).await.0, 403, "names are not revealed");
    cluster
        .create(json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "too-much"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"kind": "ServiceAccount", "name": "insights", "namespace": "other"}],
        }))
        .await;
    let (found, message) = code("storage", Some(&other)).await;
    assert!(
        found == 403 && message.contains("is not the producer that UpdateInformer storage names"),
        "{message}"
    );
    assert_eq!(code("nobody", Some(&other)).await.0, 404);
    assert_eq!(control_plane(&cluster).await, ["cpi: cv-version"]);
}

#[tokio::test(start_paused = true)]
async fn a_delivery_with_one_wrong_insight_stores_none() {
    let (cluster, deliveries) = cluster().await;
    let token = token(&cluster, "storage", &[AUDIENCE]).await;
    let changed = |path: &str, value: Value| {
        let mut body = body(&["a", "b"]);
        *body.pointer_mut(path).unwrap() = value;
        body
    };
    let objects = json!([{"group": "config.openshift.io", "resource": "clusterversions", "name": "version"}]);
    for (body, code, expected) in [
        (
            changed("/insights/1/health/impact/level", json!("Fatal")),
            422,
            "insights[1].health.impact.level: ",
        ),
        (
            changed("/insights/1/health/impact/summary", json!("\u{1b}[2J")),
            422,
            "insights[1].health.impact.summary: ",
        ),
        (
            changed("/insights/1/health/impact/level", json!("Critical")),
            403,
            "insights[1].health.impact.level: ",
        ),
        (changed("/insights/1/health/scope/resources", objects), 403, "insights[1].health.scope.resources: "),
        (changed("/insights/1/uid", json!("a.b.c")), 422, "insights[1].uid: expected a DNS label"),
    ] {
        let error = deliver(&deliveries, &token, &body).await.unwrap_err();
        assert!(error.code == code && error.message.contains(expected), "{expected}: {error:?}");
        pass(60).await;
    }
    let many: Vec<String> = (0..17).map(|number| format!("n{number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let error = deliver(&deliveries, &token, &body(&many)).await.unwrap_err();
    assert_eq!(
        (error.code, error.message.as_str()),
        (422, "insights[9]: spec.maxInsights of the informer is 16")
    );
    assert_eq!(control_plane(&cluster).await, ["cpi: cv-version"]);
}

#[tokio::test(start_paused = true)]
async fn deliveries_are_limited_by_informer_and_attempts_by_address() {
    let (cluster, deliveries) = cluster().await;
    let token = token(&cluster, "storage", &[AUDIENCE]).await;
    for _ in 0..5 {
        deliver(&deliveries, &token, &body(&["a"])).await.unwrap();
    }
    let error = deliver(&deliveries, &token, &body(&["a"])).await.unwrap_err();
    assert_eq!(error.code, 429);
    let wait = error.retry_after.unwrap();
    assert!(wait > Duration::from_secs(5) && wait <= Duration::from_secs(10), "{wait:?}");
    pass(10).await;
    deliver(&deliveries, &token, &body(&["a"])).await.unwrap();
    let [one, other] = ["10.0.0.1", "10.0.0.2"].map(|address| address.parse().unwrap());
    for _ in 0..20 {
        deliveries.admit_address(one).await.unwrap();
    }
    assert_eq!(deliveries.admit_address(one).await.unwrap_err().code, 429);
    deliveries.admit_address(other).await.unwrap();
}

/// Reason and message of the condition `DeliveryRejected`.
async fn rejected(cluster: &Cluster) -> (String, String) {
    pass(10).await;
    let informer =
        json!({"apiVersion": "update.openshift.io/v1alpha1", "kind": "UpdateInformer", "metadata": {}});
    let found = cluster.api(&informer).get("storage").await.unwrap();
    let conditions = found.data["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let condition = conditions.into_iter().find(|condition| condition["type"] == "DeliveryRejected").unwrap();
    let text = |field: &str| condition[field].as_str().unwrap().to_owned();
    (text("reason"), text("message"))
}

#[tokio::test(start_paused = true)]
async fn a_rejected_delivery_is_a_condition_until_the_next_one_is_stored() {
    let (cluster, deliveries) = cluster().await;
    let token = token(&cluster, "storage", &[AUDIENCE]).await;
    assert_eq!(rejected(&cluster).await, ("AsExpected".to_owned(), String::new()));
    let mut wrong = body(&["a"]);
    wrong["insights"][0]["health"]["impact"]["level"] = json!("Critical");
    deliver(&deliveries, &token, &wrong).await.unwrap_err();
    let (reason, message) = rejected(&cluster).await;
    assert_eq!(reason, "LevelNotAllowed");
    let expected =
        "by user system:serviceaccount:storage:insights: insights[0].health.impact.level: Critical";
    assert!(message.contains(expected), "{message}");
    let _ = deliveries.deliver("storage", Some(&token), b"{").await.unwrap_err();
    assert_eq!(rejected(&cluster).await.0, "InvalidBody");
    // Two reports a minute are written.
    deliver(&deliveries, &token, &wrong).await.unwrap_err();
    assert_eq!(rejected(&cluster).await.0, "InvalidBody");
    deliver(&deliveries, &token, &body(&["a"])).await.unwrap();
    assert_eq!(rejected(&cluster).await, ("AsExpected".to_owned(), String::new()));
}

#[tokio::test(start_paused = true)]
async fn strangers_cannot_flood_the_status_or_hide_a_rejection() {
    let (cluster, deliveries) = cluster().await;
    let body = body(&["a"]).to_string();
    let attempt = async |token: Option<&str>| {
        deliveries.deliver("storage", token, body.as_bytes()).await.unwrap_err().code
    };
    let version = async || {
        let informer =
            json!({"apiVersion": "update.openshift.io/v1alpha1", "kind": "UpdateInformer", "metadata": {}});
        cluster.api(&informer).get("storage").await.unwrap().metadata.resource_version.unwrap()
    };
    pass(10).await;
    let before = version().await;
    let of_api = token(&cluster, "storage", &[]).await;
    assert_eq!([attempt(None).await, attempt(Some("forged")).await, attempt(Some(&of_api)).await], [401; 3]);
    pass(10).await;
    assert_eq!(version().await, before, "nobody without a valid token causes a write");
    let other = token(&cluster, "other", &[AUDIENCE]).await;
    for _ in 0..10 {
        assert_eq!(attempt(Some(&other)).await, 403);
    }
    assert_eq!(rejected(&cluster).await.0, "NotAllowed");
    // The producer's own limit is not used up.
    let own = token(&cluster, "storage", &[AUDIENCE]).await;
    let _ = deliveries.deliver("storage", Some(&own), b"{").await.unwrap_err();
    assert_eq!(rejected(&cluster).await.0, "InvalidBody");
    pass(120).await;
    assert_eq!(attempt(Some(&other)).await, 403);
    assert_eq!(rejected(&cluster).await.0, "InvalidBody", "a stranger does not hide it");
}
