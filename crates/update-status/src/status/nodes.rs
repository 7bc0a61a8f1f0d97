//! Assesses nodes like `oc adm upgrade status`: the update phase of each node, and its problems.

use std::collections::BTreeMap;

use windtunnel_core::resources::{CLUSTER_VERSIONS, MACHINE_CONFIG_POOLS, MACHINE_CONFIGS};
use windtunnel_core::{Key, Object, View, condition, selector};

use super::Inputs;
use super::availability;
use super::history::History;
use super::membership::{annotation, pool_of};
use super::refusal::Refusal;
use crate::node_phase::Phase;

/// Names at least this long, in bytes, are replaced with `<node>` in messages.
const LONG_NAME: usize = 8;

/// The annotation with the name of the MachineConfig that the node should get.
const DESIRED_CONFIG: &str = "machineconfiguration.openshift.io/desiredConfig";

/// The state of a node, in the order of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Assessment {
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

/// The status of one node.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is counted for itself")]
pub struct NodeStatus {
    /// The node's name.
    pub name: String,
    /// The state shown in the table.
    pub assessment: Assessment,
    /// The update phase.
    pub phase: Phase,
    /// The OpenShift version that the node runs; empty if unknown.
    pub version: String,
    /// Estimated remaining time: `+10m`, `+5m`, `-` for none, `?` for unknown.
    pub estimate: &'static str,
    /// The problem of the node; empty if there is none.
    pub message: String,
    /// Whether the node cannot run pods or its machine-config daemon is working.
    pub is_unavailable: bool,
    /// Whether the machine-config daemon failed.
    pub is_degraded: bool,
    /// Whether the update is in progress.
    pub is_updating: bool,
    /// Whether the node runs the target version.
    pub is_updated: bool,
}

/// The update target that nodes are compared with.
#[derive(Debug)]
pub struct Target<'a> {
    version: Option<&'a str>,
    /// Whether only the architecture changes, not the version.
    migrates: bool,
    /// Release versions of MachineConfigs by name.
    versions: BTreeMap<&'a str, &'a str>,
}

impl<'a> Target<'a> {
    /// Reads the target from a ClusterVersion, and the release versions from MachineConfigs.
    pub fn of(cluster_version: &'a Object, machine_configs: impl IntoIterator<Item = &'a Object>) -> Self {
        let history = History::of(cluster_version);
        let versions = machine_configs
            .into_iter()
            .map(|config| (config.name(), annotation(config, "release-image-version")))
            .filter(|(_, version)| !version.is_empty());
        Self {
            version: history.current_version(),
            migrates: history.is_multi_arch_migration() && condition::is_true(cluster_version, "Progressing"),
            versions: versions.collect(),
        }
    }

    fn is_at(&self, config: &str) -> bool {
        self.version.is_some() && self.versions.get(config).copied() == self.version
    }
}

/// Assesses a node of `pool`.
pub fn assess(node: &Object, pool: &Object, target: &Target<'_>) -> NodeStatus {
    let [current, desired] = ["currentConfig", "desiredConfig"].map(|name| annotation(node, name));
    let wanted = pool.text("/spec/configuration/name");
    let has_desired = node.annotation(DESIRED_CONFIG).is_some();
    let settled = !has_desired || current == desired && desired == wanted;
    let is_updated = target.is_at(current) && (!target.migrates || settled);
    let is_updating = !is_updated
        && target.versions.contains_key(current)
        && target.is_at(desired)
        && current != desired
        && desired == wanted;
    let phase = phase(node, pool, is_updating, is_updated);
    let reasons = availability::lacks(node, pool);
    let is_degraded =
        !desired.is_empty() && matches!(annotation(node, "state"), "Degraded" | "Unreconcilable");
    let mut status = NodeStatus {
        name: node.name().to_owned(),
        assessment: assessment(phase),
        phase,
        version: target.versions.get(current).copied().unwrap_or_default().to_owned(),
        estimate: estimate(phase),
        message: String::new(),
        is_unavailable: !reasons.is_empty(),
        is_degraded,
        is_updating,
        is_updated,
    };
    let unknown = if is_updated { "-" } else { "?" };
    if status.is_unavailable && !is_updating {
        (status.assessment, status.estimate) = (Assessment::Unavailable, unknown);
        status.message = availability::joined(&reasons, |lack| lack.what.to_owned());
    }
    if is_degraded {
        (status.assessment, status.estimate) = (Assessment::Degraded, unknown);
        annotation(node, "reason").clone_into(&mut status.message);
    }
    without_name(status)
}

/// Replaces the node's name in its message.
pub(super) fn without_name(mut status: NodeStatus) -> NodeStatus {
    if status.name.len() >= LONG_NAME {
        status.message = status.message.replace(&status.name, "<node>");
    }
    status
}

fn phase(node: &Object, pool: &Object, is_updating: bool, is_updated: bool) -> Phase {
    if is_updating {
        return match annotation(node, "state") {
            _ if is_draining(node) => Phase::Draining,
            "Rebooting" => Phase::Rebooting,
            "Done" => Phase::Updated,
            _ => Phase::Updating,
        };
    }
    match is_updated {
        true => Phase::Updated,
        false if pool["spec"]["paused"] == true => Phase::Paused,
        false => Phase::Pending,
    }
}

