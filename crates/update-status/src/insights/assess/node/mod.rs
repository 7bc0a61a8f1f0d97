//! Assesses a node for its status insight: whether it is updating, can run pods, or has failed to update.
//!
//! The rules of [`upstream`], their order and their texts are those of the update status controller that was
//! part of the cluster-version operator until April 2025 (`pkg/updatestatus`, `assessNode`). [`assess`]
//! follows `oc adm upgrade status` in which nodes are updating, and which are updated.

mod availability;
mod facts;

use jiff::SignedDuration;
use windtunnel_core::clock::Time;

use crate::insight::{AWAY, InsightCondition, NodeStatusInsight, ResourceRef, ScopeType};
use crate::node_phase::Phase;
pub use availability::CORDONED;
pub use facts::{Lack, Node, Pool, pool_of, release_of};

/// The update state of a node, as counted by its pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// The update phase.
    pub phase: Phase,
    /// Whether the update is in progress, including when the daemon has just finished.
    pub is_updating: bool,
    /// The update phase by MachineConfigs alone: any one of the newest release is a target, even if it is not
    /// the pool's.
    pub rollout: Phase,
    /// Whether it can run pods and its daemon is idle, regardless of its update.
    pub is_available: bool,
    /// Whether the machine-config daemon failed.
    pub is_degraded: bool,
}

impl Standing {
    /// Returns whether the update is in progress.
    pub fn is_on_its_way(self) -> bool {
        self.phase.is_on_its_way()
    }
}

/// The assumed duration of a node's update once it has started.
const UPDATE_ESTIMATE: SignedDuration = SignedDuration::from_mins(10);

/// Releases of MachineConfigs and of the cluster.
#[derive(Clone, Copy)]
pub struct Releases<'a> {
    /// Returns the release version of the MachineConfig with this name.
    pub of: &'a dyn Fn(&str) -> Option<&'a str>,
    /// The version that the cluster runs or is updating to.
    pub newest: &'a str,
    /// Whether the cluster changes only its architecture, not its release.
    pub migrates: bool,
}

/// The progress of a node towards the newest release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// The node is updated.
    Updated,
    /// The update is in progress.
    Updating,
    /// The update has not started.
    Behind,
}

/// Assesses a node of `pool` like the upstream controller. The transition time of its conditions becomes
/// `now`.
pub fn upstream(node: &Node, pool: &Pool, releases: Releases<'_>, now: Time) -> NodeStatusInsight {
    told(node, pool, releases, rollout(node, releases), now).0
}

/// Assesses a node of `pool`, and returns its state as well. Works like [`upstream`], except that
///
/// * the node is updating only if its target is the pool's MachineConfig, and it is updated once it runs the
///   newest release, whatever its desired MachineConfig;
/// * during a change of architecture, it is updated with the pool's MachineConfig;
/// * the message of the condition `Available` says if the node is unavailable because of its update.
pub fn assess(node: &Node, pool: &Pool, releases: Releases<'_>, now: Time) -> (NodeStatusInsight, Standing) {
    let (mut insight, standing) = told(node, pool, releases, update(node, pool, releases), now);
    let available = insight.conditions.iter_mut().find(|condition| condition.kind == "Available");
    if let Some(available) = available.filter(|_| standing.is_updating && !standing.is_available) {
        AWAY.clone_into(&mut available.message);
    }
    (insight, standing)
}

/// Builds the insight and the state for this progress.
fn told(
    node: &Node,
    pool: &Pool,
    releases: Releases<'_>,
    progress: Progress,
    now: Time,
) -> (NodeStatusInsight, Standing) {
    let phase = phase(node, pool, progress);
    let (updating, mut est_to_complete) = updating(phase, now);
    let mut available = as_expected("Available", "True", "The node is available", now);
    let mut degraded = as_expected("Degraded", "False", "The node is not degraded", now);
    let (mut message, mut troubled) = (String::new(), false);
    let unavailable = availability::unavailable(node, pool);
    let failure = failure(node);
    let standing = Standing {
        phase,
        is_updating: progress == Progress::Updating,
        rollout: self::phase(node, pool, rollout(node, releases)),
        is_available: unavailable.is_none(),
        is_degraded: failure.is_some(),
    };
    // A temporary absence is part of an update.
    if let Some(unavailable) = unavailable.filter(|_| progress != Progress::Updating) {
        message.clone_from(&unavailable.message);
        (available, troubled) = (unavailable, true);
    }
    if let Some(reason) = failure {
        reason.clone_into(&mut message);
        degraded = condition("Degraded", "True", reason, reason, Some(now));
        troubled = true;
    }
    if troubled {
        est_to_complete = (progress == Progress::Updated).then_some(SignedDuration::ZERO);
    }
    let insight = NodeStatusInsight {
        conditions: vec![updating, available, degraded],
        name: node.name.clone(),
        resource: ResourceRef::node(&node.name),
        pool_resource: ResourceRef::machine_config_pool(&pool.name),
        scope_type: ScopeType::of(pool.is_control_plane()),
        version: version(node, releases).unwrap_or_default().to_owned(),
        est_to_complete,
        message,
    };
    (insight, standing)
}

