//! The image registry, and what becomes of a pull.

use std::collections::BTreeMap;

/// The image registry: what happens to a pull, by digest. A digest that it does not hold is unknown to it.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    /// Images by digest (`sha256:...`).
    pub images: BTreeMap<String, Image>,
}

impl Registry {
    /// Whether it has an image of this digest.
    pub fn holds(&self, pullspec: &str) -> bool {
        digest_of(pullspec).is_some_and(|digest| self.images.contains_key(digest))
    }

    /// The image of a pull specification; an unknown digest, or a tag, answers that the manifest is unknown.
    pub fn resolve(&self, pullspec: &str) -> Image {
        digest_of(pullspec).and_then(|digest| self.images.get(digest)).cloned().unwrap_or(Image {
            pull: Pull::ManifestUnknown,
            sigstore: Signature::Missing,
            openpgp: OpenPgp::Missing,
            contents: Contents::default(),
            containers: Containers::Run,
            signature_stores: Vec::new(),
        })
    }
}

/// Images that belong to no release.
#[derive(Debug, Clone, PartialEq)]
pub struct Workloads {
    /// Those that are told of, by their pull specifications.
    pub named: BTreeMap<String, Image>,
    /// What all others are like.
    pub others: Image,
}

impl Workloads {
    /// An image with a program of somebody's: nobody signed it, and there is no payload in it.
    pub fn image(pull: Pull, containers: Containers) -> Image {
        Image {
            pull,
            sigstore: Signature::Missing,
            openpgp: OpenPgp::Missing,
            contents: Contents::NoPayload,
            containers,
            signature_stores: Vec::new(),
        }
    }
}

impl Default for Workloads {
    fn default() -> Self {
        let others = Self::image(Pull::Succeeds, Containers::Run);
        Self { named: BTreeMap::new(), others }
    }
}

/// One image of the registry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Image {
    /// What a pull comes to.
    pub pull: Pull,
    /// Its Sigstore signature, which the container runtime checks against ClusterImagePolicy objects.
    pub sigstore: Signature,
    /// Its OpenPGP release signature, which the cluster-version operator checks.
    pub openpgp: OpenPgp,
    /// What is in it.
    pub contents: Contents,
    /// What becomes of its containers.
    pub containers: Containers,
    /// The stores that hold it, by their URLs; empty for those that payloads name.
    pub signature_stores: Vec<String>,
}

/// What a pull comes to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Pull {
    /// The image arrives.
    #[default]
    Succeeds,
    /// It arrives after more than a minute.
    Slow,
    /// The registry has no such manifest.
    ManifestUnknown,
    /// The registry answers with a manifest of another digest than was asked for.
    WrongDigest,
    /// The registry refuses the credentials.
    Unauthorized,
    /// The registry cannot be reached.
    Unreachable,
    /// The registry answers that it is out of service.
    Unavailable,
    /// No answer ever comes.
    Hangs,
}

impl Pull {
    /// What scenarios call them; the first is the one that succeeds.
    pub const NAMES: [&str; 8] = [
        "succeeds",
        "manifest-unknown",
        "wrong-digest",
        "unauthorized",
        "unreachable",
        "unavailable",
        "slow",
        "hangs",
    ];

    const ALL: [Self; 8] = [
        Self::Succeeds,
        Self::ManifestUnknown,
        Self::WrongDigest,
        Self::Unauthorized,
        Self::Unreachable,
        Self::Unavailable,
        Self::Slow,
        Self::Hangs,
    ];

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().position(|known| *known == name).map(|index| Self::ALL[index])
    }
}

/// What is in a release image.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Contents {
    /// A payload.
    #[default]
    Payload,
    /// No payload at all.
    NoPayload,
    /// A payload that lacks the list of its images.
    NoImageReferences,
    /// A payload whose metadata cannot be read.
    UnreadableMetadata,
    /// A payload whose list of images is another version's.
    OtherImageReferences,
    /// A payload with a manifest that cannot be read.
    UnreadableManifest,
}

/// What becomes of the containers of an image.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Containers {
    /// They run, as far as their programs go.
    #[default]
    Run,
    /// Their programs fail as soon as they begin.
    Crash,
    /// Their programs are killed for want of memory.
    OutOfMemory,
    /// The container runtime cannot make them.
    CannotBeCreated,
}

/// State of a Sigstore signature.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Signature {
    /// There is one, by the right key.
    #[default]
    Valid,
    /// There is none.
    Missing,
}

/// What signature stores answer about an image.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OpenPgp {
    /// They have a signature, by the right key.
    #[default]
    Valid,
    /// They have none.
    Missing,
    /// They have one by a key that nobody trusts.
    WrongKey,
    /// No answer ever comes.
    Unanswered,
}

/// A pull specification without its tag and digest.
pub fn repository_of(pullspec: &str) -> &str {
    let named = pullspec.split('@').next().unwrap_or(pullspec);
    let name = named.rfind('/').map_or(0, |slash| slash + 1);
    match named.get(name..).and_then(|last| last.find(':')) {
        Some(colon) => &named[..name + colon],
        None => named,
    }
}

/// The digest of a pull specification (`sha256:...`), if it has one.
pub fn digest_of(pullspec: &str) -> Option<&str> {
    pullspec.rsplit_once('@').map(|(_, digest)| digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_is_what_stands_before_tag_and_digest() {
        for image in
            ["host:5000/a/b:v1", "host:5000/a/b@sha256:00", "host:5000/a/b", "host:5000/a/b:v1@sha256:00"]
        {
            assert_eq!(repository_of(image), "host:5000/a/b", "{image}");
        }
    }
}
