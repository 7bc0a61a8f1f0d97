//! Conditions of a ClusterVersion in the client's words.

use windtunnel_core::Object;
use windtunnel_core::condition;
use windtunnel_core::condition::Condition;

/// The condition of a ClusterVersion of this type.
pub(super) fn of(cluster_version: &Object, kind: &str) -> Option<Condition> {
    condition::of(cluster_version, kind).map(Condition::read)
}

/// A message whose further lines stand below its first one.
pub(super) fn indented(message: &str) -> String {
    message.replace('\n', "\n  ")
}

/// Reason and message, two lines, without a line break at the end.
pub(super) fn why(condition: &Condition) -> String {
    format!("  Reason: {}\n  Message: {}", condition.reason, indented(&condition.message))
}

/// The warning that a condition is missing.
pub(super) fn missing(kind: &str) -> String {
    format!("warning: No current {kind} info, see `oc describe clusterversion` for more details.")
}
