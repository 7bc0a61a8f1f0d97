//! Renders the sections on nodes and pools from published insights alone.
//!
//! Insights of the upstream controller follow its own rules. Where these differ from `oc`'s, `oc`'s apply: a
//! node at the target version is updated, whatever its desired MachineConfig. Our insights follow `oc`'s
//! rules already.

use std::collections::BTreeMap;

use windtunnel_core::clock::rfc3339;

use super::nodes::NodeStatus;
use super::pools::{Group, any_outdated, sections};
use super::{Details, NOT_UPDATING, TABLE};
use crate::assessment::node::phase::Phase;
use crate::assessment::node::{NodeState, shortened};
use crate::assessment::pool::NodeCounts;
use crate::insight::published::{KEY_PREFIX, PRODUCERS};
use crate::insight::{
    Detail, HealthInsight, Insight, InsightCondition, MachineConfigPoolStatusInsight, NodeStatusInsight,
    PoolNodesSummaryType as Sort, PoolNodesUpdateSummary as Summary, UNAVAILABLE_DURING_UPDATE,
};

/// Renders the health insights of other producers, the worst first; empty without any. `oc` prints nothing like
/// it: the section names the informers, since the controller vouches for none of their texts.
pub fn section_of_producers<'a>(
    insights: impl IntoIterator<Item = (&'a String, &'a Insight)>,
    details: Details,
) -> String {
    let mark = format!("{KEY_PREFIX}{PRODUCERS}.");
    let informer_in = |key: &'a str| Some(key.strip_prefix(&mark)?.split_once('.')?.0);
    let produced = insights.into_iter().filter_map(|(key, insight)| match &insight.detail {
        Detail::Health(health) => Some((informer_in(key)?, health)),
        _ => None,
    });
    let mut produced: Vec<(&str, &HealthInsight)> = produced.collect();
    if produced.is_empty() {
        return String::new();
    }
    produced.sort_by_key(|(informer, health)| (std::cmp::Reverse(health.impact.level), *informer));
    let title = "= Health Reported by Other Producers =\n";
    if details.shows_health() {
        let entries: Vec<String> =
            produced.iter().map(|(informer, health)| in_full(informer, health)).collect();
        return title.to_owned() + &entries.join("\n");
    }
    let rows = produced.iter().map(|(informer, health)| {
        let impact = &health.impact;
        format!("{:?}\t{}\t{informer}\t{}\n", impact.level, impact.kind.name(), impact.summary)
    });
    title.to_owned()
        + &TABLE.layout(&("LEVEL\tIMPACT\tINFORMER\tMESSAGE\n".to_owned() + &rows.collect::<String>()))
}

fn in_full(informer: &str, health: &HealthInsight) -> String {
    let impact = &health.impact;
    let resources = health.scope.resources.iter().map(|resource| format!("    {resource}\n"));
    format!(
        "Message: {}\n  Informer:    {informer}\n  Since:       {}\n  Level:       {:?}\n  Impact:      {}\n  \
         Reference:   {}\n  Resources:\n{}  Description: {}\n",
        impact.summary,
        rfc3339(health.started_at),
        impact.level,
        impact.kind.name(),
        health.remediation.reference,
        resources.collect::<String>(),
        impact.description.replace('\n', "\n               "),
    )
}

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
    let (updated, total) = pool.updated_of().unwrap_or_else(|| {
        let total = count(Sort::Total);
        (total.saturating_sub(count(Sort::Outdated)), total)
    });
    let in_progress = nodes.iter().filter(|node| node.state.is_in_progress()).count();
    let left = total.saturating_sub(updated + in_progress);
    // A summary count ends at the API's limit. At the limit, assumes the same state for all waiting nodes,
    // and counts unavailable nodes by their insights.
    let beyond = |kind, all: usize| Some(count(kind)).filter(|count| *count < Summary::MOST).unwrap_or(all);
    let excluded = beyond(Sort::Excluded, left);
    let unavailable = nodes.iter().filter(|node| !node.state.is_available).count();
    let counts = NodeCounts {
        total,
        updated,
        at_target: updated,
        in_progress,
        available: beyond(Sort::Available, total.saturating_sub(unavailable)),
        progressing: count(Sort::Progressing),
        draining: count(Sort::Draining),
        pending: left.saturating_sub(excluded),
        excluded,
        degraded: count(Sort::Degraded),
    };
    Group::from_insights(pool.name.clone(), counts, nodes)
}

/// Returns whether the ClusterVersion has `Progressing=True`, even where its history contradicts that.
fn is_progressing(conditions: &[InsightCondition]) -> bool {
    has_status(conditions, "Updating", "True")
        || message(conditions, "Updating").starts_with("Progressing=True ")
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
    let published = phase(node);
    let is_updated = is_of_target && (!target.migrates || published == Phase::Updated);
    // A daemon that has just finished may not have updated the node's version yet.
    let is_updating = !is_updated && (published.is_in_progress() || published == Phase::Updated);
    let phase = if is_updated { Phase::Updated } else { published };
    let problem = message(&node.conditions, "Available");
    let is_unavailable = has_status(&node.conditions, "Available", "False");
    let is_degraded = has_status(&node.conditions, "Degraded", "True");
    let state = NodeState {
        phase,
        is_updating,
        is_updated,
        rollout: phase,
        is_available: !is_unavailable && problem != UNAVAILABLE_DURING_UPDATE,
        is_degraded,
    };
    let unavailable = is_unavailable.then(|| shortened(problem));
    let failure = is_degraded.then(|| message(&node.conditions, "Degraded"));
    NodeStatus::new(&node.name, &node.version, state, unavailable, failure)
}

/// Returns the phase from the reason of the condition `Updating`.
fn phase(node: &NodeStatusInsight) -> Phase {
    match find_condition(&node.conditions, "Updating").map_or("", |updating| updating.reason.as_str()) {
        "Completed" => Phase::Updated,
        reason => Phase::named(reason).unwrap_or(Phase::Pending),
    }
}

fn find_condition<'a>(conditions: &'a [InsightCondition], kind: &str) -> Option<&'a InsightCondition> {
    conditions.iter().find(|condition| condition.kind == kind)
}

fn has_status(conditions: &[InsightCondition], kind: &str, status: &str) -> bool {
    find_condition(conditions, kind).is_some_and(|condition| condition.status == status)
}

fn message<'a>(conditions: &'a [InsightCondition], kind: &str) -> &'a str {
    find_condition(conditions, kind).map_or("", |condition| condition.message.as_str())
}

#[cfg(test)]
mod tests;
