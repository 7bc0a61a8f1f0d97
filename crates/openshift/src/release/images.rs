//! Component images of a release, and the versions that its nodes report. Digests and build numbers are
//! derived from the version, because the real ones are not known.

use sha2::{Digest as _, Sha256};
use windtunnel_core::text;

use super::{Architecture, Release};

/// The repository of component images.
const REPOSITORY: &str = "quay.io/openshift-release-dev/ocp-v4.0-art-dev";

/// The component with the nodes' operating system.
const OS: &str = "rhel-coreos";

impl Release {
    /// The pull spec of a component's image, by digest.
    pub fn image_of(&self, component: &str) -> String {
        self.image_for(component, self.architecture)
    }

    /// The pull spec of a component's image for this architecture.
    pub fn image_for(&self, component: &str, architecture: Architecture) -> String {
        let several = if architecture == Architecture::Multi { " multi" } else { "" };
        let digest = Sha256::digest(format!("{component} {}{several}", self.version));
        format!("{REPOSITORY}@sha256:{}", text::hex(&digest))
    }

    /// The nodes' OS image in ControllerConfig and MachineConfigs (`osImageURL`).
    pub fn os_image(&self) -> String {
        self.image_of(OS)
    }

    /// The image with extensions of the nodes' operating system (`baseOSExtensionsContainerImage`).
    pub fn extensions_image(&self) -> String {
        self.image_of("rhel-coreos-extensions")
    }

    /// Returns whether this OS image belongs to this release. The multi-architecture image does too.
    pub fn is_of_os(&self, os_image: &str) -> bool {
        let is_image = |architecture| self.image_for(OS, architecture) == os_image;
        is_image(self.architecture) || is_image(Architecture::Multi)
    }

    /// `status.nodeInfo.kubeletVersion` of a node.
    pub fn kubelet_version(&self) -> String {
        format!("v1.{}.{}", self.kubernetes_minor, self.version.patch)
    }

    /// `status.nodeInfo.osImage` of a node. RHEL CoreOS versions consist of OpenShift's minor and RHEL's up
    /// to 4.18, and of RHEL's only from 4.19 on.
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

    /// `status.nodeInfo.kernelVersion` of a node. `machine` is Go's name of its architecture.
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

    /// The RHEL version of the nodes.
    fn rhel(&self) -> (u32, u32) {
        match self.line() {
            (..=3, _) | (4, ..=12) => (8, 6),
            (4, 13..=15) => (9, 2),
            (4, 16..=18) => (9, 4),
            _ => (9, 6),
        }
    }

    /// `status.nodeInfo.containerRuntimeVersion` of a node. CRI-O has Kubernetes' minors.
    pub fn container_runtime_version(&self) -> String {
        format!("cri-o://1.{}.{}", self.kubernetes_minor, self.version.patch)
    }

    /// The commit of this release's machine-config operator.
    pub fn machine_config_commit(&self) -> String {
        let digest = Sha256::digest(format!("machine-config-operator {}", self.version));
        text::hex(&digest[..20])
    }
}
