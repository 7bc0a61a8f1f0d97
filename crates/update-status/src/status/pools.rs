//! The sections on nodes: the control plane, the worker pools, and the nodes of each pool.

use std::fmt::Write as _;

use super::nodes::{NodeStatus, PoolNodes};
use super::{Details, TABLE};
use crate::assessment::node::MASTER;
use crate::assessment::percent::{percent_of_oc, share};
use crate::assessment::pool::NodeCounts;

/// Maximum number of rows, beyond which nodes without problems are omitted.
const ROWS: usize = 10;

/// The nodes of a pool as displayed.
#[derive(Debug)]
pub(super) struct Group {
    pub name: String,
    /// Counts of all nodes, including those not in `nodes`.
    pub counts: NodeCounts,
    /// The known nodes, in the order of the table.
    nodes: Vec<NodeStatus>,
}

impl Group {
    pub(super) fn new(name: String, counts: NodeCounts, mut nodes: Vec<NodeStatus>) -> Self {
        nodes.sort_by(|a, b| {
            (a.assessment, a.state.phase, &a.name).cmp(&(b.assessment, b.state.phase, &b.name))
        });
        Self { name, counts, nodes }
    }

    fn of(pool: &PoolNodes) -> Self {
        let nodes: Vec<NodeStatus> = pool.nodes.iter().map(|(_, node)| node.clone()).collect();
        Self::new(pool.pool.name.clone(), counts(&nodes), nodes)
    }

    /// Builds a group from published insights. If all nodes have an insight, counts them instead of using
    /// `all`.
    pub(super) fn from_insights(name: String, all: NodeCounts, nodes: Vec<NodeStatus>) -> Self {
        let counts = if nodes.len() == all.total { counts(&nodes) } else { all };
        Self::new(name, counts, nodes)
    }

    fn is_control_plane(&self) -> bool {
        self.name == MASTER
    }
}

/// Returns whether a worker pool has nodes that are not in phase `Updated`.
pub(super) fn any_outdated(groups: &[Group]) -> bool {
    let mut workers = groups.iter().filter(|group| !group.is_control_plane());
    workers.any(|group| group.counts.updated != group.counts.total)
}

pub(super) fn groups(pools: &[PoolNodes]) -> Vec<Group> {
    pools.iter().map(Group::of).collect()
}

/// Renders all sections on nodes.
pub(super) fn sections(groups: &[Group], details: Details) -> String {
    let mut text = String::new();
    let (masters, workers): (Vec<_>, Vec<_>) = groups.iter().partition(|group| group.is_control_plane());
    for group in masters.into_iter().filter(|group| !group.nodes.is_empty()) {
        text.push('\n');
        if group.counts.updated == group.counts.total {
            let version = &group.nodes[0].version;
            let _ = writeln!(text, "All control plane nodes successfully updated to {version}");
        } else {
            text.push_str("Control Plane Nodes\n");
            text.push_str(&table(group, details));
        }
    }
    if workers.iter().any(|group| group.counts.total > 0) {
        text.push_str("\n= Worker Upgrade =\n\n");
        let mut rows = "WORKER POOL\tASSESSMENT\tCOMPLETION\tSTATUS\n".to_owned();
        rows.extend(workers.iter().map(|group| summary(group)));
        text.push_str(&TABLE.layout(&rows));
        for group in workers.iter().filter(|group| group.counts.total > 0) {
            let _ = writeln!(text, "\nWorker Pool Nodes: {}", group.name);
            text.push_str(&table(group, details));
        }
    }
    text
}

/// Renders the row of a worker pool.
fn summary(group: &Group) -> String {
    let Group { name, counts, .. } = group;
    if counts.total == 0 {
        return format!("{name}\tEmpty\t\t0 Total\n");
    }
    let NodeCounts { total, updated, available, progressing, draining, excluded, degraded, .. } = *counts;
    let mut status = format!("{available} Available, {progressing} Progressing, {draining} Draining");
    for (number, what) in [(excluded, "Excluded"), (degraded, "Degraded")] {
        if number > 0 {
            let _ = write!(status, ", {number} {what}");
        }
    }
    let (assessment, percent) = (counts.assessment(), percent_of_oc(share(updated, total)));
    format!("{name}\t{assessment:?}\t{percent}% ({updated}/{total})\t{status}\n")
}

/// Renders the table of nodes, with a summary of the omitted nodes.
fn table(group: &Group, details: Details) -> String {
    let mut rows = "NAME\tASSESSMENT\tPHASE\tVERSION\tEST\tMESSAGE\n".to_owned();
    let mut shown: Vec<&NodeStatus> = Vec::new();
    for (index, node) in group.nodes.iter().enumerate() {
        let is_well = !node.state.is_degraded && !node.state.is_troubled();
        if index >= ROWS && is_well && !details.shows_nodes() {
            continue;
        }
        shown.push(node);
        let NodeStatus { name, assessment, state, version, estimate, message } = node;
        let version = if version.is_empty() { "?" } else { version };
        let _ = writeln!(rows, "{name}\t{assessment:?}\t{:?}\t{version}\t{estimate}\t{message}", state.phase);
    }
    let mut text = TABLE.layout(&rows);
    let shown = counts(shown);
    if group.counts.total > shown.total {
        text.push_str(&omission(group.counts, shown));
    }
    text
}

/// Renders the counts of the nodes that are not shown.
fn omission(all: NodeCounts, shown: NodeCounts) -> String {
    let omitted = |count: fn(&NodeCounts) -> usize| count(&all).saturating_sub(count(&shown));
    let total = omitted(|counts| counts.total);
    // `oc` counts by the version that a node runs here, by its phase everywhere else.
    let updated = omitted(|counts| counts.at_target);
    let outdated = total.saturating_sub(updated);
    let available = omitted(|counts| counts.available);
    let progressing = omitted(|counts| counts.progressing);
    let draining = omitted(|counts| counts.draining);
    let excluded = omitted(|counts| counts.excluded);
    format!(
        "...\nOmitted additional {total} Total, {updated} Completed, {available} Available, {progressing} Progressing, {outdated} Outdated, {draining} Draining, {excluded} Excluded, and 0 Degraded nodes.\nPass along --details=nodes to see all information.\n"
    )
}

fn counts<'a>(nodes: impl IntoIterator<Item = &'a NodeStatus>) -> NodeCounts {
    NodeCounts::from_states(nodes.into_iter().map(|node| node.state))
}
