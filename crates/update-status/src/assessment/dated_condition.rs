//! A condition with its last transition time.

use serde_json::Value;
use windtunnel_core::clock::Time;
use windtunnel_core::condition::Condition;

use super::time::time_field;

/// A condition with its last transition time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatedCondition {
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// One word; may be empty.
    pub reason: String,
    /// A sentence; may be empty.
    pub message: String,
    /// `lastTransitionTime`; `None` if missing or unreadable.
    pub since: Option<Time>,
}

impl DatedCondition {
    /// Reads an element of a `conditions` list.
    pub fn read(value: &Value) -> Self {
        let Condition { status, reason, message, .. } = Condition::from_value(value);
        Self { status, reason, message, since: time_field(value, "lastTransitionTime") }
    }

    /// Returns whether it has this status.
    pub fn has_status(&self, status: &str) -> bool {
        self.status == status
    }
}
