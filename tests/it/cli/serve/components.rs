//! `windtunnel serve --bare --controllers`: simulated components beside an API server, whose nodes clients create.

use std::fmt::Debug;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::Client;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::controllers::{object, wait, web};
use super::{Served, TestEnvironment, client, run};

async fn create<K>(api: &Api<K>, value: Value)
where
    K: Clone + Debug + DeserializeOwned + serde::Serialize,
{
    api.create(&PostParams::default(), &object(value)).await.unwrap();
}

fn resources(client: &Client, group: &str, version: &str, kind: &str) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    Api::all_with(client.clone(), &resource)
}

/// Whether a condition of an object has this status.
fn has(object: Option<&DynamicObject>, kind: &str, status: &str) -> bool {
    let conditions = object.and_then(|object| object.data["status"]["conditions"].as_array());
    let mut all = conditions.into_iter().flatten();
    all.any(|condition| condition["type"] == kind && condition["status"] == status)
}

/// Creates a Node and a Deployment, and waits until the simulated kubelet has its pods ready.
pub(crate) async fn run_pods(client: &Client) {
    let nodes: Api<Node> = Api::all(client.clone());
    let given = json!({ "cpu": "2", "memory": "1Gi", "pods": "10" });
    let status = json!({ "capacity": given, "allocatable": given });
    create(&nodes, json!({ "metadata": { "name": "mine" }, "status": status })).await;
    let deployments: Api<Deployment> = Api::default_namespaced(client.clone());
    deployments.create(&PostParams::default(), &web()).await.unwrap();
    let is_available = |deployment: Option<&Deployment>| {
        let status = deployment.and_then(|deployment| deployment.status.as_ref());
        status.and_then(|status| status.available_replicas) == Some(2)
    };
    wait(deployments, "web", is_available).await;
    let pods: Api<Pod> = Api::default_namespaced(client.clone());
    for pod in pods.list(&ListParams::default().labels("app=web")).await.unwrap().items {
        assert_eq!(pod.spec.unwrap().node_name.as_deref(), Some("mine"));
        assert_eq!(pod.status.unwrap().phase.as_deref(), Some("Running"));
    }
    let node = nodes.get("mine").await.unwrap();
    assert_eq!(node.metadata.labels.unwrap()["kubernetes.io/hostname"], "mine");
    let status = node.status.unwrap();
    assert_eq!(status.capacity.unwrap()["cpu"].0, "2", "the client's capacity stays");
    assert_eq!(status.node_info.unwrap().operating_system, "linux");
}

#[test]
fn a_kubelet_runs_the_pods_of_a_node_that_a_client_creates() {
    let environment = TestEnvironment::new();
    let flags = ["--bare", "--controllers", "all,kubelet", "--kubeconfig", "config"];
    let served = Served::start(&environment, &flags);
    run(async { run_pods(&client(&environment.read("config")).await).await });
    served.signal("-TERM");
    let (status, out, err) = served.end();
    assert_eq!((status.code(), out.as_str(), err.as_str()), (Some(0), "", ""));
}

