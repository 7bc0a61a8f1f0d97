//! Counters that devices share, and what a device takes of them.

use serde_json::Value;

use super::collections::entries;
use super::names;
use crate::kinds::validation::{Errors, Path, text};

const MOST_COUNTERS: usize = 32;
/// Maximum length of a counter's name in paths.
const LONGEST_COUNTER: usize = 63;

/// Requires named counters of a set, whose own name is in `field` (`validateCounterSet`,
/// `validateDeviceCounterConsumption`).
pub(super) fn counters(set: &Value, field: &'static str, at: Path<'_>, errors: &mut Errors<'_>) {
    let name = text(&set[field]);
    if name.is_empty() {
        errors.required(at.child(field), "");
    } else {
        names::label(name, at.child(field), errors);
    }
    let (counters, at) = (&set["counters"], at.child("counters"));
    let count = counters.as_object().map_or(0, serde_json::Map::len);
    match count {
        0 => errors.required(at, ""),
        1..=MOST_COUNTERS => entries(counters, LONGEST_COUNTER, at, errors, names::label, |_, _, _| {}),
        _ => errors.too_many(at, count, MOST_COUNTERS),
    }
}
