//! `spec.desiredUpdate`: which payload it asks for.

use windtunnel_core::Object;

use super::retrieve::Target;
use super::validation;
use crate::release::{Architecture, Release};

/// The architecture that updates are looked for: what spec asks for, else that of the operator's `own` release.
pub(super) fn architecture(cluster_version: &Object, own: &Release) -> Architecture {
    match cluster_version.text("/spec/desiredUpdate/architecture") {
        "Multi" => Architecture::Multi,
        _ => own.architecture,
    }
}

/// What spec asks for, and what is wrong with it. Nothing, or something invalid, is the operator's `own` release, without
/// force.
pub(super) fn read(cluster_version: &Object, own: &Release, can_accept_risks: bool) -> (Target, Vec<String>) {
    let text = |field: &str| cluster_version.text(&format!("/spec/desiredUpdate/{field}")).to_owned();
    let (version, image) = (text("version"), text("image"));
    let generation = cluster_version.generation();
    let force = cluster_version["spec"]["desiredUpdate"]["force"].as_bool().unwrap_or(false);
    let own_target =
        || Target { version: own.version.to_string(), image: own.image.clone(), force: false, generation };
    let invalid = validation::errors(cluster_version, can_accept_risks);
    // What is wrong within the request is taken back as a whole; an empty request asks for nothing anyway.
    if invalid.iter().any(|error| error.starts_with("spec.desiredUpdate.")) {
        return (own_target(), invalid);
    }
    if !image.is_empty() {
        return (Target { version, image, force, generation }, invalid);
    }
    // The way to several architectures leads through none but the release that the cluster is at.
    let version = match architecture(cluster_version, own) {
        wanted if wanted == own.architecture => version,
        _ => cluster_version.text("/status/desired/version").to_owned(),
    };
    let offered =
        cluster_version.list("/status/availableUpdates").iter().find(|u| u["version"] == version.as_str());
    let target = match offered.and_then(|update| update["image"].as_str()) {
        Some(image) if !version.is_empty() => Target { version, image: image.to_owned(), force, generation },
        _ => own_target(),
    };
    (target, invalid)
}
