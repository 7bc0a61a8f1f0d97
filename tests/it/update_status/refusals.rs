//! Writes that the API server does not take, and what becomes of all others.

use std::sync::{Arc, Mutex};

use futures::StreamExt as _;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use windtunnel_core::Identity;
use windtunnel_core::alert::ActiveAlert;
use windtunnel_openshift::manifests;
use windtunnel_update_status::insights;
use windtunnel_update_status::insights::{Note, Observer, Parts};

use super::cluster::{Cluster, definition, pass};
use super::told;

const NAMESPACE: &str = "openshift-update-status-controller";

/// Whether it works, by the last note that tells of that.
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
async fn an_immutable_config_map_stops_nothing_else() {
    let cluster = Cluster::new(true).await;
    cluster.create(config_map(&json!({"immutable": true}))).await;
    cluster.start();
    pass(10).await;
    assert_eq!(told(&cluster.status().await["controlPlane"]), ["cpi: cv-version"]);
    let requests = cluster.server.requests();
    pass(600).await;
    // Watches begin anew now and then.
    assert!(cluster.server.requests() - requests < 40, "{}", cluster.server.requests() - requests);
    let api = cluster.api(&config_map(&json!({})));
    api.delete("status-api-cm-prototype", &DeleteParams::default()).await.unwrap();
    cluster.create_config_map().await;
    pass(10).await;
    assert!(cluster.config_map().await["usc.cpi.cv-version"].is_string());
}

#[tokio::test(start_paused = true)]
async fn what_others_keep_in_the_config_map_as_bytes_takes_room_too() {
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
async fn a_right_that_comes_late_is_noticed() {
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
    tokio::spawn(insights::run(Parts { client, clock, alerts: None, observer }));
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
    assert_eq!(told(&cluster.status().await["controlPlane"]), ["cpi: cv-version"]);
    assert_eq!(log.last(), Some(Ok(())));
}

#[tokio::test(start_paused = true)]
async fn a_pool_of_a_name_that_the_api_does_not_take_does_not_hide_the_others() {
    let cluster = Cluster::new(true).await;
    cluster.pool("infra.gpu").await;
    cluster.node("g0", "infra.gpu", true).await;
    cluster.node("w0", "worker", true).await;
    cluster.start();
    pass(10).await;
    let status = cluster.status().await;
    assert_eq!(told(&status["workerPools"][0]), ["ni: mcp-worker node-w0"]);
    assert_eq!(status["conditions"][1]["reason"], "TooManyInsights");
}

/// One look at a cluster that updates, with these alerts.
async fn look(alerts: Option<insights::Alerts>) -> insights::Look {
    let cluster = Cluster::new(false).await;
    let version: Api<DynamicObject> = cluster
        .api(&json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {}}));
    let updating = json!({"status": {"conditions": [
        {"type": "Progressing", "status": "True", "lastTransitionTime": "2023-12-31T01:00:00Z"},
    ]}});
    version.patch_status("version", &PatchParams::default(), &Patch::Merge(updating)).await.unwrap();
    cluster.create(definition()).await;
    let (client, clock, observer) = (cluster.client.clone(), cluster.clock.clone(), Arc::new(()));
    insights::once(Parts { client, clock, alerts, observer }, false).await.unwrap()
}

/// What Prometheus answers after a while.
fn late(answer: Result<Vec<ActiveAlert>, String>) -> insights::Alerts {
    let answer = futures::stream::once(async move {
        pass(5).await;
        answer
    });
    answer.chain(futures::stream::pending()).boxed()
}

#[tokio::test(start_paused = true)]
async fn one_look_waits_for_alerts_where_these_are_asked_for() {
    let labels = json!({"alertname": "A", "severity": "warning"});
    let alert = json!({"labels": labels, "state": "firing", "activeAt": "2024-01-01T00:00:00Z"});
    let seen = look(Some(late(Ok(vec![ActiveAlert::read(&alert)])))).await;
    let told = serde_json::to_string(&seen.insights).unwrap();
    assert!(told.contains("Alert is firing: A"), "{told}");
    assert!(seen.missing.is_empty(), "{:?}", seen.missing);
    let seen = look(Some(late(Err("no answer".to_owned())))).await;
    assert_eq!(seen.missing["alerts"], "no answer");
    assert!(seen.insights.contains_key("usc.cpi.cv-version"));
    assert!(look(None).await.missing.is_empty());
}
