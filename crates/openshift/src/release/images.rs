//! The images of a release's components, and what nodes run of them. Digests and build numbers are made of the version:
//! nobody has the real ones.

use sha2::{Digest as _, Sha256};
use windtunnel_core::text;

use super::{Architecture, Release};

/// The repository that images of components are pulled from.
const REPOSITORY: &str = "quay.io/openshift-release-dev/ocp-v4.0-art-dev";

/// The component that nodes run.
const OS: &str = "rhel-coreos";

impl Release {
    /// The pull specification of a component's image, by digest.
    pub fn image_of(&self, component: &str) -> String {
        self.image_for(component, self.architecture)
    }

    /// The same for these machines.
    pub fn image_for(&self, component: &str, architecture: Architecture) -> String {
        let several = if architecture == Architecture::Multi { " multi" } else { "" };
        let digest = Sha256::digest(format!("{component} {}{several}", self.version));
        format!("{REPOSITORY}@sha256:{}", text::hex(&digest))
    }

    /// The image of the nodes' operating system, as ControllerConfig and MachineConfigs name it (`osImageURL`).
    pub fn os_image(&self) -> String {
        self.image_of(OS)
    }

    /// Whether nodes with this image of the operating system are of this release; that for several architectures brings the
    /// same to each.
    pub fn is_of_os(&self, os_image: &str) -> bool {
        let is_it = |architecture| self.image_for(OS, architecture) == os_image;
        is_it(self.architecture) || is_it(Architecture::Multi)
    }

    /// What a node of this release reports as `status.nodeInfo.kubeletVersion`.
    pub fn kubelet_version(&self) -> String {
        format!("v1.{}.{}", self.kubernetes_minor, self.version.patch)
    }

    /// What a node of this release reports as `status.nodeInfo.osImage`: RHEL CoreOS is numbered by OpenShift's minor and
    /// RHEL's up to 4.18, by RHEL's alone from 4.19.
    pub fn os_name(&self) -> String {
        let digest = self.os_digest();
        let build = u32::from_be_bytes([0, digest[0], digest[1], digest[2]]);
        let (major, minor) = self.line();
        let (rhel, name) = match self.rhel() {
            (9, 6) => return format!("Red Hat Enterprise Linux CoreOS 9.6.{build:08}-0 (Plow)"),
            (8, second) => (format!("8{second}"), "Ootpa"),
            (first, second) => (format!("{first}{second}"), "Plow"),
        };
        format!("Red Hat Enterprise Linux CoreOS {major}{minor}.{rhel}.{build:08}-0 ({name})")
    }

    /// What a node of this release reports as `status.nodeInfo.kernelVersion`, on machines that Go calls so.
    pub fn kernel_version(&self, machine: &str) -> String {
        let machine = match machine {
            "amd64" => "x86_64",
            "arm64" => "aarch64",
            other => other,
        };
        let (first, second) = self.rhel();
        let base = match (first, second) {
            (8, _) => "4.18.0-372",
            (_, 2) => "5.14.0-284",
            (_, 4) => "5.14.0-427",
            _ => "5.14.0-570",
        };
        format!("{base}.{}.1.el{first}_{second}.{machine}", self.os_digest()[3])
    }

    fn os_digest(&self) -> [u8; 4] {
        let digest = Sha256::digest(format!("rhel-coreos {}", self.version));
        [digest[0], digest[1], digest[2], digest[3]]
    }

    /// The RHEL that nodes of this release run.
    fn rhel(&self) -> (u32, u32) {
        match self.line() {
            (..=3, _) | (4, ..=12) => (8, 6),
            (4, 13..=15) => (9, 2),
            (4, 16..=18) => (9, 4),
            _ => (9, 6),
        }
    }

    /// What a node of this release reports as `status.nodeInfo.containerRuntimeVersion`: CRI-O goes with Kubernetes' minors.
    pub fn container_runtime_version(&self) -> String {
        format!("cri-o://1.{}.{}", self.kubernetes_minor, self.version.patch)
    }

    /// The commit that the machine-config operator of this release was built from.
    pub fn machine_config_commit(&self) -> String {
        let digest = Sha256::digest(format!("machine-config-operator {}", self.version));
        text::hex(&digest[..20])
    }
}
