//! The status of a cluster, read as `oc` reads it, request by request.

use std::collections::BTreeSet;
use std::path::Path;

use kube::{Client, Config};
use serde_json::{Value, json};

use super::{Failure, wall};
use crate::base::clock::Time;
use crate::cli::live::connection::Connection;
use crate::cli::live::{block_on, get, plain, require, thanos};
use crate::model::resources::{
    CLUSTER_OPERATORS, CLUSTER_VERSIONS, DEPLOYMENTS, MACHINE_CONFIG_POOLS, MACHINE_CONFIGS, NODES,
};
use crate::model::{Object, Resource};
use crate::oc::Said;
use crate::status::{
    Alerts, Details, Inputs, MACHINE_CONFIG_OPERATOR, MCO_NAMESPACE, Moment, Refusal, Report, render,
};

/// Annotations of nodes that name MachineConfigs.
const CONFIGS: [&str; 2] =
    ["machineconfiguration.openshift.io/currentConfig", "machineconfiguration.openshift.io/desiredConfig"];

impl From<Said> for Failure {
    fn from(said: Said) -> Self {
        Self::Cluster(said)
    }
}

/// The status of the cluster of a kubeconfig, now or as of a moment.
///
/// # Errors
/// The cluster does not answer, or there is no status of it.
pub(super) fn of_cluster(
    kubeconfig: &Path,
    context: Option<&str>,
    as_of: Option<Time>,
    details: Details,
) -> Result<Report, Failure> {
    let at = Moment::at(as_of.unwrap_or_else(wall));
    let connection = Connection::of(kubeconfig, context);
    block_on(async {
        let config = connection.config().await?;
        let client = Client::try_from(config.clone()).map_err(|error| plain(&error.to_string()))?;
        let mut inputs = read(&client).await?;
        let report = render(&inputs, at, details)?;
        if report.is_quiet() {
            return Ok(report);
        }
        inputs.alerts = alerts(&client, &config).await;
        Ok(render(&inputs, at, details)?)
    })?
}

async fn read(client: &Client) -> Result<Inputs, Failure> {
    let version = get(client, &path(&CLUSTER_VERSIONS, "", "version")).await?;
    let version = version.map(Object::new).ok_or(Refusal::NoClusterVersion)?;
    let inputs = Inputs::new(version, list(client, &CLUSTER_OPERATORS).await?);
    inputs.check()?;
    let pools = list(client, &MACHINE_CONFIG_POOLS).await?;
    let nodes = list(client, &NODES).await?;
    let mut configs = Vec::new();
    for name in configs_of(&nodes) {
        configs.push(Object::new(require(client, &path(&MACHINE_CONFIGS, "", name)).await?));
    }
    let mco = require(client, &path(&DEPLOYMENTS, MCO_NAMESPACE, MACHINE_CONFIG_OPERATOR)).await?;
    Ok(Inputs {
        machine_config_pools: pools,
        machine_configs: configs,
        nodes,
        machine_config_operator: Some(Object::new(mco)),
        ..inputs
    })
}

/// The MachineConfigs that nodes have or are to have, each once, in the order of the nodes.
fn configs_of(nodes: &[Object]) -> Vec<&str> {
    let mut seen = BTreeSet::new();
    let names = nodes.iter().flat_map(|node| CONFIGS.map(|key| node.annotation(key)));
    names.flatten().filter(|name| !name.is_empty() && seen.insert(*name)).collect()
}

async fn list(client: &Client, resource: &Resource) -> Result<Vec<Object>, Said> {
    let mut list = require(client, &path(resource, "", "")).await?;
    let Value::Array(items) = list["items"].take() else { return Ok(Vec::new()) };
    let object = |mut item: Value| {
        item["kind"] = json!(resource.kind);
        Object::new(item)
    };
    Ok(items.into_iter().filter(Value::is_object).map(object).collect())
}

/// The path of an object, or of all of a kind without a name.
fn path(resource: &Resource, namespace: &str, name: &str) -> String {
    let root = if resource.group.is_empty() { "/api" } else { "/apis" };
    let parts = [
        root.to_owned(),
        resource.api_version(),
        if namespace.is_empty() { String::new() } else { format!("namespaces/{namespace}") },
        resource.plural.to_string(),
        name.to_owned(),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/")
}

async fn alerts(client: &Client, config: &Config) -> Alerts {
    match thanos::alerts(client, config).await {
        Ok(body) => Alerts::read(body.as_bytes()),
        Err(why) => Alerts::Unfetched(why),
    }
}
