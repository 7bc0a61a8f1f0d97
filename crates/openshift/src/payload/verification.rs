//! The ConfigMap of a payload with release keys and signature stores. Its operator verifies updates by them
//! (`NewFromManifests` of openshift/library-go).

use serde_json::{Map, Value};

use super::{Manifest, Payload, Selection};

/// The annotation of the ConfigMap, whatever its value.
const ANNOTATION: &str = "release.openshift.io/verification-config-map";
/// Prefix of the keys of keyrings.
const KEYRING: &str = "verifier-public-key-";
/// Prefix of the keys of signature stores.
const STORE: &str = "store-";
/// The schemes of signature stores.
const SCHEMES: [&str; 3] = ["http://", "https://", "file://"];

/// The keys and stores in a payload.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verification {
    /// Names of the keyrings, sorted. Each must have signed a release.
    pub keyrings: Vec<String>,
    /// URLs of the signature stores, in the order of their keys.
    pub stores: Vec<String>,
}

impl Payload {
    /// The keys and stores in the first ConfigMap for them that this selection includes. `None` without such
    /// a ConfigMap; then its operator can verify no release.
    pub fn verification(&self, selection: &Selection) -> Option<Verification> {
        let included = self.manifests.iter().filter(|manifest| selection.includes(&manifest.object));
        let object = &included.into_iter().find(|manifest| configures_verification(manifest))?.object;
        let mut found = Verification::default();
        for (key, value) in data(object) {
            if key.starts_with(KEYRING) {
                found.keyrings.push(key.clone());
            } else if key.starts_with(STORE) {
                found.stores.push(value.as_str().unwrap_or_default().trim().to_owned());
            }
        }
        found.keyrings.sort();
        Some(found)
    }
}

/// The error in a manifest with which the operator of this payload would not start: a ConfigMap without a
/// key, without a store, or with a store that is no URL.
pub(super) fn problem(manifest: &Manifest) -> Option<String> {
    if !configures_verification(manifest) {
        return None;
    }
    let name = manifest.object["metadata"]["name"].as_str().unwrap_or_default();
    let entries =
        |prefix: &'static str| data(&manifest.object).filter(move |(key, _)| key.starts_with(prefix));
    if entries(KEYRING).next().is_none() {
        return Some(format!("expected a key `{KEYRING}...` in `data` of ConfigMap {name}, found none"));
    }
    if entries(STORE).next().is_none() {
        return Some(format!("expected a URL `{STORE}...` in `data` of ConfigMap {name}, found none"));
    }
    let is_url = |value: &Value| {
        let url = value.as_str().unwrap_or_default().trim();
        SCHEMES.iter().any(|scheme| url.starts_with(scheme))
    };
    let (key, value) = entries(STORE).find(|(_, value)| !is_url(value))?;
    Some(format!("expected a URL with http, https or file as `{key}` of ConfigMap {name}, found `{value}`"))
}

fn configures_verification(manifest: &Manifest) -> bool {
    let object = &manifest.object;
    object["kind"] == "ConfigMap"
        && object["apiVersion"] == "v1"
        && object["metadata"]["annotations"].get(ANNOTATION).is_some()
}

fn data(object: &Value) -> impl Iterator<Item = (&String, &Value)> {
    object["data"].as_object().into_iter().flat_map(Map::iter)
}
