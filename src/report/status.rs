//! What `oc adm upgrade status` would have printed at a moment of a run.

use crate::base::clock::Time;
use crate::model::View;
use crate::model::resources::{
    CLUSTER_OPERATORS, CLUSTER_VERSIONS, DEPLOYMENTS, MACHINE_CONFIG_POOLS, MACHINE_CONFIGS, NODES,
};
use crate::status::{self, Details, Inputs};

/// The text for the objects of `view` at `now`; `None` where there is no ClusterVersion, without which `oc` refuses.
pub fn of(view: &View, now: Time, details: Details) -> Option<String> {
    let cluster_version = view.get(&CLUSTER_VERSIONS, "", "version").cloned()?;
    let operators = view.list(&CLUSTER_OPERATORS).cloned().collect();
    let mco = "machine-config-operator";
    let inputs = Inputs {
        machine_config_pools: view.list(&MACHINE_CONFIG_POOLS).cloned().collect(),
        machine_configs: view.list(&MACHINE_CONFIGS).cloned().collect(),
        nodes: view.list(&NODES).cloned().collect(),
        machine_config_operator: view.get(&DEPLOYMENTS, &format!("openshift-{mco}"), mco).cloned(),
        ..Inputs::new(cluster_version, operators)
    };
    Some(status::render(&inputs, now, details))
}
