//! The sections on nodes: those of the control plane, worker pools, and the nodes of each of these.

use std::fmt::Write as _;

use super::nodes::{Assessment, NodeStatus, Pool};
use super::{Details, TABLE};
use crate::model::Object;
use crate::model::node_phase::Phase;

/// So many rows are shown before those are left out with which all is well.
const ROWS: usize = 10;

/// Whether a worker pool has nodes that are not of the version that the cluster goes to.
pub(super) fn any_outdated(pools: &[Pool<'_>]) -> bool {
    pools
        .iter()
        .filter(|pool| !is_control_plane(pool))
        .any(|pool| pool.nodes.iter().any(|(_, node)| node.phase != Phase::Updated))
}

/// All sections on nodes.
pub(super) fn sections(pools: &[Pool<'_>], details: Details) -> String {
    let mut text = String::new();
    let (masters, workers): (Vec<_>, Vec<_>) = pools.iter().partition(|pool| is_control_plane(pool));
    for nodes in masters.into_iter().map(sorted).filter(|nodes| !nodes.is_empty()) {
        text.push('\n');
        if nodes.iter().all(|node| node.phase == Phase::Updated) {
            let _ = writeln!(text, "All control plane nodes successfully updated to {}", nodes[0].version);
        } else {
            text.push_str("Control Plane Nodes\n");
            text.push_str(&table(&nodes, details));
        }
    }
    let workers: Vec<_> = workers.into_iter().map(|pool| (pool.pool, sorted(pool))).collect();
    if workers.iter().any(|(_, nodes)| !nodes.is_empty()) {
        text.push_str("\n= Worker Upgrade =\n\n");
        let mut rows = "WORKER POOL\tASSESSMENT\tCOMPLETION\tSTATUS\n".to_owned();
        rows.extend(workers.iter().map(|(pool, nodes)| summary(pool, nodes)));
        text.push_str(&TABLE.layout(&rows));
        for (pool, nodes) in workers.iter().filter(|(_, nodes)| !nodes.is_empty()) {
            let _ = writeln!(text, "\nWorker Pool Nodes: {}", pool.name());
            text.push_str(&table(nodes, details));
        }
    }
    text
}

fn is_control_plane(pool: &Pool<'_>) -> bool {
    pool.pool.name() == "master"
}

/// The nodes of a pool in the order of the table.
fn sorted<'a>(pool: &'a Pool<'_>) -> Vec<&'a NodeStatus> {
    let mut nodes: Vec<&NodeStatus> = pool.nodes.iter().map(|(_, node)| node).collect();
    nodes.sort_by(|a, b| (a.assessment, a.phase, &a.name).cmp(&(b.assessment, b.phase, &b.name)));
    nodes
}

/// The row of a worker pool.
fn summary(pool: &Object, nodes: &[&NodeStatus]) -> String {
    let name = pool.name();
    if nodes.is_empty() {
        return format!("{name}\tEmpty\t\t0 Total\n");
    }
    let count = |counts: &dyn Fn(&NodeStatus) -> bool| nodes.iter().filter(|node| counts(node)).count();
    let in_phase = |phase: Phase| count(&|node| node.phase == phase);
    let (total, updated) = (nodes.len(), in_phase(Phase::Updated));
    let (excluded, degraded) = (in_phase(Phase::Paused), count(&|node| node.is_degraded));
    let assessment = if updated == total {
        "Completed"
    } else if in_phase(Phase::Pending) == total {
        "Pending"
    } else if degraded > 0 {
        "Degraded"
    } else if excluded > 0 {
        "Excluded"
    } else {
        "Progressing"
    };
    let on_its_way = |node: &NodeStatus| {
        matches!(node.phase, Phase::Draining | Phase::Updating | Phase::Rebooting) && !node.is_degraded
    };
    let mut status = format!(
        "{} Available, {} Progressing, {} Draining",
        count(&|node| !node.is_unavailable),
        count(&on_its_way),
        in_phase(Phase::Draining)
    );
    for (number, what) in [(excluded, "Excluded"), (degraded, "Degraded")] {
        if number > 0 {
            let _ = write!(status, ", {number} {what}");
        }
    }
    let percent = share(updated, total) * 100.0;
    format!("{name}\t{assessment}\t{percent:.0}% ({updated}/{total})\t{status}\n")
}

#[expect(clippy::cast_precision_loss, reason = "no cluster has 2^52 nodes")]
fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

/// The table of nodes, and what it leaves out.
fn table(nodes: &[&NodeStatus], details: Details) -> String {
    let mut rows = "NAME\tASSESSMENT\tPHASE\tVERSION\tEST\tMESSAGE\n".to_owned();
    let mut omitted: Vec<&NodeStatus> = Vec::new();
    for (index, node) in nodes.iter().enumerate() {
        let is_well = !node.is_degraded && (!node.is_unavailable || node.is_updating);
        if index >= ROWS && is_well && !details.of_nodes() {
            omitted.push(node);
            continue;
        }
        let NodeStatus { name, assessment, phase, version, estimate, message, .. } = node;
        let version = if version.is_empty() { "?" } else { version };
        let _ = writeln!(rows, "{name}\t{assessment:?}\t{phase:?}\t{version}\t{estimate}\t{message}");
    }
    let mut text = TABLE.layout(&rows);
    if !omitted.is_empty() {
        text.push_str(&omission(&omitted));
    }
    text
}

fn omission(omitted: &[&NodeStatus]) -> String {
    let count = |counts: &dyn Fn(&NodeStatus) -> bool| omitted.iter().filter(|node| counts(node)).count();
    format!(
        "...\nOmitted additional {} Total, {} Completed, {} Available, {} Progressing, {} Outdated, {} Draining, {} Excluded, and 0 Degraded nodes.\nPass along --details=nodes to see all information.\n",
        omitted.len(),
        count(&|node| node.is_updated),
        count(&|node| !node.is_unavailable),
        count(&|node| node.assessment == Assessment::Progressing),
        count(&|node| !node.is_updated),
        count(&|node| node.phase == Phase::Draining),
        count(&|node| node.phase == Phase::Paused),
    )
}