/// Valid only for a node whose update is in progress.
fn is_draining(node: &Object) -> bool {
    let [wish, applied] = ["desiredDrain", "lastAppliedDrain"].map(|name| annotation(node, name));
    let verb = wish.split('-').next().unwrap_or_default();
    !wish.is_empty()
        && !applied.is_empty()
        && (wish != applied && verb == "drain" || annotation(node, "state") == "Done")
}

/// Returns the assessment of a node without problems in this phase.
pub(super) fn assessment(phase: Phase) -> Assessment {
    match phase {
        Phase::Draining | Phase::Updating | Phase::Rebooting => Assessment::Progressing,
        Phase::Paused => Assessment::Excluded,
        Phase::Pending => Assessment::Outdated,
        Phase::Updated => Assessment::Completed,
    }
}

/// Returns the estimate for a node without problems in this phase.
pub(super) fn estimate(phase: Phase) -> &'static str {
    match phase {
        Phase::Draining => "+10m",
        Phase::Updating | Phase::Rebooting => "+5m",
        Phase::Pending => "?",
        Phase::Paused | Phase::Updated => "-",
    }
}

/// Assesses a node in the pool it belongs to; `None` if it belongs to none of `pools`.
pub fn find<'a>(
    node: &Object,
    pools: impl IntoIterator<Item = &'a Object>,
    target: &Target<'_>,
) -> Option<NodeStatus> {
    pool_of(node, pools).map(|pool| assess(node, pool, target))
}

/// Assesses a node with the objects of `view`; `None` if no pool selects the node or there is no
/// ClusterVersion. Reads only the two MachineConfigs that the node's annotations name.
pub fn in_view(node: &Object, view: &View) -> Option<NodeStatus> {
    let cluster_version = view.get(&CLUSTER_VERSIONS, "", "version")?;
    let named = ["currentConfig", "desiredConfig"].map(|name| annotation(node, name));
    let configs = named.into_iter().filter_map(|name| view.get(&MACHINE_CONFIGS, "", name));
    find(node, view.list(&MACHINE_CONFIG_POOLS), &Target::of(cluster_version, configs))
}

/// Returns whether this change of a node can change its phase (set by annotations) or its pool (set by
/// labels).
pub fn moves(old: &Object, new: &Object) -> bool {
    ["annotations", "labels"].iter().any(|field| old["metadata"][*field] != new["metadata"][*field])
}

/// Returns whether this change of another object can change the assessment of nodes: the update target, a
/// pool's spec, or a MachineConfig. `old` is `None` for a created object, `new` for a deleted one.
pub fn moves_all(key: &Key, old: Option<&Object>, new: Option<&Object>) -> bool {
    let differs =
        |field: &str| old.zip(new).is_some_and(|(old, new)| old.pointer(field) != new.pointer(field));
    if key.is(&CLUSTER_VERSIONS) {
        return differs("/status/history");
    }
    let comes_or_goes = old.is_none() || new.is_none();
    key.is(&MACHINE_CONFIGS) || key.is(&MACHINE_CONFIG_POOLS) && (comes_or_goes || differs("/spec"))
}

#[derive(Debug)]
pub(super) struct Pool<'a> {
    pub pool: &'a Object,
    /// In the order of the API's list.
    pub nodes: Vec<(&'a Object, NodeStatus)>,
}

/// Groups the nodes by pool, with the pools in the order of the API's list.
///
/// # Errors
/// The pools are such that `oc` fails or crashes.
pub(super) fn by_pool(inputs: &Inputs) -> Result<Vec<Pool<'_>>, Refusal> {
    let all = &inputs.machine_config_pools;
    check_pools(all, !inputs.nodes.is_empty())?;
    let target = Target::of(&inputs.cluster_version, &inputs.machine_configs);
    let mut pools: Vec<Pool<'_>> = all.iter().map(|pool| Pool { pool, nodes: Vec::new() }).collect();
    let has_worker = all.iter().any(|pool| pool.name() == "worker");
    for node in &inputs.nodes {
        let Some(of) = pool_of(node, all) else {
            if has_worker {
                continue;
            }
            return Err(Refusal::NoWorkerPool { node: node.name().to_owned() });
        };
        if let Some(Pool { pool, nodes }) = pools.iter_mut().find(|pool| pool.pool.name() == of.name()) {
            nodes.push((node, assess(node, pool, &target)));
        }
    }
    Ok(pools)
}

fn check_pools(pools: &[Object], any_nodes: bool) -> Result<(), Refusal> {
    let broken = pools.iter().find(|pool| !selector::is_valid(&pool["spec"]["nodeSelector"]));
    if let Some(pool) = broken {
        return Err(Refusal::PoolSelector { pool: pool.name().to_owned() });
    }
    if any_nodes && !pools.iter().any(|pool| pool.name() == "master") {
        return Err(Refusal::NoMasterPool);
    }
    Ok(())
}
