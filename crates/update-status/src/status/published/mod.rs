//! Renders the sections on nodes and pools from published insights alone.
//!
//! Insights of the upstream controller follow its own rules. Where these differ from `oc`'s, `oc`'s apply: a
//! node at the target version is updated, whatever its desired MachineConfig. Our insights follow `oc`'s
//! rules already.

use std::collections::BTreeMap;

use super::nodes::{Assessment, NodeStatus, assessment, estimate, without_name};
use super::pools::{Group, Tally, any_outdated, sections};
use super::{Details, NOT_UPDATING};
use crate::insight::{
    AWAY, Detail, Insight, InsightCondition, MachineConfigPoolStatusInsight, NodeStatusInsight,
    PoolNodesSummaryType as Sort, PoolNodesUpdateSummary as Summary,
};
use crate::node_phase::Phase;

/// Availability messages of insights, and `oc`'s short forms.
const LACKS: [(&str, &str); 3] = [
    ("Node is not ready", "Not ready"),
    ("Node has disk pressure", "Disk pressure"),
    ("Node has unavailable network", "Network unavailable"),
];

/// Renders the sections on nodes: the control plane, the worker pools, and the nodes of each pool. If the
/// cluster is not updating, this is a single line saying so.
pub fn sections_on_nodes<'a>(insights: impl IntoIterator<Item = &'a Insight>, details: Details) -> String {
    let (mut is_updating, mut target, mut pools) = (false, Target::default(), BTreeMap::new());
    let mut nodes: BTreeMap<&str, Vec<&NodeStatusInsight>> = BTreeMap::new();
    for insight in insights {
        match &insight.detail {
            Detail::ClusterVersion(found) => {
                let (versions, is_progressing) = (&found.versions, is_progressing(&found.conditions));
                is_updating |= is_progressing;
                target.version = versions.target.version.as_str();
                target.migrates = is_progressing && versions.previous.version == target.version;
            }
            Detail::MachineConfigPool(pool) => drop(pools.insert(pool.name.as_str(), pool)),
            Detail::Node(node) => nodes.entry(&node.pool_resource.name).or_default().push(node),
            Detail::ClusterOperator(_) | Detail::Health(_) => {}
        }
    }
    let nodes_of = |name: &str| {
        let known = nodes.get(name).into_iter().flatten();
        known.map(|node| node_status(node, target)).collect()
    };
    let groups: Vec<Group> = pools.into_iter().map(|(name, pool)| group(pool, nodes_of(name))).collect();
    if !is_updating && !any_outdated(&groups) {
        return NOT_UPDATING.to_owned();
    }
    sections(&groups, details).trim_start_matches('\n').to_owned()
}

fn group(pool: &MachineConfigPoolStatusInsight, nodes: Vec<NodeStatus>) -> Group {
    let count = |kind: Sort| {
        let found = pool.summaries.iter().find(|summary| summary.kind == kind);
        found.and_then(|summary| usize::try_from(summary.count).ok()).unwrap_or_default()
    };
    let (through, total) = pool.updated_of().unwrap_or_else(|| {
        let total = count(Sort::Total);
        (total.saturating_sub(count(Sort::Outdated)), total)
    });
    let on_their_way = nodes.iter().filter(|node| node.phase.is_on_its_way()).count();
    let left = total.saturating_sub(through + on_their_way);
    // A summary count ends at the API's limit. At the limit, assumes the same state for all waiting nodes,
    // and counts unavailable nodes by their insights.
    let beyond = |kind, all: usize| Some(count(kind)).filter(|count| *count < Summary::MOST).unwrap_or(all);
    let excluded = beyond(Sort::Excluded, left);
    let away = nodes.iter().filter(|node| node.is_unavailable).count();
    let tally = Tally {
        total,
        through,
        updated: through,
        available: beyond(Sort::Available, total.saturating_sub(away)),
        progressing: count(Sort::Progressing),
        draining: count(Sort::Draining),
        pending: left.saturating_sub(excluded),
        excluded,
        degraded: count(Sort::Degraded),
    };
    Group::told(pool.name.clone(), tally, nodes)
}

/// Returns whether the ClusterVersion has `Progressing=True`, even where its history contradicts that.
fn is_progressing(conditions: &[InsightCondition]) -> bool {
    is(conditions, "Updating", "True") || message(conditions, "Updating").starts_with("Progressing=True ")
}

/// The update target that nodes are compared with.
#[derive(Clone, Copy, Default)]
struct Target<'a> {
    version: &'a str,
    /// Whether only the architecture changes, not the version.
    migrates: bool,
}

fn node_status(node: &NodeStatusInsight, target: Target<'_>) -> NodeStatus {
    let is_of_target = !target.version.is_empty() && node.version == target.version;
    let told = phase(node);
    let is_updated = is_of_target && (!target.migrates || told == Phase::Updated);
    // A daemon that has just finished may not have updated the node's version yet.
    let is_updating = !is_updated && (told.is_on_its_way() || told == Phase::Updated);
    let phase = if is_updated { Phase::Updated } else { told };
    let (is_degraded, is_unavailable) =
        (is(&node.conditions, "Degraded", "True"), is(&node.conditions, "Available", "False"));
    let mut status = NodeStatus {
        name: node.name.clone(),
        assessment: assessment(phase),
        phase,
        version: node.version.clone(),
        estimate: estimate(phase),
        message: String::new(),
        is_unavailable: is_unavailable || message(&node.conditions, "Available") == AWAY,
        is_degraded,
        is_updating,
        is_updated,
    };
    let unknown = if is_updated { "-" } else { "?" };
    if is_unavailable {
        (status.assessment, status.estimate) = (Assessment::Unavailable, unknown);
        status.message = in_short(message(&node.conditions, "Available"));
    }
    if is_degraded {
        (status.assessment, status.estimate) = (Assessment::Degraded, unknown);
        message(&node.conditions, "Degraded").clone_into(&mut status.message);
    }
    without_name(status)
}

/// Returns the phase from the reason of the condition `Updating`.
fn phase(node: &NodeStatusInsight) -> Phase {
    match of(&node.conditions, "Updating").map_or("", |updating| updating.reason.as_str()) {
        "Completed" => Phase::Updated,
        reason => Phase::named(reason).unwrap_or(Phase::Pending),
    }
}

/// Returns the availability message in `oc`'s short form.
fn in_short(lacks: &str) -> String {
    let short = |lack: &str| {
        let known = LACKS.iter().find(|(long, _)| *long == lack);
        known.map_or_else(|| lack.to_owned(), |(_, short)| (*short).to_owned())
    };
    lacks.split(" | ").map(short).collect::<Vec<_>>().join(" | ")
}

fn of<'a>(conditions: &'a [InsightCondition], kind: &str) -> Option<&'a InsightCondition> {
    conditions.iter().find(|condition| condition.kind == kind)
}

fn is(conditions: &[InsightCondition], kind: &str, status: &str) -> bool {
    of(conditions, kind).is_some_and(|condition| condition.status == status)
}

fn message<'a>(conditions: &'a [InsightCondition], kind: &str) -> &'a str {
    of(conditions, kind).map_or("", |condition| condition.message.as_str())
}

#[cfg(test)]
mod tests;
