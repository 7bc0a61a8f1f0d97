//! The reasons for which the parts of a running cluster wait.

use windtunnel_core::clock::Time;

/// An actor, or a joining machine, that waits for something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pending {
    /// The actor, or `machine/NAME`.
    pub actor: String,
    /// The reason why it waits, in its own words.
    pub why: String,
    /// When it acts without a change in the cluster.
    pub until: Option<Time>,
}
