//! Cells of the kinds of `resource.k8s.io`.

use serde_json::json;

use super::row::{Cells, Row, joined};

pub(super) fn claim(row: &Row<'_>) -> Cells {
    vec![row.name(), json!(joined(states(row))), row.age()]
}

/// The states of a claim: allocated or not, reserved, deleted (`resourceClaimState`).
fn states(row: &Row<'_>) -> Vec<&'static str> {
    let is_allocated = row.get("/status/allocation").is_some();
    let mut states = Vec::new();
    if row.is_terminating() {
        states.push("deleted");
    }
    if is_allocated {
        states.push("allocated");
    } else if !row.is_terminating() {
        states.push("pending");
    }
    if is_allocated && row.count("/status/reservedFor") > 0 {
        states.push("reserved");
    }
    states
}

pub(super) fn slice(row: &Row<'_>) -> Cells {
    let text = |pointer: &str| json!(row.text(pointer));
    vec![row.name(), text("/spec/nodeName"), text("/spec/driver"), text("/spec/pool/name"), row.age()]
}
