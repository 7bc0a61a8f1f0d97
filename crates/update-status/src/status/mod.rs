//! The text of `oc adm upgrade status`, rendered from a cluster's objects at a given time. Pure: no IO, no
//! clock.
//!
//! Follows the client `oc` at commit 6b8e30c5 byte for byte. The sections in printed order are those of
//! [`control_plane`], [`operators`], [`pools`] and [`health`]. Errors and crashes of `oc` are a [`StatusError`].
//! Two orders that are random in `oc` are fixed here: the first of several custom pools that select a node
//! gets it, and `Excluded` comes before `Degraded` in the row of a pool.
//!
//! `go_time.rs` and `go_sort.rs` format and sort as Go does. `tests/it/status` compares with recorded texts.

mod alerts;
mod control_plane;
mod error;
mod go_sort;
mod go_time;
mod health;
pub mod nodes;
mod operators;
mod pools;
pub mod published;

use jiff::SignedDuration;
use windtunnel_core::clock::Time;
use windtunnel_core::resources::{
    CLUSTER_OPERATORS, CLUSTER_VERSIONS, DEPLOYMENTS, MACHINE_CONFIG_POOLS, MACHINE_CONFIGS, NODES,
};
use windtunnel_core::text::tabwriter::Columns;
use windtunnel_core::{Object, Resource, condition};

pub use crate::assessment::cluster_operator::{MACHINE_CONFIG_OPERATOR, MCO_NAMESPACE};
use crate::assessment::cluster_operator::{Operator, image_of};
use crate::assessment::cluster_version::is_cluster_updating;
use crate::assessment::time::{ZERO_TIME, time_field};
pub use alerts::AlertsResponse;
use control_plane::ControlPlane;
pub use error::StatusError;

/// The kinds that [`Inputs`] consist of.
pub const KINDS: &[&Resource] =
    &[&CLUSTER_VERSIONS, &CLUSTER_OPERATORS, &MACHINE_CONFIG_POOLS, &MACHINE_CONFIGS, &NODES, &DEPLOYMENTS];

/// Layout of all tables.
const TABLE: Columns = Columns { min_width: 0, padding: 3 };

/// The objects that `oc` reads to render the status, in the order of the API's lists.
#[derive(Debug, Clone)]
pub struct Inputs {
    /// The ClusterVersion `version`.
    pub cluster_version: Object,
    /// All ClusterOperators; those outside the release payload are ignored.
    pub cluster_operators: Vec<Object>,
    /// All MachineConfigPools.
    pub machine_config_pools: Vec<Object>,
    /// The MachineConfigs named in the nodes' annotations. If one is missing, the version of its nodes is
    /// unknown.
    pub machine_configs: Vec<Object>,
    /// All Nodes.
    pub nodes: Vec<Object>,
    /// The Deployment `openshift-machine-config-operator/machine-config-operator`. If it is missing, the
    /// operator's image counts as empty.
    pub machine_config_operator: Option<Object>,
    /// The response of Prometheus.
    pub alerts: AlertsResponse,
}

impl Inputs {
    /// Creates inputs with the two kinds that the control plane section needs; everything else is empty.
    pub fn new(cluster_version: Object, cluster_operators: Vec<Object>) -> Self {
        Self {
            cluster_version,
            cluster_operators,
            machine_config_pools: Vec::new(),
            machine_configs: Vec::new(),
            nodes: Vec::new(),
            machine_config_operator: None,
            alerts: AlertsResponse::default(),
        }
    }

