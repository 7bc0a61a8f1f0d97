//! The payload that `spec.desiredUpdate` requests.

use windtunnel_core::{Object, cluster_version};

use super::validation;
use crate::release::{Architecture, Release};

/// The payload that the spec requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    /// The version in the spec, which may be empty.
    pub(super) version: String,
    pub(super) image: String,
    /// Whether failed checks are only warnings.
    pub(super) force: bool,
    /// Generation of the ClusterVersion with this request.
    pub(super) generation: i64,
}

/// The architecture of the wanted updates: the one in the spec, or else that of the operator's `own` release.
pub(super) fn architecture(cluster_version: &Object, own: &Release) -> Architecture {
    match cluster_version.text("/spec/desiredUpdate/architecture") {
        "Multi" => Architecture::Multi,
        _ => own.architecture,
    }
}

/// Returns the requested target and the validation errors of the spec. An empty or invalid request means the
/// operator's `own` release, without force.
pub(super) fn requested_target(
    cluster_version: &Object,
    own: &Release,
    can_accept_risks: bool,
) -> (Target, Vec<String>) {
    let text = |field: &str| cluster_version.text(&format!("/spec/desiredUpdate/{field}")).to_owned();
    let (version, image) = (text("version"), text("image"));
    let generation = cluster_version.generation();
    let force = cluster_version["spec"]["desiredUpdate"]["force"].as_bool().unwrap_or(false);
    let own_target =
        || Target { version: own.version.to_string(), image: own.image.clone(), force: false, generation };
    let invalid = validation::errors(cluster_version, can_accept_risks);
    // An error in any field invalidates the whole request. An empty request needs no such check.
    if invalid.iter().any(|error| error.starts_with("spec.desiredUpdate.")) {
        return (own_target(), invalid);
    }
    if !image.is_empty() {
        return (Target { version, image, force, generation }, invalid);
    }
    // A switch to the multi-architecture payload is only possible at the current version.
    let version = match architecture(cluster_version, own) {
        wanted if wanted == own.architecture => version,
        _ => cluster_version::desired_version(cluster_version).to_owned(),
    };
    let offered =
        cluster_version.list("/status/availableUpdates").iter().find(|u| u["version"] == version.as_str());
    let target = match offered.and_then(|update| update["image"].as_str()) {
        Some(image) if !version.is_empty() => Target { version, image: image.to_owned(), force, generation },
        _ => own_target(),
    };
    (target, invalid)
}
