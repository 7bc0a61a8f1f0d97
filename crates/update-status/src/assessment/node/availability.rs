//! Why a node cannot run pods, by the rules of the machine-config operator, and the texts of each reason.

use windtunnel_core::clock::Time;

use super::fields::{Node, Pool};
use super::has_failed;
use super::unavailable_condition::UnavailableCondition;
use crate::assessment::dated_condition::DatedCondition;
use crate::assessment::rules::Rules;

const CORDONED: &str = "Node is marked unschedulable";
const IN_PROGRESS: &str = "Machine Config Daemon is processing the node";

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
            Self::Condition(condition, _) => format!("Node {node} {}", condition.predicate()),
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