#[test]
fn machine_configs_reach_a_node_that_a_client_creates() {
    let environment = TestEnvironment::new();
    let chosen = "machine-config-operator,machine-config-controller,machine-config-daemon,kubelet";
    let flags = ["--bare", "--kubernetes", "1.31", "--controllers", chosen, "--kubeconfig", "config"];
    let _served = Served::start(&environment, &flags);
    run(async {
        let client = client(&environment.read("config")).await;
        let group = "machineconfiguration.openshift.io";
        let pools = resources(&client, group, "v1", "MachineConfigPool");
        let config = |pool: &DynamicObject| pool.data["spec"]["configuration"]["name"].clone();
        let before = config(&pools.get("worker").await.unwrap());
        let nodes: Api<Node> = Api::all(client.clone());
        let labels = json!({ "node-role.kubernetes.io/worker": "" });
        create(&nodes, json!({ "metadata": { "name": "mine", "labels": labels } })).await;
        let annotation = |node: &Node, name: &str| {
            node.metadata.annotations.as_ref()?.get(&format!("{group}/{name}")).cloned()
        };
        let is_done = |node: Option<&Node>| {
            node.is_some_and(|node| annotation(node, "state").as_deref() == Some("Done"))
        };
        let node = wait(nodes.clone(), "mine", is_done).await.unwrap();
        assert_eq!(annotation(&node, "currentConfig").map(Value::from), Some(before.clone()));

        let file = json!({ "path": "/etc/mine", "contents": { "source": "data:,mine" } });
        let ignition = json!({ "ignition": { "version": "3.2.0" }, "storage": { "files": [file] } });
        let labels = json!({ "machineconfiguration.openshift.io/role": "worker" });
        let mine = json!({
            "apiVersion": format!("{group}/v1"), "kind": "MachineConfig",
            "metadata": { "name": "99-mine", "labels": labels }, "spec": { "config": ignition },
        });
        create(&resources(&client, group, "v1", "MachineConfig"), mine).await;
        let is_asked_to_change = |node: Option<&Node>| {
            let desired = node.and_then(|node| annotation(node, "desiredConfig"));
            desired.is_some_and(|desired| desired != before)
        };
        let node = wait(nodes, "mine", is_asked_to_change).await.unwrap();
        let rendered = config(&pools.get("worker").await.unwrap());
        assert_eq!(annotation(&node, "desiredConfig").map(Value::from), Some(rendered));
    });
}

#[test]
fn operators_come_with_the_objects_that_they_need() {
    let environment = TestEnvironment::new();
    let chosen = "all,kubelet,cluster-version-operator,operator/etcd";
    let flags = ["--bare", "--kubernetes", "1.31", "--controllers", chosen, "--kubeconfig", "config"];
    let _served = Served::start(&environment, &flags);
    run(async {
        let client = client(&environment.read("config")).await;
        let nodes: Api<Node> = Api::all(client.clone());
        let labels = json!({ "node-role.kubernetes.io/master": "" });
        create(&nodes, json!({ "metadata": { "name": "mine", "labels": labels } })).await;

        let operators = resources(&client, "config.openshift.io", "v1", "ClusterOperator");
        let fault = json!({ "metadata": { "annotations": { "windtunnel.dev/fault": "degraded" } } });
        let merge = PatchParams::default();
        operators.patch("etcd", &merge, &Patch::Merge(fault)).await.unwrap();
        wait(operators, "etcd", |operator: Option<&DynamicObject>| has(operator, "Degraded", "True")).await;

        // The operator runs in its pod on the node, and rejects a release that it does not know.
        let versions = resources(&client, "config.openshift.io", "v1", "ClusterVersion");
        let wanted = json!({ "spec": { "desiredUpdate": { "version": "4.18.77" } } });
        versions.patch("version", &merge, &Patch::Merge(wanted)).await.unwrap();
        wait(versions, "version", |version: Option<&DynamicObject>| has(version, "Invalid", "True")).await;
    });
}

#[test]
fn a_component_that_lacks_others_or_is_unknown_is_reported() {
    let environment = TestEnvironment::new();
    let check = |chosen: &str, expected: &str| {
        let output = environment.run(&["serve", "--bare", "--port", "0", "--controllers", chosen]);
        assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""), "{output}");
        assert!(output.stderr.contains(expected), "{output}");
    };
    check("kubelets", "unknown controller `kubelets`; did you mean `kubelet`?");
    check("operator/etdc", "unknown controller `operator/etdc`; did you mean `operator/etcd`?");
    check(
        "update-status-controller,kubelet",
        "update-status-controller runs in a pod; add deployment-controller,",
    );
    check("machine-config-daemon", "add machine-config-controller to the list");
}
