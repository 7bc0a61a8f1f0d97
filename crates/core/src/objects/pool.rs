//! The fields of a MachineConfigPool.

use serde_json::Value;

use super::object::{is_set_at, text_at};

/// Whether the pool's nodes are excluded from updates: `spec.paused` is true.
pub fn is_paused(pool: &Value) -> bool {
    is_set_at(pool, "/spec/paused")
}

/// The name of the MachineConfig that its nodes should get (`spec.configuration`); empty if there is none.
pub fn desired_config(pool: &Value) -> &str {
    text_at(pool, "/spec/configuration/name")
}

/// The name of the MachineConfig that all its nodes have got (`status.configuration`); empty if there is none.
pub fn current_config(pool: &Value) -> &str {
    text_at(pool, "/status/configuration/name")
}
