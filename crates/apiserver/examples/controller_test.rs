//! Tests a kube-rs controller against an in-memory API server: no cluster, no etcd, no waiting.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, PostParams};
use kube::runtime::{WatchStreamExt as _, watcher};
use serde_json::json;
use windtunnel_apiserver::ApiServer;
use windtunnel_core::Identity;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = ApiServer::builder().kubernetes(33).start().client(&Identity::admin());
    let config_maps: Api<ConfigMap> = Api::default_namespaced(client);
    tokio::spawn(label_config_maps(config_maps.clone()));

    let settings = serde_json::from_value(json!({ "metadata": { "name": "settings" } }))?;
    config_maps.create(&PostParams::default(), &settings).await?;
    let is_labelled = |found: Option<&ConfigMap>| found.is_some_and(|map| map.metadata.labels.is_some());
    kube::runtime::wait::await_condition(config_maps, "settings", is_labelled).await?;
    Ok(())
}

/// The controller under test: labels every ConfigMap.
async fn label_config_maps(api: Api<ConfigMap>) -> Result<(), kube::Error> {
    use futures::TryStreamExt as _;
    use kube::api::{Patch, PatchParams};
    let label = Patch::Merge(json!({ "metadata": { "labels": { "seen": "true" } } }));
    let mut changes = std::pin::pin!(watcher(api.clone(), watcher::Config::default()).applied_objects());
    while let Ok(Some(map)) = changes.try_next().await {
        if map.metadata.labels.is_none() {
            api.patch(&map.metadata.name.unwrap_or_default(), &PatchParams::default(), &label).await?;
        }
    }
    Ok(())
}
