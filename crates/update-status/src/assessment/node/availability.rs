//! Why a node cannot run pods, by the rules of the machine-config operator, and the texts of each reason.

use jiff::SignedDuration;
use windtunnel_core::clock::Time;
use windtunnel_core::text::go_quote::quote;

use super::fields::{Node, Pool};
use super::has_failed;
use crate::assessment::dated_condition::DatedCondition;
use crate::assessment::rules::Rules;

const CORDONED: &str = "Node is marked unschedulable";
const IN_PROGRESS: &str = "Machine Config Daemon is processing the node";

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

    /// Returns the problem as a sentence, such as `Node is not ready`.
    pub(crate) fn sentence(self) -> String {
        format!("Node {}", self.expected().predicate)
    }

    /// Returns the problem with the message of the condition.
    pub(crate) fn description(self, found: &DatedCondition) -> String {
        let ExpectedCondition { kind, status, short, .. } = self.expected();
        let message = quote(&found.message);
        format!("Node has a {kind}!={status} condition with Reason \"{short}\" and message {message}")
    }
}

/// A reason why a node cannot run pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnavailableReason<'a> {
    /// A condition keeps pods off the node.
    Condition(UnavailableCondition, &'a DatedCondition),
    /// The node is cordoned.
    Cordoned,
    /// The machine-config daemon has not applied the desired configuration yet.
    InProgress,
}

impl UnavailableReason<'_> {
    /// Returns the problem in a few words, as in the node table of `oc`.
    pub(crate) fn short(&self) -> String {
        match self {
            Self::Condition(condition, _) => condition.short().to_owned(),
            Self::Cordoned => CORDONED.to_owned(),
            Self::InProgress => IN_PROGRESS.to_owned(),
        }
    }

    /// Returns the problem as a sentence, as in insights.
    pub(crate) fn sentence(&self) -> String {
        match self {
            Self::Condition(condition, _) => condition.sentence(),
            Self::Cordoned | Self::InProgress => self.short(),
        }
    }

    /// Returns the problem of the node with this name.
    pub(crate) fn summary(&self, node: &str) -> String {
        match self {
            Self::Condition(condition, _) => format!("Node {node} {}", condition.expected().predicate),
            Self::Cordoned | Self::InProgress => self.short(),
        }
    }

    /// Returns the details of the problem.
    pub(crate) fn description(&self) -> String {
        match self {
            Self::Condition(condition, found) => condition.description(found),
            Self::Cordoned | Self::InProgress => self.short(),
        }
    }

    fn since(&self) -> Option<Time> {
        match self {
            Self::Condition(_, found) => found.since,
            Self::Cordoned | Self::InProgress => None,
        }
    }
}

/// Returns all reasons why a node of this pool cannot run pods, conditions first, in their order; empty if it can.
pub(crate) fn unavailable_reasons<'a>(node: &'a Node, pool: &Pool) -> Vec<UnavailableReason<'a>> {
    // Upstream reports no reason if the node's desired image differs from the pool's: a layered pool has an
    // image, any other pool has none.
    if node.annotation("desiredImage") != pool.image {
        return Vec::new();
    }
    let conditions = node.unavailable_conditions.iter();
    let mut reasons: Vec<UnavailableReason<'_>> =
        conditions.map(|(condition, found)| UnavailableReason::Condition(*condition, found)).collect();
    if node.is_cordoned {
        reasons.push(UnavailableReason::Cordoned);
    }
    if reasons.is_empty() && !is_done(node) && !has_failed(node) {
        reasons.push(UnavailableReason::InProgress);
    }
    reasons
}

/// Joins one text for each reason into a line.
pub(crate) fn joined<'a>(
    reasons: &[UnavailableReason<'a>],
    text: impl Fn(&UnavailableReason<'a>) -> String,
) -> String {
    reasons.iter().map(text).collect::<Vec<_>>().join(" | ")
}

/// Returns the start of the first problem that has one.
pub(crate) fn first_start(reasons: &[UnavailableReason<'_>], rules: Rules) -> Option<Time> {
    reasons.iter().filter_map(UnavailableReason::since).filter(|at| rules.is_known(*at)).min()
}

/// Returns the short forms of the sentences in a [`joined`] line.
pub(crate) fn shortened(sentences: &str) -> String {
    let short = |sentence: &str| {
        let known = UnavailableCondition::ALL.into_iter().find(|known| known.sentence() == sentence);
        known.map_or_else(|| sentence.to_owned(), |known| known.short().to_owned())
    };
    sentences.split(" | ").map(short).collect::<Vec<_>>().join(" | ")
}

/// Returns whether the daemon has applied the desired configuration and image.
fn is_done(node: &Node) -> bool {
    let (current, desired) = (node.annotation("currentConfig"), node.annotation("desiredConfig"));
    let images = (node.find_annotation("currentImage"), node.find_annotation("desiredImage"));
    let has_image = match images {
        (None, None) => true,
        (Some(current), Some(desired)) => !current.is_empty() && current == desired,
        _ => false,
    };
    !current.is_empty() && current == desired && has_image && node.annotation("state") == "Done"
}
