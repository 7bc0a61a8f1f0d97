//! Insights of other producers, and those that a cluster publishes.

use std::sync::Arc;

use kube::Client;
use serde_json::{Map, Value, json};
use windtunnel_apiserver::{ApiServer, Method};
use windtunnel_core::{Identity, Object, Resource, yaml};
use windtunnel_openshift::manifests;
use windtunnel_update_status::controller::deliveries::{AUDIENCE, Deliveries};
use windtunnel_update_status::controller::snapshot::{Insights, insights_from_objects, published_insights};
use windtunnel_update_status::insight::{Detail, Insight};
use windtunnel_update_status::producer::{InformerObject, admit, delivery_of_object};
use windtunnel_update_status::status::Details;
use windtunnel_update_status::status::published::{section_of_producers, sections_on_nodes};

use super::cluster::{self, DEFINITIONS, send};
use super::{Reader, dumps};

/// The body of a delivery over HTTPS.
pub(super) const DELIVERY: Reader =
    Reader { name: "delivery", read: read_delivery, examples: delivery_examples };

/// An UpdateInformer and its UpdateInsights, as documents of YAML.
pub(super) const INFORMER: Reader =
    Reader { name: "informer", read: read_informer, examples: informer_examples };

/// A ConfigMap or an UpdateStatus with published insights.
pub(super) const PUBLISHED: Reader =
    Reader { name: "published", read: read_published, examples: published_examples };

/// The API of insights.
const API: &str = "/apis/update.openshift.io/v1alpha1";

/// Returns a server with the producer `storage`.
fn server() -> ApiServer {
    thread_local! {
        static SERVER: ApiServer = installed();
    }
    SERVER.with(ApiServer::clone)
}

fn installed() -> ApiServer {
    let mut server = cluster::server();
    let definitions = manifests::objects("update-status-controller").iter();
    let definitions = definitions.filter(|object| object["kind"] == "CustomResourceDefinition");
    let account = json!({ "metadata": { "name": "insights" } });
    let role = json!({ "metadata": { "name": "storage" }, "rules": [{ "apiGroups": ["update.openshift.io"],
        "resources": ["updateinformers/insights"], "resourceNames": ["storage"], "verbs": ["create"] }] });
    let binding = json!({ "metadata": { "name": "storage" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "storage" },
        "subjects": [{ "kind": "ServiceAccount", "name": "insights", "namespace": "storage" }] });
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    let namespace = |name: &str| ("/api/v1/namespaces".to_owned(), json!({ "metadata": { "name": name } }));
    let objects = definitions.map(|object| (DEFINITIONS.to_owned(), object.clone())).chain([
        namespace("openshift-update-status-controller"),
        namespace("storage"),
        ("/api/v1/namespaces/storage/serviceaccounts".to_owned(), account),
        (format!("{rbac}/clusterroles"), role),
        (format!("{rbac}/clusterrolebindings"), binding),
        (format!("{API}/updateinformers"), informer()),
    ]);
    for (collection, object) in objects {
        let code = send(&mut server, Method::Post, &collection, "", object.to_string().into_bytes());
        assert!(code == 201, "{code}: {collection} {object}");
    }
    server
}

fn informer() -> Value {
    json!({ "apiVersion": "update.openshift.io/v1alpha1", "kind": "UpdateInformer", "metadata": { "name": "storage" },
        "spec": { "producer": { "namespace": "storage", "serviceAccount": "insights" },
            "about": [{ "resource": "nodes", "names": ["w0"] }] } })
}

fn read_delivery(bytes: &[u8]) {
    cluster::with_clients(server(), async |shared, clock| {
        let client = shared.client(&Identity::admin());
        let Ok(token) = token(&client).await else { return };
        let deliveries = Deliveries::new(client, clock, Arc::new(()));
        for _ in 0..2 {
            let _ = deliveries.deliver("storage", Some(&token), bytes).await;
        }
    });
}

/// Requests a token of the producer.
async fn token(client: &Client) -> Result<String, kube::Error> {
    let path = "/api/v1/namespaces/storage/serviceaccounts/insights/token";
    let body = json!({ "spec": { "audiences": [AUDIENCE] } }).to_string().into_bytes();
    let request = http::Request::post(path).header("content-type", "application/json").body(body);
    let answer: Value = client.request(request.map_err(kube::Error::HttpError)?).await?;
    Ok(answer["status"]["token"].as_str().unwrap_or_default().to_owned())
}

