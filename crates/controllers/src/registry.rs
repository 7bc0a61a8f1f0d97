//! The image registry and the results of pulls.

use std::collections::BTreeMap;

/// The result of pulls by digest. Digests that are not listed are unknown to the registry.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    /// Images by digest (`sha256:...`).
    pub images: BTreeMap<String, Image>,
}

impl Registry {
    /// Whether the registry has an image with the digest of `pullspec`.
    pub fn holds(&self, pullspec: &str) -> bool {
        digest_of(pullspec).is_some_and(|digest| self.images.contains_key(digest))
    }

    /// The image of a pull specification. Pulls of unknown digests and of tags fail with an unknown manifest.
    pub fn resolve(&self, pullspec: &str) -> Image {
        digest_of(pullspec).and_then(|digest| self.images.get(digest)).cloned().unwrap_or(Image {
            pull: Pull::ManifestUnknown,
            sigstore: Signature::Missing,
            openpgp: OpenPgp::Missing,
            contents: Contents::default(),
            containers: Containers::Run,
            signature_stores: Vec::new(),
            size: None,
        })
    }
}

/// The images that belong to no release.
#[derive(Debug, Clone, PartialEq)]
pub struct Workloads {
    /// Images with explicit settings, by pull specification.
    pub named: BTreeMap<String, Image>,
    /// The default for all other images.
    pub others: Image,
}

impl Workloads {
    /// Creates an unsigned image without a release payload.
    pub fn image(pull: Pull, containers: Containers) -> Image {
        Image {
            pull,
            sigstore: Signature::Missing,
            openpgp: OpenPgp::Missing,
            contents: Contents::NoPayload,
            containers,
            signature_stores: Vec::new(),
            size: None,
        }
    }
}

impl Default for Workloads {
    fn default() -> Self {
        let others = Self::image(Pull::Succeeds, Containers::Run);
        Self { named: BTreeMap::new(), others }
    }
}

/// An image and its behaviour.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Image {
    /// The result of a pull.
    pub pull: Pull,
    /// Its Sigstore signature, which the container runtime verifies for ClusterImagePolicy objects.
    pub sigstore: Signature,
    /// Its OpenPGP release signature, which the cluster-version operator verifies.
    pub openpgp: OpenPgp,
    /// Its content.
    pub contents: Contents,
    /// The behaviour of its containers.
    pub containers: Containers,
    /// The URLs of the signature stores that have its signature; empty for the stores that payloads name.
    pub signature_stores: Vec<String>,
    /// The compressed size of its layers in bytes. `None` for a typical one.
    pub size: Option<u64>,
}

/// The result of a pull.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Pull {
    /// The pull succeeds.
    #[default]
    Succeeds,
    /// The pull succeeds after more than a minute.
    Slow,
    /// The registry does not have the manifest.
    ManifestUnknown,
    /// The registry returns a manifest with another digest.
    WrongDigest,
    /// The registry rejects the credentials.
    Unauthorized,
    /// The registry cannot be reached.
    Unreachable,
    /// The registry returns 503.
    Unavailable,
    /// The registry never answers.
    Hangs,
}

impl Pull {
    /// The names in scenarios, in the order of `ALL`.
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

    /// The result of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().position(|known| *known == name).map(|index| Self::ALL[index])
    }

    /// The name of the result.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().position(|known| *known == self).map_or("", |index| Self::NAMES[index])
    }
}

/// The content of an image.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Contents {
    /// A release payload.
    #[default]
    Payload,
    /// No release payload.
    NoPayload,
    /// A payload without `image-references`.
    NoImageReferences,
    /// A payload with unreadable release metadata.
    UnreadableMetadata,
    /// A payload with the `image-references` of another version.
    OtherImageReferences,
    /// A payload with an unreadable manifest.
    UnreadableManifest,
}

/// The behaviour of an image's containers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Containers {
    /// They run and execute their programs.
    #[default]
    Run,
    /// They exit with an error right after the start.
    Crash,
    /// They are killed because they run out of memory.
    OutOfMemory,
    /// The container runtime cannot create them.
    CannotBeCreated,
}

/// The state of a Sigstore signature.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Signature {
    /// Signed with the right key.
    #[default]
    Valid,
    /// Not signed.
    Missing,
    /// Signed with another key, or with a certificate of another authority.
    WrongKey,
    /// Signed for another repository, or with a certificate of another subject.
    WrongIdentity,
    /// Signed with a certificate that had expired. A policy with a public key accepts it.
    Expired,
}

impl Signature {
    /// The names in scenarios, in the order of `ALL`.
    pub const NAMES: [&str; 5] = ["valid", "missing", "wrong-key", "wrong-identity", "expired"];

    const ALL: [Self; 5] = [Self::Valid, Self::Missing, Self::WrongKey, Self::WrongIdentity, Self::Expired];

    /// The signature of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().position(|known| *known == name).map(|index| Self::ALL[index])
    }
}

/// The answer of signature stores about an image.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OpenPgp {
    /// They have a signature by the right key.
    #[default]
    Valid,
    /// They have no signature.
    Missing,
    /// They have a signature by an untrusted key.
    WrongKey,
    /// They never answer.
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
    fn repository_of_cuts_tag_and_digest() {
        for image in
            ["host:5000/a/b:v1", "host:5000/a/b@sha256:00", "host:5000/a/b", "host:5000/a/b:v1@sha256:00"]
        {
            assert_eq!(repository_of(image), "host:5000/a/b", "{image}");
        }
    }
}
