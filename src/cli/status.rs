//! `windtunnel status`: what `oc adm upgrade status` would have printed at some moment of a run.

use super::args::{Details, StatusArgs};
use super::{Exit, report, say};
use crate::base::text::{clock_time, parse_duration};
use crate::model::resources::{
    CLUSTER_OPERATORS, CLUSTER_VERSIONS, DEPLOYMENTS, MACHINE_CONFIG_POOLS, MACHINE_CONFIGS, NODES,
};
use crate::status::{self, Inputs};

/// Prints the status.
pub(super) fn status(args: &StatusArgs) -> Result<Exit, String> {
    let record = report::read(&args.record)?;
    let at = match &args.at {
        None => record.end(),
        Some(text) => {
            let span = parse_duration(text).ok_or_else(|| {
                format!("--at: expected a time since the start such as `1h30m`, found `{text}`")
            })?;
            record.header.epoch + span
        }
    };
    let view = record.view_at(at);
    let cluster_version = view.get(&CLUSTER_VERSIONS, "", "version").cloned().ok_or_else(|| {
        let time = clock_time(at.duration_since(record.header.epoch));
        format!("{}: there is no ClusterVersion at {time}", args.record.display())
    })?;
    let operators = view.list(&CLUSTER_OPERATORS).cloned().collect();
    let mco = "machine-config-operator";
    let inputs = Inputs {
        machine_config_pools: view.list(&MACHINE_CONFIG_POOLS).cloned().collect(),
        machine_configs: view.list(&MACHINE_CONFIGS).cloned().collect(),
        nodes: view.list(&NODES).cloned().collect(),
        machine_config_operator: view.get(&DEPLOYMENTS, &format!("openshift-{mco}"), mco).cloned(),
        ..Inputs::new(cluster_version, operators)
    };
    let details = match args.details {
        Details::None => status::Details::None,
        Details::All => status::Details::All,
        Details::Nodes => status::Details::Nodes,
        Details::Operators => status::Details::Operators,
    };
    say(&status::render(&inputs, at, details));
    Ok(Exit::Passed)
}
