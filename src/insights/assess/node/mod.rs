//! The status insight of a node: is it updating, can it run pods, did its update fail.
//!
//! The rules, their order and their texts are those of the update status controller that was part of the
//! cluster-version operator until April 2025 (`pkg/updatestatus`, `assessNode`).

mod availability;
mod facts;

use jiff::SignedDuration;

use crate::base::clock::Time;
use crate::model::insight::{InsightCondition, NodeStatusInsight, ResourceRef, ScopeType};

pub use facts::{Node, Pool, pool_of, release_of};

/// How long a node is thought to take once it began.
const UPDATE_ESTIMATE: SignedDuration = SignedDuration::from_mins(10);

/// The releases that there are.
#[derive(Clone, Copy)]
pub struct Releases<'a> {
    /// The release that the MachineConfig of a name is of.
    pub of: &'a dyn Fn(&str) -> Option<&'a str>,
    /// The one that the cluster is at, or is on its way to.
    pub newest: &'a str,
}

/// Where a node is on its way to the newest release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// It is there.
    Updated,
    /// It is on its way.
    Updating,
    /// It did not begin.
    Behind,
}

/// Assesses a node of `pool` at the moment `now`, which becomes the transition time of its conditions.
pub fn assess(node: &Node, pool: &Pool, releases: Releases<'_>, now: Time) -> NodeStatusInsight {
    let version = (releases.of)(node.annotation("currentConfig"));
    let phase = phase(node, version, releases);
    let (updating, mut est_to_complete) = updating(node, pool, phase, now);
    let mut available = as_expected("Available", "True", "The node is available", now);
    let mut degraded = as_expected("Degraded", "False", "The node is not degraded", now);
    let (mut message, mut troubled) = (String::new(), false);
    // To be away for a while is part of an update.
    if let Some(unavailable) = availability::unavailable(node, pool)
        && phase != Phase::Updating
    {
        message.clone_from(&unavailable.message);
        (available, troubled) = (unavailable, true);
    }
    if let Some(reason) = failure(node) {
        reason.clone_into(&mut message);
        degraded = condition("Degraded", "True", reason, reason, Some(now));
        troubled = true;
    }
    if troubled {
        est_to_complete = (phase == Phase::Updated).then_some(SignedDuration::ZERO);
    }
    NodeStatusInsight {
        conditions: vec![updating, available, degraded],
        name: node.name.clone(),
        resource: ResourceRef::node(&node.name),
        pool_resource: ResourceRef::machine_config_pool(&pool.name),
        scope_type: if pool.is_control_plane() { ScopeType::ControlPlane } else { ScopeType::WorkerPool },
        version: version.unwrap_or_default().to_owned(),
        est_to_complete,
        message,
    }
}

fn phase(node: &Node, version: Option<&str>, releases: Releases<'_>) -> Phase {
    let (current, desired) = (node.annotation("currentConfig"), node.given("desiredConfig"));
    let Some(version) = version else { return Phase::Behind };
    if version == releases.newest && desired.is_none_or(|desired| desired == current) {
        Phase::Updated
    } else if desired.and_then(releases.of) == Some(releases.newest) {
        Phase::Updating
    } else {
        Phase::Behind
    }
}

/// The condition `Updating`, and how long it may take yet.
fn updating(node: &Node, pool: &Pool, phase: Phase, now: Time) -> (InsightCondition, Option<SignedDuration>) {
    let on_its_way = |reason| ("True", reason, Some(UPDATE_ESTIMATE));
    let through = ("False", "Completed", Some(SignedDuration::ZERO));
    let (status, reason, estimate) = match (phase, node.annotation("state")) {
        (Phase::Updating, _) if is_draining(node) => on_its_way("Draining"),
        (Phase::Updating, "Rebooting") => on_its_way("Rebooting"),
        (Phase::Updating, "Done") | (Phase::Updated, _) => through,
        (Phase::Updating, _) => on_its_way("Updating"),
        (Phase::Behind, _) if pool.paused => ("False", "Paused", Some(SignedDuration::ZERO)),
        (Phase::Behind, _) => ("False", "Pending", None),
    };
    let message = match reason {
        "Draining" => "The node is draining",
        "Rebooting" => "The node is rebooting",
        "Completed" => "The node is updated",
        "Updating" => "The node is updating",
        "Paused" => "The update of the node is paused",
        _ => "The update of the node is pending",
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
fn failure(node: &Node) -> Option<&str> {
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
