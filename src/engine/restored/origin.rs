//! The origin of new objects: the release whose payload has them, and the client that created them.

use semver::Version;
use serde_json::Value;
use windtunnel_core::resources::FEATURE_GATES;
use windtunnel_core::{View, text_of};
use windtunnel_openshift::cvo::InstalledPayload;
use windtunnel_openshift::environment::Environment;

use super::leftover::{Leftover, What};

/// Names the creator of each new object, and its release: the first one of the cluster's history whose payload has it,
/// unless the payload of the current release has it as well.
pub(super) fn find_origins(leftovers: &mut [Leftover], view: &View, environment: &Environment) {
    let is_new =
        |leftover: &Leftover| matches!(leftover.what, What::New | What::Trace) && leftover.field.is_empty();
    if !leftovers.iter().any(is_new) {
        return;
    }
    for leftover in leftovers.iter_mut().filter(|leftover| is_new(leftover)) {
        let managers = view.get_key(&leftover.key).map(|object| object.list("/metadata/managedFields"));
        let first = managers.and_then(<[Value]>::first);
        leftover.manager = first.map(|entry| text_of(entry, "manager").to_owned()).unwrap_or_default();
    }
    let payloads = payloads(view, environment);
    let Some(((_, current), others)) = payloads.split_first() else { return };
    for leftover in leftovers.iter_mut().filter(|leftover| is_new(leftover)) {
        let has = |payload: &InstalledPayload<'_>| payload.has_manifest(&leftover.kind, &leftover.key);
        let found = others.iter().find(|(_, payload)| has(payload)).filter(|_| !has(current));
        leftover.release = found.map(|(version, _)| version.clone());
    }
}

/// The payloads of the releases in the history, the current one first.
fn payloads<'e>(view: &View, environment: &'e Environment) -> Vec<(Version, InstalledPayload<'e>)> {
    let Some(cluster_version) = view.cluster_version() else { return Vec::new() };
    let feature_gate = view.get(&FEATURE_GATES, "", "cluster");
    let feature_set = feature_gate.map(|gate| gate.text("/spec/featureSet")).unwrap_or_default();
    let history = cluster_version.list("/status/history").iter();
    let versions = history.filter_map(|entry| entry["version"].as_str()?.parse::<Version>().ok());
    let mut payloads: Vec<(Version, InstalledPayload<'e>)> = Vec::new();
    for version in versions {
        if payloads.iter().all(|(known, _)| *known != version)
            && let Some(release) = environment.payload_of(&version)
        {
            payloads.push((version, InstalledPayload::of(release, feature_set, cluster_version)));
        }
    }
    payloads
}
