//! Problems of a pool and its nodes that affect the update.

use windtunnel_core::Object;
use windtunnel_core::clock::Time;

use super::{Impact, Insight, Level};
use crate::node_phase::Phase;
use crate::status::availability::{Lack, joined, lacks};
use crate::status::go_time::ZERO_TIME;
use crate::status::membership::annotation;
use crate::status::nodes::{NodeStatus, Pool};

const MACHINE_CONFIG_OPERATOR: &str = "https://docs.openshift.com/container-platform/latest/post_installation_configuration/machine-configuration-tasks.html#understanding-the-machine-config-operator";
const PAUSED: &str = "https://docs.openshift.com/container-platform/latest/support/troubleshooting/troubleshooting-operator-issues.html#troubleshooting-disabling-autoreboot-mco_troubleshooting-operator-issues";

/// Adds the insights on a pool's nodes, then the one on the pool.
pub(super) fn of_pool(Pool { pool, nodes }: &Pool<'_>, wall: Time, insights: &mut Vec<Insight>) {
    for (node, status) in nodes {
        if status.is_unavailable && !status.is_updating {
            insights.extend(unavailable(node, pool, status, wall));
        }
        if status.is_degraded {
            insights.push(degraded(node));
        }
    }
    let waits = nodes.iter().any(|(_, status)| status.phase == Phase::Paused);
    if waits && pool["spec"]["paused"] == true {
        insights.push(paused(pool.name()));
    }
}

/// The insight on an unavailable node, unless all problems are temporary.
fn unavailable(node: &Object, pool: &Object, status: &NodeStatus, wall: Time) -> Option<Insight> {
    let lacks = lacks(node, pool);
    if !lacks.iter().any(|lack| lack.is_serious(wall)) {
        return None;
    }
    let known = lacks.iter().map(|lack| lack.since).filter(|since| *since != ZERO_TIME);
    let description = if status.is_degraded {
        annotation(node, "reason").to_owned()
    } else {
        joined(&lacks, Lack::description)
    };
    Some(Insight {
        started: known.min().unwrap_or(ZERO_TIME),
        level: Level::Warning,
        impact: Impact::UpdateSpeed,
        summary: joined(&lacks, |lack| lack.summary(node.name())),
        description,
        reference: MACHINE_CONFIG_OPERATOR.to_owned(),
        resource: format!("nodes: {}", node.name()),
    })
}

/// The insight that a node's daemon failed.
fn degraded(node: &Object) -> Insight {
    Insight {
        started: ZERO_TIME,
        level: Level::Error,
        impact: Impact::UpdateStalled,
        summary: format!("Node {} is degraded", node.name()),
        description: annotation(node, "reason").to_owned(),
        reference: MACHINE_CONFIG_OPERATOR.to_owned(),
        resource: format!("nodes: {}", node.name()),
    }
}

/// The insight on outdated nodes in a paused pool.
fn paused(pool: &str) -> Insight {
    Insight {
        started: ZERO_TIME,
        level: Level::Warning,
        impact: Impact::UpdateStalled,
        summary: format!("Outdated nodes in a paused pool '{pool}' will not be updated"),
        description: "Pool is paused, which stops all changes to the nodes in the pool, including updates. The nodes will not be updated until the pool is unpaused by the administrator.".to_owned(),
        reference: PAUSED.to_owned(),
        resource: format!("machineconfigpools.machineconfiguration.openshift.io: {pool}"),
    }
}
