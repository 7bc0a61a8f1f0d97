//! References of images, as the container runtimes read them (`ParseImageName`).

use std::sync::LazyLock;

use regex::Regex;

/// Maximum length of the name, in bytes.
const LONGEST_NAME: usize = 255;
/// A name with the groups for tag and digest. The name has no domain, or one with a dot, a port or capital letters.
const REFERENCE: &str = concat!(
    r"^(?<name>(?:(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*",
    r"|\[[a-fA-F0-9:]+\])(?::[0-9]+)?/)?",
    r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*)",
    r"(?::(?<tag>[0-9A-Za-z_][0-9A-Za-z_.-]{0,127}))?(?:@(?<digest>[^@]+))?$",
);
const DIGEST: &str = "^(?:sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128})$";

fn regex(text: &str) -> Option<Regex> {
    Regex::new(text).ok()
}

/// The tag of an image: `latest` without tag and digest, and `None` with a digest alone or for a malformed reference.
pub(super) fn tag(image: &str) -> Option<String> {
    static PATTERNS: LazyLock<Option<(Regex, Regex)>> =
        LazyLock::new(|| Some((regex(REFERENCE)?, regex(DIGEST)?)));
    let (reference, valid_digest) = PATTERNS.as_ref()?;
    let is_identifier = image.len() == 64 && image.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    let found = reference.captures(image).filter(|_| !is_identifier)?;
    if found.name("name")?.as_str().len() > LONGEST_NAME {
        return None;
    }
    match (found.name("tag"), found.name("digest")) {
        (_, Some(digest)) if !valid_digest.is_match(digest.as_str()) => None,
        (Some(tag), _) => Some(tag.as_str().to_owned()),
        (None, Some(_)) => None,
        (None, None) => Some("latest".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_those_of_valid_references() {
        let digest = format!("i@sha256:{}", "0".repeat(64));
        for (image, expected) in [
            ("i", Some("latest")),
            ("localhost:5000/a/i", Some("latest")),
            ("Example/i", Some("latest")),
            ("a__b/i-j:x", Some("x")),
            ("A", None),
            ("a/B", None),
            ("-a", None),
            ("i:", None),
            ("a:b:c", None),
            (&*digest, None),
            (&*"0".repeat(64), None),
        ] {
            assert_eq!(tag(image).as_deref(), expected, "{image}");
        }
    }
}