    /// Gathers the inputs from a cluster; `list` returns the objects of a kind.
    ///
    /// # Errors
    /// There is no ClusterVersion.
    pub fn gather(list: impl Fn(&Resource) -> Vec<Object>) -> Result<Self, StatusError> {
        let mut versions = list(&CLUSTER_VERSIONS);
        let named = versions.iter().position(|version| version.name() == "version").unwrap_or(0);
        if versions.is_empty() {
            return Err(StatusError::NoClusterVersion);
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

    /// Makes the checks that `oc` makes first.
    ///
    /// # Errors
    /// There are no ClusterOperators, or the ClusterVersion has no condition `Progressing`.
    pub fn check_progressing_condition(&self) -> Result<(), StatusError> {
        if self.cluster_operators.is_empty() {
            return Err(StatusError::NoClusterOperators);
        }
        condition::find_in_status(&self.cluster_version, "Progressing").ok_or(StatusError::NoProgressing)?;
        Ok(())
    }

    /// Returns the image in the machine-config operator's Deployment; empty if unknown.
    fn mco_image(&self) -> String {
        self.machine_config_operator.as_ref().and_then(|deployment| image_of(deployment)).unwrap_or_default()
    }

    /// Returns the current time that `oc --mock-clusterversion` assumes, since a dump has no clock: 368.975
    /// µs after the latest transition of a ClusterVersion or ClusterOperator condition; the year 1 if there
    /// is none.
    pub fn mock_now(&self) -> Time {
        let objects = std::iter::once(&self.cluster_version).chain(&self.cluster_operators);
        objects
            .flat_map(|object| object.list("/status/conditions"))
            .filter_map(|condition| time_field(condition, "lastTransitionTime"))
            .filter(|at| *at > ZERO_TIME)
            .max()
            .and_then(|latest| latest.checked_add(MOCK_DELAY).ok())
            .unwrap_or(ZERO_TIME)
    }
}

/// The delay that `oc` adds to the latest transition in mock mode.
const MOCK_DELAY: SignedDuration = SignedDuration::from_nanos(368_975);

/// The time of the status request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// The time that all durations are relative to.
    pub now: Time,
    /// The wall clock time. `oc` uses it to decide how long a node has had a problem; it differs from `now`
    /// only in mock mode.
    pub wall: Time,
}

impl Moment {
    /// The same time for both clocks, as in a live cluster.
    pub fn at(now: Time) -> Self {
        Self { now, wall: now }
    }
}

/// The sections shown in detail: the flag `--details`.
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
    /// The names of the flag's values, in the order in which `oc` lists them.
    pub const NAMES: &[&str] = &["none", "all", "nodes", "health", "operators"];

    const ALL: [Self; 5] = [Self::None, Self::All, Self::Nodes, Self::Health, Self::Operators];

    /// Returns the value with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().zip(Self::ALL).find_map(|(known, details)| (*known == name).then_some(details))
    }

    /// Returns the name of the value.
    pub fn name(self) -> &'static str {
        let index = Self::ALL.iter().position(|details| *details == self);
        index.map_or("", |index| Self::NAMES[index])
    }

    fn shows_nodes(self) -> bool {
        matches!(self, Self::All | Self::Nodes)
    }

    fn shows_health(self) -> bool {
        matches!(self, Self::All | Self::Health)
    }

    fn shows_operators(self) -> bool {
        matches!(self, Self::All | Self::Operators)
    }
}

/// The whole text for a cluster that is not updating.
const NOT_UPDATING: &str = "The cluster is not updating.\n";

/// The standard output of `oc adm upgrade status`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The line, with its line break, that says why alerts are ignored; printed first.
    pub complaint: Option<String>,
    /// Everything else.
    pub text: String,
}

impl Report {
    /// Returns whether the cluster is not updating. `oc` requests no alerts then.
    pub fn is_quiet(&self) -> bool {
        self.text == NOT_UPDATING
    }
}

/// Renders the status of a cluster at the time `at`, with the sections of `details` shown in full.
///
/// # Errors
/// `oc` fails on such a cluster before it prints anything, or crashes.
pub fn render(inputs: &Inputs, at: Moment, details: Details) -> Result<Report, StatusError> {
    inputs.check_progressing_condition()?;
    let pools = nodes::by_pool(inputs)?;
    let groups = pools::groups(&pools);
    if !is_cluster_updating(&inputs.cluster_version, pools::any_outdated(&groups)) {
        return Ok(Report { complaint: None, text: NOT_UPDATING.to_owned() });
    }
    let operators: Vec<Operator> =
        inputs.cluster_operators.iter().map(|operator| Operator::read(operator)).collect();
    let image = inputs.mco_image();
    let control_plane = ControlPlane::assess(&inputs.cluster_version, &operators, &image, at.now)?;
    let mut text = control_plane.block();
    if details.shows_operators() {
        text.push_str(&control_plane.updating_operators(at.now));
    }
    text.push_str(&pools::sections(&groups, details));
    text.push('\n');
    text.push_str(&health::section(inputs, &pools, &control_plane, at, details));
    Ok(Report { complaint: inputs.alerts.warning(), text })
}

#[cfg(test)]
mod tests;
