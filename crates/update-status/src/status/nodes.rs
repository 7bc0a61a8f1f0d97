//! Nodes as `oc adm upgrade status` shows them: one row for each, and the pool that it is listed under.

use std::collections::BTreeMap;

use windtunnel_core::resources::{CLUSTER_VERSIONS, MACHINE_CONFIG_POOLS, MACHINE_CONFIGS};
use windtunnel_core::{Key, Object, View, selector};

use super::Inputs;
use super::error::StatusError;
use crate::assessment::cluster_version::{is_architecture_migration, target_version};
use crate::assessment::node::phase::Phase;
use crate::assessment::node::{
    self, MASTER, Node, NodeState, Pool, Releases, UnavailableReason, WORKER, failure, joined,
    pool_object_of, pool_of, release_of, unavailable_reasons,
};

/// Names at least this long, in bytes, are replaced with `<node>` in messages.
const LONG_NAME: usize = 8;

/// The state of a node, in the order of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeAssessment {
    /// The machine-config daemon failed.
    Degraded,
    /// The node cannot run pods, although its update is not in progress.
    Unavailable,
    /// The update is in progress.
    Progressing,
    /// It is outdated, and its pool is paused.
    Excluded,
    /// The update has not started.
    Outdated,
    /// The node is updated.
    Completed,
}

/// The row of one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeStatus {
    /// The node's name.
    pub name: String,
    /// The state shown in the table.
    pub assessment: NodeAssessment,
    /// The update state.
    pub state: NodeState,
    /// The OpenShift version that the node runs; empty if unknown.
    pub version: String,
    /// Estimated remaining time: `+10m`, `+5m`, `-` for none, `?` for unknown.
    pub estimate: &'static str,
    /// The problem of the node; empty if there is none.
    pub message: String,
}

impl NodeStatus {
    /// Creates the row of a node. `unavailable` is its problem if it cannot run pods for another reason than its
    /// update, `failure` the reason if its daemon failed.
    pub(super) fn new(
        name: &str,
        version: &str,
        state: NodeState,
        unavailable: Option<String>,
        failure: Option<&str>,
    ) -> Self {
        let mut status = Self {
            name: name.to_owned(),
            assessment: assessment(state.phase),
            state,
            version: version.to_owned(),
            estimate: estimate(state.phase),
            message: String::new(),
        };
        let unknown = if state.is_updated { "-" } else { "?" };
        if let Some(problem) = unavailable {
            (status.assessment, status.estimate) = (NodeAssessment::Unavailable, unknown);
            status.message = problem;
        }
        if let Some(reason) = failure {
            (status.assessment, status.estimate) = (NodeAssessment::Degraded, unknown);
            reason.clone_into(&mut status.message);
        }
        status.redact_node_name();
        status
    }

    fn redact_node_name(&mut self) {
        if self.name.len() >= LONG_NAME {
            self.message = self.message.replace(&self.name, "<node>");
        }
    }
}

/// Returns the assessment of a node without problems in this phase.
fn assessment(phase: Phase) -> NodeAssessment {
    match phase {
        Phase::Draining | Phase::Updating | Phase::Rebooting => NodeAssessment::Progressing,
        Phase::Paused => NodeAssessment::Excluded,
        Phase::Pending => NodeAssessment::Outdated,
        Phase::Updated => NodeAssessment::Completed,
    }
}

/// Returns the estimate for a node without problems in this phase. Insights have 10 minutes for every phase in
/// progress (`assessment::node::insight`).
fn estimate(phase: Phase) -> &'static str {
    match phase {
        Phase::Draining => "+10m",
        Phase::Updating | Phase::Rebooting => "+5m",
        Phase::Pending => "?",
        Phase::Paused | Phase::Updated => "-",
    }
}

/// The update target that nodes are compared with.
#[derive(Debug)]
struct Target<'a> {
    version: &'a str,
    /// Whether only the architecture changes, not the version.
    migrates: bool,
    /// Release versions of MachineConfigs by name.
    versions: BTreeMap<&'a str, &'a str>,
}

impl<'a> Target<'a> {
    /// Reads the target from a ClusterVersion, and the release versions from MachineConfigs.
    fn new(cluster_version: &'a Object, machine_configs: impl IntoIterator<Item = &'a Object>) -> Self {
        let version = |config: &'a Object| Some((config.name(), release_of(config)?));
        Self {
            version: target_version(cluster_version),
            migrates: is_architecture_migration(cluster_version),
            versions: machine_configs.into_iter().filter_map(version).collect(),
        }
    }

