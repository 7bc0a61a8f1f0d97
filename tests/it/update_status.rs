//! The UpdateStatus resource: the controller beside an API server that holds it to its definition.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use kube::Client;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use windtunnel::apiserver::{ApiServer, service::Shared};
use windtunnel::base::clock::{Time, VirtualClock};
use windtunnel::insights;
use windtunnel::model::{Identity, manifests, resources};

const PREFIX: &str = "machineconfiguration.openshift.io/";

/// An API server with the kinds of OpenShift, and clients of it.
struct Cluster {
    server: Shared,
    client: Client,
    clock: Arc<VirtualClock>,
}

impl Cluster {
    /// With a ClusterVersion that is at 4.18.3 and a pool of workers, and UpdateStatus only if asked for.
    async fn new(has_update_status: bool) -> Self {
        let now: Time = "2024-01-01T00:00:00Z".parse().unwrap();
        let clock = VirtualClock::starting_at(now);
        let server = Shared::new(ApiServer::builder().build(now), clock.clone());
        let client = server.client(&Identity::admin());
        let cluster = Self { server, client, clock };
        for crd in manifests::crds((4, 18)) {
            cluster.create(crd.clone()).await;
        }
        if has_update_status {
            cluster.create(definition()).await;
        }
        pass(2).await;
        let namespaces = ["openshift-update-status-controller", "openshift-cluster-version"];
        for name in namespaces {
            cluster
                .create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}))
                .await;
        }
        let history = json!([{
            "state": "Completed", "version": "4.18.3", "image": "i", "verified": true,
            "startedTime": "2023-12-31T00:00:00Z", "completionTime": "2023-12-31T01:00:00Z",
        }]);
        let conditions = json!([{
            "type": "Progressing", "status": "False", "lastTransitionTime": "2023-12-31T01:00:00Z",
        }]);
        let desired = json!({"version": "4.18.3", "image": "i"});
        cluster
            .create(json!({
                "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version"},
                "spec": {"clusterID": "c"},
                "status": {
                    "availableUpdates": [], "conditions": conditions, "desired": desired, "history": history,
                    "observedGeneration": 1, "versionHash": "",
                },
            }))
            .await;
        cluster.pool("worker").await;
        cluster
    }

    fn start(&self) -> JoinHandle<()> {
        let (client, clock) = (self.client.clone(), Arc::clone(&self.clock));
        tokio::spawn(async move {
            insights::run(client, clock, futures::stream::pending().boxed()).await.unwrap();
        })
    }

    fn api(&self, object: &Value) -> Api<DynamicObject> {
        let api_version = object["apiVersion"].as_str().unwrap();
        let resource = resources::of_group(api_version, object["kind"].as_str().unwrap()).unwrap();
        let api_resource = ApiResource {
            group: resource.group.to_string(),
            version: resource.version.to_string(),
            api_version: resource.api_version(),
            kind: resource.kind.to_string(),
            plural: resource.plural.to_string(),
        };
        match object["metadata"]["namespace"].as_str() {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &api_resource),
            None => Api::all_with(self.client.clone(), &api_resource),
        }
    }

    /// Creates an object, then writes its status if it has one.
    async fn create(&self, object: Value) {
        let api = self.api(&object);
        let typed: DynamicObject = serde_json::from_value(object.clone()).unwrap();
        api.create(&PostParams::default(), &typed).await.unwrap();
        if object.get("status").is_some() && object["kind"] != "CustomResourceDefinition" {
            let name = object["metadata"]["name"].as_str().unwrap();
            let status = Patch::Merge(json!({"status": object["status"]}));
            api.patch_status(name, &PatchParams::default(), &status).await.unwrap();
        }
    }

    async fn pool(&self, name: &str) {
        let label = format!("node-role.kubernetes.io/{name}");
        self.create(json!({
            "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool",
            "metadata": {"name": name}, "spec": {"nodeSelector": {"matchLabels": {label: ""}}},
        }))
        .await;
    }

    async fn node(&self, name: &str, pool: &str, is_ready: bool) {
        let ready = if is_ready { "True" } else { "False" };
        self.create(json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {
                "name": name,
                "labels": {format!("node-role.kubernetes.io/{pool}"): ""},
                "annotations": {
                    format!("{PREFIX}state"): "Done",
                    format!("{PREFIX}currentConfig"): "rendered",
                    format!("{PREFIX}desiredConfig"): "rendered",
                },
            },
            "status": {"conditions": [{"type": "Ready", "status": ready}]},
        }))
        .await;
    }

    fn update_statuses(&self) -> Api<DynamicObject> {
        self.api(
            &json!({"apiVersion": "update.openshift.io/v1alpha1", "kind": "UpdateStatus", "metadata": {}}),
        )
    }

    async fn status(&self) -> Value {
        let found = self.update_statuses().get_opt("cluster").await.unwrap();
        found.map(|object| object.data["status"].clone()).unwrap_or_default()
    }

    async fn config_map(&self) -> Value {
        let metadata =
            json!({"name": "status-api-cm-prototype", "namespace": "openshift-update-status-controller"});
        let found = self.api(&json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}));
        found
            .get_opt("status-api-cm-prototype")
            .await
            .unwrap()
            .map(|map| map.data["data"].clone())
            .unwrap_or_default()
    }

    async fn create_config_map(&self) {
        let metadata =
            json!({"name": "status-api-cm-prototype", "namespace": "openshift-update-status-controller"});
        self.create(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})).await;
    }
}

