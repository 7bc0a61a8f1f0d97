//! An update of the control plane that takes much longer than estimated.

use jiff::SignedDuration;

use crate::insight::{ImpactLevel, ImpactType, ResourceRef};

use super::Facts;
use super::findings::{Cause, Findings, HealthDraft};

pub(super) const STALLED: Cause = Cause {
    name: "Update is stalled",
    levels: &[ImpactLevel::Warning],
    impact: ImpactType::UpdateStalled,
    reference: "https://docs.openshift.com/container-platform/latest/updating/troubleshooting_updates/gathering-data-cluster-update.html",
};

/// Adds the insight while the control plane updates and its estimated delay exceeds ten minutes.
/// `oc adm upgrade status` calls this stalled.
pub(super) fn assess(facts: &Facts<'_>, findings: &mut Findings<'_>) {
    let Some(progress) = facts.progress.filter(|_| facts.is_updating()) else { return };
    if !progress.is_stalled() {
        return progress.stalls_at.into_iter().for_each(|at| findings.schedule(at));
    }
    let minutes = SignedDuration::from_mins(progress.updating_for.as_mins());
    findings.add(HealthDraft {
        summary: format!("The update of the control plane of {} is stalled", facts.name()),
        description: format!(
            "It has taken {minutes:#}, longer than estimated. {} of {} operators are updated{}",
            progress.updated,
            progress.total,
            not_updated(&progress.waiting)
        ),
        ..HealthDraft::new(&STALLED, ResourceRef::cluster_version(facts.name()))
    });
}

/// The end of the sentence about operators. Empty if all are updated and only the rest of the payload is not.
fn not_updated(waiting: &[String]) -> String {
    if waiting.is_empty() { String::new() } else { format!("; these are not: {}", waiting.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_operators_only_if_some_are_not_updated() {
        assert_eq!(not_updated(&[]), "");
        assert_eq!(not_updated(&["dns".to_owned(), "network".to_owned()]), "; these are not: dns, network");
    }
}