fn health() -> Value {
    json!({ "startedAt": "2024-01-01T00:00:00Z",
        "scope": { "type": "ControlPlane", "resources": [{ "resource": "nodes", "name": "w0" }] },
        "impact": { "level": "Warning", "type": "Data Loss", "summary": "A replica is missing", "description": "d" },
        "remediation": { "reference": "https://example.com/replicas", "estimatedFinish": "2024-01-01T01:00:00Z" } })
}

fn delivery_examples() -> Vec<Vec<u8>> {
    let one = json!({ "insights": [{ "uid": "a", "health": health() }] });
    let two =
        json!({ "insights": [{ "uid": "a", "health": health() }, { "uid": "b-1", "health": health() }] });
    let none = json!({ "insights": [] });
    [one, two, none].iter().map(|body| body.to_string().into_bytes()).collect()
}

fn read_informer(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let Ok(objects) = yaml::from_str_multi::<Value>(&text) else { return };
    let mut server = server();
    for object in &objects {
        let body = || object.to_string().into_bytes();
        send(&mut server, Method::Put, &format!("{API}/updateinformers/storage"), "", body());
        send(&mut server, Method::Post, &format!("{API}/namespaces/storage/updateinsights"), "", body());
    }
    let deliveries: Vec<_> = objects.iter().filter_map(delivery_of_object).collect();
    for informer in objects.iter().map(InformerObject::read) {
        let Ok(registration) = informer.registration else { continue };
        let _ = registration.user();
        let renewed = deliveries.iter().map(|one| (one, one.renewed_by(cluster::now(), None)));
        let outcome = admit(&registration, renewed, cluster::now());
        let _ = outcome.rejected.len();
    }
}

fn informer_examples() -> Vec<Vec<u8>> {
    let insight = |name: &str| {
        json!({ "apiVersion": "update.openshift.io/v1alpha1", "kind": "UpdateInsight", "metadata": {
            "name": name, "namespace": "storage", "creationTimestamp": "2024-01-01T00:00:00Z" },
            "spec": { "informer": "storage", "renewTime": "2024-01-01T00:00:00.000000Z", "health": health() } })
    };
    let mut limited = informer();
    limited["spec"]["expiry"] = json!("1h30m");
    limited["spec"]["maxInsights"] = json!(1);
    limited["spec"]["scopes"] = json!(["ControlPlane", "WorkerPool"]);
    limited["spec"]["maxLevel"] = json!("Critical");
    vec![
        format!("{}\n---\n{}\n", informer(), insight("a")).into_bytes(),
        format!("{limited}\n---\n{}\n---\n{}\n", insight("a"), insight("b")).into_bytes(),
        insight("c").to_string().into_bytes(),
    ]
}

fn read_published(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let Ok(object) = yaml::from_str::<Value>(&text) else { return };
    for (config_map, update_status) in [(Some(&object), None), (None, Some(&object))] {
        let Some(insights) = published_insights(config_map, update_status) else { continue };
        for details in Details::NAMES.iter().filter_map(|name| Details::named(name)) {
            let _ = (sections_on_nodes(insights.values(), details), section_of_producers(&insights, details));
        }
    }
}

fn published_examples() -> Vec<Vec<u8>> {
    let dump = dumps::example();
    let list = |resource: &Resource| dump.list(resource).cloned().collect::<Vec<Object>>();
    let insights = insights_from_objects(list, Vec::new(), 32, cluster::now()).unwrap_or_default();
    let data = |insights: &mut dyn Iterator<Item = (&String, &Insight)>| {
        let documents =
            insights.filter_map(|(key, insight)| Some((key.clone(), json!(yaml::to_string(insight).ok()?))));
        json!({ "data": documents.collect::<Map<String, Value>>() }).to_string().into_bytes()
    };
    let mut produced = insights.clone();
    let other = json!({ "uid": "a", "type": "Health", "health": health() });
    let informers = json!([{ "name": "cpi", "insights": in_api(&insights) },
        { "name": "storage", "insights": [other] }]);
    produced.retain(|_, insight| matches!(insight.detail, Detail::ClusterVersion(_) | Detail::Node(_)));
    vec![
        data(&mut insights.iter()),
        data(&mut produced.iter()),
        json!({ "status": { "controlPlane": { "informers": informers } } }).to_string().into_bytes(),
    ]
}

/// Returns insights as an UpdateStatus has them.
fn in_api(insights: &Insights) -> Vec<Value> {
    let insight = |(key, insight): (&String, &Insight)| {
        let mut value = serde_json::to_value(insight).unwrap_or_default();
        value["uid"] = json!(key);
        value
    };
    insights.iter().map(insight).collect()
}
