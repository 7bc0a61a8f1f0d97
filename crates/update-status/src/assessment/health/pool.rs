//! Problems of a pool: it is paused or degraded.

use crate::assessment::node::Pool;
use crate::assessment::pool::NodeCounts;
use crate::insight::{ImpactLevel, ImpactType, ResourceRef, ScopeType};

use super::findings::{Cause, Findings, HealthDraft};

const PAUSING: &str = "https://docs.openshift.com/container-platform/latest/support/troubleshooting/troubleshooting-operator-issues.html#troubleshooting-disabling-autoreboot-mco_troubleshooting-operator-issues";

/// The pool is paused and has outdated nodes.
pub(super) const OUTDATED: Cause = Cause {
    name: "Outdated nodes in a paused pool",
    levels: &[ImpactLevel::Warning],
    impact: ImpactType::UpdateStalled,
    reference: PAUSING,
};

/// The pool is paused while the control plane updates.
pub(super) const PAUSED: Cause = Cause {
    name: "Pool is paused",
    levels: &[ImpactLevel::Info],
    impact: ImpactType::None,
    reference: PAUSING,
};

/// The pool has `Degraded=True`.
pub(super) const DEGRADED: Cause = Cause {
    name: "Pool is degraded",
    levels: &[ImpactLevel::Error],
    impact: ImpactType::UpdateStalled,
    reference: super::node::MACHINE_CONFIG_OPERATOR,
};

/// Adds the problem that nodes of a paused pool are outdated, if they are.
pub(crate) fn assess_excluded(pool: &Pool, counts: &NodeCounts, findings: &mut Findings<'_>) {
    if counts.excluded() == 0 {
        return;
    }
    let description = "Pool is paused, which stops all changes to the nodes in the pool, including updates. The \
                       nodes will not be updated until the pool is unpaused by the administrator.";
    findings.add(HealthDraft {
        summary: format!("Outdated nodes in a paused pool '{}' will not be updated", pool.name),
        description: description.to_owned(),
        ..draft(&OUTDATED, pool)
    });
}

/// Adds the problems of a pool. `is_updating` says whether the control plane updates.
pub fn assess(pool: &Pool, counts: &NodeCounts, is_updating: bool, findings: &mut Findings<'_>) {
    assess_excluded(pool, counts, findings);
    let name = &pool.name;
    if counts.excluded() == 0 && pool.is_paused() && is_updating {
        let description = "No node of the pool is outdated yet. Those that will be are not updated until the pool \
                           is unpaused by the administrator.";
        findings.add(HealthDraft {
            summary: format!("Pool '{name}' is paused"),
            description: description.to_owned(),
            ..draft(&PAUSED, pool)
        });
    }
    if let Some(degraded) = &pool.degraded {
        findings.add(HealthDraft {
            summary: format!("Pool '{name}' is degraded"),
            description: degraded.message.clone(),
            since: degraded.since,
            ..draft(&DEGRADED, pool)
        });
    }
}

fn draft(cause: &'static Cause, pool: &Pool) -> HealthDraft {
    HealthDraft {
        scope: ScopeType::for_pool(pool.is_control_plane()),
        ..HealthDraft::new(cause, ResourceRef::machine_config_pool(&pool.name))
    }
}
