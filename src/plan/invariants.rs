//! Invariants of every run, by their names in scenarios.

use std::collections::BTreeSet;

/// A rule that every run must keep, whatever its scenario does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Invariant {
    /// A machine reboots into another MachineConfig only after a drain, and its node passes through the
    /// phases in order.
    NodeOrder,
    /// A rejected release (`ReleaseAccepted=False`) does not become the target and does not end the current
    /// update.
    RefusalAlone,
    /// `observedGeneration` of ClusterVersion never exceeds its generation.
    ObservedGeneration,
    /// A release is `Completed` in the history only once it is `Available`.
    CompletedAvailable,
    /// Only the newest history entry can become `Completed`.
    HistoryOrder,
}

impl Invariant {
    /// All invariants. Runs check them unless the scenario excludes some.
    pub const ALL: [Self; 5] = [
        Self::NodeOrder,
        Self::RefusalAlone,
        Self::ObservedGeneration,
        Self::CompletedAvailable,
        Self::HistoryOrder,
    ];

    /// Returns the name in scenarios and failure messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::NodeOrder => "node-order",
            Self::RefusalAlone => "refusal-alone",
            Self::ObservedGeneration => "observed-generation",
            Self::CompletedAvailable => "completed-available",
            Self::HistoryOrder => "history-order",
        }
    }

    /// Returns the invariant with this name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|invariant| invariant.name() == name)
    }

    /// Returns all invariants.
    pub fn all() -> BTreeSet<Self> {
        Self::ALL.into()
    }
}
