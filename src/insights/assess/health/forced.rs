//! A health insight that is asked for, so that consumers can be tested.

use crate::model::insight::{HealthInsight, ImpactLevel, ImpactType};

use super::{Draft, Facts, Sight};

/// The annotation that asks for it; its value does not matter.
const ANNOTATION: &str = "usc.openshift.io/force-health-insight";

/// The insight while the annotation is there. Texts are those of the update status controller that was part of the
/// cluster-version operator until April 2025.
pub(super) fn assess(facts: &Facts<'_>, sight: &Sight<'_>) -> Option<HealthInsight> {
    let metadata = &facts.cluster_version["metadata"];
    metadata["annotations"].get(ANNOTATION)?;
    let draft = Draft {
        cluster_version: facts.cluster_version,
        level: ImpactLevel::Info,
        kind: ImpactType::None,
        summary: format!(
            "Forced health insight for ClusterVersion {}",
            metadata["name"].as_str().unwrap_or_default()
        ),
        reference: "https://issues.redhat.com/browse/OTA-1418",
    };
    let description = format!(
        "The resource has a {ANNOTATION:?} annotation which forces USC to generate this health insight for \
         testing purposes."
    );
    Some(draft.dated(None, &description, sight))
}
