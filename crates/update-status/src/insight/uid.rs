//! Uids of insights: unique within an informer, and valid as part of a ConfigMap key.

use sha2::{Digest as _, Sha256};
use windtunnel_core::text;

use crate::insight::ResourceRef;

/// Longer object names do not fit into a ConfigMap key (253 characters) with their prefixes.
const NAME_CHARACTERS_MAX: usize = 200;

/// Maximum length of a DNS label.
const LABEL_MAX: usize = 63;

/// Returns the uid of an insight on one object: `<prefix>-<object's name>`, with a hash for unsuitable names.
pub(crate) fn of_object(prefix: &str, name: &str) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.len() <= NAME_CHARACTERS_MAX && name.chars().all(safe) {
        format!("{prefix}-{name}")
    } else {
        format!("{prefix}-{}", hex([name]))
    }
}

/// Returns the uid of the status insight on an object; `None` for kinds without one.
pub(crate) fn of_resource(resource: &ResourceRef) -> Option<String> {
    let prefix = match resource.resource.as_str() {
        "clusterversions" => "cv",
        "clusteroperators" => "co",
        "machineconfigpools" => "mcp",
        "nodes" => "node",
        _ => return None,
    };
    Some(of_object(prefix, &resource.name))
}

/// Returns a uid in the form that the API of UpdateStatus requires: at most 63 lower-case letters, digits and
/// dashes. Other uids are hashed.
pub(crate) fn dns_label(uid: &str) -> String {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let is_end = |c: Option<char>| c.is_some_and(|c| c != '-');
    let is_label = uid.len() <= LABEL_MAX && uid.chars().all(fits);
    if is_label && is_end(uid.chars().next()) && is_end(uid.chars().last()) {
        return uid.to_owned();
    }
    let kind = uid.split('-').next().filter(|kind| !kind.is_empty() && kind.chars().all(fits)).unwrap_or("x");
    format!("{}-{}", kind.get(..8).unwrap_or(kind), hex([uid]))
}

/// Returns the uid of a health insight: a hash of its cause, the affected object, and a text that
/// distinguishes it, so that its texts and start may change. In hex, unlike the base64 of the upstream controller, whose
/// `+` and `/` the API server rejects in keys.
pub(crate) fn of_health(cause: &str, resource: Option<&ResourceRef>, discriminator: &str) -> String {
    let about = resource.into_iter().flat_map(|r| [&r.group, &r.resource, &r.namespace, &r.name]);
    hex(std::iter::once(cause).chain(about.map(String::as_str)).chain(std::iter::once(discriminator)))
}

/// Returns 128 bits of SHA-256 over the parts as lower-case hex. Each part ends with a byte that UTF-8 text
/// cannot contain.
fn hex<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.as_bytes());
        hash.update([0xff]);
    }
    text::hex(&hash.finalize()[..16])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_object_names_that_fit_into_a_key() {
        assert_eq!(of_object("cv", "version"), "cv-version");
        for invalid in ["a/b".to_owned(), "x".repeat(253)] {
            let uid = of_object("cv", &invalid);
            assert_eq!(
                (uid.len(), uid.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')),
                (35, true),
                "{uid}"
            );
        }
    }

    #[test]
    fn a_health_insight_uid_is_valid_in_keys_and_labels() {
        // With upstream's uid for this insight, HJK+jQB/RaiEBmT/qWNi4A, the upstream controller could not
        // publish it.
        let resource = ResourceRef::cluster_version("v0");
        let uid = of_health("Forced health insight", Some(&resource), "");
        assert!(
            uid.len() <= 63 && uid.chars().all(|c| c.is_ascii_digit() || c.is_ascii_lowercase()),
            "{uid}"
        );
    }

    #[test]
    fn converts_invalid_uids_to_distinct_dns_labels() {
        for same in ["cv-version", "node-worker-0", "0123456789abcdef"] {
            assert_eq!(dns_label(same), same);
        }
        let long = format!("node-{}", "x".repeat(200));
        let invalid = [
            "node-ip-10-0-1-2.ec2.internal",
            "node-ip-10-0-1-2-ec2.internal",
            "HJK+jQB/RaiEBmT",
            "",
            "-",
            &long,
        ];
        let labels: std::collections::BTreeSet<String> = invalid.iter().map(|uid| dns_label(uid)).collect();
        assert_eq!(labels.len(), invalid.len());
        assert!(labels.iter().all(|label| label.len() <= 63 && dns_label(label) == *label), "{labels:?}");
    }

    #[test]
    fn a_hash_separates_its_parts() {
        assert_ne!(hex(["ab", "c"]), hex(["a", "bc"]));
        assert_eq!(hex(["ab", "c"]).len(), 32);
    }
}
