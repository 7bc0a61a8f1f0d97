//! Configuration of devices that only their driver understands (`validateDeviceConfiguration`).

use serde_json::Value;

use super::names;
use crate::kinds::validation::{Errors, Path, text};

/// Maximum length of parameters and other data, in bytes.
const LONGEST_DATA: usize = 10 << 10;
pub(super) const MOST_CONFIGURATIONS: usize = 32;

/// Validates a configuration. Stored parameters may be long.
pub(super) fn configuration(config: &Value, stored: bool, at: Path<'_>, errors: &mut Errors<'_>) {
    let at = at.child("opaque");
    let opaque = &config["opaque"];
    if opaque.is_null() {
        errors.required(at, "");
        return;
    }
    names::driver(text(&opaque["driver"]), at.child("driver"), errors);
    data(&opaque["parameters"], stored, at.child("parameters"), errors);
}

/// Requires an object (`validateRawExtension`).
pub(super) fn data(data: &Value, stored: bool, at: Path<'_>, errors: &mut Errors<'_>) {
    if data.is_null() {
        errors.required(at, "");
    } else if !stored && data.to_string().len() > LONGEST_DATA {
        errors.too_long(at, LONGEST_DATA as u64);
    } else if !data.is_object() {
        errors.invalid(at, "<value omitted>", "must be a valid JSON object");
    }
}
