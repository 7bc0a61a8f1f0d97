//! Warns of objects whose kind the releases of a scenario do not have.

use serde_json::Value;
use windtunnel_core::{Resource, resources};
use windtunnel_openshift::manifests;
use windtunnel_openshift::release::Release;

use super::{at, at_start};
use crate::plan::{Action, Plan, Step};
use crate::scenario::ScenarioError;

/// Returns warnings about objects that the API server answers with 404: those of the cluster if its release does
/// not define their kind, and those of later steps if no release of the scenario does.
pub(super) fn warnings(plan: &Plan) -> Vec<ScenarioError> {
    let cluster = &plan.cluster;
    // Payloads from folders may be partial.
    let is_partial = |release: &Release| release.payload.is_some();
    if is_partial(&cluster.release) || cluster.releases.iter().any(|planned| is_partial(&planned.release)) {
        return Vec::new();
    }
    let initial = cluster.objects.iter().filter_map(|planned| {
        let own = |resource: &Resource| serves(&cluster.release, resource, &cluster.feature_set);
        missing(&planned.object, &own).map(|message| at_start(plan, &message))
    });
    let later = plan.timeline.iter().filter_map(|step| {
        let Step::Act(Action::Apply(object)) = &step.step else { return None };
        let releases = || cluster.releases.iter().map(|planned| &planned.release).chain([&cluster.release]);
        let any = |resource: &Resource| releases().any(|release| serves(release, resource, PREVIEW));
        missing(object, &any).map(|message| at(plan, step, &message))
    });
    initial.chain(later).collect()
}

/// A feature set with previews, which a step may choose.
const PREVIEW: &str = "TechPreviewNoUpgrade";

fn missing(object: &Value, is_served: &dyn Fn(&Resource) -> bool) -> Option<String> {
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    let resource = resources::nearest(text("apiVersion"), text("kind"))?;
    if is_served(resource) {
        return None;
    }
    let first = |feature_set: &str| {
        let mut releases = Release::lines()
            .filter_map(|(major, minor)| Release::find(&semver::Version::new(major, minor, 0)).ok());
        releases.find(|release| serves(release, resource, feature_set)).map(|release| release.line())
    };
    let (stable, preview) = (first(""), first(PREVIEW));
    let since = match (stable, preview) {
        (Some(stable), Some(preview)) if preview < stable => format!(
            "; it came with {}.{}, and with {}.{} as a technology preview",
            stable.0, stable.1, preview.0, preview.1
        ),
        (Some((major, minor)), _) => format!("; it came with {major}.{minor}"),
        (None, Some((major, minor))) => format!("; it is a technology preview since {major}.{minor}"),
        (None, None) => return None,
    };
    Some(format!("the API server will answer 404: no release here has the kind {}{since}", resource.kind))
}

/// Returns whether a release has a kind with this feature set. True for kinds that are no custom resources.
fn serves(release: &Release, resource: &Resource, feature_set: &str) -> bool {
    let name = format!("{}.{}", resource.plural, resource.group);
    !manifests::is_modelled(&name) || release.serves(&name, feature_set)
}
