//! Insights of other producers, and those that a cluster publishes.

use std::sync::Arc;

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

use super::{check_damaged, dumps, read_damaged, with_clients};
use crate::fuzz::checked_server::{self, ask, now};
use crate::update_status::deliveries::token_of;

/// The API of insights.
const API: &str = "/apis/update.openshift.io/v1alpha1";

/// A server with the producer `storage`.
fn server() -> ApiServer {
    let mut server = checked_server::server(34);
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
    let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let objects = definitions.map(|object| (crds.to_owned(), object.clone())).chain([
        namespace("openshift-update-status-controller"),
        namespace("storage"),
        ("/api/v1/namespaces/storage/serviceaccounts".to_owned(), account),
        (format!("{rbac}/clusterroles"), role),
        (format!("{rbac}/clusterrolebindings"), binding),
        (format!("{API}/updateinformers"), informer()),
    ]);
    for (collection, object) in objects {
        let answer = ask(&mut server, Method::Post, &collection, "", &object).unwrap();
        assert!(answer.is_good(), "{collection}: {}", answer.body);
    }
    server
}

fn informer() -> Value {
    json!({ "apiVersion": "update.openshift.io/v1alpha1", "kind": "UpdateInformer", "metadata": { "name": "storage" },
        "spec": { "producer": { "namespace": "storage", "serviceAccount": "insights" },
            "about": [{ "resource": "nodes", "names": ["w0"] }] } })
}

#[test]
fn damaged_deliveries() {
    let one = json!({ "insights": [{ "uid": "a", "health": health() }] });
    let two =
        json!({ "insights": [{ "uid": "a", "health": health() }, { "uid": "b-1", "health": health() }] });
    let none = json!({ "insights": [] });
    let valid = [one, two, none].map(|body| body.to_string().into_bytes());
    let server = server();
    read_damaged("readers::insights::damaged_deliveries", &valid, |bytes| read_delivery(&server, bytes));
}

/// The body of a delivery over HTTPS.
fn read_delivery(server: &ApiServer, bytes: &[u8]) {
    with_clients(server.clone(), async |shared, clock| {
        let client = shared.client(&Identity::admin());
        let token = token_of(&client, "storage", "insights", &[AUDIENCE]).await;
        let deliveries = Deliveries::new(client, clock, Arc::new(()));
        for _ in 0..2 {
            let _ = deliveries.deliver("storage", Some(&token), bytes).await;
        }
    });
}

fn health() -> Value {
    json!({ "startedAt": "2024-01-01T00:00:00Z",
        "scope": { "type": "ControlPlane", "resources": [{ "resource": "nodes", "name": "w0" }] },
        "impact": { "level": "Warning", "type": "Data Loss", "summary": "A replica is missing", "description": "d" },
        "remediation": { "reference": "https://example.com/replicas", "estimatedFinish": "2024-01-01T01:00:00Z" } })
}

#[test]
fn damaged_informers() {
    let server = server();
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
    let valid = vec![
        format!("{}\n---\n{}\n", informer(), insight("a")).into_bytes(),
        format!("{limited}\n---\n{}\n---\n{}\n", insight("a"), insight("b")).into_bytes(),
        insight("c").to_string().into_bytes(),
    ];
    check_damaged("readers::insights::damaged_informers", &valid, |bytes| {
        read_informer(server.clone(), bytes)
    });
}

/// An UpdateInformer and its UpdateInsights, as documents of YAML.
fn read_informer(mut server: ApiServer, bytes: &[u8]) -> Result<(), String> {
    let text = String::from_utf8_lossy(bytes);
    let Ok(objects) = yaml::from_str_multi::<Value>(&text) else { return Ok(()) };
    for object in &objects {
        ask(&mut server, Method::Put, &format!("{API}/updateinformers/storage"), "", object)?;
        ask(&mut server, Method::Post, &format!("{API}/namespaces/storage/updateinsights"), "", object)?;
    }
    let deliveries: Vec<_> = objects.iter().filter_map(delivery_of_object).collect();
    for informer in objects.iter().map(InformerObject::read) {
        let Ok(registration) = informer.registration else { continue };
        let _ = registration.user();
        let renewed = deliveries.iter().map(|one| (one, one.renewed_by(now(), None)));
        let outcome = admit(&registration, renewed, now());
        let _ = outcome.rejected.len();
    }
    Ok(())
}

#[test]
fn damaged_published_insights() {
    let dump = dumps::example();
    let list = |resource: &Resource| dump.list(resource).cloned().collect::<Vec<Object>>();
    let insights = insights_from_objects(list, Vec::new(), 32, now()).unwrap_or_default();
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
    let valid = vec![
        data(&mut insights.iter()),
        data(&mut produced.iter()),
        json!({ "status": { "controlPlane": { "informers": informers } } }).to_string().into_bytes(),
    ];
    read_damaged("readers::insights::damaged_published_insights", &valid, read_published);
}

/// A ConfigMap or an UpdateStatus with published insights.
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

/// Returns insights as an UpdateStatus has them.
fn in_api(insights: &Insights) -> Vec<Value> {
    let insight = |(key, insight): (&String, &Insight)| {
        let mut value = serde_json::to_value(insight).unwrap_or_default();
        value["uid"] = json!(key);
        value
    };
    insights.iter().map(insight).collect()
}
