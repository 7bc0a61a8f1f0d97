//! Conditions of a ClusterVersion, formatted like the client.

use windtunnel_core::Object;
use windtunnel_core::condition::{self, Condition};

/// Returns the condition of this type.
pub(super) fn find(cluster_version: &Object, kind: &str) -> Option<Condition> {
    condition::find_in_status(cluster_version, kind).map(Condition::from_value)
}

/// Indents the continuation lines of a message.
pub(super) fn indented(message: &str) -> String {
    message.replace('\n', "\n  ")
}

/// Formats reason and message as two lines, without a final line break.
pub(super) fn reason_and_message(condition: &Condition) -> String {
    format!("  Reason: {}\n  Message: {}", condition.reason, indented(&condition.message))
}

/// Returns the warning that a condition is missing.
pub(super) fn missing(kind: &str) -> String {
    format!("warning: No current {kind} info, see `oc describe clusterversion` for more details.")
}
