//! The status insight on a node.
//!
//! The rules of [`upstream`], their order and their texts are those of the update status controller that was
//! part of the cluster-version operator until April 2025 (`pkg/updatestatus`, `assessNode`). [`assess`]
//! follows `oc adm upgrade status` in which nodes are updating, and which are updated.

use jiff::SignedDuration;
use windtunnel_core::clock::Time;

use super::fields::{Node, Pool};
use super::phase::Phase;
use super::{
    NodeState, Progress, Releases, UnavailableReason, failure, first_start, joined, progress_by_configs,
    progress_in_pool, unavailable_reasons, version,
};
use crate::assessment::rules::Rules;
use crate::insight::{
    InsightCondition, NodeStatusInsight, ResourceRef, ScopeType, UNAVAILABLE_DURING_UPDATE,
};

/// The assumed duration of a node's update once it has started. `oc` shows `+10m` while the node drains and
/// `+5m` afterwards (`status::nodes::estimate`).
const UPDATE_ESTIMATE: SignedDuration = SignedDuration::from_mins(10);

/// Assesses a node of `pool` like the upstream controller. The transition time of its conditions becomes
/// `now`.
pub fn upstream(node: &Node, pool: &Pool, releases: Releases<'_>, now: Time) -> NodeStatusInsight {
    build_insight(node, pool, releases, progress_by_configs(node, releases), now).0
}

/// Assesses a node of `pool`, and returns its state as well. Works like [`upstream`], except that
///
/// * the progress takes the pool's MachineConfig into account, like `oc`;
/// * the message of the condition `Available` says if the node is unavailable because of its update.
pub fn assess(node: &Node, pool: &Pool, releases: Releases<'_>, now: Time) -> (NodeStatusInsight, NodeState) {
    let progress = progress_in_pool(node, pool, releases);
    let (mut insight, state) = build_insight(node, pool, releases, progress, now);
    let available = insight.conditions.iter_mut().find(|condition| condition.kind == "Available");
    if let Some(available) = available.filter(|_| state.is_updating && !state.is_available) {
        UNAVAILABLE_DURING_UPDATE.clone_into(&mut available.message);
    }
    (insight, state)
}

/// Builds the insight and the state for this progress.
fn build_insight(
    node: &Node,
    pool: &Pool,
    releases: Releases<'_>,
    progress: Progress,
    now: Time,
) -> (NodeStatusInsight, NodeState) {
    let state = NodeState::of_progress(node, pool, releases, progress);
    let (updating, mut est_to_complete) = updating(state.phase, now);
    let mut available = as_expected("Available", "True", "The node is available", now);
    let mut degraded = as_expected("Degraded", "False", "The node is not degraded", now);
    let mut message = String::new();
    // A temporary absence is part of an update.
    if state.is_troubled() {
        available = unavailable(node, pool);
        message.clone_from(&available.message);
    }
    if let Some(reason) = failure(node) {
        reason.clone_into(&mut message);
        degraded = condition("Degraded", "True", reason, reason, Some(now));
    }
    if state.is_troubled() || state.is_degraded {
        est_to_complete = state.is_updated.then_some(SignedDuration::ZERO);
    }
    let insight = NodeStatusInsight {
        conditions: vec![updating, available, degraded],
        name: node.name.clone(),
        resource: ResourceRef::node(&node.name),
        pool_resource: ResourceRef::machine_config_pool(&pool.name),
        scope_type: ScopeType::for_pool(pool.is_control_plane()),
        version: version(node, releases).unwrap_or_default().to_owned(),
        est_to_complete,
        message,
    };
    (insight, state)
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

/// Returns the condition `Available` of a node that cannot run pods, since its first problem.
fn unavailable(node: &Node, pool: &Pool) -> InsightCondition {
    let reasons = unavailable_reasons(node, pool);
    let since = first_start(&reasons, Rules::Controller);
    let reason = joined(&reasons, UnavailableReason::short);
    let message = joined(&reasons, UnavailableReason::sentence);
    condition("Available", "False", &reason, &message, since)
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