fn version<'a>(node: &Node, releases: Releases<'a>) -> Option<&'a str> {
    (releases.of)(node.annotation("currentConfig"))
}

/// Returns the progress by MachineConfigs alone, like the upstream controller.
fn rollout(node: &Node, releases: Releases<'_>) -> Progress {
    let (current, desired) = (node.annotation("currentConfig"), node.given("desiredConfig"));
    let Some(version) = version(node, releases) else { return Progress::Behind };
    if version == releases.newest && desired.is_none_or(|desired| desired == current) {
        Progress::Updated
    } else if desired.and_then(releases.of) == Some(releases.newest) {
        Progress::Updating
    } else {
        Progress::Behind
    }
}

/// Returns the progress, taking the pool's MachineConfig into account, like `oc`.
fn update(node: &Node, pool: &Pool, releases: Releases<'_>) -> Progress {
    let (current, desired) = (node.annotation("currentConfig"), node.given("desiredConfig"));
    let Some(version) = version(node, releases) else { return Progress::Behind };
    let is_wanted = pool.names(desired.unwrap_or_default());
    let is_settled = desired.is_none_or(|desired| desired == current && is_wanted);
    if version == releases.newest && (!releases.migrates || is_settled) {
        Progress::Updated
    } else if desired.is_some_and(|desired| desired != current) && is_wanted {
        rollout(node, releases)
    } else {
        Progress::Behind
    }
}

fn phase(node: &Node, pool: &Pool, progress: Progress) -> Phase {
    match (progress, node.annotation("state")) {
        (Progress::Updating, _) if is_draining(node) => Phase::Draining,
        (Progress::Updating, "Rebooting") => Phase::Rebooting,
        (Progress::Updating, "Done") | (Progress::Updated, _) => Phase::Updated,
        (Progress::Updating, _) => Phase::Updating,
        (Progress::Behind, _) if pool.paused => Phase::Paused,
        (Progress::Behind, _) => Phase::Pending,
    }
}

/// Returns the condition `Updating`, and the estimated remaining time.
fn updating(phase: Phase, now: Time) -> (InsightCondition, Option<SignedDuration>) {
    let (estimate, zero) = (Some(UPDATE_ESTIMATE), Some(SignedDuration::ZERO));
    let (status, reason, message, estimate) = match phase {
        Phase::Draining => ("True", "Draining", "The node is draining", estimate),
        Phase::Rebooting => ("True", "Rebooting", "The node is rebooting", estimate),
        Phase::Updating => ("True", "Updating", "The node is updating", estimate),
        Phase::Updated => ("False", "Completed", "The node is updated", zero),
        Phase::Paused => ("False", "Paused", "The update of the node is paused", zero),
        Phase::Pending => ("False", "Pending", "The update of the node is pending", None),
    };
    (condition("Updating", status, reason, message, Some(now)), estimate)
}

/// Returns whether the daemon waits for a drain. `desiredDrain` is `<drain or uncordon>-<MachineConfig>`.
fn is_draining(node: &Node) -> bool {
    let (desired, applied) = (node.annotation("desiredDrain"), node.annotation("lastAppliedDrain"));
    let drains = desired != applied && desired.split('-').next() == Some("drain");
    !desired.is_empty() && !applied.is_empty() && (drains || node.annotation("state") == "Done")
}

/// Returns why the daemon failed, if it did.
pub(in crate::insights) fn failure(node: &Node) -> Option<&str> {
    let failed = has_failed(node) && !node.annotation("desiredConfig").is_empty();
    failed.then(|| node.annotation("reason"))
}

fn has_failed(node: &Node) -> bool {
    matches!(node.annotation("state"), "Degraded" | "Unreconcilable")
}

fn as_expected(kind: &str, status: &str, message: &str, now: Time) -> InsightCondition {
    condition(kind, status, "AsExpected", message, Some(now))
}

fn condition(kind: &str, status: &str, reason: &str, message: &str, since: Option<Time>) -> InsightCondition {
    InsightCondition {
        kind: kind.to_owned(),
        status: status.to_owned(),
        last_transition_time: since,
        reason: reason.to_owned(),
        message: message.to_owned(),
    }
}

#[cfg(test)]
mod tests;
