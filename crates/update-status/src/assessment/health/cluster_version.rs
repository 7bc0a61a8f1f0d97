//! Problems of an update that the ClusterVersion reports: failing, unclear, or started during another update.

use serde_json::Value;
use windtunnel_core::condition::find_in_status;
use windtunnel_core::name_of;

use super::Facts;
use super::findings::{Cause, Findings, HealthDraft};
use super::operator::RUNBOOK_DEGRADED;
use crate::assessment::dated_condition::DatedCondition;
use crate::assessment::history::History;
use crate::assessment::rules::Rules;
use crate::insight::{ImpactLevel, ImpactType, ResourceRef};

/// The update fails to proceed.
pub(super) const FAILING: Cause = Cause {
    name: "Update fails to proceed",
    levels: &[ImpactLevel::Warning],
    impact: ImpactType::UpdateStalled,
    reference: RUNBOOK_DEGRADED,
};

/// There is no condition `Failing`.
pub(super) const UNCLEAR: Cause = Cause {
    name: "Update is unclear",
    levels: &[ImpactLevel::Warning],
    impact: ImpactType::UpdateStalled,
    reference: RUNBOOK_DEGRADED,
};

/// The update started before the previous one was completed.
pub(super) const PARTIAL: Cause = Cause {
    name: "Previous update is partial",
    levels: &[ImpactLevel::Warning],
    impact: ImpactType::None,
    reference: "https://docs.openshift.com/container-platform/latest/updating/troubleshooting_updates/gathering-data-cluster-update.html#gathering-clusterversion-history-cli_troubleshooting_updates",
};

pub(super) fn assess(facts: &Facts<'_>, findings: &mut Findings<'_>) {
    if !facts.is_cluster_updating() {
        return;
    }
    assess_failing(facts.cluster_version, findings);
    let are_operators_updated = facts.progress.is_some_and(|progress| progress.updated == progress.total);
    if !are_operators_updated {
        assess_interrupted(facts.cluster_version, findings);
    }
}

/// Adds the problem that the cluster-version operator fails, may fail, or does not report it.
pub(crate) fn assess_failing(cluster_version: &Value, findings: &mut Findings<'_>) {
    let (name, resource) = (name_of(cluster_version), ResourceRef::cluster_version(name_of(cluster_version)));
    let Some(failing) = find_in_status(cluster_version, "Failing").map(DatedCondition::read) else {
        let description = "Current status of Cluster Version reconciliation is unclear.  See 'oc -n \
                           openshift-cluster-version logs -l k8s-app=cluster-version-operator --tail -1' to debug.";
        // The controller reports it since it was first seen, `oc` since now.
        let since = (findings.rules() == Rules::Oc).then(|| findings.now());
        return findings.add(HealthDraft {
            summary: format!("Cluster Version {name} has no Failing condition"),
            description: description.to_owned(),
            since,
            ..HealthDraft::new(&UNCLEAR, resource)
        });
    };
    if failing.has_status("False") {
        return;
    }
    let verb = failing_verb(&failing.status, findings.rules());
    findings.add(HealthDraft {
        summary: format!(
            "Cluster Version {name} {verb} failing to proceed with the update ({})",
            failing.reason
        ),
        description: failing.message,
        since: failing.since,
        ..HealthDraft::new(&FAILING, resource)
    });
}

/// Returns how sure the problem is. The two differ for a status that is none of the three valid ones: `oc`
/// takes it for `True`.
fn failing_verb(status: &str, rules: Rules) -> &'static str {
    match (status, rules) {
        ("True", _) => "is",
        ("Unknown", _) | (_, Rules::Controller) => "may be",
        (_, Rules::Oc) => "is",
    }
}

/// Adds the problem that the update interrupted the previous one.
pub(crate) fn assess_interrupted(cluster_version: &Value, findings: &mut Findings<'_>) {
    let history = History::of(cluster_version);
    let Some(previous) = history.interrupted() else { return };
    findings.add(HealthDraft {
        summary: format!(
            "Previous update to {previous} never completed, last complete update was {}",
            history.last_completed_before_previous()
        ),
        description: format!(
            "Current update to {} was initiated while the previous update to version {previous} was still in progress",
            history.current_version_or_unknown()
        ),
        since: history.started(),
        ..HealthDraft::new(&PARTIAL, ResourceRef::cluster_version(name_of(cluster_version)))
    });
}
