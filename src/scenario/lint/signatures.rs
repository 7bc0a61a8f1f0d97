//! Warns of Sigstore signatures that nothing checks.

use windtunnel_controllers::registry::Signature;
use windtunnel_core::resources::CLUSTER_IMAGE_POLICIES;

use super::at_start;
use crate::plan::{Action, Plan, Step};
use crate::scenario::ScenarioError;

/// Returns warnings about releases with an unacceptable Sigstore signature, if no ClusterImagePolicy asks for
/// one. Payloads from folders may contain such a policy.
pub(super) fn warnings(plan: &Plan) -> Vec<ScenarioError> {
    let cluster = &plan.cluster;
    let releases = cluster.releases.iter().map(|planned| &planned.release).chain([&cluster.release]);
    let is_policy = |object: &serde_json::Value| object["kind"] == *CLUSTER_IMAGE_POLICIES.kind;
    let has_policy = cluster.objects.iter().any(|planned| is_policy(&planned.object))
        || plan
            .timeline
            .iter()
            .any(|step| matches!(&step.step, Step::Act(Action::Apply(object)) if is_policy(object)));
    if has_policy || releases.into_iter().any(|release| release.payload.is_some()) {
        return Vec::new();
    }
    let unchecked = cluster.releases.iter().filter(|planned| planned.image.sigstore != Signature::Valid);
    let warning = |version: &semver::Version| {
        at_start(
            plan,
            &format!(
                "nothing checks the Sigstore signature of release {version}, so the update takes place: add a \
                 ClusterImagePolicy for its image to the `objects` of the cluster"
            ),
        )
    };
    unchecked.map(|planned| warning(&planned.release.version)).collect()
}
