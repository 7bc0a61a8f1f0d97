//! Validation of the attributes of devices (`validateDeviceAttribute`).

use serde_json::{Value, json};

use crate::kinds::validation::internal::internal_form;
use crate::kinds::validation::{Errors, Path, items, text};

/// Maximum length of a text.
const LONGEST: usize = 64;
const SCALARS: [&str; 4] = ["bool", "int", "string", "version"];
const LISTS: [&str; 4] = ["bools", "ints", "strings", "versions"];

/// The number of values of an attribute: of a list, its length.
pub(super) fn values(attribute: &Value) -> usize {
    LISTS.iter().map(|field| items(&attribute[*field]).len()).sum::<usize>().max(1)
}

/// Requires exactly one value or list of values.
pub(super) fn attribute(attribute: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    if let Some(value) = attribute["string"].as_str() {
        short(value, at.child("string"), errors);
    }
    if let Some(value) = attribute["version"].as_str() {
        version(value, at.child("version"), errors);
    }
    for field in LISTS.iter().filter(|field| attribute[**field].is_array()) {
        let (list, at) = (items(&attribute[*field]), at.child(field));
        if list.is_empty() {
            errors.invalid(at, json!([]), "must not be empty if specified");
        }
        for (index, value) in list.iter().enumerate() {
            match *field {
                "strings" => short(text(value), at.index(index), errors),
                "versions" => version(text(value), at.index(index), errors),
                _ => {}
            }
        }
    }
    let why = "exactly one value must be specified";
    match SCALARS.iter().chain(&LISTS).filter(|field| !attribute[**field].is_null()).count() {
        0 => errors.invalid(at, "", why),
        1 => {}
        _ => {
            let shown = internal_form(attribute, "DeviceAttribute");
            errors.invalid_shown(at, shown.clone(), shown, why);
        }
    }
}

fn short(value: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    if value.len() > LONGEST {
        errors.too_long(at, LONGEST as u64);
    }
}

/// Requires a semantic version.
fn version(value: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    if semver::Version::parse(value).is_err() {
        errors.invalid(at, value, "must be a string compatible with semver.org spec 2.0.0");
    }
    short(value, at, errors);
}
