//! The environment of nodes outside of the cluster.

use std::any::Any;
use std::fmt::Debug;

use windtunnel_core::{Object, View};

use crate::registries_conf::RegistriesConf;
use crate::registry::{Image, Registry, Workloads};

/// Everything outside the cluster that a kubelet can reach, and the software installed on its machine.
pub trait NodeEnvironment: Any + Debug + Send + Sync {
    /// The image that a pull of `pullspec` returns.
    fn image(&self, pullspec: &str) -> Image;

    /// The image that a pull returns for a container that extracts a release payload.
    fn payload(&self, pullspec: &str) -> Image;

    /// The registries and mirrors in the files of a node. `None` if its files are unknown.
    fn registries(&self, _node: &Object, _view: &View) -> Option<RegistriesConf> {
        None
    }

    /// The behaviour of the program of a container that runs to completion. `None` for a short program that succeeds.
    fn program(&self, _pod: &Object, _container: &str, _view: &View) -> Option<Program> {
        None
    }

    /// Whether any container may run such a process.
    fn has_processes(&self) -> bool {
        false
    }

    /// Whether a container runs a process that ends by itself, and not a simulated program.
    fn has_process(&self, _pod: &Object, _container: &str) -> bool {
        false
    }

    /// The software of nodes that booted this OS image; `None` to keep the versions that the Node reports
    /// already.
    fn software(&self, os_image: &str, architecture: &str) -> Option<NodeSoftware>;

    /// The factor by which kubelets extend the interval between renewals of their Leases; `None` if they have
    /// no Leases.
    fn lease_stretch(&self) -> Option<i32>;
}

/// The behaviour of a program that runs to completion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The minimum and maximum time that it takes, in milliseconds.
    pub millis: (u64, u64),
    /// Its output if it exits with an error at the end.
    pub error: Option<String>,
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

/// An environment without releases: its registry has some images, and all other images run.
#[derive(Debug, Clone, Default)]
pub struct Standalone {
    /// The images that differ from the default.
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
