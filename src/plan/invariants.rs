//! What must hold in every run, by the names that scenarios call it by.

use std::collections::BTreeSet;

/// Something that must hold whatever a scenario does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Invariant {
    /// A machine reboots into another MachineConfig after a drain, and the phases of its node follow one another.
    NodeOrder,
    /// A refused release (`ReleaseAccepted=False`) does not become the target, nor does it end the update under way.
    RefusalAlone,
    /// No generation of ClusterVersion is observed before it exists.
    ObservedGeneration,
    /// A release is `Completed` in the history when it is `Available`, not before.
    CompletedAvailable,
    /// Only the newest release of the history can become `Completed`.
    HistoryOrder,
}

impl Invariant {
    /// All of them, which are checked unless a scenario says otherwise.
    pub const ALL: [Self; 5] = [
        Self::NodeOrder,
        Self::RefusalAlone,
        Self::ObservedGeneration,
        Self::CompletedAvailable,
        Self::HistoryOrder,
    ];

    /// How scenarios and failures call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::NodeOrder => "node-order",
            Self::RefusalAlone => "refusal-alone",
            Self::ObservedGeneration => "observed-generation",
            Self::CompletedAvailable => "completed-available",
            Self::HistoryOrder => "history-order",
        }
    }

    /// The one of this name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|invariant| invariant.name() == name)
    }

    /// All of them.
    pub fn all() -> BTreeSet<Self> {
        Self::ALL.into()
    }
}
