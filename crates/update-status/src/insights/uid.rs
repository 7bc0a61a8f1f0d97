//! Names of insights: unique within an informer, and safe as part of a ConfigMap key.

use sha2::{Digest as _, Sha256};
use windtunnel_core::text;

use crate::insight::ResourceRef;

/// Names of objects with more characters than this do not fit into a ConfigMap key (253) behind their prefixes.
const NAME_CHARACTERS_MAX: usize = 200;

/// Most characters of a label of the DNS.
const LABEL_MAX: usize = 63;

/// The name of an insight about one object: `<prefix>-<object's name>`, or the hash of a name that is too long.
pub(super) fn of_object(prefix: &str, name: &str) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.len() <= NAME_CHARACTERS_MAX && name.chars().all(safe) {
        format!("{prefix}-{name}")
    } else {
        format!("{prefix}-{}", hex([name]))
    }
}

/// The name of the status insight on an object; `None` where its kind has none.
pub(super) fn of_resource(resource: &ResourceRef) -> Option<String> {
    let prefix = match resource.resource.as_str() {
        "clusterversions" => "cv",
        "clusteroperators" => "co",
        "machineconfigpools" => "mcp",
        "nodes" => "node",
        _ => return None,
    };
    Some(of_object(prefix, &resource.name))
}

/// A uid as the API of UpdateStatus takes it: at most 63 lower-case letters, digits and dashes. What has to change for that is
/// told apart by a hash.
pub(super) fn dns_label(uid: &str) -> String {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let is_end = |c: Option<char>| c.is_some_and(|c| c != '-');
    let is_label = uid.len() <= LABEL_MAX && uid.chars().all(fits);
    if is_label && is_end(uid.chars().next()) && is_end(uid.chars().last()) {
        return uid.to_owned();
    }
    let kind = uid.split('-').next().filter(|kind| !kind.is_empty() && kind.chars().all(fits)).unwrap_or("x");
    format!("{}-{}", kind.get(..8).unwrap_or(kind), hex([uid]))
}

/// The name of a health insight: a hash over its cause, the object that it is about, and what else tells it apart, so that
/// its words and its start may change while it stays the same insight. Hex, where the upstream controller has base64,
/// whose `+` and `/` the API server refuses in keys.
pub(super) fn of_health(cause: &str, resource: Option<&ResourceRef>, apart: &str) -> String {
    let about = resource.into_iter().flat_map(|r| [&r.group, &r.resource, &r.namespace, &r.name]);
    hex(std::iter::once(cause).chain(about.map(String::as_str)).chain(std::iter::once(apart)))
}

/// 128 bits of SHA-256 over the parts, each ended by a byte that stands in no text, as lower-case hex.
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
    fn names_of_objects_are_kept_unless_they_do_not_fit_into_a_key() {
        assert_eq!(of_object("cv", "version"), "cv-version");
        for odd in ["a/b".to_owned(), "x".repeat(253)] {
            let uid = of_object("cv", &odd);
            assert_eq!(
                (uid.len(), uid.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')),
                (35, true),
                "{uid}"
            );
        }
    }

    #[test]
    fn a_health_insight_has_a_name_that_any_key_and_any_label_may_hold() {
        // What the upstream controller called an insight of this name stopped it: HJK+jQB/RaiEBmT/qWNi4A.
        let resource = ResourceRef::cluster_version("v0");
        let uid = of_health("Forced health insight", Some(&resource), "");
        assert!(
            uid.len() <= 63 && uid.chars().all(|c| c.is_ascii_digit() || c.is_ascii_lowercase()),
            "{uid}"
        );
    }

    #[test]
    fn uids_with_dots_or_of_any_length_are_labels_in_the_api() {
        for same in ["cv-version", "node-worker-0", "0123456789abcdef"] {
            assert_eq!(dns_label(same), same);
        }
        let long = format!("node-{}", "x".repeat(200));
        let odd = [
            "node-ip-10-0-1-2.ec2.internal",
            "node-ip-10-0-1-2-ec2.internal",
            "HJK+jQB/RaiEBmT",
            "",
            "-",
            &long,
        ];
        let labels: std::collections::BTreeSet<String> = odd.iter().map(|uid| dns_label(uid)).collect();
        assert_eq!(labels.len(), odd.len());
        assert!(labels.iter().all(|label| label.len() <= 63 && dns_label(label) == *label), "{labels:?}");
    }

    #[test]
    fn the_parts_of_a_hash_do_not_run_together() {
        assert_ne!(hex(["ab", "c"]), hex(["a", "bc"]));
        assert_eq!(hex(["ab", "c"]).len(), 32);
    }
}
