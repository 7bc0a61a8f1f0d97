//! The sections on nodes: the control plane, the worker pools, and the nodes of each pool.

use std::fmt::Write as _;

use super::nodes::{NodeStatus, Pool};
use super::{Details, TABLE};
use crate::node_phase::Phase;

/// Maximum number of rows, beyond which nodes without problems are omitted.
const ROWS: usize = 10;

/// Node counts by category.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub total: usize,
    /// Nodes in phase `Updated`.
    pub through: usize,
    /// Nodes that run the target version.
    pub updated: usize,
    pub available: usize,
    /// In progress, and not degraded.
    pub progressing: usize,
    pub draining: usize,
    pub pending: usize,
    pub excluded: usize,
    pub degraded: usize,
}

impl Tally {
    pub(super) fn of<'a>(nodes: impl IntoIterator<Item = &'a NodeStatus>) -> Self {
        let mut tally = Self::default();
        for node in nodes {
            let is_in = |phase: Phase| usize::from(node.phase == phase);
            tally.total += 1;
            tally.through += is_in(Phase::Updated);
            tally.updated += usize::from(node.is_updated);
            tally.available += usize::from(!node.is_unavailable);
            tally.progressing += usize::from(node.phase.is_on_its_way() && !node.is_degraded);
            tally.draining += is_in(Phase::Draining);
            tally.pending += is_in(Phase::Pending);
            tally.excluded += is_in(Phase::Paused);
            tally.degraded += usize::from(node.is_degraded);
        }
        tally
    }

    /// Returns the counts of the remaining nodes.
    fn without(self, shown: Self) -> Self {
        Self {
            total: self.total.saturating_sub(shown.total),
            through: self.through.saturating_sub(shown.through),
            updated: self.updated.saturating_sub(shown.updated),
            available: self.available.saturating_sub(shown.available),
            progressing: self.progressing.saturating_sub(shown.progressing),
            draining: self.draining.saturating_sub(shown.draining),
            pending: self.pending.saturating_sub(shown.pending),
            excluded: self.excluded.saturating_sub(shown.excluded),
            degraded: self.degraded.saturating_sub(shown.degraded),
        }
    }

    fn assessment(self) -> &'static str {
        if self.through == self.total {
            "Completed"
        } else if self.pending == self.total {
            "Pending"
        } else if self.degraded > 0 {
            "Degraded"
        } else if self.excluded > 0 {
            "Excluded"
        } else {
            "Progressing"
        }
    }
}

/// The nodes of a pool as displayed.
#[derive(Debug)]
pub(super) struct Group {
    pub name: String,
    /// Counts of all nodes, including those not in `nodes`.
    pub tally: Tally,
    /// The known nodes, in the order of the table.
    nodes: Vec<NodeStatus>,
}

impl Group {
    pub(super) fn new(name: String, tally: Tally, mut nodes: Vec<NodeStatus>) -> Self {
        nodes.sort_by(|a, b| (a.assessment, a.phase, &a.name).cmp(&(b.assessment, b.phase, &b.name)));
        Self { name, tally, nodes }
    }

    fn of(pool: &Pool<'_>) -> Self {
        let nodes: Vec<NodeStatus> = pool.nodes.iter().map(|(_, node)| node.clone()).collect();
        Self::new(pool.pool.name().to_owned(), Tally::of(&nodes), nodes)
    }

    /// Builds a group from published insights. If all nodes have an insight, counts them instead of using
    /// `tally`.
    pub(super) fn told(name: String, tally: Tally, nodes: Vec<NodeStatus>) -> Self {
        let tally = if nodes.len() == tally.total { Tally::of(&nodes) } else { tally };
        Self::new(name, tally, nodes)
    }

    fn is_control_plane(&self) -> bool {
        self.name == "master"
    }
}

