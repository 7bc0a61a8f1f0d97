//! A condition with its last transition time.

use serde_json::Value;
use windtunnel_core::clock::{Time, parse_rfc3339};
use windtunnel_core::condition::Condition;

/// A condition with its last transition time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dated {
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// One word; may be empty.
    pub reason: String,
    /// A sentence; may be empty.
    pub message: String,
    /// `lastTransitionTime`; `None` if missing or unreadable.
    pub since: Option<Time>,
}

impl Dated {
    /// Reads an element of a `conditions` list.
    pub fn read(value: &Value) -> Self {
        let Condition { status, reason, message, .. } = Condition::read(value);
        let since = value["lastTransitionTime"].as_str().and_then(parse_rfc3339);
        Self { status, reason, message, since }
    }

    /// Returns whether it has this status.
    pub fn is(&self, status: &str) -> bool {
        self.status == status
    }
}
