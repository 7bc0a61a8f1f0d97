//! Writes that the API server rejects, and their effect on other writes.

use std::sync::{Arc, Mutex};

use futures::StreamExt as _;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use windtunnel_core::Identity;
use windtunnel_core::alert::ActiveAlert;
use windtunnel_openshift::manifests;
use windtunnel_update_status::controller::{self, Note, Observer, Parts};

use super::cluster::{Cluster, definition, pass};
use super::insights_by_informer;

const NAMESPACE: &str = "openshift-update-status-controller";

/// Whether the controller works, according to its last note about that.
#[derive(Default)]
struct Log(Mutex<Option<Result<(), String>>>);

impl Observer for Log {
    fn note(&self, note: Note<'_>) {
        match note {
            Note::Settled => *self.0.lock().unwrap() = Some(Ok(())),
            Note::Failed { why } => *self.0.lock().unwrap() = Some(Err(why.to_owned())),
            _ => {}
        }
    }
}

impl Log {
    fn last(&self) -> Option<Result<(), String>> {
        self.0.lock().unwrap().clone()
    }
}

fn config_map(more: &Value) -> Value {
    let mut object = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "status-api-cm-prototype", "namespace": NAMESPACE},
    });
    json_patch::merge(&mut object, more);
    object
}

#[tokio::test(start_paused = true)]
async fn an_immutable_config_map_blocks_no_other_write() {
    let cluster = Cluster::new(true).await;
    cluster.create(config_map(&json!({"immutable": true}))).await;
    cluster.start();
    pass(10).await;
    assert_eq!(insights_by_informer(&cluster.status().await["controlPlane"]), ["cpi: cv-version"]);
    let requests = cluster.server.requests();
    pass(600).await;
    // Watches restart now and then.
    assert!(cluster.server.requests() - requests < 40, "{}", cluster.server.requests() - requests);
    let api = cluster.api(&config_map(&json!({})));
    api.delete("status-api-cm-prototype", &DeleteParams::default()).await.unwrap();
    cluster.create_config_map().await;
    pass(10).await;
    assert!(cluster.config_map().await["usc.cpi.cv-version"].is_string());
}

#[tokio::test(start_paused = true)]
async fn foreign_binary_data_counts_for_the_size_of_the_config_map() {
    let cluster = Cluster::new(false).await;
    let bytes = "A".repeat((1024 * 1024 - 3000) / 3 * 4);
    cluster.create(config_map(&json!({"binaryData": {"theirs": bytes}}))).await;
    for number in 0..10 {
        cluster.node(&format!("n{number}"), "worker", true).await;
    }
    cluster.start();
    pass(10).await;
    let data = cluster.config_map().await;
    assert!(data["usc.cpi.cv-version"].is_string() && data["usc.ni.mcp-worker"].is_string(), "{data}");
    assert!(data["usc.ni.node-n9"].is_null(), "{data}");
}

#[tokio::test(start_paused = true)]
async fn the_controller_uses_a_right_that_is_granted_later() {
    let cluster = Cluster::new(true).await;
    cluster.create_config_map().await;
    let mut late: Vec<Value> = Vec::new();
    for object in manifests::objects("update-status-controller") {
        if matches!(object["kind"].as_str(), Some("Namespace" | "Deployment" | "CustomResourceDefinition")) {
            continue;
        }
        let mut reads = object.clone();
        for rule in reads["rules"].as_array_mut().into_iter().flatten() {
            rule["verbs"].as_array_mut().unwrap().retain(|verb| verb != "patch");
        }
        reads["rules"]
            .as_array_mut()
            .into_iter()
            .for_each(|rules| rules.retain(|rule| rule["verbs"] != json!([])));
        if reads != *object {
            late.push(object.clone());
        }
        cluster.create(reads).await;
    }
    assert!(late.len() > 1, "{late:?}");
    let log = Arc::new(Log::default());
    let client = cluster.server.client(&Identity::service_account(NAMESPACE, "update-status-controller"));
    let (clock, observer) = (cluster.clock.clone(), log.clone());
    tokio::spawn(controller::run(Parts { client, clock, alerts: None, observer }));
    pass(100).await;
    assert_eq!(cluster.config_map().await, Value::Null);
    let failure = log.last().unwrap().unwrap_err();
    assert!(failure.contains("forbidden"), "{failure}");
    for object in late {
        let name = object["metadata"]["name"].as_str().unwrap();
        let rules = Patch::Merge(json!({"rules": object["rules"]}));
        cluster.api(&object).patch(name, &PatchParams::default(), &rules).await.unwrap();
    }
    pass(61).await;
    assert!(cluster.config_map().await["usc.cpi.cv-version"].is_string());
    assert_eq!(insights_by_informer(&cluster.status().await["controlPlane"]), ["cpi: cv-version"]);
    assert_eq!(log.last(), Some(Ok(())));
}

#[tokio::test(start_paused = true)]
async fn a_pool_with_an_invalid_name_does_not_hide_the_others() {
    let cluster = Cluster::new(true).await;
    cluster.pool("infra.gpu").await;
    cluster.node("g0", "infra.gpu", true).await;
    cluster.node("w0", "worker", true).await;
    cluster.start();
    pass(10).await;
    let status = cluster.status().await;
    assert_eq!(insights_by_informer(&status["workerPools"][0]), ["ni: mcp-worker node-w0"]);
    assert_eq!(status["conditions"][1]["reason"], "TooManyInsights");
}

/// Runs a single pass over an updating cluster, with these alerts.
async fn run_once(alerts: Option<controller::AlertStream>) -> controller::OnceResult {
    let cluster = Cluster::new(false).await;
    let version: Api<DynamicObject> = cluster
        .api(&json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {}}));
    let updating = json!({"status": {"conditions": [
        {"type": "Progressing", "status": "True", "lastTransitionTime": "2023-12-31T01:00:00Z"},
    ]}});
    version.patch_status("version", &PatchParams::default(), &Patch::Merge(updating)).await.unwrap();
    cluster.create(definition()).await;
    let (client, clock, observer) = (cluster.client.clone(), cluster.clock.clone(), Arc::new(()));
    controller::run_once(Parts { client, clock, alerts, observer }, false).await.unwrap()
}

/// Alerts that Prometheus returns after a while.
fn late(answer: Result<Vec<ActiveAlert>, String>) -> controller::AlertStream {
    let answer = futures::stream::once(async move {
        pass(5).await;
        answer
    });
    answer.chain(futures::stream::pending()).boxed()
}

#[tokio::test(start_paused = true)]
async fn a_single_pass_waits_for_requested_alerts() {
    let labels = json!({"alertname": "A", "severity": "warning"});
    let alert = json!({"labels": labels, "state": "firing", "activeAt": "2024-01-01T00:00:00Z"});
    let seen = run_once(Some(late(Ok(vec![ActiveAlert::parse(&alert)])))).await;
    let text = serde_json::to_string(&seen.insights).unwrap();
    assert!(text.contains("Alert is firing: A"), "{text}");
    assert!(seen.missing.is_empty(), "{:?}", seen.missing);
    let seen = run_once(Some(late(Err("no answer".to_owned())))).await;
    assert_eq!(seen.missing["alerts"], "no answer");
    assert!(seen.insights.contains_key("usc.cpi.cv-version"));
    assert!(run_once(None).await.missing.is_empty());
}