/// Returns whether a worker pool has nodes that are not in phase `Updated`.
pub(super) fn any_outdated(groups: &[Group]) -> bool {
    let mut workers = groups.iter().filter(|group| !group.is_control_plane());
    workers.any(|group| group.tally.through != group.tally.total)
}

pub(super) fn groups(pools: &[Pool<'_>]) -> Vec<Group> {
    pools.iter().map(Group::of).collect()
}

/// Renders all sections on nodes.
pub(super) fn sections(groups: &[Group], details: Details) -> String {
    let mut text = String::new();
    let (masters, workers): (Vec<_>, Vec<_>) = groups.iter().partition(|group| group.is_control_plane());
    for group in masters.into_iter().filter(|group| !group.nodes.is_empty()) {
        text.push('\n');
        if group.tally.through == group.tally.total {
            let version = &group.nodes[0].version;
            let _ = writeln!(text, "All control plane nodes successfully updated to {version}");
        } else {
            text.push_str("Control Plane Nodes\n");
            text.push_str(&table(group, details));
        }
    }
    if workers.iter().any(|group| group.tally.total > 0) {
        text.push_str("\n= Worker Upgrade =\n\n");
        let mut rows = "WORKER POOL\tASSESSMENT\tCOMPLETION\tSTATUS\n".to_owned();
        rows.extend(workers.iter().map(|group| summary(group)));
        text.push_str(&TABLE.layout(&rows));
        for group in workers.iter().filter(|group| group.tally.total > 0) {
            let _ = writeln!(text, "\nWorker Pool Nodes: {}", group.name);
            text.push_str(&table(group, details));
        }
    }
    text
}

/// Renders the row of a worker pool.
fn summary(group: &Group) -> String {
    let Group { name, tally, .. } = group;
    if tally.total == 0 {
        return format!("{name}\tEmpty\t\t0 Total\n");
    }
    let Tally { total, through, available, progressing, draining, excluded, degraded, .. } = *tally;
    let mut status = format!("{available} Available, {progressing} Progressing, {draining} Draining");
    for (number, what) in [(excluded, "Excluded"), (degraded, "Degraded")] {
        if number > 0 {
            let _ = write!(status, ", {number} {what}");
        }
    }
    let (assessment, percent) = (tally.assessment(), share(through, total) * 100.0);
    format!("{name}\t{assessment}\t{percent:.0}% ({through}/{total})\t{status}\n")
}

#[expect(clippy::cast_precision_loss, reason = "no cluster has 2^52 nodes")]
fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

/// Renders the table of nodes, with a summary of the omitted nodes.
fn table(group: &Group, details: Details) -> String {
    let mut rows = "NAME\tASSESSMENT\tPHASE\tVERSION\tEST\tMESSAGE\n".to_owned();
    let mut shown: Vec<&NodeStatus> = Vec::new();
    for (index, node) in group.nodes.iter().enumerate() {
        let is_well = !node.is_degraded && (!node.is_unavailable || node.is_updating);
        if index >= ROWS && is_well && !details.of_nodes() {
            continue;
        }
        shown.push(node);
        let NodeStatus { name, assessment, phase, version, estimate, message, .. } = node;
        let version = if version.is_empty() { "?" } else { version };
        let _ = writeln!(rows, "{name}\t{assessment:?}\t{phase:?}\t{version}\t{estimate}\t{message}");
    }
    let mut text = TABLE.layout(&rows);
    let omitted = group.tally.without(Tally::of(shown));
    if omitted.total > 0 {
        text.push_str(&omission(omitted));
    }
    text
}

fn omission(omitted: Tally) -> String {
    let Tally { total, updated, available, progressing, draining, excluded, .. } = omitted;
    let outdated = total - updated;
    format!(
        "...\nOmitted additional {total} Total, {updated} Completed, {available} Available, {progressing} Progressing, {outdated} Outdated, {draining} Draining, {excluded} Excluded, and 0 Degraded nodes.\nPass along --details=nodes to see all information.\n"
    )
}
