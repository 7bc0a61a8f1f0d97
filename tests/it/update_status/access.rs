//! The rights that the manifests give the controller: all that it uses, and no others.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::select;
use kube::Client;
use serde_json::{Value, json};
use tokio::time::timeout;
use tower::Service as _;
use windtunnel_apiserver::ConnectionDropped;
use windtunnel_core::Identity;
use windtunnel_openshift::manifests;
use windtunnel_update_status::controller::deliveries::{AUDIENCE, Deliveries};
use windtunnel_update_status::controller::{self, Election, Parts, Terms};

use super::cluster::Cluster;
use super::{deliveries, producers};

const NAMESPACE: &str = "openshift-update-status-controller";

/// A right: `<verb> <resource> <name>`, without a name if it is not about one object.
type Permission = String;

/// A request: the right that it needs, and its status code.
type AuditEntry = (Permission, u16);

/// The manifests with each rule split into rules of one verb, resource and name, and the rights of these
/// rules with their place: number of the object, number of the rule.
fn divided() -> (Vec<Value>, Vec<(Permission, usize, usize)>) {
    let mut objects = manifests::objects("update-status-controller").to_vec();
    objects.retain(|object| {
        !matches!(object["kind"].as_str(), Some("Namespace" | "Deployment" | "CustomResourceDefinition"))
    });
    let mut permissions = Vec::new();
    for (number, object) in objects.iter_mut().enumerate() {
        let Some(rules) = object["rules"].as_array().cloned() else { continue };
        let mut single = Vec::new();
        for rule in rules {
            let list = |field: &str| rule[field].as_array().cloned().unwrap_or_default();
            let names = list("resourceNames");
            let names: Vec<Option<Value>> =
                if names.is_empty() { vec![None] } else { names.into_iter().map(Some).collect() };
            for resource in list("resources") {
                for verb in list("verbs") {
                    for name in &names {
                        let mut single_rule =
                            json!({"apiGroups": rule["apiGroups"], "resources": [resource], "verbs": [verb]});
                        if let Some(name) = name {
                            single_rule["resourceNames"] = json!([name]);
                        }
                        let name = name.as_ref().and_then(Value::as_str).unwrap_or_default();
                        let words = [verb.as_str().unwrap(), resource.as_str().unwrap(), name];
                        permissions.push((words.join(" ").trim_end().to_owned(), number, single.len()));
                        single.push(single_rule);
                    }
                }
            }
        }
        object["rules"] = json!(single);
    }
    (objects, permissions)
}

/// The right that a request needs; `None` for a path that is not a resource.
fn needed(request: &http::Request<kube::client::Body>) -> Option<Permission> {
    let mut parts = request.uri().path().split('/').skip(1);
    match parts.next()? {
        "api" => parts.next()?,
        "apis" => parts.nth(1)?,
        _ => return None,
    };
    let mut parts: Vec<&str> = parts.collect();
    if parts[0] == "namespaces" && parts.len() > 2 {
        parts.drain(..2);
    }
    let resource = [parts[0], parts.get(2).copied().unwrap_or_default()].join("/");
    let query = request.uri().query().unwrap_or_default();
    let selected = query.split('&').find_map(|pair| pair.strip_prefix("fieldSelector=metadata.name%3D"));
    let name = parts.get(1).copied().or(selected);
    let verb = match request.method().as_str() {
        "GET" if query.contains("watch=true") => "watch",
        "GET" if parts.len() > 1 => "get",
        "GET" => "list",
        "POST" => "create",
        "PUT" => "update",
        other => &other.to_lowercase(),
    };
    let words = [verb, resource.trim_end_matches('/'), name.unwrap_or_default()];
    Some(words.join(" ").trim_end().to_owned())
}

/// Whether a request needs this permission, which may be one for all objects of a resource.
fn needs(needed: &str, permission: &str) -> bool {
    needed.strip_prefix(permission).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

/// Runs the controller with its service account in a cluster that makes it use all of its rights. Returns its
/// requests.
async fn audit(objects: &[Value]) -> Vec<AuditEntry> {
    let cluster = Cluster::new(true).await;
    cluster.node("w0", "worker", true).await;
    cluster.create_config_map().await;
    for object in objects {
        cluster.create(object.clone()).await;
    }
    producers::install(&cluster).await;
    producers::register(&cluster, "storage", json!({})).await;
    producers::deliver(&cluster, "storage", "replica", json!({})).await;
    deliveries::allow(&cluster, "storage").await;
    let token = deliveries::token(&cluster, "storage", &[AUDIENCE]).await;
    let service = cluster.server.service(&Identity::service_account(NAMESPACE, "update-status-controller"));
    let log: Arc<Mutex<Vec<AuditEntry>>> = Arc::default();
    let logged = Arc::clone(&log);
    let audited = tower::service_fn(move |request| {
        let (mut service, log) = (service.clone(), Arc::clone(&logged));
        async move {
            let needed = needed(&request);
            let response = service.call(request).await?;
            log.lock().unwrap().extend(needed.map(|needed| (needed, response.status().as_u16())));
            Ok::<_, ConnectionDropped>(response)
        }
    });
    let client = Client::new(audited, "default");
    let (clock, observer) = (cluster.clock.clone(), Arc::new(()));
    let terms = Terms::default();
    let mut election =
        Election::new(client.clone(), NAMESPACE, "a".to_owned(), terms, clock.clone(), observer.clone());
    let endpoint = Deliveries::new(client.clone(), clock.clone(), observer.clone());
    // The first one creates, the second one updates, the third one deletes.
    for body in [deliveries::body(&["a"]), deliveries::body(&["a"]), json!({"insights": []})] {
        let _ = endpoint.deliver("storage", Some(&token), body.to_string().as_bytes()).await;
    }
    let work = async {
        election.wait_until_leading().await;
        let run = controller::run(Parts { client, clock, alerts: None, observer });
        select(std::pin::pin!(election.renew_until_lost()), std::pin::pin!(run)).await;
    };
    let _ = timeout(Duration::from_secs(60), work).await;
    election.release().await;
    let log = log.lock().unwrap();
    log.clone()
}

#[tokio::test(start_paused = true)]
async fn the_manifests_allow_every_request_of_the_controller() {
    let (objects, permissions) = divided();
    let log = audit(&objects).await;
    let rejected: Vec<&AuditEntry> = log.iter().filter(|(_, code)| matches!(code, 401 | 403)).collect();
    assert!(rejected.is_empty(), "{rejected:?}");
    for (permission, ..) in &permissions {
        assert!(
            log.iter().any(|(needed, _)| needs(needed, permission)),
            "`{permission}` is not needed: {log:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn the_controller_needs_each_permission() {
    let (objects, permissions) = divided();
    assert!(permissions.len() > 20, "{permissions:?}");
    for (permission, object, rule) in permissions {
        let mut objects = objects.clone();
        objects[object]["rules"].as_array_mut().unwrap().remove(rule);
        let rejected: Vec<Permission> = audit(&objects)
            .await
            .into_iter()
            .filter(|(_, code)| matches!(code, 401 | 403))
            .map(|(needed, _)| needed)
            .collect();
        assert!(!rejected.is_empty(), "no request needs `{permission}`");
        assert!(
            rejected.iter().all(|needed| needs(needed, &permission)),
            "without `{permission}`: {rejected:?}"
        );
    }
}
