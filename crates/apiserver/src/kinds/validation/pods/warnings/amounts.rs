//! Warnings about amounts of bytes that are not integers.

use serde_json::Value;

use crate::kinds::quantity::Quantity;
use crate::kinds::validation::pods::context::all_containers;
use crate::kinds::validation::{Path, text};

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

/// The warning about an amount that is not an integer.
pub(super) fn fraction(amount: &Value, at: Path<'_>, out: &mut Vec<String>) {
    let Some(quantity) = Quantity::parse(text(amount)).ok().flatten() else { return };
    if !quantity.in_thousandths().is_whole() {
        let amount = text(amount);
        out.push(format!("{}: fractional byte value \"{amount}\" is invalid, must be an integer", at.text()));
    }
}
