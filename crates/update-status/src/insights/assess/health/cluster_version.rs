//! Problems of an update that the ClusterVersion reports: failing, unclear, or started during another update.

use windtunnel_core::clock::parse_rfc3339;
use windtunnel_core::condition::of;

use super::Facts;
use super::cause::{Cause, Draft, Findings};
use super::operator::RUNBOOK_DEGRADED;
use crate::insight::{ImpactLevel, ImpactType, ResourceRef};
use crate::insights::assess::dated::Dated;

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
    if !facts.is_of_update() {
        return;
    }
    failing(facts, findings);
    let is_through = facts.progress.is_some_and(|progress| progress.updated == progress.total);
    if !is_through {
        partial(facts, findings);
    }
}

fn failing(facts: &Facts<'_>, findings: &mut Findings<'_>) {
    let resource = ResourceRef::cluster_version(facts.name());
    let name = facts.name();
    let Some(failing) = of(facts.cluster_version, "Failing").map(Dated::read) else {
        let description = "Current status of Cluster Version reconciliation is unclear.  See 'oc -n \
                           openshift-cluster-version logs -l k8s-app=cluster-version-operator --tail -1' to debug.";
        return findings.add(Draft {
            summary: format!("Cluster Version {name} has no Failing condition"),
            description: description.to_owned(),
            ..Draft::of(&UNCLEAR, resource)
        });
    };
    if failing.is("False") {
        return;
    }
    let verb = if failing.is("True") { "is" } else { "may be" };
    findings.add(Draft {
        summary: format!(
            "Cluster Version {name} {verb} failing to proceed with the update ({})",
            failing.reason
        ),
        description: failing.message,
        since: failing.since,
        ..Draft::of(&FAILING, resource)
    });
}

fn partial(facts: &Facts<'_>, findings: &mut Findings<'_>) {
    let history = facts.cluster_version["status"]["history"].as_array().map_or(&[][..], Vec::as_slice);
    let [current, previous, rest @ ..] = history else { return };
    if previous["state"] != "Partial" {
        return;
    }
    let version = |item: &serde_json::Value| item["version"].as_str().unwrap_or_default().to_owned();
    let complete =
        rest.iter().find(|item| item["state"] == "Completed").map_or("unknown".to_owned(), version);
    let (to, from) = (version(current), version(previous));
    findings.add(Draft {
        summary: format!(
            "Previous update to {from} never completed, last complete update was {complete}"
        ),
        description: format!(
            "Current update to {to} was initiated while the previous update to version {from} was still in progress"
        ),
        since: current["startedTime"].as_str().and_then(parse_rfc3339),
        ..Draft::of(&PARTIAL, ResourceRef::cluster_version(facts.name()))
    });
}
