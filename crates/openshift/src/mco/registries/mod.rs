//! The registries of nodes: mirrors and blocked registries, which become the files of
//! `99-<pool>-generated-registries` (`syncImageConfig` of openshift/machine-config-operator).
//!
//! * `mirrors.rs` merges the mirror sets of all objects.
//! * `edit.rs` writes them into `registries.conf`.
//! * `policy.rs` writes the registries that may be used at all into `policy.json`.

mod edit;
mod mirrors;
mod policy;
#[cfg(test)]
mod tests;

use serde_json::Value;
use windtunnel_controllers::registries_conf::{PATH, RegistriesConf};
use windtunnel_controllers::registry::repository_of;
use windtunnel_core::resources::{
    IMAGE_CONTENT_SOURCE_POLICIES, IMAGE_DIGEST_MIRROR_SETS, IMAGE_SETTINGS, IMAGE_TAG_MIRROR_SETS,
};
use windtunnel_core::{Object, Resource, View};

use self::edit::Edits;
pub(super) use self::edit::PER_MIRROR;
use self::mirrors::MirrorSets;
use super::ignition;
use super::node_settings::file;
use crate::manifests::MajorMinor;

/// The contents of the file without mirrors and settings, which a template writes.
pub(super) const TEMPLATE: &str =
    "unqualified-search-registries = ['registry.access.redhat.com', 'docker.io']\n";
/// The file with the registries for image names without one.
const SEARCH_PATH: &str = "/etc/containers/registries.conf.d/01-image-searchRegistries.conf";
/// The kinds that decide.
pub(super) const KINDS: [Resource; 4] =
    [IMAGE_CONTENT_SOURCE_POLICIES, IMAGE_DIGEST_MIRROR_SETS, IMAGE_SETTINGS, IMAGE_TAG_MIRROR_SETS];

/// The `registries.conf` in a MachineConfig; empty if it has none that can be read.
pub(super) fn conf_of(config: &Object) -> RegistriesConf {
    let files = config.list("/spec/config/storage/files");
    let contents = files.iter().find(|file| file["path"] == PATH).and_then(ignition::contents);
    RegistriesConf::parse(&String::from_utf8_lossy(&contents.unwrap_or_default())).unwrap_or_default()
}

/// Which registries the Image `cluster` blocks and allows, less those that the payload needs
/// (`getValidBlockedAndAllowedRegistries`).
#[derive(Debug, Default, PartialEq, Eq)]
struct Usable {
    /// The blocked registries for `registries.conf`.
    blocked: Vec<String>,
    /// Those for `policy.json`.
    rejected: Vec<String>,
    /// The only allowed registries; empty if all are allowed.
    allowed: Vec<String>,
}

impl Usable {
    fn of(settings: &Value, sets: &MirrorSets, payload: &str) -> Self {
        let (blocked, mut usable) = (list(settings, "blockedRegistries"), Self::default());
        for scope in &blocked {
            if !mirrors::is_nested(payload, scope) {
                usable.rejected.push(scope.clone());
            } else if sets.has_open_mirror(payload, &blocked) {
                if scope != payload {
                    usable.rejected.push(scope.clone());
                }
                usable.allowed.push(payload.to_owned());
            } else {
                // The repository of the payload cannot be blocked.
                continue;
            }
            usable.blocked.push(scope.clone());
        }
        usable.allowed.extend(list(settings, "allowedRegistries"));
        usable
    }
}

/// The files that a minor makes of all mirror sets and of the Image `cluster`. None without them.
///
/// # Errors
/// The message of the controller.
pub(super) fn files(view: &View, line: MajorMinor, release_image: &str) -> Result<Vec<Value>, String> {
    let settings = view.get(&IMAGE_SETTINGS, "", "cluster");
    let settings = settings.map_or(&Value::Null, |image| &image["spec"]["registrySources"]);
    let (sets, payload) = (MirrorSets::of(view), repository_of(release_image));
    let usable = Usable::of(settings, &sets, payload);
    let insecure = list(settings, "insecureRegistries");
    let mut files = Vec::new();
    if !sets.is_empty() || !insecure.is_empty() || !usable.blocked.is_empty() {
        let edits = Edits { sets: &sets, insecure: &insecure, blocked: &usable.blocked, line };
        let conf = edits.apply(RegistriesConf::parse(TEMPLATE).unwrap_or_default());
        let conf =
            conf.map_err(|why| format!("could not update registries config with new changes: {why}"))?;
        files.push(file(PATH, &conf.to_string()));
    }
    if !usable.rejected.is_empty() || !usable.allowed.is_empty() {
        let policy = policy::text(&usable.rejected, &usable.allowed, payload);
        let policy = policy.map_err(|why| format!("could not update policy json with new changes: {why}"))?;
        files.push(file(policy::PATH, &policy));
    }
    let searched = list(settings, "containerRuntimeSearchRegistries");
    if !searched.is_empty() {
        let conf = RegistriesConf { searched, ..RegistriesConf::default() };
        files.push(file(SEARCH_PATH, &conf.to_string()));
    }
    Ok(files)
}

/// Whether a file has the registries of every new cluster.
pub(super) fn is_installed(found: &Value) -> bool {
    *found == file(PATH, TEMPLATE)
}

/// A list of registries in the Image `cluster`.
fn list(settings: &Value, field: &str) -> Vec<String> {
    let list = settings[field].as_array().into_iter().flatten();
    list.filter_map(Value::as_str).map(str::to_owned).collect()
}
