//! The state of a machine beneath its Node: its disk and its boots.

use std::sync::Arc;

use serde_json::Value;
use windtunnel_core::clock::Time;

/// The state that survives reboots of a machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Disk {
    /// The rendered MachineConfig whose files are on the disk (`/etc/machine-config-daemon/currentconfig`).
    pub config: String,
    /// The OS image of the release for the next boot. A custom image is built from it.
    pub os_image: String,
    /// The custom OS image for the next boot (`/etc/machine-config-daemon/currentimage`). Empty for the
    /// release's own.
    pub custom_image: String,
}

/// One boot of a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Boot {
    /// The kernel's boot id, which the kubelet reports in `status.nodeInfo.bootID`.
    pub id: String,
    /// The booted OS image.
    pub os_image: String,
    /// The time of the boot by the machine's own clock. It ended all earlier processes.
    pub at: Time,
}

/// The manifest of a static pod in `/etc/kubernetes/manifests`, which the kubelet runs without the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaticPod {
    /// The pod in the file: without the node's name as a suffix, and not bound to a node.
    pub manifest: Arc<Value>,
}

impl StaticPod {
    /// Whether this file replaces another, because their pods have the same namespace and name.
    pub fn replaces(&self, other: &Self) -> bool {
        let name = |pod: &Self| {
            ["namespace", "name"].map(|field| pod.manifest["metadata"][field].as_str().map(str::to_owned))
        };
        name(self) == name(other)
    }
}
