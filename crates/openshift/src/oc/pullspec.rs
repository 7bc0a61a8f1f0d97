//! Pull specifications of images, parsed like the client (the grammar of distribution's `reference`).

use std::sync::LazyLock;

use regex::Regex;

/// `[registry/]path[:tag][@digest]`.
#[expect(clippy::expect_used, reason = "a constant pattern, which a test compiles")]
static REFERENCE: LazyLock<Regex> = LazyLock::new(|| {
    let component = "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*";
    let label = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])";
    let domain = format!(r"{label}(?:\.{label})*(?::[0-9]+)?");
    let digest = "[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}";
    let name = format!("(?<name>(?:{domain}/)?{component}(?:/{component})*)");
    Regex::new(&format!(
        r"^{name}(?::(?<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}}))?(?:@(?<digest>{digest}))?$"
    ))
    .expect("pattern")
});

/// A parsed pull specification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pullspec<'a> {
    name: &'a str,
    /// Empty if there is none.
    pub(super) tag: &'a str,
    /// Empty if there is none.
    pub(super) digest: &'a str,
}

impl<'a> Pullspec<'a> {
    /// Parses any image.
    ///
    /// # Errors
    /// The client's error message.
    pub(super) fn parse(text: &'a str) -> Result<Self, &'static str> {
        let Some(found) = REFERENCE.captures(text) else {
            let lower = REFERENCE.is_match(&text.to_lowercase());
            return Err(if lower { "repository name must be lowercase" } else { "invalid reference format" });
        };
        let part = |name| found.name(name).map_or("", |found| found.as_str());
        Ok(Self { name: part("name"), tag: part("tag"), digest: part("digest") })
    }

    /// Parses a release image: with a registry or repository, and with a tag or digest.
    ///
    /// # Errors
    /// The client's error message.
    pub(super) fn of_release(text: &'a str) -> Result<Self, &'static str> {
        let image = Self::parse(text)?;
        if image.tag.is_empty() && image.digest.is_empty() {
            return Err("no tag or digest specified");
        }
        if image.name.contains('/') { Ok(image) } else { Err("no registry or repository specified") }
    }

    /// Returns whether two images have the same digest, in whatever repository.
    pub(super) fn is_same_content(one: &str, other: &str) -> bool {
        match (Pullspec::parse(one), Pullspec::parse(other)) {
            (Ok(one), Ok(other)) => !one.digest.is_empty() && one.digest == other.digest,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_image_needs_a_repository_and_a_tag_or_digest() {
        let digest = format!("sha256:{}", "0".repeat(64));
        let text = format!("quay.io:5000/a/b@{digest}");
        let found = Pullspec::of_release(&text).unwrap();
        assert_eq!((found.tag, found.digest), ("", digest.as_str()));
        for (text, error) in [
            ("quay.io/a/b", "no tag or digest specified"),
            ("4.1.1", "no tag or digest specified"),
            ("b:4.1.1", "no registry or repository specified"),
            ("a:b:c@d", "invalid reference format"),
            ("", "invalid reference format"),
            ("quay.io/A/b:1", "repository name must be lowercase"),
        ] {
            assert_eq!(Pullspec::of_release(text), Err(error), "{text}");
        }
    }

    #[test]
    fn images_with_the_same_digest_have_the_same_content() {
        let at = |place: &str| format!("{place}@sha256:{}", "1".repeat(64));
        assert!(Pullspec::is_same_content(&at("quay.io/a"), &at("mirror.local/b")));
        assert!(!Pullspec::is_same_content("quay.io/a:1", "quay.io/a:1"), "a tag is no content");
    }
}
