//! What a machine is beneath its Node: its disk, and how it was started.

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
}
