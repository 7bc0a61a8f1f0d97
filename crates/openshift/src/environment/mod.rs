//! The environment of the cluster: the existing releases, the image registry, and the update service.
//!
//! * `faults.rs` and `release_faults.rs`: faults of releases during a run
//! * `update_graph.rs` and `graph_api.rs`: the update service, and its answers over HTTP
//! * `image_builds.rs`: what the build pods of custom images do
//! * `processes.rs`: programs of the user in pods of the cluster

mod faults;
mod graph_api;
pub(crate) mod image_builds;
mod processes;
mod release_faults;
mod update_graph;

use std::any::Any;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use semver::Version;
use windtunnel_controllers::PayloadWorkloads;
use windtunnel_controllers::environment::{NodeEnvironment, NodeSoftware, Program};
use windtunnel_controllers::registries_conf::RegistriesConf;
use windtunnel_controllers::registry::{Image, Registry, Workloads, digest_of, repository_of};
use windtunnel_core::{Object, View};

use crate::graph::UpdateService;
use crate::mco;
use crate::promql::Sample;
use crate::release::{self, Architecture, Release};
pub use faults::ReleaseFault;
pub use graph_api::{GraphAnswer, PATHS as GRAPH_PATHS};
pub use processes::{ContainerPlace, container};
pub use release_faults::ReleaseFaults;

/// Whether a user means this simulated component by `name`: its own name, the first part of it
/// (`machine-config-controller`, `kubelet`), or the short form of an operator (`operator/etcd`).
pub fn is_named(component: &str, name: &str) -> bool {
    let rest = component.strip_prefix(name);
    let is_part_of = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let operator = component.strip_prefix("operator/");
    let is_operator = operator.is_some_and(|operator| {
        operator == name
            || name
                .strip_prefix("operator/")
                .is_some_and(|short| !short.is_empty() && operator.strip_suffix("-operator") == Some(short))
    });
    is_part_of || is_operator
}

/// Everything outside the cluster that its components can reach.
#[derive(Debug, Clone)]
pub struct Environment {
    /// The releases of this run, by version, for the machines of the cluster. Each also exists for several
    /// architectures.
    pub releases: BTreeMap<Version, Release>,
    /// Versions that the update service offers as targets, unless `service` sets others.
    pub recommended: Vec<Version>,
    /// The settings of the update service.
    pub service: UpdateService,
    /// The registry of release images.
    pub registry: Registry,
    /// The current faults of releases.
    pub release_faults: ReleaseFaults,
    /// The images that users run beside releases.
    pub workloads: Workloads,
    /// Samples of metrics whose exporters are not simulated.
    pub metrics: Vec<Sample>,
    /// Keyrings in the payloads of all releases, instead of those in the payloads' manifests. Each must have
    /// signed a release. An empty list means that payloads configure no verification.
    pub keyrings: Option<Vec<String>>,
    /// Whether the cluster has its own Kubernetes controllers, which restart nothing on machines.
    pub has_controllers: bool,
    /// How workloads of releases run.
    pub payload_workloads: PayloadWorkloads,
    /// Whether kubelets renew Leases, and update status controllers elect a leader.
    pub node_leases: bool,
    /// Factor for the time between two renewals, if other controllers judge Leases by the wall clock and
    /// kubelets live in a faster time.
    pub node_lease_stretch: i32,
    /// Components of the cluster that are not simulated, by their names: programs outside may take their places.
    pub without: BTreeSet<String>,
    /// The containers in which programs of the user's machine run.
    pub processes: Vec<ContainerPlace>,
}

impl Default for Environment {
    fn default() -> Self {
        Self {
            releases: BTreeMap::new(),
            recommended: Vec::new(),
            service: UpdateService::default(),
            registry: Registry::default(),
            release_faults: ReleaseFaults::default(),
            workloads: Workloads::default(),
            metrics: Vec::new(),
            keyrings: None,
            has_controllers: false,
            payload_workloads: PayloadWorkloads::default(),
            node_leases: false,
            node_lease_stretch: 1,
            without: BTreeSet::new(),
            processes: Vec::new(),
        }
    }
}

impl Environment {
    /// Replaces the environment of a component with the environment of the cluster that it is copied into.
    pub(crate) fn replace(known: &mut Arc<Self>, environment: &Arc<dyn NodeEnvironment>) {
        let other: Arc<dyn Any + Send + Sync> = Arc::clone(environment) as _;
        if let Ok(other) = other.downcast() {
            *known = other;
        }
    }

    /// A copy for a cluster that continues separately: faults that begin in one do not reach the other.
    #[must_use]
    pub fn separate(&self) -> Self {
        Self { release_faults: self.release_faults.separate(), ..self.clone() }
    }

    /// The release that a payload of this version installs. The payload may be in the image of another
    /// release.
    pub fn payload_of(&self, version: &Version) -> Option<&Release> {
        let is_of = |release: &&Release| release.version == *version;
        self.releases.get(version).filter(is_of).or_else(|| self.releases.values().find(is_of))
    }

    fn registry_image(&self, pullspec: &str) -> Image {
        if let Some(named) = self.workloads.named.get(pullspec) {
            return named.clone();
        }
        if self.registry.holds(pullspec) || self.holds_releases(repository_of(pullspec)) {
            return self.registry.resolve(pullspec);
        }
        self.workloads.others.clone()
    }

    /// The current image of a release in the registry and the signature stores.
    pub fn release_image(&self, pullspec: &str) -> Image {
        self.release_faults.with_faults(pullspec, self.registry.resolve(pullspec))
    }

