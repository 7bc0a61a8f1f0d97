//! Warnings about amounts of bytes that are not integers.

use serde_json::Value;

use crate::kinds::validation::Path;
use crate::kinds::validation::pods::context::all_containers;
use crate::kinds::validation::storage::warnings::fraction;

/// The warnings about the resources of containers.
pub(super) fn containers(spec: &Value, at: Path<'_>, out: &mut Vec<String>) {
    for (list, index, container) in all_containers(spec) {
        let list = at.child(list);
        let container_at = list.index(index);
        let resources = container_at.child("resources");
        for name in ["memory", "ephemeral-storage"] {
            for part in ["limits", "requests"] {
                fraction(&container["resources"][part][name], resources.child(part).key(name), out);
            }
        }
    }
}
