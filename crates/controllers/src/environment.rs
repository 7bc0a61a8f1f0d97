//! What the nodes of a cluster find outside of it.

use std::any::Any;
use std::fmt::Debug;

use crate::registry::{Image, Registry, Workloads};

/// Everything outside the cluster that a kubelet can reach, and what its machine was installed with.
pub trait NodeEnvironment: Any + Debug + Send + Sync {
    /// The image that a pull of `pullspec` finds.
    fn image(&self, pullspec: &str) -> Image;

    /// The image that a pull finds for a container that copies a release payload out of it.
    fn payload(&self, pullspec: &str) -> Image;

    /// The software of nodes that were booted from this image of the operating system; `None`: what the Node reports already.
    fn software(&self, os_image: &str, architecture: &str) -> Option<NodeSoftware>;

    /// How many times as long as usual kubelets wait between renewals of their Leases; `None`: they have no Leases.
    fn lease_stretch(&self) -> Option<i32>;
}

/// The versions in `status.nodeInfo` that come with an operating system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeSoftware {
    /// `kubeletVersion`.
    pub kubelet: String,
    /// `osImage`.
    pub os: String,
    /// `kernelVersion`.
    pub kernel: String,
    /// `containerRuntimeVersion`.
    pub container_runtime: String,
}

/// An environment without releases: images of a registry, and any other image, which runs.
#[derive(Debug, Clone, Default)]
pub struct Standalone {
    /// Images that differ from others.
    pub registry: Registry,
    /// [`NodeEnvironment::lease_stretch`].
    pub lease_stretch: Option<i32>,
}

impl NodeEnvironment for Standalone {
    fn image(&self, pullspec: &str) -> Image {
        if self.registry.holds(pullspec) {
            self.registry.resolve(pullspec)
        } else {
            Workloads::default().others
        }
    }

    fn payload(&self, pullspec: &str) -> Image {
        self.registry.resolve(pullspec)
    }

    fn software(&self, _os_image: &str, _architecture: &str) -> Option<NodeSoftware> {
        None
    }

    fn lease_stretch(&self) -> Option<i32> {
        self.lease_stretch
    }
}
