//! The UpdateStatus resource: the controller beside an API server that validates it by its CRD.

mod access;
mod cluster;
pub(crate) mod deliveries;
mod election;
mod large;
mod producers;
mod rejections;

use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};

use cluster::{Cluster, definition, pass};

/// The insights of all informers of a part of the cluster, as `<informer>: <uid> <uid> ...`.
fn insights_by_informer(part: &Value) -> Vec<String> {
    let informers = part["informers"].as_array().cloned().unwrap_or_default();
    let line = |informer: &Value| {
        let insights = informer["insights"].as_array().cloned().unwrap_or_default();
        let uids: Vec<String> =
            insights.iter().map(|insight| insight["uid"].as_str().unwrap().to_owned()).collect();
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
    assert_eq!(insights_by_informer(&status["controlPlane"]), ["cpi: cv-version", "ni: mcp-master node-m0"]);
    assert_eq!(status["controlPlane"]["resource"]["resource"], "clusterversions");
    assert_eq!(status["controlPlane"]["poolResource"]["name"], "master");
    let updating = &status["controlPlane"]["conditions"][0];
    assert_eq!([&updating["type"], &updating["reason"]], ["Updating", "ClusterVersionNotProgressing"]);
    let worker = &status["workerPools"][0];
    assert_eq!(
        (worker["name"].as_str(), insights_by_informer(worker)),
        (Some("worker"), vec!["ni: mcp-worker node-w0".to_owned()])
    );
    assert_eq!(worker["conditions"][0]["type"], "Updating");
    let operational: Vec<String> = status["conditions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|condition| {
            format!("{}={}", condition["type"].as_str().unwrap(), condition["status"].as_str().unwrap())
        })
        .collect();
    assert_eq!(operational, ["Available=True", "Complete=True"]);
    assert_eq!(cluster.config_map().await, Value::Null, "the controller does not create the ConfigMap");
}

#[tokio::test(start_paused = true)]
async fn texts_are_changed_to_satisfy_the_crd() {
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
async fn the_update_status_needs_its_crd_and_is_created_again() {
    let cluster = Cluster::new(false).await;
    cluster.start();
    cluster.create_config_map().await;
    pass(10).await;
    assert!(cluster.config_map().await["usc.cpi.cv-version"].is_string(), "the ConfigMap needs no CRD");
    cluster.create(definition()).await;
    pass(10).await;
    assert_eq!(insights_by_informer(&cluster.status().await["controlPlane"]), ["cpi: cv-version"]);
    cluster.update_statuses().delete("cluster", &DeleteParams::default()).await.unwrap();
    pass(10).await;
    assert_eq!(insights_by_informer(&cluster.status().await["controlPlane"]), ["cpi: cv-version"]);
}

#[tokio::test(start_paused = true)]
async fn foreign_insights_stay_and_own_insights_are_restored() {
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
    assert_eq!(insights_by_informer(&cluster.status().await["controlPlane"]), ["cpi: cv-version", "else: x"]);
    assert_eq!(api.get("cluster").await.unwrap().metadata.labels.unwrap()["mine"], "kept");
}

#[tokio::test(start_paused = true)]
async fn a_new_process_keeps_the_transition_times_of_the_resource() {
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
async fn a_pool_with_too_many_nodes_is_shortened_with_its_problems_first() {
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
    let pool = insights.iter().find(|insight| insight["type"] == "MachineConfigPool").unwrap();
    assert_eq!(pool["machineConfigPool"]["summaries"][0], json!({"type": "Total", "count": 1200}));
    let has = |insights: &[Value], uid: &str| insights.iter().any(|insight| insight["uid"] == uid);
    assert!(has(&insights, "node-n0000") && !has(&insights, "node-n1199"));
    let nodes = cluster.api(&json!({"apiVersion": "v1", "kind": "Node", "metadata": {}}));
    let cordon = Patch::Merge(json!({"spec": {"unschedulable": true}}));
    nodes.patch("n1199", &PatchParams::default(), &cordon).await.unwrap();
    pass(10).await;
    assert!(has(&shown().await, "node-n1199"));
}

#[tokio::test(start_paused = true)]
async fn a_crd_that_rejects_every_status_causes_few_retries_and_blocks_no_other_write() {
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
    let sent = cluster.server.requests() - requests;
    assert!(sent < 60, "{sent} requests");
    assert_eq!(cluster.status().await, Value::Null);
}
