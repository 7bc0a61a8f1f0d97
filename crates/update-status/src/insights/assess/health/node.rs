//! Problems of a node: it cannot run pods, its machine-config daemon failed, its drain takes too long, or it
//! does not come back from its reboot.

use jiff::SignedDuration;
use windtunnel_core::clock::Time;
use windtunnel_core::text::go_quote::quote;

use super::cause::{Cause, Draft, Findings};
use crate::insight::{ImpactLevel, ImpactType, ResourceRef, ScopeType};
use crate::insights::assess::dated::Dated;
use crate::insights::assess::node::{CORDONED, Lack, Node, Pool, Standing, failure};
use crate::node_phase::Phase;

pub(super) const MACHINE_CONFIG_OPERATOR: &str = "https://docs.openshift.com/container-platform/latest/post_installation_configuration/machine-configuration-tasks.html#understanding-the-machine-config-operator";

/// The node cannot run pods, although its update is not in progress.
pub(super) const UNAVAILABLE: Cause = Cause {
    name: "Node is unavailable",
    levels: &[ImpactLevel::Warning],
    impact: ImpactType::UpdateSpeed,
    reference: MACHINE_CONFIG_OPERATOR,
};

/// The machine-config daemon failed.
pub(super) const DEGRADED: Cause = Cause {
    name: "Node is degraded",
    levels: &[ImpactLevel::Error],
    impact: ImpactType::UpdateStalled,
    reference: MACHINE_CONFIG_OPERATOR,
};

/// The drain takes too long.
pub(super) const DRAINING: Cause = Cause {
    name: "Node drains for too long",
    levels: &[ImpactLevel::Warning, ImpactLevel::Error],
    impact: ImpactType::UpdateSpeed,
    reference: "https://github.com/openshift/runbooks/blob/master/alerts/machine-config-operator/MachineConfigControllerDrainError.md",
};

/// The node does not come back from its reboot.
pub(super) const AWAY: Cause = Cause {
    name: "Node does not come back",
    levels: &[ImpactLevel::Warning, ImpactLevel::Error],
    impact: ImpactType::UpdateSpeed,
    reference: "https://github.com/openshift/runbooks/blob/master/alerts/machine-config-operator/MachineConfigDaemonRebootError.md",
};

/// Tolerated time that a node outside its update may be not ready, as in `oc adm upgrade status`.
const NOT_READY_FOR: SignedDuration = SignedDuration::from_mins(5);
/// Tolerated time of disk pressure or an unavailable network.
const PRESSED_FOR: SignedDuration = SignedDuration::from_mins(1);
/// The time after which the machine-config controller starts to report a failing drain.
const DRAINING_FOR: SignedDuration = SignedDuration::from_mins(10);
/// The time after which the machine-config daemon gives up a drain.
const DRAINING_ERROR: SignedDuration = SignedDuration::from_mins(60);
/// Tolerated time of a reboot, long enough for machines that check their memory first; also the time of the
/// alert KubeNodeNotReady.
const AWAY_FOR: SignedDuration = SignedDuration::from_mins(15);
/// The time after which that is an error.
const AWAY_ERROR: SignedDuration = SignedDuration::from_mins(60);

/// Adds the problems of a node of `pool`. `rebooting_since` is when its daemon was first seen to trigger a
/// reboot.
pub fn assess(
    node: &Node,
    pool: &Pool,
    standing: Standing,
    rebooting_since: Option<Time>,
    findings: &mut Findings<'_>,
) {
    unavailable(node, pool, standing, findings);
    if let Some(reason) = failure(node) {
        findings.add(Draft {
            level: ImpactLevel::Error,
            summary: format!("Node {} is degraded", node.name),
            description: reason.to_owned(),
            ..draft(&DEGRADED, node, pool)
        });
    }
    draining(node, pool, standing, findings);
    away(node, pool, standing, rebooting_since, findings);
}

fn draft<'a>(cause: &'static Cause, node: &Node, pool: &Pool) -> Draft<'a> {
    Draft {
        scope: ScopeType::of(pool.is_control_plane()),
        resources: vec![ResourceRef::node(&node.name), ResourceRef::machine_config_pool(&pool.name)],
        ..Draft::of(cause, ResourceRef::node(&node.name))
    }
}

