//! What lies outside the cluster: the releases that exist, and the image registry.

mod faults;
mod outages;

use std::any::Any;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use semver::Version;
use windtunnel_controllers::environment::{NodeEnvironment, NodeSoftware};
use windtunnel_controllers::registry::{Image, Registry, Workloads, digest_of, repository_of};
use windtunnel_core::Object;

use crate::graph::UpdateService;
use crate::promql::Sample;
use crate::release::{self, Architecture, Release};
use crate::signature;
pub use faults::ReleaseFault;
pub use outages::Outages;

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
    /// Replaces the environment that a component knows by that of the cluster which it is copied into.
    pub(crate) fn replace(known: &mut Arc<Self>, environment: &Arc<dyn NodeEnvironment>) {
        let other: Arc<dyn Any + Send + Sync> = Arc::clone(environment) as _;
        if let Ok(other) = other.downcast() {
            *known = other;
        }
    }

    /// What a payload of this version installs. It may lie in the image of another release.
    pub fn payload_of(&self, version: &Version) -> Option<&Release> {
        let is_of = |release: &&Release| release.version == *version;
        self.releases.get(version).filter(is_of).or_else(|| self.releases.values().find(is_of))
    }

    fn held(&self, pullspec: &str) -> Image {
        if let Some(named) = self.workloads.named.get(pullspec) {
            return named.clone();
        }
        if self.registry.holds(pullspec) || self.holds_releases(repository_of(pullspec)) {
            return self.registry.resolve(pullspec);
        }
        self.workloads.others.clone()
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

impl NodeEnvironment for World {
    // One of a release, one that is told of by name, or any other that may be where no release is.
    fn image(&self, pullspec: &str) -> Image {
        self.outages.over(pullspec, self.held(pullspec))
    }

    // In whatever repository, a digest that nobody told of is of no payload.
    fn payload(&self, pullspec: &str) -> Image {
        let named = self.workloads.named.get(pullspec);
        let found = named.cloned().unwrap_or_else(|| self.registry.resolve(pullspec));
        self.outages.over(pullspec, found)
    }

    fn software(&self, os_image: &str, architecture: &str) -> Option<NodeSoftware> {
        let release = self.release_of_os(os_image)?;
        Some(NodeSoftware {
            kubelet: release.kubelet_version(),
            os: release.os_name(),
            kernel: release.kernel_version(architecture),
            container_runtime: release.container_runtime_version(),
        })
    }

    fn lease_stretch(&self) -> Option<i32> {
        self.node_leases.then_some(self.node_lease_stretch)
    }
}

#[cfg(test)]
mod tests {
    use windtunnel_controllers::registry::{Containers, Pull};

    use super::*;

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
