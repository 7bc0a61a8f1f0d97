//! PinnedImageSets (from 4.20 on): images that the nodes of a pool pull in advance and keep.
//!
//! The controller ([`controller`]) writes into each pool which sets belong to it. On each node the daemon
//! ([`prefetch`]) pulls their images ([`plan`]) and reports in its MachineConfigNode. Pool statuses count the
//! nodes that have all images.

pub(super) mod controller;
pub(super) mod plan;
pub(super) mod prefetch;
#[cfg(test)]
mod tests;

use serde_json::{Value, json};
use windtunnel_core::resources::{CUSTOM_RESOURCE_DEFINITIONS, MACHINE_CONFIG_POOLS, PINNED_IMAGE_SETS};
use windtunnel_core::{Object, View};

use super::membership::{MASTER, WORKER};
use super::{config_node, controller_line};
use crate::manifests::MajorMinor;

/// The first minor that pins images in every feature set.
const FIRST: MajorMinor = (4, 20);
/// The name of the CustomResourceDefinition.
const DEFINITION: &str = "pinnedimagesets.machineconfiguration.openshift.io";

/// Returns whether the components of the controller's release pin images.
fn is_in_use(view: &View) -> bool {
    controller_line(view) >= FIRST && view.get(&CUSTOM_RESOURCE_DEFINITIONS, "", DEFINITION).is_some()
}

/// A set in a certain generation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PinnedSet {
    name: String,
    generation: i64,
    images: Vec<String>,
}

impl PinnedSet {
    fn of(object: &Object) -> Self {
        let images = object.list("/spec/pinnedImages").iter();
        let images = images.filter_map(|image| image["name"].as_str().map(|name| name.trim().to_owned()));
        Self { name: object.name().to_owned(), generation: object.generation(), images: images.collect() }
    }

    /// Its entry in a MachineConfigNode.
    fn entry(&self, is_done: bool, failure: Option<&str>) -> Value {
        let mut entry = json!({ "name": self.name, "desiredGeneration": self.generation });
        if is_done {
            entry["currentGeneration"] = json!(self.generation);
        } else if let Some(failure) = failure {
            entry["lastFailedGeneration"] = json!(self.generation);
            entry["lastFailedGenerationError"] = json!(failure);
        }
        entry
    }
}

/// The sets of a node: those of its pool, and for a custom pool those of the workers as well. Sets that were
/// deleted are omitted.
fn sets_of(node: &str, view: &View) -> Vec<PinnedSet> {
    let Some(object) = view.get_key(&config_node::key(node)) else { return Vec::new() };
    let own = object.text("/spec/pool/name");
    let shared = (![MASTER, WORKER].contains(&own)).then_some(WORKER);
    let mut sets: Vec<PinnedSet> = Vec::new();
    for pool in [Some(own), shared].into_iter().flatten() {
        let Some(pool) = view.get(&MACHINE_CONFIG_POOLS, "", pool) else { continue };
        let names = pool.list("/spec/pinnedImageSets").iter().filter_map(|set| set["name"].as_str());
        for set in names.filter_map(|name| view.get(&PINNED_IMAGE_SETS, "", name)) {
            if sets.iter().all(|known| known.name != set.name()) {
                sets.push(PinnedSet::of(set));
            }
        }
    }
    sets
}
