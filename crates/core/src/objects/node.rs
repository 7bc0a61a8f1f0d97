//! The fields of a Node.

use serde_json::Value;

use super::object::{is_set_at, list_at};

/// Whether the node is cordoned: `spec.unschedulable` is true.
pub fn is_unschedulable(node: &Value) -> bool {
    is_set_at(node, "/spec/unschedulable")
}

/// `spec.taints`; empty if there are none.
pub fn taints(node: &Value) -> &[Value] {
    list_at(node, "/spec/taints")
}
