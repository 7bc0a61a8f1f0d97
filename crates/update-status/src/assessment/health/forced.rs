//! A health insight on request, for testing consumers.

use crate::insight::{ImpactLevel, ImpactType, ResourceRef};

use super::Facts;
use super::findings::{Cause, Findings, HealthDraft};

pub(super) const FORCED: Cause = Cause {
    name: "Forced health insight",
    levels: &[ImpactLevel::Info],
    impact: ImpactType::None,
    reference: "https://issues.redhat.com/browse/OTA-1418",
};

/// The annotation that requests the insight; its value does not matter.
const ANNOTATION: &str = "usc.openshift.io/force-health-insight";

/// Adds the insight while the annotation is present. The texts are those of the update status controller that
/// was part of the cluster-version operator until April 2025.
pub(super) fn assess(facts: &Facts<'_>, findings: &mut Findings<'_>) {
    if facts.cluster_version["metadata"]["annotations"].get(ANNOTATION).is_none() {
        return;
    }
    findings.add(HealthDraft {
        summary: format!("Forced health insight for ClusterVersion {}", facts.name()),
        description: format!(
            "The resource has a {ANNOTATION:?} annotation which forces USC to generate this health insight for \
             testing purposes."
        ),
        ..HealthDraft::new(&FORCED, ResourceRef::cluster_version(facts.name()))
    });
}
