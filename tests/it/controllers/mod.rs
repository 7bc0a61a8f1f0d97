//! The Kubernetes controllers beside an API server, seen only through a kube client.

mod alone;
mod policy_warnings;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Node, Pod};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::{
    Api, DeleteParams, EvictParams, ListParams, Patch, PatchParams, PostParams, PropagationPolicy,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use windtunnel_apiserver::ApiServer;
use windtunnel_apiserver::service::Shared;
use windtunnel_controllers::kubelet::Kubelet;
use windtunnel_controllers::registry::{Image, Registry};
use windtunnel_controllers::runner;
use windtunnel_core::clock::{Time, VirtualClock};
use windtunnel_core::rng::Streams;
use windtunnel_core::{Identity, Write, resources};
use windtunnel_openshift::environment::Environment;

/// A server with all Kubernetes controllers, in the paused time of the test.
fn cluster() -> (Shared, kube::Client) {
    let now: Time = "2024-01-01T00:00:00Z".parse().unwrap();
    let server = Shared::new(ApiServer::builder().build(now), VirtualClock::starting_at(now));
    tokio::spawn(runner::run(server.clone(), windtunnel_controllers::kubernetes(&Streams::new(1))));
    let client = server.client(&Identity::admin());
    (server, client)
}

async fn pass(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

async fn create<K>(api: &Api<K>, object: Value) -> K
where
    K: DeserializeOwned + serde::Serialize + Clone + std::fmt::Debug,
{
    let object: K = serde_json::from_value(object).unwrap();
    api.create(&PostParams::default(), &object).await.unwrap()
}

fn config_map(name: &str, owner: Option<&ConfigMap>) -> Value {
    let owners: Vec<Value> = owner
        .map(|owner| {
            json!({
                "apiVersion": "v1", "kind": "ConfigMap", "name": owner.metadata.name, "uid": owner.metadata.uid,
                "blockOwnerDeletion": true,
            })
        })
        .into_iter()
        .collect();
    json!({ "metadata": { "name": name, "ownerReferences": owners, "finalizers": [] } })
}

#[tokio::test(start_paused = true)]
async fn foreground_deletions_wait_for_dependents_and_orphans_stay() {
    let (_, client) = cluster();
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    let owner = create(&maps, config_map("owner", None)).await;
    let mut blocked = config_map("blocked", Some(&owner));
    blocked["metadata"]["finalizers"] = json!(["example.com/blocked"]);
    let blocked = create(&maps, blocked).await;
    create(&maps, config_map("below", Some(&blocked))).await;
    let policy = |policy| DeleteParams { propagation_policy: Some(policy), ..DeleteParams::default() };
    maps.delete("owner", &policy(PropagationPolicy::Foreground)).await.unwrap();
    pass(1).await;
    let owner = maps.get("owner").await.unwrap();
    assert_eq!(owner.metadata.finalizers.unwrap(), ["foregroundDeletion"]);
    assert!(
        maps.get_opt("below").await.unwrap().is_none(),
        "the dependent of a blocked object is deleted first"
    );
    let unblock = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
    maps.patch("blocked", &PatchParams::default(), &unblock).await.unwrap();
    pass(1).await;
    assert!(maps.get_opt("owner").await.unwrap().is_none());

    let owner = create(&maps, config_map("another", None)).await;
    create(&maps, config_map("orphan", Some(&owner))).await;
    maps.delete("another", &policy(PropagationPolicy::Orphan)).await.unwrap();
    pass(1).await;
    assert!(maps.get_opt("another").await.unwrap().is_none());
    assert!(maps.get("orphan").await.unwrap().metadata.owner_references.unwrap_or_default().is_empty());
}

#[tokio::test(start_paused = true)]
async fn deleting_a_namespace_deletes_its_objects() {
    let (server, client) = cluster();
    let namespaces: Api<Namespace> = Api::all(client.clone());
    create(&namespaces, json!({ "metadata": { "name": "doomed" } })).await;
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "doomed");
    create(&maps, config_map("c", None)).await;
    let pods: Api<Pod> = Api::namespaced(client, "doomed");
    let spec = json!({ "nodeName": "n", "containers": [{ "name": "c", "image": "i" }] });
    create(&pods, json!({ "metadata": { "name": "p" }, "spec": spec })).await;
    namespaces.delete("doomed", &DeleteParams::default()).await.unwrap();
    pass(10).await;
    let namespace = namespaces.get("doomed").await.unwrap();
    let messages: Vec<String> = namespace
        .status
        .and_then(|status| status.conditions)
        .unwrap()
        .into_iter()
        .filter(|condition| condition.status == "True")
        .filter_map(|condition| condition.message)
        .collect();
    assert_eq!(messages, ["Some resources are remaining: pods. has 1 resource instances"]);
    let now = server.now();
    server.write(&Write::delete_now(&resources::PODS, "doomed", "p"), &Identity::admin(), now).unwrap();
    pass(30).await;
    assert!(namespaces.get_opt("doomed").await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_budget_allows_one_eviction_and_the_next_when_there_is_another_pod() {
    let (_, client) = cluster();
    let pods: Api<Pod> = Api::default_namespaced(client.clone());
    for name in ["a", "b"] {
        put_ready(&pods, name).await;
    }
    let budgets: Api<PodDisruptionBudget> = Api::default_namespaced(client);
    let spec = json!({ "minAvailable": 1, "selector": { "matchLabels": { "app": "web" } } });
    create(&budgets, json!({ "metadata": { "name": "web" }, "spec": spec })).await;
    pass(1).await;
    pods.evict("a", &EvictParams::default()).await.unwrap();
    pass(1).await;
    let rejected = pods.evict("b", &EvictParams::default()).await.unwrap_err();
    let kube::Error::Api(rejected) = rejected else { panic!("{rejected}") };
    assert_eq!(rejected.code, 429);
    assert_eq!(rejected.message, "Cannot evict pod as it would violate the pod's disruption budget.");
    put_ready(&pods, "c").await;
    pass(1).await;
    pods.evict("b", &EvictParams::default()).await.unwrap();
    let status = budgets.get("web").await.unwrap().status.unwrap();
    assert_eq!(
        [status.current_healthy, status.desired_healthy, status.disruptions_allowed],
        [Some(1), Some(1), Some(0)]
    );
}

#[tokio::test(start_paused = true)]
async fn a_deployment_rolls_out_and_a_drain_moves_its_pods_to_other_nodes() {
    let now: Time = "2024-01-01T00:00:00Z".parse().unwrap();
    let server = Shared::new(ApiServer::builder().build(now), VirtualClock::starting_at(now));
    let (streams, nodes) = (Streams::new(1), ["a", "b", "c"]);
    let images = BTreeMap::from([("sha256:0a".to_owned(), Image::default())]);
    let environment = Arc::new(Environment { registry: Registry { images }, ..Environment::default() });
    let mut actors = windtunnel_controllers::kubernetes(&streams);
    for node in nodes {
        actors.push(Box::new(Kubelet::new(node, Arc::clone(&environment) as _, &streams)));
    }
    tokio::spawn(runner::run(server.clone(), actors));
    let client = server.client(&Identity::admin());
    let ready = json!({ "type": "Ready", "status": "True" });
    let status = json!({ "allocatable": { "pods": "10" }, "conditions": [ready] });
    for node in nodes {
        create(&Api::<Node>::all(client.clone()), json!({ "metadata": { "name": node }, "status": status }))
            .await;
    }
    let deployments: Api<Deployment> = Api::default_namespaced(client.clone());
    let pod = json!({ "containers": [{ "name": "c", "image": "registry.example.com/web@sha256:0a" }] });
    let template = json!({ "metadata": { "labels": { "app": "web" } }, "spec": pod });
    let spec =
        json!({ "replicas": 3, "selector": { "matchLabels": { "app": "web" } }, "template": template });
    create(&deployments, json!({ "metadata": { "name": "web" }, "spec": spec })).await;
    pass(60).await;
    assert_eq!(deployments.get("web").await.unwrap().status.unwrap().available_replicas, Some(3));
    let pods: Api<Pod> = Api::default_namespaced(client.clone());
    assert_eq!(places(&pods).await, nodes);

    let cordon = Patch::Merge(json!({ "spec": { "unschedulable": true } }));
    Api::<Node>::all(client).patch("b", &PatchParams::default(), &cordon).await.unwrap();
    let on_b = ListParams::default().fields("spec.nodeName=b");
    for pod in pods.list(&on_b).await.unwrap() {
        pods.evict(&pod.metadata.name.unwrap(), &EvictParams::default()).await.unwrap();
    }
    pass(60).await;
    let places = places(&pods).await;
    assert_eq!((places.len(), places.contains(&"b".to_owned())), (3, false), "{places:?}");
    assert_eq!(deployments.get("web").await.unwrap().status.unwrap().available_replicas, Some(3));
}

/// The nodes of all pods.
async fn places(pods: &Api<Pod>) -> Vec<String> {
    let list = pods.list(&ListParams::default()).await.unwrap();
    let mut places: Vec<String> = list.into_iter().filter_map(|pod| pod.spec?.node_name).collect();
    places.sort();
    places
}

/// Creates a ready pod on a node without a kubelet.
async fn put_ready(pods: &Api<Pod>, name: &str) {
    let spec = json!({ "nodeName": "n", "containers": [{ "name": "c", "image": "i" }] });
    create(pods, json!({ "metadata": { "name": name, "labels": { "app": "web" } }, "spec": spec })).await;
    let status = json!({ "phase": "Running", "conditions": [{ "type": "Ready", "status": "True" }] });
    let patch = Patch::Merge(json!({ "status": status }));
    pods.patch_status(name, &PatchParams::default(), &patch).await.unwrap();
}
