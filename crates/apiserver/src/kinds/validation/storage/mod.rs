//! Validation of persistent volumes, their claims and classes, and of the objects of CSI drivers.

pub(super) mod attachment;
pub(super) mod claim;
pub(super) mod class;
pub(super) mod csi;
mod source;
#[cfg(test)]
mod tests;
pub(super) mod volume;
pub(super) mod warnings;

use serde_json::Value;

use super::{Errors, Path, internal, items, text};
use crate::kinds::quantity::Quantity;
use crate::names;
use crate::profile::since;

const ACCESS_MODES: [&str; 4] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
const VOLUME_MODES: [&str; 2] = ["Block", "Filesystem"];
const NOT_POSITIVE: &str = "must be greater than zero";

/// Validates the access modes of a volume or claim; `required` is the detail where there is none.
fn access_modes(spec: &Value, required: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    let at = at.child("accessModes");
    let modes = items(&spec["accessModes"]);
    if modes.is_empty() {
        errors.required(at, required);
    }
    let is_known = |mode: &&Value| ACCESS_MODES.contains(&text(mode));
    for mode in modes.iter().filter(|mode| !is_known(mode)) {
        errors.unsupported(at, text(mode), &ACCESS_MODES);
    }
    let (single, others): (Vec<&Value>, Vec<&Value>) =
        modes.iter().filter(is_known).partition(|mode| *mode == "ReadWriteOncePod");
    if !single.is_empty() && !others.is_empty() {
        errors.forbidden(at, "may not use ReadWriteOncePod with other access modes");
    }
}

/// Validates the name of a class, unless it is empty (`ValidateClassName`).
fn class_name(name: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let name = text(name);
    if !name.is_empty() {
        errors.each(at, name, names::subdomain(name));
    }
}

/// The quantity in a value, if there is a valid one.
fn quantity(value: &Value) -> Option<Quantity> {
    Quantity::parse(value.as_str()?).ok().flatten()
}

/// Validates the name of a CSI driver (`ValidateCSIDriverName`).
pub(super) fn driver_name(name: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    if name.is_empty() {
        errors.required(at, "");
        if errors.profile.minor >= since::DRIVER_NAMES_CHECKED_ONCE {
            return;
        }
    }
    if name.len() > 63 {
        errors.too_long(at, 63);
    }
    errors.each(at, name, names::subdomain(&name.to_lowercase()));
}

/// Forbids a change; minors since `since::JSON_DIFFERENCES` show it as a diff.
fn forbid_change(
    why: &str,
    old: &Value,
    new: &Value,
    type_name: &str,
    at: Path<'_>,
    errors: &mut Errors<'_>,
) {
    if errors.profile.minor < since::JSON_DIFFERENCES {
        errors.forbidden(at, why);
        return;
    }
    let changes = internal::difference(old, new, type_name);
    errors.forbidden(at, format!("{why}\n{changes}"));
}
