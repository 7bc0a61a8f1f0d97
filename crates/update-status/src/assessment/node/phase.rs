//! The update phase of a node, named as in `oc adm upgrade status`.

/// The update phase of a node, in the order of the node table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Its pods are being evicted.
    Draining,
    /// The machine-config daemon is writing its disk.
    Updating,
    /// It is rebooting. Current machine-config daemons never report this state.
    Rebooting,
    /// Outdated, and its pool is paused.
    Paused,
    /// Outdated, and not started.
    Pending,
    /// It runs the target version, or its daemon has just finished the update.
    Updated,
}

impl Phase {
    /// Returns whether the update is in progress.
    pub fn is_in_progress(self) -> bool {
        matches!(self, Self::Draining | Self::Updating | Self::Rebooting)
    }

    /// Returns the phase with this name, such as `Draining`.
    pub fn named(name: &str) -> Option<Self> {
        let all =
            [Self::Draining, Self::Updating, Self::Rebooting, Self::Paused, Self::Pending, Self::Updated];
        all.into_iter().find(|phase| format!("{phase:?}") == name)
    }
}
