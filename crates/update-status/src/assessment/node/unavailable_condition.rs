//! The node conditions that keep pods off a node, by the rules of the machine-config operator.

use jiff::SignedDuration;
use windtunnel_core::text::go_quote::quote;

use crate::assessment::dated_condition::DatedCondition;

/// A node condition that keeps pods off the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnavailableCondition {
    /// The node is not ready.
    NotReady,
    /// The node has disk pressure.
    DiskPressure,
    /// The network of the node is unavailable.
    NetworkUnavailable,
}

/// The differences between the conditions of healthy and unhealthy nodes.
struct ExpectedCondition {
    kind: &'static str,
    /// The status of a healthy node.
    status: &'static str,
    /// The problem in the node table of `oc`, and as a reason in insights.
    short: &'static str,
    /// The problem as the predicate of a sentence.
    predicate: &'static str,
    /// The problem is worth a health insight once it has lasted this long.
    serious_after: SignedDuration,
}

impl UnavailableCondition {
    /// All such conditions.
    pub(crate) const ALL: [Self; 3] = [Self::NotReady, Self::DiskPressure, Self::NetworkUnavailable];

    fn expected(self) -> ExpectedCondition {
        match self {
            Self::NotReady => ExpectedCondition {
                kind: "Ready",
                status: "True",
                short: "Not ready",
                predicate: "is not ready",
                serious_after: SignedDuration::from_mins(5),
            },
            Self::DiskPressure => ExpectedCondition {
                kind: "DiskPressure",
                status: "False",
                short: "Disk pressure",
                predicate: "has disk pressure",
                serious_after: SignedDuration::from_mins(1),
            },
            Self::NetworkUnavailable => ExpectedCondition {
                kind: "NetworkUnavailable",
                status: "False",
                short: "Network unavailable",
                predicate: "has unavailable network",
                serious_after: SignedDuration::from_mins(1),
            },
        }
    }

    /// Returns the problem that a condition of this type and status represents.
    pub(super) fn find(kind: &str, status: &str) -> Option<Self> {
        let known = Self::ALL.into_iter().find(|condition| condition.expected().kind == kind)?;
        (known.expected().status != status).then_some(known)
    }

    /// Returns how long the problem lasts before it is worth a health insight.
    pub(crate) fn serious_after(self) -> SignedDuration {
        self.expected().serious_after
    }

    /// Returns the problem in a few words, such as `Not ready`.
    pub(crate) fn short(self) -> &'static str {
        self.expected().short
    }

    /// Returns the problem as the predicate of a sentence, such as `is not ready`.
    pub(super) fn predicate(self) -> &'static str {
        self.expected().predicate
    }

    /// Returns the problem as a sentence, such as `Node is not ready`.
    pub(crate) fn sentence(self) -> String {
        format!("Node {}", self.predicate())
    }

    /// Returns the problem with the message of the condition.
    pub(crate) fn description(self, found: &DatedCondition) -> String {
        let ExpectedCondition { kind, status, short, .. } = self.expected();
        let message = quote(&found.message);
        format!("Node has a {kind}!={status} condition with Reason \"{short}\" and message {message}")
    }
}