fn unavailable(node: &Node, pool: &Pool, standing: Standing, findings: &mut Findings<'_>) {
    if standing.is_available || standing.is_updating {
        return;
    }
    let tolerated = |lack| if lack == Lack::Ready { NOT_READY_FOR } else { PRESSED_FOR };
    // Checks each condition, so that each one schedules its reassessment.
    let serious = node.lacks.iter().filter(|(lack, found)| findings.lasts(found.since, tolerated(*lack)));
    if serious.count() == 0 {
        return;
    }
    let cordon = node.unschedulable.then(|| CORDONED.to_owned());
    let joined = |words: &dyn Fn(Lack, &Dated) -> String| {
        let lacks = node.lacks.iter().map(|(lack, found)| words(*lack, found));
        lacks.chain(cordon.clone()).collect::<Vec<_>>().join(" | ")
    };
    let name = &node.name;
    findings.add(Draft {
        summary: joined(&|lack, _| match lack {
            Lack::Ready => format!("Node {name} is not ready"),
            Lack::DiskSpace => format!("Node {name} has disk pressure"),
            Lack::Network => format!("Node {name} has unavailable network"),
        }),
        description: failure(node).map_or_else(|| joined(&described), str::to_owned),
        since: node.lacks.iter().filter_map(|(_, found)| found.since).min(),
        ..draft(&UNAVAILABLE, node, pool)
    });
}

fn described(lack: Lack, found: &Dated) -> String {
    let (condition, reason) = match lack {
        Lack::Ready => ("Ready!=True", "Not ready"),
        Lack::DiskSpace => ("DiskPressure!=False", "Disk pressure"),
        Lack::Network => ("NetworkUnavailable!=False", "Network unavailable"),
    };
    let message = quote(&found.message);
    format!("Node has a {condition} condition with Reason \"{reason}\" and message {message}")
}

/// Adds an insight on a long drain. The drain starts with the cordon of the node.
fn draining(node: &Node, pool: &Pool, standing: Standing, findings: &mut Findings<'_>) {
    let is_draining = standing.rollout == Phase::Draining && node.asks_for_drain();
    let Some(since) = node.cordoned_since.filter(|_| is_draining) else { return };
    if !findings.is_older(Some(since), DRAINING_FOR) {
        return;
    }
    let is_error = findings.is_older(Some(since), DRAINING_ERROR);
    findings.add(Draft {
        level: if is_error { ImpactLevel::Error } else { ImpactLevel::Warning },
        summary: format!("Node {} drains for too long", node.name),
        description:
            "Pods do not leave the node, so that it cannot be updated. PodDisruptionBudgets that allow no \
                      disruption and pods that do not end are the usual causes; the log of the \
                      machine-config-controller names the pods."
                .to_owned(),
        since: Some(since),
        ..draft(&DRAINING, node, pool)
    });
}

/// Adds an insight on a missing node. A node that is not ready during its update reboots. Besides, its daemon
/// records the reboot, first seen at `rebooting_since`.
fn away(
    node: &Node,
    pool: &Pool,
    standing: Standing,
    rebooting_since: Option<Time>,
    findings: &mut Findings<'_>,
) {
    let is_away = standing.rollout.is_on_its_way() && pool.wants(node);
    let lack = node.lacks.iter().find(|(lack, _)| *lack == Lack::Ready).filter(|_| is_away);
    let not_ready_since = lack.and_then(|(_, ready)| ready.since);
    let Some(since) = [not_ready_since, rebooting_since].into_iter().flatten().min() else { return };
    if !findings.is_older(Some(since), AWAY_FOR) {
        return;
    }
    let is_error = findings.is_older(Some(since), AWAY_ERROR);
    let told = match lack {
        Some((_, ready)) => described(Lack::Ready, ready),
        None => "Its machine-config daemon let it reboot, and has not said anything since.".to_owned(),
    };
    findings.add(Draft {
        level: if is_error { ImpactLevel::Error } else { ImpactLevel::Warning },
        summary: format!("Node {} does not come back from its reboot", node.name),
        description: format!("{told} Look at the console of the machine."),
        since: Some(since),
        ..draft(&AWAY, node, pool)
    });
}
