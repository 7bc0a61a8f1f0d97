//! The real kube-controller-manager beside the API server alone.

use std::fmt::Debug;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod};
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use kube::{Client, Resource};
use serde::de::DeserializeOwned;
use serde_json::json;

use super::{Served, TestEnvironment, client, run};
use crate::real::programs;

/// How often and how long a state is awaited.
const LOOK: Duration = Duration::from_millis(200);
const LOOKS: usize = 300;

/// A process that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until this number of objects exists.
async fn wait_for<K>(api: &Api<K>, expected: usize)
where
    K: Resource + Clone + DeserializeOwned + Debug,
{
    let mut found = usize::MAX;
    for _ in 0..LOOKS {
        found = api.list(&ListParams::default()).await.unwrap().items.len();
        if found == expected {
            return;
        }
        tokio::time::sleep(LOOK).await;
    }
    panic!("expected {expected} objects, found {found}");
}

async fn create<K>(api: &Api<K>, object: serde_json::Value)
where
    K: Resource + Clone + DeserializeOwned + Debug + serde::Serialize,
{
    api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
}

/// A Deployment gets a ReplicaSet with three pods, which go with it.
async fn deploy_and_delete(client: &Client) {
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), "default");
    let (sets, pods) = (
        Api::<ReplicaSet>::namespaced(client.clone(), "default"),
        Api::<Pod>::namespaced(client.clone(), "default"),
    );
    let template = json!({
        "metadata": { "labels": { "app": "web" } },
        "spec": { "containers": [{ "name": "main", "image": "quay.io/me/web:1" }] },
    });
    let spec =
        json!({ "replicas": 3, "selector": { "matchLabels": { "app": "web" } }, "template": template });
    create(&deployments, json!({ "metadata": { "name": "web" }, "spec": spec })).await;
    wait_for(&pods, 3).await;
    wait_for(&sets, 1).await;
    deployments.delete("web", &DeleteParams::background()).await.unwrap();
    wait_for(&sets, 0).await;
    wait_for(&pods, 0).await;
}

/// A deleted namespace goes with everything in it.
async fn delete_namespace(client: &Client) {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let before = namespaces.list(&ListParams::default()).await.unwrap().items.len();
    create(&namespaces, json!({ "metadata": { "name": "gone" } })).await;
    let contents: Api<ConfigMap> = Api::namespaced(client.clone(), "gone");
    create(&contents, json!({ "metadata": { "name": "a" } })).await;
    namespaces.delete("gone", &DeleteParams::default()).await.unwrap();
    wait_for(&namespaces, before).await;
}

#[test]
fn the_real_kube_controller_manager_works_beside_the_server_alone() {
    let Some([program]) = programs(["kube-controller-manager"]) else { return };
    let environment = TestEnvironment::new();
    let _served = Served::start(&environment, &["--bare", "--kubeconfig", "config"]);
    let kubeconfig = environment.work().join("config");
    let mut command = Command::new(program);
    for flag in ["--kubeconfig", "--authentication-kubeconfig", "--authorization-kubeconfig"] {
        command.arg(flag).arg(&kubeconfig);
    }
    command.args(["--bind-address", "127.0.0.1", "--secure-port", "0", "--leader-elect=false"]);
    let _running = Running(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    run(async {
        let client = client(&environment.read("config")).await;
        deploy_and_delete(&client).await;
        delete_namespace(&client).await;
    });
}
