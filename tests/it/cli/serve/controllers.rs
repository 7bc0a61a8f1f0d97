//! `windtunnel serve --bare --controllers`: what controllers add to an API server, in real time and over the
//! socket.

use std::time::Duration;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod};
use kube::Client;
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use kube::runtime::wait::{Condition, await_condition, conditions::is_deleted};
use serde_json::{Value, json};

use super::{Served, TestEnvironment, client, run};

/// The longest wait, so that a failing test ends.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until an object meets a condition. Returns it, or `None` if it was deleted.
pub(super) async fn wait<K>(api: Api<K>, name: &str, condition: impl Condition<K>) -> Option<K>
where
    K: Clone + std::fmt::Debug + Send + serde::de::DeserializeOwned + kube::Resource + 'static,
{
    let waited = tokio::time::timeout(PATIENCE, await_condition(api, name, condition)).await;
    waited.unwrap_or_else(|_| panic!("{name} did not meet the condition in time")).unwrap()
}

pub(super) fn object<K: serde::de::DeserializeOwned>(value: Value) -> K {
    serde_json::from_value(value).unwrap()
}

/// A ConfigMap with its owner.
fn config_map(name: &str, owner: Option<&ConfigMap>) -> ConfigMap {
    let owners = owner.map(|owner| {
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": owner.metadata.name, "uid": owner.metadata.uid })
    });
    let owners: Vec<Value> = owners.into_iter().collect();
    object(json!({ "metadata": { "name": name, "ownerReferences": owners } }))
}

pub(super) fn web() -> Deployment {
    let labels = json!({ "app": "web" });
    object(json!({
        "metadata": { "name": "web" },
        "spec": {
            "replicas": 2,
            "selector": { "matchLabels": labels },
            "template": {
                "metadata": { "labels": labels },
                "spec": { "containers": [{ "name": "c", "image": "i" }] },
            },
        },
    }))
}

/// Deletes an owner, and waits until its dependent is deleted.
pub(crate) async fn collect_garbage(client: &Client) {
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let create = PostParams::default();
    let owner = maps.create(&create, &config_map("owner", None)).await.unwrap();
    let dependent = maps.create(&create, &config_map("dependent", Some(&owner))).await.unwrap();
    maps.delete("owner", &DeleteParams::default()).await.unwrap();
    wait(maps, "dependent", is_deleted(&dependent.metadata.uid.unwrap())).await;
}

#[test]
fn only_the_named_controllers_run() {
    let environment = TestEnvironment::new();
    let chosen = "garbage-collector-controller,namespace-controller";
    let flags = ["--bare", "--controllers", chosen, "--kubeconfig", "config"];
    let served = Served::start(&environment, &flags);
    run(async {
        let client = client(&environment.read("config")).await;
        let deployments: Api<Deployment> = Api::default_namespaced(client.clone());
        deployments.create(&PostParams::default(), &web()).await.unwrap();
        let namespaces: Api<Namespace> = Api::all(client.clone());
        let mine: Namespace = object(json!({ "metadata": { "name": "mine" } }));
        let mine = namespaces.create(&PostParams::default(), &mine).await.unwrap();
        let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "mine");
        maps.create(&PostParams::default(), &config_map("inside", None)).await.unwrap();
        namespaces.delete("mine", &DeleteParams::default()).await.unwrap();
        wait(namespaces, "mine", is_deleted(&mine.metadata.uid.unwrap())).await;
        assert_eq!(maps.get_opt("inside").await.unwrap(), None);
        collect_garbage(&client).await;
        let sets: Api<ReplicaSet> = Api::default_namespaced(client);
        assert_eq!(sets.list(&ListParams::default()).await.unwrap().items, []);
    });
    served.signal("-TERM");
    let (status, out, err) = served.end();
    assert_eq!((status.code(), out.as_str(), err.as_str()), (Some(0), "", ""));
}

#[test]
fn all_controllers_create_pods_and_publish_the_certificate_of_the_server() {
    let environment = TestEnvironment::new();
    let _served = Served::start(&environment, &["--bare", "--controllers", "all", "--kubeconfig", "config"]);
    run(async {
        let client = client(&environment.read("config")).await;
        let deployments: Api<Deployment> = Api::default_namespaced(client.clone());
        deployments.create(&PostParams::default(), &web()).await.unwrap();
        let has_both = |deployment: Option<&Deployment>| {
            let status = deployment.and_then(|deployment| deployment.status.as_ref());
            status.and_then(|status| status.replicas) == Some(2)
        };
        wait(deployments, "web", has_both).await;
        let pods: Api<Pod> = Api::default_namespaced(client.clone());
        assert_eq!(pods.list(&ListParams::default().labels("app=web")).await.unwrap().items.len(), 2);
        let maps: Api<ConfigMap> = Api::default_namespaced(client);
        let is_there = |map: Option<&ConfigMap>| map.is_some();
        let published = wait(maps, "kube-root-ca.crt", is_there).await.unwrap().data.unwrap();
        assert!(published["ca.crt"].starts_with("-----BEGIN CERTIFICATE-----"));
    });
}

#[test]
fn an_unknown_controller_is_reported() {
    let environment = TestEnvironment::new();
    let check = |arguments: &[&str], expected: &str| {
        let output = environment.run(arguments);
        assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""), "{output}");
        assert!(output.stderr.contains(expected), "{output}");
    };
    check(
        &["serve", "--controllers", "job-controler"],
        "unknown controller `job-controler`; did you mean `job-controller`?",
    );
    check(&["serve", "--version", "4.18.3", "--controllers", "all"], "'--controllers <NAME>'");
    check(&["envtest", "assets", "--controllers", "jobs"], "invalid value 'jobs' for '--controllers <NAME>'");
}
