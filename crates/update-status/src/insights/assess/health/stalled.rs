//! An update of the control plane that takes much longer than it should.

use jiff::SignedDuration;

use crate::insight::{ImpactLevel, ImpactType, ResourceRef};

use super::Facts;
use super::cause::{Cause, Draft, Findings};

/// It takes much longer than it should.
pub(super) const STALLED: Cause = Cause {
    name: "Update is stalled",
    levels: &[ImpactLevel::Warning],
    impact: ImpactType::UpdateStalled,
    reference: "https://docs.openshift.com/container-platform/latest/updating/troubleshooting_updates/gathering-data-cluster-update.html",
};

/// The insight while the control plane updates and is over its estimate by more than ten minutes, which `oc adm upgrade
/// status` calls stalled.
pub(super) fn assess(facts: &Facts<'_>, findings: &mut Findings<'_>) {
    let Some(progress) = facts.progress.filter(|_| facts.is_updating()) else { return };
    if !progress.is_stalled() {
        return progress.stalls_at.into_iter().for_each(|at| findings.look_at(at));
    }
    let waiting = progress.waiting.join(", ");
    let minutes = SignedDuration::from_mins(progress.updating_for.as_mins());
    findings.add(Draft {
        summary: format!("The update of the control plane of {} is stalled", facts.name()),
        description: format!(
            "It has been going on for {minutes:#}, and its estimate is over. {} of {} operators are updated; these are \
             not: {waiting}",
            progress.updated, progress.total
        ),
        ..Draft::of(&STALLED, ResourceRef::cluster_version(facts.name()))
    });
}
