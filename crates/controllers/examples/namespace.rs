//! Kubernetes' own controllers beside an API server: the namespace controller empties a deleted namespace.

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{Api, DeleteParams, PostParams};
use kube::runtime::wait::await_condition;
use serde_json::json;
use windtunnel_apiserver::ApiServer;
use windtunnel_controllers::runner::WithControllers as _;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cluster = ApiServer::builder().kubernetes(33).with_controllers().start();
    let namespaces: Api<Namespace> = Api::all(cluster.client());
    let config_maps: Api<ConfigMap> = Api::namespaced(cluster.client(), "team");
    let team = serde_json::from_value(json!({ "metadata": { "name": "team" } }))?;
    namespaces.create(&PostParams::default(), &team).await?;
    let settings = serde_json::from_value(json!({ "metadata": { "name": "settings" } }))?;
    config_maps.create(&PostParams::default(), &settings).await?;

    namespaces.delete("team", &DeleteParams::default()).await?;
    await_condition(namespaces, "team", |found: Option<&Namespace>| found.is_none()).await?;
    assert!(config_maps.get_opt("settings").await?.is_none());
    Ok(())
}