    /// Returns whether a repository belongs to releases. Other images in such a repository do not exist.
    fn holds_releases(&self, repository: &str) -> bool {
        let is_of = |release: &Release| {
            [&release.image, &release.os_image()].into_iter().any(|image| repository_of(image) == repository)
        };
        self.releases.values().any(is_of)
    }

    /// The release of this image. Images are equal if their digests are equal.
    pub fn release_of(&self, pullspec: &str) -> Option<Release> {
        let digest = digest_of(pullspec)?;
        let has = |image: &str| digest_of(image) == Some(digest);
        let own = self.releases.values().find(|release| has(&release.image)).cloned();
        own.or_else(|| {
            let multi = self.releases.values().find(|release| has(&release.multi_image()))?;
            Some(multi.clone().for_architecture(Architecture::Multi))
        })
    }

    /// Whether the cluster is without this simulated component ([`is_named`]).
    pub fn is_without(&self, component: &str) -> bool {
        self.without.iter().any(|name| is_named(component, name))
    }

    /// The release whose nodes run this image of the operating system.
    pub fn release_of_os(&self, os_image: &str) -> Option<&Release> {
        self.releases.values().find(|release| release.is_of_os(os_image))
    }

    /// The release of the version that an operator's Deployment reports. It is the release for several
    /// architectures if the image of the Deployment is.
    pub fn release_of_deployment(&self, deployment: &Object) -> Option<Cow<'_, Release>> {
        let version: Version = release::version_in(deployment)?.parse().ok()?;
        // A payload may report a version that differs from its release.
        let release = self.releases.values().find(|release| release.version == version)?;
        let image = &deployment.list("/spec/template/spec/containers").first()?["image"];
        let is_multi = *image == release.image_for(deployment.name(), Architecture::Multi);
        Some(if is_multi {
            Cow::Owned(release.clone().for_architecture(Architecture::Multi))
        } else {
            Cow::Borrowed(release)
        })
    }
}

impl NodeEnvironment for Environment {
    // An image of a release, a named image, or any other image outside of release repositories.
    fn image(&self, pullspec: &str) -> Image {
        self.release_faults.with_faults(pullspec, self.registry_image(pullspec))
    }

    // In any repository, an unknown digest belongs to no payload.
    fn payload(&self, pullspec: &str) -> Image {
        let named = self.workloads.named.get(pullspec);
        let found = named.cloned().unwrap_or_else(|| self.registry.resolve(pullspec));
        self.release_faults.with_faults(pullspec, found)
    }

    fn registries(&self, node: &Object, view: &View) -> Option<RegistriesConf> {
        mco::registries_of(node, view)
    }

    fn program(&self, pod: &Object, container: &str, view: &View) -> Option<Program> {
        image_builds::program(pod, container, view)
    }

    fn has_processes(&self) -> bool {
        !self.processes.is_empty()
    }

    fn has_process(&self, pod: &Object, container: &str) -> bool {
        self.processes.iter().any(|place| place.holds(self, pod, container))
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
    fn a_component_has_its_name_that_of_its_group_and_the_short_one_of_an_operator() {
        let named = |name: &str| {
            let all = ["kubelet/worker-0", "operator/etcd-operator", "operator/machine-config-operator"];
            let all = all.into_iter().chain(["machine-config-operator/nodes", "kubelet-csr-approver"]);
            all.filter(|component| is_named(component, name)).collect::<Vec<_>>()
        };
        assert_eq!(named("kubelet"), ["kubelet/worker-0"]);
        assert_eq!(named("operator/etcd"), ["operator/etcd-operator"]);
        assert_eq!(named("etcd-operator"), ["operator/etcd-operator"]);
        let operator = ["operator/machine-config-operator", "machine-config-operator/nodes"];
        assert_eq!(named("machine-config-operator"), operator);
        assert_eq!([named("etcd"), named("kube"), named("")], [const { Vec::<&str>::new() }; 3]);
    }

    #[test]
    fn unknown_images_exist_except_in_release_repositories() {
        let release = Release::find(&Version::parse("4.18.3").unwrap()).unwrap();
        let mut environment = Environment::default();
        let component = release.image_of("etcd");
        environment.registry.images.insert(digest_of(&release.image).unwrap().to_owned(), Image::default());
        let slow = Workloads::image(Pull::Slow, Containers::Run);
        environment.workloads.named.insert("quay.io/x/y:1".to_owned(), slow);
        let own = release.image.clone();
        environment.releases.insert(release.version.clone(), release);
        let pull = |image: &str| environment.image(image).pull;
        assert_eq!([pull(&own), pull("quay.io/x/y:2"), pull("quay.io/x/y@sha256:0a")], [Pull::Succeeds; 3]);
        assert_eq!(pull("quay.io/x/y:1"), Pull::Slow);
        let tag = format!("{}:4.18.9", repository_of(&own));
        for unknown in [&component, &tag] {
            assert_eq!(pull(unknown), Pull::ManifestUnknown, "{unknown}");
        }
        let mirrored = "mirror.example.com:5000/ocp4/openshift4@sha256:0a";
        assert_eq!(
            [pull(mirrored), environment.payload(mirrored).pull],
            [Pull::Succeeds, Pull::ManifestUnknown]
        );
        assert_eq!(
            [environment.payload(&own).pull, environment.payload("quay.io/x/y:1").pull],
            [Pull::Succeeds, Pull::Slow]
        );
    }
}
