//! `registries.conf`: the registries and mirrors that the container runtime of a node pulls from, in version 2 of the
//! format (`containers-registries.conf(5)`).

use std::fmt;

use serde::Deserialize;

use crate::registry::{Image, Pull, digest_of};

/// The path of the file on a node.
pub const PATH: &str = "/etc/containers/registries.conf";

/// The contents of the file that decide about pulls.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RegistriesConf {
    /// `unqualified-search-registries`, in order.
    #[serde(rename = "unqualified-search-registries")]
    pub searched: Vec<String>,
    /// The registries, namespaces and repositories with settings.
    #[serde(rename = "registry")]
    pub registries: Vec<RegistryEntry>,
}

/// A registry, namespace or repository with settings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RegistryEntry {
    /// The images that the entry is for: `*.` and a domain, or the beginning of their names. Empty for those at its
    /// location.
    pub prefix: String,
    /// The repository to pull from; empty for the one that an image names.
    pub location: String,
    /// Whether certificates are not verified.
    #[serde(rename = "insecure")]
    pub is_insecure: bool,
    /// Whether nothing is pulled from the location.
    #[serde(rename = "blocked")]
    pub is_blocked: bool,
    /// Whether all mirrors are only for images with a digest.
    #[serde(rename = "mirror-by-digest-only")]
    pub mirrors_by_digest_only: bool,
    /// The mirrors, which are tried before the location, in order.
    #[serde(rename = "mirror")]
    pub mirrors: Vec<MirrorEntry>,
}

/// A mirror of a registry, namespace or repository.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct MirrorEntry {
    /// The beginning of the names of images in the mirror.
    pub location: String,
    /// Whether certificates are not verified.
    #[serde(rename = "insecure")]
    pub is_insecure: bool,
    /// `pull-from-mirror`: `digest-only`, `tag-only`, or empty for all images.
    #[serde(rename = "pull-from-mirror")]
    pub pull_from_mirror: String,
}

/// The value of `pull-from-mirror` for images with a digest.
pub const DIGEST_ONLY: &str = "digest-only";
/// The value of `pull-from-mirror` for images without a digest.
pub const TAG_ONLY: &str = "tag-only";

/// One of the places that a pull of an image tries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullSource {
    /// The pull specification there.
    pub reference: String,
    /// The prefix of the entry that blocks this place.
    pub blocked_by: Option<String>,
}

impl RegistryEntry {
    /// The images that the entry is for.
    pub fn scope(&self) -> &str {
        if self.prefix.is_empty() { &self.location } else { &self.prefix }
    }

    /// The mirrors for an image with or without a digest.
    fn mirrors_for(&self, has_digest: bool) -> impl Iterator<Item = &MirrorEntry> {
        self.mirrors.iter().filter(move |mirror| match mirror.pull_from_mirror.as_str() {
            _ if self.mirrors_by_digest_only => has_digest,
            DIGEST_ONLY => has_digest,
            TAG_ONLY => !has_digest,
            _ => true,
        })
    }
}

