//! Nodes, as `oc adm upgrade status` judges them: where each is on its way, and what is wrong with it.

use std::collections::BTreeMap;

use windtunnel_core::resources::{CLUSTER_VERSIONS, MACHINE_CONFIG_POOLS, MACHINE_CONFIGS};
use windtunnel_core::{Key, Object, View, condition, selector};

use super::Inputs;
use super::availability;
use super::history::History;
use super::membership::{annotation, pool_of};
use super::refusal::Refusal;
use crate::node_phase::Phase;

/// Names of at least so many bytes are replaced in messages.
const LONG_NAME: usize = 8;

/// The annotation that names the MachineConfig which a node is to have.
const DESIRED_CONFIG: &str = "machineconfiguration.openshift.io/desiredConfig";

/// How a node is, in one word, in the order of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Assessment {
    /// Its daemon failed.
    Degraded,
    /// Pods cannot run on it, though it is not on its way.
    Unavailable,
    /// It is on its way.
    Progressing,
    /// It is left out.
    Excluded,
    /// It waits.
    Outdated,
    /// It is there.
    Completed,
}

/// One node at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is counted for itself")]
pub struct NodeStatus {
    /// Its name.
    pub name: String,
    /// In one word.
    pub assessment: Assessment,
    /// Where it is.
    pub phase: Phase,
    /// The OpenShift version that it has; empty where that is unknown.
    pub version: String,
    /// How long it still takes: `+10m`, `+5m`, `-` for nothing, `?` for not known.
    pub estimate: &'static str,
    /// What is wrong with it; empty: nothing.
    pub message: String,
    /// Whether pods cannot run on it or its daemon is at work.
    pub is_unavailable: bool,
    /// Whether its daemon failed.
    pub is_degraded: bool,
    /// Whether it is on its way.
    pub is_updating: bool,
    /// Whether it is of the version that the cluster goes to.
    pub is_updated: bool,
}

/// What nodes are measured by.
#[derive(Debug)]
pub struct Target<'a> {
    version: Option<&'a str>,
    /// Whether only the architecture changes, with which the version does not tell.
    migrates: bool,
    /// Versions of MachineConfigs by their names.
    versions: BTreeMap<&'a str, &'a str>,
}

impl<'a> Target<'a> {
    /// Where a cluster goes to by its ClusterVersion, and the versions of its MachineConfigs.
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

/// Judges a node of `pool`.
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

/// The same, with a message that does not name the node.
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

/// Of a node that is on its way.
fn is_draining(node: &Object) -> bool {
    let [wish, applied] = ["desiredDrain", "lastAppliedDrain"].map(|name| annotation(node, name));
    let verb = wish.split('-').next().unwrap_or_default();
    !wish.is_empty()
        && !applied.is_empty()
        && (wish != applied && verb == "drain" || annotation(node, "state") == "Done")
}

/// What a phase comes to where nothing is wrong.
pub(super) fn assessment(phase: Phase) -> Assessment {
    match phase {
        Phase::Draining | Phase::Updating | Phase::Rebooting => Assessment::Progressing,
        Phase::Paused => Assessment::Excluded,
        Phase::Pending => Assessment::Outdated,
        Phase::Updated => Assessment::Completed,
    }
}

/// How long a node in a phase takes where nothing is wrong.
pub(super) fn estimate(phase: Phase) -> &'static str {
    match phase {
        Phase::Draining => "+10m",
        Phase::Updating | Phase::Rebooting => "+5m",
        Phase::Pending => "?",
        Phase::Paused | Phase::Updated => "-",
    }
}

/// Judges a node of whichever of `pools` it belongs to; `None` where it belongs to none.
pub fn find<'a>(
    node: &Object,
    pools: impl IntoIterator<Item = &'a Object>,
    target: &Target<'_>,
) -> Option<NodeStatus> {
    pool_of(node, pools).map(|pool| assess(node, pool, target))
}

/// Judges a node by what informers know of the cluster; `None` where no pool wants it, or there is no ClusterVersion.
/// Only the MachineConfigs that it names are looked up.
pub fn in_view(node: &Object, view: &View) -> Option<NodeStatus> {
    let cluster_version = view.get(&CLUSTER_VERSIONS, "", "version")?;
    let named = ["currentConfig", "desiredConfig"].map(|name| annotation(node, name));
    let configs = named.into_iter().filter_map(|name| view.get(&MACHINE_CONFIGS, "", name));
    find(node, view.list(&MACHINE_CONFIG_POOLS), &Target::of(cluster_version, configs))
}

/// Whether a node that became another may be in another phase, or in another pool: annotations tell the one, labels the other.
pub fn moves(old: &Object, new: &Object) -> bool {
    ["annotations", "labels"].iter().any(|field| old["metadata"][*field] != new["metadata"][*field])
}

/// Whether a change of an object that is no node may change how nodes are judged: where the cluster goes to, what a pool
/// wants, or the version of a MachineConfig. `old` is `None` where it came, `new` where it went.
pub fn moves_all(key: &Key, old: Option<&Object>, new: Option<&Object>) -> bool {
    let differs =
        |field: &str| old.zip(new).is_some_and(|(old, new)| old.pointer(field) != new.pointer(field));
    if key.is(&CLUSTER_VERSIONS) {
        return differs("/status/history");
    }
    let comes_or_goes = old.is_none() || new.is_none();
    key.is(&MACHINE_CONFIGS) || key.is(&MACHINE_CONFIG_POOLS) && (comes_or_goes || differs("/spec"))
}

/// A pool and its nodes.
#[derive(Debug)]
pub(super) struct Pool<'a> {
    pub pool: &'a Object,
    /// In the order in which the API lists them.
    pub nodes: Vec<(&'a Object, NodeStatus)>,
}

/// The nodes of each pool, in the order in which the API lists the pools.
///
/// # Errors
/// What `oc` cannot sort nodes by.
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
