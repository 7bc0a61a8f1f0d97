//! What a machine is beneath its Node: its disk, and how it was started.

use std::sync::Arc;

use serde_json::Value;
use windtunnel_core::clock::Time;

/// What outlives a reboot of a machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Disk {
    /// The rendered MachineConfig whose files are there (`/etc/machine-config-daemon/currentconfig`).
    pub config: String,
    /// The image of the operating system that is booted next.
    pub os_image: String,
}

/// One start of a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Boot {
    /// The id that the kernel made, as the kubelet reports it in `status.nodeInfo.bootID`.
    pub id: String,
    /// The image of the operating system that was booted.
    pub os_image: String,
    /// When, by the machine's own clock. What ran before has ended.
    pub at: Time,
}

/// A file from which the kubelet of a machine runs a pod by itself (`/etc/kubernetes/manifests`), without asking the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaticPod {
    /// The pod as the file has it: its name without that of the node, and bound to none.
    pub manifest: Arc<Value>,
}

impl StaticPod {
    /// Whether a file takes the place of another: the pod is called the same.
    pub fn replaces(&self, other: &Self) -> bool {
        let name = |pod: &Self| {
            ["namespace", "name"].map(|field| pod.manifest["metadata"][field].as_str().map(str::to_owned))
        };
        name(self) == name(other)
    }
}
