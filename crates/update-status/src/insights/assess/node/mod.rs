//! The status insight of a node: is it updating, can it run pods, did its update fail.
//!
//! The rules of [`upstream`], their order and their texts are those of the update status controller that was part of the
//! cluster-version operator until April 2025 (`pkg/updatestatus`, `assessNode`). [`assess`] asks as `oc adm upgrade status` does
//! who is on its way to the newest release, and who is there.

mod availability;
mod facts;

use jiff::SignedDuration;
use windtunnel_core::clock::Time;

use crate::insight::{AWAY, InsightCondition, NodeStatusInsight, ResourceRef, ScopeType};
use crate::node_phase::Phase;
pub use availability::CORDONED;
pub use facts::{Lack, Node, Pool, pool_of, release_of};

/// Where a node stands, as its pool counts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// Where it is on its way.
    pub phase: Phase,
    /// Whether it began and is not there, also where its daemon has just ended its work.
    pub is_updating: bool,
    /// Where it is on its way to any other MachineConfig of the newest release, if only to one that its pool does not want.
    pub rollout: Phase,
    /// Whether pods can run on it and its daemon rests, also where that is part of its update.
    pub is_available: bool,
    /// Whether its daemon failed.
    pub is_degraded: bool,
}

impl Standing {
    /// Whether it began and is not there.
    pub fn is_on_its_way(self) -> bool {
        self.phase.is_on_its_way()
    }
}

/// How long a node is thought to take once it began.
const UPDATE_ESTIMATE: SignedDuration = SignedDuration::from_mins(10);

/// The releases that there are.
#[derive(Clone, Copy)]
pub struct Releases<'a> {
    /// The release that the MachineConfig of a name is of.
    pub of: &'a dyn Fn(&str) -> Option<&'a str>,
    /// The one that the cluster is at, or is on its way to.
    pub newest: &'a str,
    /// Whether the cluster is on its way to another architecture of the release that it has, so that the release of a node does not
    /// tell whether it is there.
    pub migrates: bool,
}

/// Where a node is on its way to the newest release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// It is there.
    Updated,
    /// It is on its way.
    Updating,
    /// It did not begin.
    Behind,
}

/// Assesses a node of `pool` at the moment `now`, which becomes the transition time of its conditions, as the upstream
/// controller did.
pub fn upstream(node: &Node, pool: &Pool, releases: Releases<'_>, now: Time) -> NodeStatusInsight {
    told(node, pool, releases, rollout(node, releases), now).0
}

/// The same by what its pool wants, and where the node stands: as [`upstream`], but
///
/// * it is on its way only to what its pool wants, and once it is of the newest release it is there, whatever MachineConfig it is to get;
/// * while the cluster changes its architecture, it is there with the MachineConfig that its pool wants;
/// * its condition `Available` tells whether it is away, also where that is part of its update.
pub fn assess(node: &Node, pool: &Pool, releases: Releases<'_>, now: Time) -> (NodeStatusInsight, Standing) {
    let (mut insight, standing) = told(node, pool, releases, update(node, pool, releases), now);
    let available = insight.conditions.iter_mut().find(|condition| condition.kind == "Available");
    if let Some(available) = available.filter(|_| standing.is_updating && !standing.is_available) {
        AWAY.clone_into(&mut available.message);
    }
    (insight, standing)
}

/// What a node comes to that is so far.
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
    // To be away for a while is part of an update.
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

/// The release that it has.
fn version<'a>(node: &Node, releases: Releases<'a>) -> Option<&'a str> {
    (releases.of)(node.annotation("currentConfig"))
}

/// How far it is by its MachineConfigs alone, as the upstream controller had it.
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

/// How far it is by what its pool wants too, as `oc` has it.
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

/// The condition `Updating`, and how long it may take yet.
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

/// Whether the daemon waits for pods to leave. `desiredDrain` reads `<drain or uncordon>-<MachineConfig>`.
fn is_draining(node: &Node) -> bool {
    let (desired, applied) = (node.annotation("desiredDrain"), node.annotation("lastAppliedDrain"));
    let drains = desired != applied && desired.split('-').next() == Some("drain");
    !desired.is_empty() && !applied.is_empty() && (drains || node.annotation("state") == "Done")
}

/// Why the daemon failed, if it did.
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