/// The definition of UpdateStatus, as the manifests have it.
fn definition() -> Value {
    let objects = manifests::objects("update-status-controller").iter();
    objects.filter(|object| object["kind"] == "CustomResourceDefinition").next().unwrap().clone()
}

async fn pass(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

/// The insights of all informers of a part of the cluster, as `<informer>: <uid> <uid> ...`.
fn told(part: &Value) -> Vec<String> {
    let informers = part["informers"].as_array().cloned().unwrap_or_default();
    let line = |informer: &Value| {
        let insights = informer["insights"].as_array().cloned().unwrap_or_default();
        let uids: Vec<String> = insights.iter().map(|one| one["uid"].as_str().unwrap().to_owned()).collect();
        format!("{}: {}", informer["name"].as_str().unwrap(), uids.join(" "))
    };
    informers.iter().map(line).collect()
}

/// All transition times of conditions in a value.
fn transitions(value: &Value, times: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            times.extend(fields.get("lastTransitionTime").and_then(Value::as_str).map(str::to_owned));
            fields.values().for_each(|inner| transitions(inner, times));
        }
        Value::Array(items) => items.iter().for_each(|inner| transitions(inner, times)),
        _ => {}
    }
}

#[tokio::test(start_paused = true)]
async fn insights_are_grouped_by_part_of_the_cluster_and_informer() {
    let cluster = Cluster::new(true).await;
    cluster.pool("master").await;
    cluster.node("m0", "master", true).await;
    cluster.node("w0", "worker", true).await;
    cluster.start();
    pass(10).await;
    let status = cluster.status().await;
    assert_eq!(told(&status["controlPlane"]), ["cpi: cv-version", "ni: mcp-master node-m0"]);
    assert_eq!(status["controlPlane"]["resource"]["resource"], "clusterversions");
    assert_eq!(status["controlPlane"]["poolResource"]["name"], "master");
    let updating = &status["controlPlane"]["conditions"][0];
    assert_eq!([&updating["type"], &updating["reason"]], ["Updating", "ClusterVersionNotProgressing"]);
    let worker = &status["workerPools"][0];
    assert_eq!(
        (worker["name"].as_str(), told(worker)),
        (Some("worker"), vec!["ni: mcp-worker node-w0".to_owned()])
    );
    assert_eq!(worker["conditions"][0]["type"], "Updating");
    let operational: Vec<String> = status["conditions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| format!("{}={}", one["type"].as_str().unwrap(), one["status"].as_str().unwrap()))
        .collect();
    assert_eq!(operational, ["Available=True", "Complete=True"]);
    assert_eq!(cluster.config_map().await, Value::Null, "nobody asked for the ConfigMap");
}

#[tokio::test(start_paused = true)]
async fn texts_that_the_api_would_refuse_are_made_to_fit() {
    let cluster = Cluster::new(true).await;
    let dotted = "ip-10-0-1-2.ec2.internal";
    cluster.node(dotted, "worker", false).await;
    cluster.start();
    pass(400).await;
    let status = cluster.status().await;
    let versions = &status["controlPlane"]["informers"][0]["insights"][0]["clusterVersion"]["versions"];
    let installed = json!({"version": "<none>", "metadata": [{"key": "Installation"}]});
    assert_eq!(versions, &json!({"previous": installed, "target": {"version": "4.18.3"}}));
    let insights = status["workerPools"][0]["informers"][0]["insights"].as_array().unwrap();
    let node = insights.iter().find(|insight| insight["type"] == "Node").unwrap();
    assert_eq!(node["node"]["name"], dotted);
    assert!(
        node["uid"].as_str().unwrap().starts_with("node-") && !node["uid"].as_str().unwrap().contains('.')
    );
    assert_eq!(node["node"]["conditions"][1]["reason"], "NotReady");
    assert_eq!(node["node"]["conditions"][1]["message"], "Node is not ready");
}

#[tokio::test(start_paused = true)]
async fn the_object_comes_and_goes_with_its_definition_and_is_made_again() {
    let cluster = Cluster::new(false).await;
    cluster.start();
    cluster.create_config_map().await;
    pass(10).await;
    assert!(cluster.config_map().await["usc.cpi.cv-version"].is_string(), "no definition, no matter");
    cluster.create(definition()).await;
    pass(10).await;
    assert_eq!(told(&cluster.status().await["controlPlane"]), ["cpi: cv-version"]);
    cluster.update_statuses().delete("cluster", &DeleteParams::default()).await.unwrap();
    pass(10).await;
    assert_eq!(told(&cluster.status().await["controlPlane"]), ["cpi: cv-version"]);
}

#[tokio::test(start_paused = true)]
async fn what_others_wrote_stays_and_what_is_ours_is_put_right() {
    let cluster = Cluster::new(true).await;
    cluster.start();
    pass(10).await;
    let health = json!({
        "startedAt": "2024-01-01T00:00:00Z", "scope": {"type": "ControlPlane"},
        "impact": {"level": "Info", "type": "None", "summary": "s"}, "remediation": {"reference": "r"},
    });
    let foreign =
        json!({"uid": "x", "acquiredAt": "2024-01-01T00:00:00Z", "type": "Health", "health": health});
    let informers = json!([{"name": "cpi", "insights": []}, {"name": "else", "insights": [foreign]}]);
    let edit = Patch::Merge(json!({"status": {"controlPlane": {"informers": informers}}}));
    let api = cluster.update_statuses();
    api.patch_status("cluster", &PatchParams::default(), &edit).await.unwrap();
    let label = Patch::Merge(json!({"metadata": {"labels": {"mine": "kept"}}}));
    api.patch("cluster", &PatchParams::default(), &label).await.unwrap();
    pass(10).await;
    assert_eq!(told(&cluster.status().await["controlPlane"]), ["cpi: cv-version", "else: x"]);
    assert_eq!(api.get("cluster").await.unwrap().metadata.labels.unwrap()["mine"], "kept");
}

#[tokio::test(start_paused = true)]
async fn a_new_process_goes_on_with_the_times_that_it_finds_in_the_resource() {
    let cluster = Cluster::new(true).await;
    cluster.node("a.b", "worker", true).await;
    let process = cluster.start();
    pass(10).await;
    let times = async || {
        let mut times = Vec::new();
        transitions(&cluster.status().await, &mut times);
        times
    };
    let before = times().await;
    assert!(before.len() > 8, "{before:?}");
    process.abort();
    pass(1000).await;
    cluster.start();
    pass(10).await;
    assert_eq!(times().await, before);
}

#[tokio::test(start_paused = true)]
async fn a_pool_of_more_nodes_than_fit_is_told_in_short_with_its_troubles_first() {
    let cluster = Cluster::new(true).await;
    for number in 0..1200 {
        cluster.node(&format!("n{number:04}"), "worker", true).await;
    }
    cluster.start();
    pass(10).await;
    let shown = async || {
        let status = cluster.status().await;
        let size = status.to_string().len();
        assert!((200_000..1_000_000).contains(&size), "{size} bytes");
        let complete = status["conditions"][1].clone();
        assert_eq!([&complete["status"], &complete["reason"]], ["False", "TooManyInsights"]);
        status["workerPools"][0]["informers"][0]["insights"].as_array().unwrap().clone()
    };
    let insights = shown().await;
    assert!((300..1024).contains(&insights.len()), "{} insights", insights.len());
    let pool = insights.iter().find(|one| one["type"] == "MachineConfigPool").unwrap();
    assert_eq!(pool["machineConfigPool"]["summaries"][0], json!({"type": "Total", "count": 1200}));
    let has = |insights: &[Value], uid: &str| insights.iter().any(|one| one["uid"] == uid);
    assert!(has(&insights, "node-n0000") && !has(&insights, "node-n1199"));
    let nodes = cluster.api(&json!({"apiVersion": "v1", "kind": "Node", "metadata": {}}));
    let cordon = Patch::Merge(json!({"spec": {"unschedulable": true}}));
    nodes.patch("n1199", &PatchParams::default(), &cordon).await.unwrap();
    pass(10).await;
    assert!(has(&shown().await, "node-n1199"));
}

#[tokio::test(start_paused = true)]
async fn a_definition_that_takes_nothing_is_not_tried_for_ever_and_stops_nothing_else() {
    let cluster = Cluster::new(false).await;
    let mut strict = definition();
    strict["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]["conditions"]
        ["maxItems"] = json!(0);
    cluster.create(strict).await;
    cluster.create_config_map().await;
    cluster.start();
    pass(10).await;
    assert!(cluster.config_map().await["usc.cpi.cv-version"].is_string());
    let requests = cluster.server.requests();
    cluster.node("w0", "worker", true).await;
    pass(600).await;
    assert!(cluster.config_map().await["usc.ni.node-w0"].is_string());
    let tried = cluster.server.requests() - requests;
    assert!(tried < 60, "{tried} requests");
    assert_eq!(cluster.status().await, Value::Null);
}
