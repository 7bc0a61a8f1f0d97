//! Names of insights: unique within an informer, and safe as part of a ConfigMap key.

use sha2::{Digest as _, Sha256};

use crate::base::text;
use crate::model::insight::ResourceRef;

/// Names of objects with more characters than this do not fit into a ConfigMap key (253) behind their prefixes.
const NAME_CHARACTERS_MAX: usize = 200;

/// The name of an insight about one object: `<prefix>-<object's name>`, or the hash of a name that is too long.
pub(super) fn of_object(prefix: &str, name: &str) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.len() <= NAME_CHARACTERS_MAX && name.chars().all(safe) {
        format!("{prefix}-{name}")
    } else {
        format!("{prefix}-{}", hex([name]))
    }
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
    fn the_parts_of_a_hash_do_not_run_together() {
        assert_ne!(hex(["ab", "c"]), hex(["a", "bc"]));
        assert_eq!(hex(["ab", "c"]).len(), 32);
    }
}