impl RegistriesConf {
    /// Reads the file. Keys that do not decide about pulls do not count.
    ///
    /// # Errors
    /// The text is not TOML, or a value has another type.
    pub fn parse(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text)
    }

    /// The entry with the longest prefix of an image, and the length of the image's name that it covers.
    fn entry(&self, image: &str) -> Option<(&RegistryEntry, usize)> {
        let found = self.registries.iter().filter_map(|entry| Some((entry, covered(image, entry.scope())?)));
        // The first of equals, as in containers/image.
        found.reduce(|best, other| if other.1 > best.1 { other } else { best })
    }

    /// The places that a pull of an image tries, in order (`PullSourcesFromReference` of containers/image).
    pub fn sources(&self, image: &str) -> Vec<PullSource> {
        let Some((entry, length)) = self.entry(image) else {
            return vec![PullSource { reference: image.to_owned(), blocked_by: None }];
        };
        let mirrors = entry.mirrors_for(digest_of(image).is_some()).map(|mirror| mirror.location.as_str());
        let places = mirrors.chain([entry.location.as_str()]).map(|location| match location {
            "" => image.to_owned(),
            location => format!("{location}{}", &image[length..]),
        });
        places
            .map(|reference| {
                let blocking = self.entry(&reference).filter(|(entry, _)| entry.is_blocked);
                let blocked_by = blocking.map(|(entry, _)| entry.scope().to_owned());
                PullSource { reference, blocked_by }
            })
            .collect()
    }

    /// The image that a pull gets if `answer` returns what each place has: that of the first place which ends the pull.
    pub fn resolve(&self, image: &str, answer: impl Fn(&str) -> Image) -> Image {
        if self.registries.is_empty() {
            return answer(image);
        }
        let sources = self.sources(image);
        let mut open = sources.iter().filter(|source| source.blocked_by.is_none());
        let found =
            open.find_map(|source| Some(answer(&source.reference)).filter(|found| !is_retried(found)));
        found.unwrap_or_else(|| answer(image))
    }
}

/// Returns whether a pull tries the next place after this answer.
pub fn is_retried(found: &Image) -> bool {
    match found.pull {
        Pull::ManifestUnknown | Pull::Unauthorized | Pull::Unreachable | Pull::Unavailable => true,
        // The manifest of another digest is noticed only after the place was chosen.
        Pull::Succeeds | Pull::Slow | Pull::WrongDigest | Pull::Hangs => false,
    }
}

/// The length of the beginning of an image's name that a prefix covers (`refMatchingPrefix` of containers/image).
fn covered(image: &str, prefix: &str) -> Option<usize> {
    let end = match prefix.strip_prefix('*') {
        Some(domain) => {
            let start = image.find(domain)?;
            (!image[..start].contains('/')).then_some(start + domain.len())?
        }
        None => image.strip_prefix(prefix).map(|_| prefix.len())?,
    };
    let rest = &image[end..];
    (!prefix.is_empty() && (rest.is_empty() || rest.starts_with([':', '/', '@']))).then_some(end)
}

/// Writes the file as the machine-config controller encodes it.
impl fmt::Display for RegistriesConf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = self.searched.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
        writeln!(f, "unqualified-search-registries = [{list}]\nshort-name-mode = \"\"")?;
        self.registries.iter().try_for_each(|entry| entry.fmt(f))
    }
}