    /// Assesses a node of `pool`.
    fn assess(&self, node: &Node, pool: &Pool) -> NodeStatus {
        let of = |config: &str| self.versions.get(config).copied();
        let releases = Releases { of: &of, newest: self.version, migrates: self.migrates };
        let state = NodeState::compute(node, pool, releases);
        let problems = || joined(&unavailable_reasons(node, pool), UnavailableReason::short);
        let unavailable = state.is_troubled().then(problems);
        let version = node::version(node, releases).unwrap_or_default();
        NodeStatus::new(&node.name, version, state, unavailable, failure(node))
    }
}

/// Assesses a node with the objects of `view`; `None` if no pool selects the node or there is no
/// ClusterVersion. Reads only the two MachineConfigs that the node's annotations name.
pub fn assess_in_view(node: &Object, view: &View) -> Option<NodeStatus> {
    let cluster_version = view.get(&CLUSTER_VERSIONS, "", "version")?;
    let node = Node::read(node);
    let pool = pool_object_of(&node, view.list(&MACHINE_CONFIG_POOLS))?;
    let configs = node.machine_configs().into_iter().filter_map(|name| view.get(&MACHINE_CONFIGS, "", name));
    Some(Target::new(cluster_version, configs).assess(&node, &Pool::read(pool)))
}

/// Returns whether this change of a node can change its phase (set by annotations) or its pool (set by
/// labels).
pub fn can_change_node(old: &Object, new: &Object) -> bool {
    ["annotations", "labels"].iter().any(|field| old["metadata"][*field] != new["metadata"][*field])
}

/// Returns whether this change of another object can change the assessment of nodes: the update target, a
/// pool's spec, or a MachineConfig. `old` is `None` for a created object, `new` for a deleted one.
pub fn can_change_all_nodes(key: &Key, old: Option<&Object>, new: Option<&Object>) -> bool {
    let differs =
        |field: &str| old.zip(new).is_some_and(|(old, new)| old.pointer(field) != new.pointer(field));
    if key.is_kind(&CLUSTER_VERSIONS) {
        return differs("/status/history");
    }
    let is_created_or_deleted = old.is_none() || new.is_none();
    key.is_kind(&MACHINE_CONFIGS)
        || key.is_kind(&MACHINE_CONFIG_POOLS) && (is_created_or_deleted || differs("/spec"))
}

/// A pool and its nodes.
#[derive(Debug)]
pub(super) struct PoolNodes {
    pub(super) pool: Pool,
    /// In the order of the API's list.
    pub(super) nodes: Vec<(Node, NodeStatus)>,
}

/// Groups the nodes by pool, with the pools in the order of the API's list.
///
/// # Errors
/// The pools are such that `oc` fails or crashes.
pub(super) fn by_pool(inputs: &Inputs) -> Result<Vec<PoolNodes>, StatusError> {
    let all = &inputs.machine_config_pools;
    check_pools(all, !inputs.nodes.is_empty())?;
    let target = Target::new(&inputs.cluster_version, &inputs.machine_configs);
    let pool_nodes = |pool: &Object| PoolNodes { pool: Pool::read(pool), nodes: Vec::new() };
    let mut pools: Vec<PoolNodes> = all.iter().map(pool_nodes).collect();
    let has_worker = pools.iter().any(|pool| pool.pool.name == WORKER);
    for node in inputs.nodes.iter().map(|node| Node::read(node)) {
        let Some(own) = pool_of(&node, pools.iter().map(|pool| &pool.pool)) else {
            if has_worker {
                continue;
            }
            return Err(StatusError::NoWorkerPool { node: node.name });
        };
        let index = pools.iter().position(|pool| pool.pool.name == own.name);
        if let Some(PoolNodes { pool, nodes }) = index.and_then(|index| pools.get_mut(index)) {
            let status = target.assess(&node, pool);
            nodes.push((node, status));
        }
    }
    Ok(pools)
}

fn check_pools(pools: &[Object], any_nodes: bool) -> Result<(), StatusError> {
    let broken = pools.iter().find(|pool| !selector::is_valid(&pool["spec"]["nodeSelector"]));
    if let Some(pool) = broken {
        return Err(StatusError::PoolSelector { pool: pool.name().to_owned() });
    }
    if any_nodes && !pools.iter().any(|pool| pool.name() == MASTER) {
        return Err(StatusError::NoMasterPool);
    }
    Ok(())
}
