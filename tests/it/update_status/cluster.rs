//! An API server with objects, in virtual time, and the update status controller beside it.

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use windtunnel_apiserver::ApiServer;
use windtunnel_apiserver::service::Shared;
use windtunnel_core::clock::{Clock as _, Time, VirtualClock, rfc3339};
use windtunnel_core::{Identity, resources};
use windtunnel_openshift::manifests;
use windtunnel_update_status::controller;

const PREFIX: &str = "machineconfiguration.openshift.io/";

/// An API server with OpenShift's kinds, and its clients.
pub(crate) struct Cluster {
    pub(crate) server: Shared,
    pub(crate) client: Client,
    pub(crate) clock: Arc<VirtualClock>,
}

impl Cluster {
    /// Creates a cluster with a ClusterVersion at 4.18.3 and a worker pool, and with UpdateStatus if wanted.
    pub(crate) async fn new(has_update_status: bool) -> Self {
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
        let condition = |kind: &str| json!({"type": kind, "status": "False", "lastTransitionTime": "2023-12-31T01:00:00Z"});
        let conditions = [condition("Progressing"), condition("Failing")];
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

    pub(crate) fn start(&self) -> JoinHandle<()> {
        self.start_as(self.client.clone())
    }

    /// Starts the controller with a client of limited rights.
    pub(crate) fn start_as(&self, client: Client) -> JoinHandle<()> {
        let clock = Arc::clone(&self.clock);
        tokio::spawn(async move {
            controller::run(controller::Parts { client, clock, alerts: None, observer: Arc::new(()) })
                .await
                .unwrap();
        })
    }

    pub(crate) fn api(&self, object: &Value) -> Api<DynamicObject> {
        let api_version = object["apiVersion"].as_str().unwrap();
        let resource = resources::find(api_version, object["kind"].as_str().unwrap()).unwrap();
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
    pub(crate) async fn create(&self, object: Value) {
        let api = self.api(&object);
        let typed: DynamicObject = serde_json::from_value(object.clone()).unwrap();
        api.create(&PostParams::default(), &typed).await.unwrap();
        if object.get("status").is_some() && object["kind"] != "CustomResourceDefinition" {
            let name = object["metadata"]["name"].as_str().unwrap();
            let status = Patch::Merge(json!({"status": object["status"]}));
            api.patch_status(name, &PatchParams::default(), &status).await.unwrap();
        }
    }

    /// The time of the cluster, in the form of the API.
    pub(crate) fn now(&self) -> String {
        rfc3339(self.clock.now())
    }

    pub(crate) async fn pool(&self, name: &str) {
        let label = format!("node-role.kubernetes.io/{name}");
        self.create(json!({
            "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool",
            "metadata": {"name": name}, "spec": {"nodeSelector": {"matchLabels": {label: ""}}},
        }))
        .await;
    }

    pub(crate) async fn node(&self, name: &str, pool: &str, is_ready: bool) {
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

    pub(crate) fn update_statuses(&self) -> Api<DynamicObject> {
        self.api(
            &json!({"apiVersion": "update.openshift.io/v1alpha1", "kind": "UpdateStatus", "metadata": {}}),
        )
    }

    pub(crate) async fn status(&self) -> Value {
        let found = self.update_statuses().get_opt("cluster").await.unwrap();
        found.map(|object| object.data["status"].clone()).unwrap_or_default()
    }

    pub(crate) async fn config_map(&self) -> Value {
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

    pub(crate) async fn create_config_map(&self) {
        let metadata =
            json!({"name": "status-api-cm-prototype", "namespace": "openshift-update-status-controller"});
        self.create(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})).await;
    }
}

/// The CRD of UpdateStatus, from the manifests.
pub(crate) fn definition() -> Value {
    definition_of("updatestatuses")
}

/// The CRD of a kind of the controller, by its plural.
pub(crate) fn definition_of(plural: &str) -> Value {
    let mut objects = manifests::objects("update-status-controller").iter();
    let is_it = |object: &&Value| object["spec"]["names"]["plural"] == plural;
    objects.find(is_it).unwrap().clone()
}

pub(crate) async fn pass(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}