impl fmt::Display for RegistryEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n[[registry]]\n  prefix = {:?}", self.prefix)?;
        if !self.location.is_empty() {
            writeln!(f, "  location = {:?}", self.location)?;
        }
        let flags = [
            ("insecure", self.is_insecure),
            ("blocked", self.is_blocked),
            ("mirror-by-digest-only", self.mirrors_by_digest_only),
        ];
        for (name, _) in flags.into_iter().filter(|(_, is_set)| *is_set) {
            writeln!(f, "  {name} = true")?;
        }
        for mirror in &self.mirrors {
            writeln!(f, "\n  [[registry.mirror]]\n    location = {:?}", mirror.location)?;
            if mirror.is_insecure {
                writeln!(f, "    insecure = true")?;
            }
            if !mirror.pull_from_mirror.is_empty() {
                writeln!(f, "    pull-from-mirror = {:?}", mirror.pull_from_mirror)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mirrored(scope: &str, mirrors: &[(&str, &str)]) -> RegistryEntry {
        let (prefix, location) = if scope.starts_with('*') { (scope, "") } else { ("", scope) };
        let mirrors = mirrors.iter().map(|(location, pull)| MirrorEntry {
            location: (*location).to_owned(),
            is_insecure: false,
            pull_from_mirror: (*pull).to_owned(),
        });
        RegistryEntry {
            prefix: prefix.to_owned(),
            location: location.to_owned(),
            mirrors: mirrors.collect(),
            ..RegistryEntry::default()
        }
    }

    fn conf(registries: Vec<RegistryEntry>) -> RegistriesConf {
        RegistriesConf { searched: vec!["docker.io".to_owned()], registries }
    }

    fn references(conf: &RegistriesConf, image: &str) -> String {
        let sources = conf.sources(image).into_iter();
        sources.map(|source| source.reference).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_text_is_read_as_it_was_written() {
        let mut blocked = mirrored("*.example.com", &[("m.example.org/x", DIGEST_ONLY), ("n", TAG_ONLY)]);
        (blocked.is_blocked, blocked.mirrors[1].is_insecure) = (true, true);
        let old = RegistryEntry { mirrors_by_digest_only: true, ..mirrored("a", &[("b", "")]) };
        let conf = conf(vec![blocked, old]);
        let text = conf.to_string();
        assert_eq!(RegistriesConf::parse(&text), Ok(conf), "{text}");
        assert!(
            text.starts_with("unqualified-search-registries = [\"docker.io\"]\nshort-name-mode = \"\"\n")
        );
        assert!(text.contains(
            "\n[[registry]]\n  prefix = \"\"\n  location = \"a\"\n  mirror-by-digest-only = true\n\n  \
             [[registry.mirror]]\n    location = \"b\"\n"
        ));
    }

    #[test]
    fn the_file_of_an_administrator_may_have_any_form_of_toml() {
        let text = "unqualified-search-registries = [\n  'a', # first\n  \"b\",\n]\nshort-name-mode = 'enforcing'\n\
                    [[registry]]\nlocation = \"x=y\" # [[registry]]\nblocked = true\n\
                    mirror = [{location = \"m\", insecure = true}]\n";
        let conf = RegistriesConf::parse(text).unwrap();
        assert_eq!(conf.searched, ["a", "b"]);
        let entry = &conf.registries[0];
        assert!(entry.location == "x=y" && entry.is_blocked && entry.mirrors[0].is_insecure);
        assert!(RegistriesConf::parse("[[registry]").is_err());
    }

    #[test]
    fn the_longest_prefix_decides_and_mirrors_come_first() {
        let conf = conf(vec![
            mirrored("example.com", &[("all", "")]),
            mirrored("example.com/a", &[("one/x", DIGEST_ONLY), ("two", TAG_ONLY)]),
            mirrored("*.example.net", &[("net/y", "")]),
        ]);
        for (image, expected) in [
            ("example.com/a/b@sha256:0", "one/x/b@sha256:0 example.com/a/b@sha256:0"),
            ("example.com/a:1", "two:1 example.com/a:1"),
            ("example.com/ab:1", "all/ab:1 example.com/ab:1"),
            ("q.example.net/c:1", "net/y/c:1 q.example.net/c:1"),
            ("example.net/c:1", "example.net/c:1"),
            ("example.org/q.example.net/c", "example.org/q.example.net/c"),
            ("busybox", "busybox"),
        ] {
            assert_eq!(references(&conf, image), expected, "{image}");
        }
    }

    #[test]
    fn a_blocked_entry_blocks_its_location_and_other_mirrors_in_it() {
        let blocked = |entry: RegistryEntry| RegistryEntry { is_blocked: true, ..entry };
        let conf = conf(vec![
            blocked(mirrored("a.com/x", &[("b.com/y", ""), ("c.com", "")])),
            blocked(mirrored("b.com", &[])),
        ]);
        let blocked: Vec<_> = conf
            .sources("a.com/x:1")
            .into_iter()
            .map(|source| source.blocked_by.unwrap_or_default())
            .collect();
        assert_eq!(blocked, ["b.com", "", "a.com/x"]);
        let asked = |reference: &str| Image { size: Some(reference.len() as u64), ..Image::default() };
        assert_eq!(conf.resolve("a.com/x:1", asked).size, Some("c.com:1".len() as u64));
    }
}
