//! Problems of a node: it cannot run pods, its machine-config daemon failed, its drain takes too long, or it
//! does not come back from its reboot.

use jiff::SignedDuration;
use windtunnel_core::clock::Time;

use super::findings::{Cause, Findings, HealthDraft};
use crate::assessment::node::phase::Phase;
use crate::assessment::node::{
    Node, NodeState, Pool, UnavailableCondition, UnavailableReason, failure, first_start, joined,
    unavailable_reasons,
};
use crate::insight::{ImpactLevel, ImpactType, ResourceRef, ScopeType};

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
pub(super) const NOT_BACK_FROM_REBOOT: Cause = Cause {
    name: "Node does not come back",
    levels: &[ImpactLevel::Warning, ImpactLevel::Error],
    impact: ImpactType::UpdateSpeed,
    reference: "https://github.com/openshift/runbooks/blob/master/alerts/machine-config-operator/MachineConfigDaemonRebootError.md",
};

/// The time after which the machine-config controller starts to report a failing drain.
const DRAIN_WARNING: SignedDuration = SignedDuration::from_mins(10);
/// The time after which the machine-config daemon gives up a drain.
const DRAIN_ERROR: SignedDuration = SignedDuration::from_mins(60);
/// Tolerated time of a reboot, long enough for machines that check their memory first; also the time of the
/// alert KubeNodeNotReady.
const REBOOT_WARNING: SignedDuration = SignedDuration::from_mins(15);
/// The time after which that is an error.
const REBOOT_ERROR: SignedDuration = SignedDuration::from_mins(60);

/// Adds the problems of a node of `pool`. `rebooting_since` is when its daemon was first seen to trigger a
/// reboot.
pub fn assess(
    node: &Node,
    pool: &Pool,
    state: NodeState,
    rebooting_since: Option<Time>,
    findings: &mut Findings<'_>,
) {
    assess_availability(node, pool, state, findings);
    draining(node, pool, state, findings);
    not_back_from_reboot(node, pool, state, rebooting_since, findings);
}

/// Adds the problems that `oc` reports as well: the node cannot run pods, or its daemon failed.
pub(crate) fn assess_availability(node: &Node, pool: &Pool, state: NodeState, findings: &mut Findings<'_>) {
    unavailable(node, pool, state, findings);
    if let Some(reason) = failure(node) {
        findings.add(HealthDraft {
            level: ImpactLevel::Error,
            summary: format!("Node {} is degraded", node.name),
            description: reason.to_owned(),
            ..draft(&DEGRADED, node, pool)
        });
    }
}

fn draft(cause: &'static Cause, node: &Node, pool: &Pool) -> HealthDraft {
    HealthDraft {
        scope: ScopeType::for_pool(pool.is_control_plane()),
        resources: vec![ResourceRef::node(&node.name), ResourceRef::machine_config_pool(&pool.name)],
        ..HealthDraft::new(cause, ResourceRef::node(&node.name))
    }
}

fn unavailable(node: &Node, pool: &Pool, state: NodeState, findings: &mut Findings<'_>) {
    if !state.is_troubled() {
        return;
    }
    let conditions = node.unavailable_conditions.iter();
    // Checks each condition, so that each one schedules its reassessment. Cordons and the work of the
    // machine-config daemon are temporary.
    let serious = conditions.filter(|(problem, found)| findings.lasts(found.since, problem.serious_after()));
    if serious.count() == 0 {
        return;
    }
    let reasons = unavailable_reasons(node, pool);
    let description = failure(node).map(str::to_owned);
    findings.add(HealthDraft {
        summary: joined(&reasons, |reason| reason.summary(&node.name)),
        description: description.unwrap_or_else(|| joined(&reasons, UnavailableReason::description)),
        since: first_start(&reasons, findings.rules()),
        ..draft(&UNAVAILABLE, node, pool)
    });
}

/// Adds an insight on a long drain. The drain starts with the cordon of the node.
fn draining(node: &Node, pool: &Pool, state: NodeState, findings: &mut Findings<'_>) {
    let is_draining = state.rollout == Phase::Draining && node.requests_drain();
    let Some(since) = node.cordoned_since.filter(|_| is_draining) else { return };
    if !findings.is_older(Some(since), DRAIN_WARNING) {
        return;
    }
    let is_error = findings.is_older(Some(since), DRAIN_ERROR);
    findings.add(HealthDraft {
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
fn not_back_from_reboot(
    node: &Node,
    pool: &Pool,
    state: NodeState,
    rebooting_since: Option<Time>,
    findings: &mut Findings<'_>,
) {
    let is_expected_back = state.rollout.is_in_progress() && pool.is_node_target(node);
    let mut conditions = node.unavailable_conditions.iter();
    let not_ready = conditions.find(|(problem, _)| *problem == UnavailableCondition::NotReady);
    let not_ready = not_ready.filter(|_| is_expected_back).map(|(_, found)| found);
    let not_ready_since = not_ready.and_then(|found| found.since);
    let Some(since) = [not_ready_since, rebooting_since].into_iter().flatten().min() else { return };
    if !findings.is_older(Some(since), REBOOT_WARNING) {
        return;
    }
    let is_error = findings.is_older(Some(since), REBOOT_ERROR);
    let description = match not_ready {
        Some(found) => UnavailableCondition::NotReady.description(found),
        None => "Its machine-config daemon started the reboot and has not reported since.".to_owned(),
    };
    findings.add(HealthDraft {
        level: if is_error { ImpactLevel::Error } else { ImpactLevel::Warning },
        summary: format!("Node {} does not come back from its reboot", node.name),
        description: format!("{description} Look at the console of the machine."),
        since: Some(since),
        ..draft(&NOT_BACK_FROM_REBOOT, node, pool)
    });
}
