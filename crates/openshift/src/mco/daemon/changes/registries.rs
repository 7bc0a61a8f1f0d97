//! Whether a changed `registries.conf` could let nodes pull images from elsewhere. If so, the node is drained before the
//! container runtime reads the file (`isSafeContainerRegistryConfChanges` of openshift/machine-config-operator).

use std::collections::BTreeMap;

use windtunnel_controllers::registries_conf::{DIGEST_ONLY, MirrorEntry, RegistriesConf, RegistryEntry};
use windtunnel_core::Object;

use crate::manifests::MajorMinor;
use crate::mco::registries::{PER_MIRROR, conf_of};

/// Returns whether the change of the file needs no drain, for the daemon of a minor.
pub(super) fn is_safe(from: &Object, to: &Object, line: MajorMinor) -> bool {
    let (from, to) = (conf_of(from), conf_of(to));
    let is_per_mirror = line >= PER_MIRROR || line == (0, 0);
    let keeps_search = to.searched.starts_with(&from.searched);
    let (old, new) = (by_scope(&from), by_scope(&to));
    keeps_search
        && old.keys().all(|scope| new.contains_key(scope))
        && new.iter().all(|(scope, new)| match old.get(scope) {
            None if is_per_mirror => is_by_digest(new),
            None => new.mirrors_by_digest_only,
            Some(old) => old == new || is_safe_registry(old, new, is_per_mirror),
        })
}

/// The entries of the file. Of entries with the same scope the last one counts.
fn by_scope(conf: &RegistriesConf) -> BTreeMap<&str, &RegistryEntry> {
    conf.registries.iter().map(|registry| (registry.scope(), registry)).collect()
}

/// Returns whether all mirrors of a new registry are only for images with a digest.
fn is_by_digest(registry: &RegistryEntry) -> bool {
    match registry.mirrors.as_slice() {
        [] => registry.mirrors_by_digest_only,
        mirrors => mirrors.iter().all(|mirror| mirror.pull_from_mirror == DIGEST_ONLY),
    }
}

fn is_safe_registry(old: &RegistryEntry, new: &RegistryEntry, is_per_mirror: bool) -> bool {
    let keeps = (&old.prefix, &old.location) == (&new.prefix, &new.location)
        && (old.is_blocked, old.is_insecure) == (new.is_blocked, new.is_insecure)
        && (is_per_mirror || old.mirrors_by_digest_only == new.mirrors_by_digest_only);
    let find = |registry: &RegistryEntry, location: &str| {
        registry.mirrors.iter().find(|mirror| mirror.location == location).cloned()
    };
    let is_safe_mirror = |mirror: &MirrorEntry| match find(old, &mirror.location) {
        Some(_) if !is_per_mirror => true,
        Some(old) => {
            mirror.pull_from_mirror == old.pull_from_mirror || mirror.pull_from_mirror == DIGEST_ONLY
        }
        None => new.mirrors_by_digest_only || is_per_mirror && mirror.pull_from_mirror == DIGEST_ONLY,
    };
    keeps
        && old.mirrors.iter().all(|mirror| find(new, &mirror.location).is_some())
        && new.mirrors.iter().all(is_safe_mirror)
}

#[cfg(test)]
mod tests {
    use windtunnel_controllers::registries_conf::{PATH, TAG_ONLY};

    use super::*;
    use crate::mco::node_settings::file;

    fn registry(location: &str, by_digest_only: bool, mirrors: &[(&str, &str)]) -> String {
        let mirrors = mirrors.iter().map(|(location, pull)| MirrorEntry {
            location: (*location).to_owned(),
            is_insecure: false,
            pull_from_mirror: (*pull).to_owned(),
        });
        let registry = RegistryEntry {
            location: location.to_owned(),
            mirrors_by_digest_only: by_digest_only,
            mirrors: mirrors.collect(),
            ..RegistryEntry::default()
        };
        registry.to_string()
    }

    fn config(text: &str) -> Object {
        let files = serde_json::json!([file(PATH, text)]);
        Object::new(serde_json::json!({ "spec": { "config": { "storage": { "files": files } } } }))
    }

    const SEARCH: &str = "unqualified-search-registries = [\"a\", \"b\"]\n";

    #[test]
    fn only_changes_that_cannot_swap_images_are_safe_up_to_4_12() {
        let old = |location: &str, mirrors: &[&str], by_digest_only: bool| {
            let mirrors: Vec<_> = mirrors.iter().map(|mirror| (*mirror, "")).collect();
            registry(location, by_digest_only, &mirrors)
        };
        let one = format!("{SEARCH}{}", old("x", &["m"], true));
        for (text, expected) in [
            (one.clone(), true),
            (format!("{one}{}", old("y", &["n"], true)), true),
            (format!("{one}{}", old("y", &["n"], false)), false),
            (format!("{SEARCH}{}", old("x", &["m", "n"], true)), true),
            (format!("{SEARCH}{}", old("x", &["n"], true)), false),
            (format!("{SEARCH}{}", old("x", &["m"], false)), false),
            (SEARCH.to_owned(), false),
            (one.replace("\"a\", \"b\"", "\"b\", \"a\""), false),
            (one.replace("\"a\", \"b\"", "\"a\", \"b\", \"c\""), true),
            (one.replace("location = \"x\"", "location = \"x\"\nblocked = true"), false),
        ] {
            assert_eq!(is_safe(&config(&one), &config(&text), (4, 12)), expected, "{text}");
        }
    }

    #[test]
    fn later_daemons_look_at_the_restriction_of_each_mirror() {
        let with = |mirrors: &[(&str, &str)]| format!("{SEARCH}{}", registry("x", false, mirrors));
        let one = with(&[("m", DIGEST_ONLY)]);
        for (text, expected) in [
            (with(&[("m", DIGEST_ONLY), ("n", DIGEST_ONLY)]), true),
            (with(&[("m", DIGEST_ONLY), ("n", TAG_ONLY)]), false),
            (with(&[("m", TAG_ONLY)]), false),
            (with(&[]), false),
            (format!("{one}{}", registry("y", false, &[("n", DIGEST_ONLY)])), true),
            (format!("{one}{}", registry("y", false, &[("n", TAG_ONLY)])), false),
            (format!("{one}{}", registry("y", false, &[])), false),
            (SEARCH.to_owned(), false),
        ] {
            assert_eq!(is_safe(&config(&one), &config(&text), (4, 18)), expected, "{text}");
        }
        assert!(is_safe(&config(&with(&[("m", TAG_ONLY)])), &config(&one), (4, 18)));
    }
}
