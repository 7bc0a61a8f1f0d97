//! Where a node is on its way to another release, in the words of `oc adm upgrade status`.

/// Where a node is, in the order of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Its pods are being evicted.
    Draining,
    /// The daemon writes its disk.
    Updating,
    /// It reboots; no machine-config daemon of today says so.
    Rebooting,
    /// Its pool is paused.
    Paused,
    /// Its turn has not come.
    Pending,
    /// It is of the version that the cluster goes to.
    Updated,
}

impl Phase {
    /// Whether it began and is not there.
    pub fn is_on_its_way(self) -> bool {
        matches!(self, Self::Draining | Self::Updating | Self::Rebooting)
    }

    /// The phase of this name, such as `Draining`.
    pub fn named(name: &str) -> Option<Self> {
        let all =
            [Self::Draining, Self::Updating, Self::Rebooting, Self::Paused, Self::Pending, Self::Updated];
        all.into_iter().find(|phase| format!("{phase:?}") == name)
    }
}
