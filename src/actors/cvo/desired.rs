//! `spec.desiredUpdate`: which payload it asks for.

use super::apply::Work;
use super::retrieve::Target;
use crate::model::Object;
use crate::model::release::Release;

/// What spec asks for, and what is wrong with it. Nothing, or something invalid, is the operator's `own` release; that
/// keeps the force with which it is the `work` at hand.
pub(super) fn read(cluster_version: &Object, own: &Release, work: Option<&Work>) -> (Target, Vec<String>) {
    let text = |field: &str| cluster_version.text(&format!("/spec/desiredUpdate/{field}")).to_owned();
    let (version, image) = (text("version"), text("image"));
    let generation = cluster_version.generation();
    let force = cluster_version["spec"]["desiredUpdate"]["force"].as_bool().unwrap_or(false);
    let own_target = || Target {
        version: own.version.to_string(),
        image: own.image.clone(),
        force: work.is_some_and(|work| work.release.image == own.image && work.force),
        generation,
    };
    if !image.is_empty() {
        return (Target { version, image, force, generation }, Vec::new());
    }
    if version.is_empty() {
        return (own_target(), Vec::new());
    }
    let offered =
        cluster_version.list("/status/availableUpdates").iter().find(|u| u["version"] == version.as_str());
    if let Some(image) = offered.and_then(|update| update["image"].as_str()) {
        return (Target { version, image: image.to_owned(), force, generation }, Vec::new());
    }
    let known =
        cluster_version.list("/status/history").iter().any(|entry| entry["version"] == version.as_str());
    let error = format!(
        "spec.desiredUpdate.version: Invalid value: \"{version}\": when image is empty the update must be an available update"
    );
    (own_target(), if known { Vec::new() } else { vec![error] })
}
