//! Discovery entries of a kind: the resource itself and its subresources.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::kinds::Kind;

const SUBRESOURCE_VERBS: [&str; 3] = ["get", "patch", "update"];

/// A discovery entry.
#[derive(Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) kind: &'a Kind,
    /// Empty for the resource itself.
    pub(crate) subresource: &'a str,
    pub(crate) verbs: Vec<&'a str>,
    /// Group, version and kind of a subresource, if they are not those of the resource.
    pub(crate) own_kind: Option<(&'a str, &'a str, &'a str)>,
}

/// The entry of a kind, followed by those of its subresources in this minor.
pub(crate) fn entries(kind: &Kind, minor: u32) -> Vec<Entry<'_>> {
    let mut entries = vec![Entry { kind, subresource: "", verbs: kind.rules.verbs.into(), own_kind: None }];
    if kind.rules.status {
        let verbs = SUBRESOURCE_VERBS.into();
        entries.push(Entry { kind, subresource: "status", verbs, own_kind: None });
    }
    for subresource in kind.subresources.iter().filter(|known| known.since <= minor) {
        entries.push(Entry {
            kind,
            subresource: subresource.name,
            verbs: subresource.verbs.into(),
            own_kind: Some(subresource.kind),
        });
    }
    if kind.custom.as_ref().is_some_and(|custom| custom.version.scale.is_some()) {
        let own_kind = Some(("autoscaling", "v1", "Scale"));
        entries.push(Entry { kind, subresource: "scale", verbs: SUBRESOURCE_VERBS.into(), own_kind });
    }
    // Subresources of custom resources keep the order in which the server adds them.
    if kind.custom.is_none() {
        entries[1..].sort_by_key(|entry| entry.subresource);
    }
    entries
}

impl Entry<'_> {
    /// Converts the entry to an `APIResource`.
    pub(crate) fn into_legacy(self) -> Value {
        let resource = &self.kind.resource;
        let main = self.subresource.is_empty();
        let name = if main {
            resource.plural.to_string()
        } else {
            format!("{}/{}", resource.plural, self.subresource)
        };
        let mut entry = json!({
            "name": name,
            "singularName": if main { self.kind.singular.as_str() } else { "" },
            "namespaced": resource.namespaced,
            "kind": self.own_kind.map_or(&*resource.kind, |(.., kind)| kind),
            "verbs": self.verbs,
        });
        let own = (&*resource.group, &*resource.version);
        if let Some((group, version, _)) =
            self.own_kind.filter(|(group, version, _)| (*group, *version) != own)
        {
            entry["group"] = json!(group);
            entry["version"] = json!(version);
        }
        if main {
            self.add_names(&mut entry);
            // Kinds that are not stored have no storage version.
            if self.verbs.contains(&"get") && self.verbs.contains(&"create") {
                entry["storageVersionHash"] = json!(storage_version_hash(self.kind));
            }
        }
        entry
    }

    /// Adds short names and categories, if there are any.
    pub(super) fn add_names(&self, entry: &mut Value) {
        let names = [("shortNames", &self.kind.short_names), ("categories", &self.kind.categories)];
        for (field, names) in names.into_iter().filter(|(_, names)| !names.is_empty()) {
            entry[field] = json!(names);
        }
    }
}

/// The hash by which clients notice a change of the storage version (`discovery.StorageVersionHash`).
fn storage_version_hash(kind: &Kind) -> String {
    let resource = &kind.resource;
    let version = kind.custom.as_ref().map_or(&*resource.version, |custom| &*custom.family.storage.name);
    let text = format!("{}/{version}/{}", resource.group, resource.kind);
    STANDARD.encode(&Sha256::digest(text.as_bytes())[..8])
}

#[cfg(test)]
mod tests {
    use crate::kinds::builtin;

    use super::*;

    #[test]
    fn storage_version_hashes_are_those_of_a_real_server() {
        let kinds = builtin::all(|| 0);
        let hash = |plural: &str| {
            storage_version_hash(kinds.iter().find(|kind| kind.resource.plural == plural).unwrap())
        };
        assert_eq!(hash("deployments"), "8aSe+NMegvE=");
        assert_eq!(hash("pods"), "xPOwRZ+Yhw8=");
    }
}
