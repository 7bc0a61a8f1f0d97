//! Reads the status of a live cluster with the same requests as `oc`.

use std::collections::BTreeSet;

use kube::{Client, Config};
use serde_json::{Value, json};
use windtunnel_core::clock::{Clock as _, Time};
use windtunnel_core::resources::{
    CLUSTER_OPERATORS, CLUSTER_VERSIONS, DEPLOYMENTS, MACHINE_CONFIG_POOLS, MACHINE_CONFIGS, NODES,
};
use windtunnel_core::{Object, Resource};
use windtunnel_openshift::oc::CommandOutput;
use windtunnel_update_status::status::{
    AlertsResponse, Details, Inputs, MACHINE_CONFIG_OPERATOR, MCO_NAMESPACE, Moment, Report, StatusError,
    render,
};

use super::PrintError;
use crate::cli::live::connection::Connection;
use crate::cli::live::{block_on, client_error, clock, get, require, thanos};

/// Annotations of nodes that name MachineConfigs.
const CONFIGS: [&str; 2] =
    ["machineconfiguration.openshift.io/currentConfig", "machineconfiguration.openshift.io/desiredConfig"];

impl From<CommandOutput> for PrintError {
    fn from(output: CommandOutput) -> Self {
        Self::Cluster(output)
    }
}

/// Returns the status of a cluster as of a moment, or now by its own clock.
///
/// # Errors
/// The cluster does not answer, or has no status.
pub(super) fn of_cluster(
    connection: &Connection,
    as_of: Option<Time>,
    details: Details,
) -> Result<Report, PrintError> {
    block_on(async {
        let config = connection.config().await?;
        let (client, clock) =
            clock::client(config.clone()).map_err(|error| client_error(&error.to_string()))?;
        let mut inputs = read(&client).await?;
        // The clock is read last, so that no object is newer.
        let at = Moment::at(as_of.unwrap_or_else(|| clock.now()));
        let report = render(&inputs, at, details)?;
        if report.is_quiet() {
            return Ok(report);
        }
        inputs.alerts = alerts(&client, &config).await;
        Ok(render(&inputs, at, details)?)
    })?
}

async fn read(client: &Client) -> Result<Inputs, PrintError> {
    let version = get(client, &CLUSTER_VERSIONS.path("", "version")).await?;
    let version = version.map(Object::new).ok_or(StatusError::NoClusterVersion)?;
    let inputs = Inputs::new(version, list(client, &CLUSTER_OPERATORS).await?);
    inputs.check_progressing_condition()?;
    let pools = list(client, &MACHINE_CONFIG_POOLS).await?;
    let nodes = list(client, &NODES).await?;
    let mut configs = Vec::new();
    for name in configs_of(&nodes) {
        configs.push(Object::new(require(client, &MACHINE_CONFIGS.path("", name)).await?));
    }
    let mco = require(client, &DEPLOYMENTS.path(MCO_NAMESPACE, MACHINE_CONFIG_OPERATOR)).await?;
    Ok(Inputs {
        machine_config_pools: pools,
        machine_configs: configs,
        nodes,
        machine_config_operator: Some(Object::new(mco)),
        ..inputs
    })
}

/// Returns the current and desired MachineConfigs of nodes, each once, in the order of the nodes.
fn configs_of(nodes: &[Object]) -> Vec<&str> {
    let mut seen = BTreeSet::new();
    let names = nodes.iter().flat_map(|node| CONFIGS.map(|key| node.annotation(key)));
    names.flatten().filter(|name| !name.is_empty() && seen.insert(*name)).collect()
}

async fn list(client: &Client, resource: &Resource) -> Result<Vec<Object>, CommandOutput> {
    let mut list = require(client, &resource.path("", "")).await?;
    let Value::Array(items) = list["items"].take() else { return Ok(Vec::new()) };
    let object = |mut item: Value| {
        item["kind"] = json!(resource.kind);
        Object::new(item)
    };
    Ok(items.into_iter().filter(Value::is_object).map(object).collect())
}

async fn alerts(client: &Client, config: &Config) -> AlertsResponse {
    match thanos::alerts(client, config).await {
        Ok(body) => AlertsResponse::parse(body.as_bytes()),
        Err(why) => AlertsResponse::Unfetched(why),
    }
}
