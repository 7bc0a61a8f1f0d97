//! What lies outside the cluster: the releases that exist, and the image registry.

use std::borrow::Cow;
use std::collections::BTreeMap;

use semver::Version;

use super::Object;
use super::graph::UpdateService;
use super::outages::Outages;
use super::promql::Sample;
use super::release::{self, Architecture, Release};
use super::signature;

/// Everything outside the cluster that its components can reach.
#[derive(Debug, Clone)]
pub struct World {
    /// Releases that exist in this run, by version, for the machines of the cluster. Each exists for several architectures as
    /// well.
    pub releases: BTreeMap<Version, Release>,
    /// Versions that the update service offers as targets, unless it is told otherwise.
    pub recommended: Vec<Version>,
    /// What the update service is told.
    pub service: UpdateService,
    /// The registry of release images.
    pub registry: Registry,
    /// What goes wrong with releases for the time being.
    pub outages: Outages,
    /// The images that people run beside releases.
    pub workloads: Workloads,
    /// Samples of metrics that others export than components of ours.
    pub metrics: Vec<Sample>,
    /// Keyrings in the payloads of releases, each of which must have signed a release. Without any, payloads name no
    /// trust at all.
    pub keyrings: Vec<String>,
    /// Whether the controllers of Kubernetes are others than ours, which restart nothing on machines.
    pub has_controllers: bool,
    /// Whether kubelets show by Leases that they live.
    pub node_leases: bool,
    /// How many times as long as usual they wait between renewals: where others judge by the wall's clock whether they live, and
    /// theirs passes faster.
    pub node_lease_stretch: i32,
}

impl Default for World {
    fn default() -> Self {
        Self {
            releases: BTreeMap::new(),
            recommended: Vec::new(),
            service: UpdateService::default(),
            registry: Registry::default(),
            outages: Outages::default(),
            workloads: Workloads::default(),
            metrics: Vec::new(),
            keyrings: vec![signature::KEYRING.to_owned()],
            has_controllers: false,
            node_leases: false,
            node_lease_stretch: 1,
        }
    }
}

impl World {
    /// What a payload of this version installs. It may lie in the image of another release.
    pub fn payload_of(&self, version: &Version) -> Option<&Release> {
        let is_of = |release: &&Release| release.version == *version;
        self.releases.get(version).filter(is_of).or_else(|| self.releases.values().find(is_of))
    }

    /// The image that a kubelet finds under a pull specification: one of a release, one that is told of by name, or any other
    /// that may be where no release is.
    pub fn image(&self, pullspec: &str) -> Image {
        self.outages.over(pullspec, self.held(pullspec))
    }

    fn held(&self, pullspec: &str) -> Image {
        if let Some(named) = self.workloads.named.get(pullspec) {
            return named.clone();
        }
        let is_held = digest_of(pullspec).is_some_and(|digest| self.registry.images.contains_key(digest));
        if is_held || self.holds_releases(repository_of(pullspec)) {
            return self.registry.resolve(pullspec);
        }
        self.workloads.others.clone()
    }

    /// The image that a kubelet finds for a pod that wants the payload in it. In whatever repository, a digest that nobody told
    /// of is of no payload.
    pub fn payload(&self, pullspec: &str) -> Image {
        let named = self.workloads.named.get(pullspec);
        let found = named.cloned().unwrap_or_else(|| self.registry.resolve(pullspec));
        self.outages.over(pullspec, found)
    }

    /// The image of a release as the registry and the signature stores have it now.
    pub fn release_image(&self, pullspec: &str) -> Image {
        self.outages.over(pullspec, self.registry.resolve(pullspec))
    }

    /// Whether a repository is one of releases: what nobody told of there, there is not.
    fn holds_releases(&self, repository: &str) -> bool {
        let is_of = |release: &Release| {
            [&release.image, &release.os_image()].into_iter().any(|image| repository_of(image) == repository)
        };
        self.releases.values().any(is_of)
    }

    /// The release whose image this is; images are the same when their digests are.
    pub fn release_of(&self, pullspec: &str) -> Option<Release> {
        let digest = digest_of(pullspec)?;
        let has = |image: &str| digest_of(image) == Some(digest);
        let own = self.releases.values().find(|release| has(&release.image)).cloned();
        own.or_else(|| {
            let multi = self.releases.values().find(|release| has(&release.multi_image()))?;
            Some(multi.clone().of(Architecture::Multi))
        })
    }

    /// The release whose nodes run this image of the operating system.
    pub fn release_of_os(&self, os_image: &str) -> Option<&Release> {
        self.releases.values().find(|release| release.is_of_os(os_image))
    }

    /// The release that an operator's Deployment is of: that of the version which it tells, for several architectures if its
    /// image is.
    pub fn release_in(&self, deployment: &Object) -> Option<Cow<'_, Release>> {
        let version: Version = release::version_in(deployment)?.parse().ok()?;
        // A payload may say another version than the one that it goes by.
        let release = self.releases.values().find(|release| release.version == version)?;
        let image = &deployment.list("/spec/template/spec/containers").first()?["image"];
        let is_multi = *image == release.image_for(deployment.name(), Architecture::Multi);
        Some(if is_multi {
            Cow::Owned(release.clone().of(Architecture::Multi))
        } else {
            Cow::Borrowed(release)
        })
    }
}

/// The image registry: what happens to a pull, by digest. A digest that it does not hold is unknown to it.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    /// Images by digest (`sha256:...`).
    pub images: BTreeMap<String, Image>,
}

impl Registry {
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

    #[test]
    fn what_nobody_told_of_is_there_but_among_releases() {
        let release = Release::find(&Version::parse("4.18.3").unwrap()).unwrap();
        let mut world = World::default();
        let component = release.image_of("etcd");
        world.registry.images.insert(digest_of(&release.image).unwrap().to_owned(), Image::default());
        let slow = Workloads::image(Pull::Slow, Containers::Run);
        world.workloads.named.insert("quay.io/x/y:1".to_owned(), slow);
        let own = release.image.clone();
        world.releases.insert(release.version.clone(), release);
        let pull = |image: &str| world.image(image).pull;
        assert_eq!([pull(&own), pull("quay.io/x/y:2"), pull("quay.io/x/y@sha256:0a")], [Pull::Succeeds; 3]);
        assert_eq!(pull("quay.io/x/y:1"), Pull::Slow);
        let tag = format!("{}:4.18.9", repository_of(&own));
        for unknown in [&component, &tag] {
            assert_eq!(pull(unknown), Pull::ManifestUnknown, "{unknown}");
        }
        let mirrored = "mirror.example.com:5000/ocp4/openshift4@sha256:0a";
        assert_eq!([pull(mirrored), world.payload(mirrored).pull], [Pull::Succeeds, Pull::ManifestUnknown]);
        assert_eq!(
            [world.payload(&own).pull, world.payload("quay.io/x/y:1").pull],
            [Pull::Succeeds, Pull::Slow]
        );
    }
}
