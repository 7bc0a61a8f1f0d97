//! The text of `oc adm upgrade status`, made from a cluster's objects and a moment. Pure: no IO, no clock.
//!
//! Follows the client `oc` at commit 6b8e30c5 to the byte. Built so far:
//!
//! * the early exit for a cluster that is not updating,
//! * the control plane block, completed or in progress,
//! * the table of updating cluster operators (`--details=operators` and `all`),
//! * control plane nodes, worker pools and their nodes.
//!
//! Not built yet, and left out of the text: the line on alerts that could not be fetched, and update health. So a text of
//! today is a true beginning of what `oc` prints.
//!
//! `oc` refuses some clusters before it prints anything (no ClusterVersion, no ClusterOperators, no `Progressing`
//! condition); whoever collects [`Inputs`] does the same. Given such objects anyway, [`render`] stays total.

mod control_plane;
pub(crate) mod estimate;
mod go_time;
pub(crate) mod history;
mod membership;
pub mod nodes;
mod operators;
mod pools;

use jiff::SignedDuration;

use crate::base::clock::Time;
use crate::model::Object;
use control_plane::ControlPlane;
use go_time::ZERO_TIME;

/// What the status is made from: the objects that `oc` reads, in the order in which the API lists them.
#[derive(Debug, Clone)]
pub struct Inputs {
    /// The ClusterVersion `version`.
    pub cluster_version: Object,
    /// All ClusterOperators; those that no release payload brings are ignored.
    pub cluster_operators: Vec<Object>,
    /// All MachineConfigPools.
    pub machine_config_pools: Vec<Object>,
    /// The MachineConfigs that the nodes' annotations name; one that is missing makes its nodes' version unknown.
    pub machine_configs: Vec<Object>,
    /// All Nodes.
    pub nodes: Vec<Object>,
    /// The Deployment `openshift-machine-config-operator/machine-config-operator`; without it the operator's image
    /// counts as empty.
    pub machine_config_operator: Option<Object>,
    /// The answer of Prometheus' `/api/v1/alerts`. No section that is built so far reads it.
    pub alerts: Option<Object>,
}

impl Inputs {
    /// The two kinds that the control plane block is made from; everything else empty.
    pub fn new(cluster_version: Object, cluster_operators: Vec<Object>) -> Self {
        Self {
            cluster_version,
            cluster_operators,
            machine_config_pools: Vec::new(),
            machine_configs: Vec::new(),
            nodes: Vec::new(),
            machine_config_operator: None,
            alerts: None,
        }
    }

    /// The moment that `oc --mock-clusterversion` takes for now, since a dump has no clock: 368.975 µs after the
    /// latest transition of a ClusterVersion or ClusterOperator condition. Without any, the year 1.
    pub fn mock_now(&self) -> Time {
        let objects = std::iter::once(&self.cluster_version).chain(&self.cluster_operators);
        objects
            .flat_map(|object| object.list("/status/conditions"))
            .map(|condition| go_time::moment(condition, "lastTransitionTime"))
            .filter(|at| *at > ZERO_TIME)
            .max()
            .and_then(|latest| latest.checked_add(MOCK_DELAY).ok())
            .unwrap_or(ZERO_TIME)
    }
}

/// What `oc` adds to the latest transition in its mock mode.
const MOCK_DELAY: SignedDuration = SignedDuration::from_nanos(368_975);

/// Which sections are shown in detail: the flag `--details`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Details {
    /// Summaries only.
    #[default]
    None,
    /// Every section.
    All,
    /// All rows of the node tables.
    Nodes,
    /// Descriptions and references of health messages.
    Health,
    /// The table of updating cluster operators.
    Operators,
}

impl Details {
    fn of_nodes(self) -> bool {
        matches!(self, Self::All | Self::Nodes)
    }

    fn of_operators(self) -> bool {
        matches!(self, Self::All | Self::Operators)
    }
}

/// The text that `oc adm upgrade status` prints at `now`, as far as the [module](self) builds it.
pub fn render(inputs: &Inputs, now: Time, details: Details) -> String {
    let pools = nodes::by_pool(inputs);
    let progressing = crate::model::condition::is_true(&inputs.cluster_version, "Progressing");
    if !progressing && !pools::any_outdated(&pools) {
        return "The cluster is not updating.\n".to_owned();
    }
    let control_plane = ControlPlane::assess(inputs, now);
    let mut text = control_plane.block();
    if details.of_operators() {
        text.push_str(&control_plane.updating_operators(now));
    }
    text.push_str(&pools::sections(&pools, details));
    text
}

#[cfg(test)]
mod tests;
