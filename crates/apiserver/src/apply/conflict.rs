//! Conflicts of an apply with other managers, and their messages.

use serde_json::json;

use super::managers::{Manager, Operation};
use crate::field_set::FieldSet;
use crate::gotext::quote;
use crate::rejection::BoxedRejection;

/// Fields of other managers that an apply would change.
#[derive(Debug, Clone)]
pub(crate) struct Conflict {
    pub(crate) manager: Manager,
    pub(crate) fields: FieldSet,
}

/// A 409 error with a cause for each field.
pub(crate) fn rejection(mut conflicts: Vec<Conflict>) -> BoxedRejection {
    // Sorted by the JSON of the manager, like in a real server.
    conflicts.sort_by_cached_key(|conflict| identifier(&conflict.manager));
    let mut causes = Vec::new();
    let mut lines = Vec::new();
    for conflict in &conflicts {
        let who = words(&conflict.manager);
        lines.push(format!("conflicts with {who}:"));
        for path in conflict.fields.paths() {
            lines.push(format!("- {path}"));
            causes.push(json!({
                "reason": "FieldManagerConflict", "message": format!("conflict with {who}"), "field": path }));
        }
    }
    let message = match causes.as_slice() {
        [only] => format!(
            "Apply failed with 1 conflict: {}: {}",
            only["message"].as_str().unwrap_or_default(),
            only["field"].as_str().unwrap_or_default()
        ),
        several => format!("Apply failed with {} conflicts: {}", several.len(), lines.join("\n")),
    };
    BoxedRejection::apply_conflict(message, &causes)
}

/// The JSON that identifies a manager (`BuildManagerIdentifier`). The version is not part of an apply.
fn identifier(manager: &Manager) -> String {
    let Manager { name, operation, api_version, subresource } = manager;
    let (operation, version) = match operation {
        Operation::Apply => ("Apply", String::new()),
        Operation::Update => ("Update", format!(",\"apiVersion\":{}", json!(api_version))),
    };
    let part = if subresource.is_empty() {
        String::new()
    } else {
        format!(",\"subresource\":{}", json!(subresource))
    };
    format!("{{\"manager\":{},\"operation\":\"{operation}\"{version}{part}}}", json!(name))
}

fn words(manager: &Manager) -> String {
    let mut words = quote(&manager.name);
    if !manager.subresource.is_empty() {
        words += &format!(" with subresource {}", quote(&manager.subresource));
    }
    if manager.operation == Operation::Update {
        words += &format!(" using {}", manager.api_version);
    }
    words
}
