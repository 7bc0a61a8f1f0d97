//! The text of `oc adm upgrade status`, made from a cluster's objects and a moment. Pure: no IO, no clock.
//!
//! Follows the client `oc` at commit 6b8e30c5 to the byte: sections in the order in which they are printed are those of
//! [`control_plane`], [`operators`], [`pools`] and [`health`]. What `oc` refuses, and what it crashes on, is a [`Refusal`].
//! Two choices that `oc` leaves to chance are made here: of several custom pools that want a node the first has it, and
//! `Excluded` stands before `Degraded` in the row of a pool.

mod alerts;
mod availability;
mod control_plane;
pub(crate) mod estimate;
mod go_sort;
mod go_time;
mod health;
pub(crate) mod history;
mod membership;
pub mod nodes;
mod operators;
mod pools;
pub mod published;
mod refusal;

use jiff::SignedDuration;
use serde_json::Value;
use windtunnel_core::clock::Time;
use windtunnel_core::resources::{
    CLUSTER_OPERATORS, CLUSTER_VERSIONS, DEPLOYMENTS, MACHINE_CONFIG_POOLS, MACHINE_CONFIGS, NODES,
};
use windtunnel_core::text::tabwriter::Columns;
use windtunnel_core::{Object, Resource, condition};

pub use alerts::Alerts;
use control_plane::ControlPlane;
use go_time::ZERO_TIME;
pub use refusal::Refusal;

/// The kinds that [`Inputs`] are gathered from.
pub const KINDS: &[&Resource] =
    &[&CLUSTER_VERSIONS, &CLUSTER_OPERATORS, &MACHINE_CONFIG_POOLS, &MACHINE_CONFIGS, &NODES, &DEPLOYMENTS];

/// Where the Deployment of the machine-config operator is.
pub const MCO_NAMESPACE: &str = "openshift-machine-config-operator";
/// Its name.
pub const MACHINE_CONFIG_OPERATOR: &str = "machine-config-operator";

/// How tables are set.
const TABLE: Columns = Columns { min_width: 0, padding: 3 };

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
    /// What Prometheus says.
    pub alerts: Alerts,
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
            alerts: Alerts::default(),
        }
    }

    /// What `oc` reads of a cluster of which `list` gives the objects of a kind.
    ///
    /// # Errors
    /// There is no ClusterVersion.
    pub fn gather(list: impl Fn(&Resource) -> Vec<Object>) -> Result<Self, Refusal> {
        let mut versions = list(&CLUSTER_VERSIONS);
        let named = versions.iter().position(|version| version.name() == "version").unwrap_or(0);
        if versions.is_empty() {
            return Err(Refusal::NoClusterVersion);
        }
        let is_mco = |deployment: &Object| {
            (deployment.namespace(), deployment.name()) == (MCO_NAMESPACE, MACHINE_CONFIG_OPERATOR)
        };
        Ok(Self {
            machine_config_pools: list(&MACHINE_CONFIG_POOLS),
            machine_configs: list(&MACHINE_CONFIGS),
            nodes: list(&NODES),
            machine_config_operator: list(&DEPLOYMENTS).into_iter().find(is_mco),
            ..Self::new(versions.swap_remove(named), list(&CLUSTER_OPERATORS))
        })
    }

    /// Checks what `oc` does before it reads anything else; gives the condition `Progressing`.
    ///
    /// # Errors
    /// There are no ClusterOperators, or there is no such condition.
    pub fn check(&self) -> Result<&Value, Refusal> {
        if self.cluster_operators.is_empty() {
            return Err(Refusal::NoClusterOperators);
        }
        condition::of(&self.cluster_version, "Progressing").ok_or(Refusal::NoProgressing)
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

/// When the status is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// The moment to which all spans are counted.
    pub now: Time,
    /// What the wall clock shows. Whether a node has been in trouble for long is judged by it, which differs from `now`
    /// where `oc` looks at a dump.
    pub wall: Time,
}

impl Moment {
    /// A moment of a cluster whose clock is the only one.
    pub fn at(now: Time) -> Self {
        Self { now, wall: now }
    }
}

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
    /// All names of the flag's values, in the order in which `oc` lists them.
    pub const NAMES: &[&str] = &["none", "all", "nodes", "health", "operators"];

    const ALL: [Self; 5] = [Self::None, Self::All, Self::Nodes, Self::Health, Self::Operators];

    /// The value of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().zip(Self::ALL).find_map(|(known, details)| (*known == name).then_some(details))
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        let index = Self::ALL.iter().position(|details| *details == self);
        index.map_or("", |index| Self::NAMES[index])
    }

    fn of_nodes(self) -> bool {
        matches!(self, Self::All | Self::Nodes)
    }

    fn of_health(self) -> bool {
        matches!(self, Self::All | Self::Health)
    }

    fn of_operators(self) -> bool {
        matches!(self, Self::All | Self::Operators)
    }
}

/// The whole text for a cluster at rest.
const NOT_UPDATING: &str = "The cluster is not updating.\n";

/// What `oc adm upgrade status` prints to standard output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The line, with its end, on alerts that it goes on without; printed first.
    pub complaint: Option<String>,
    /// Everything else.
    pub text: String,
}

impl Report {
    /// Whether there is nothing to report, for which no alerts are asked for either.
    pub fn is_quiet(&self) -> bool {
        self.text == NOT_UPDATING
    }
}

/// Makes the status of a cluster. `at` is when it is asked for, `details` which sections are shown in full.
///
/// # Errors
/// `oc` refuses such a cluster before it prints anything, or crashes.
pub fn render(inputs: &Inputs, at: Moment, details: Details) -> Result<Report, Refusal> {
    let progressing = inputs.check()?;
    let pools = nodes::by_pool(inputs)?;
    let groups = pools::groups(&pools);
    if progressing["status"] != "True" && !pools::any_outdated(&groups) {
        return Ok(Report { complaint: None, text: NOT_UPDATING.to_owned() });
    }
    let control_plane = ControlPlane::assess(inputs, at.now)?;
    let mut text = control_plane.block();
    if details.of_operators() {
        text.push_str(&control_plane.updating_operators(at.now));
    }
    text.push_str(&pools::sections(&groups, details));
    text.push('\n');
    text.push_str(&health::section(inputs, &pools, &control_plane, at, details));
    Ok(Report { complaint: inputs.alerts.complaint(), text })
}

#[cfg(test)]
mod tests;
