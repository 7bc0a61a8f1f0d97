//! Validation of time zones (`validateTimeZone`).

use crate::kinds::validation::{Errors, Path};

/// Requires the name of a time zone. Without a database of time zones, any well-formed name is accepted.
pub(super) fn check(zone: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    if zone.is_empty() {
        errors.invalid(at, zone, "timeZone must be nil or non-empty string");
    } else if !zone.split('/').all(is_part) {
        errors.invalid(at, zone, format!("unknown time zone {zone}"));
    } else if zone.eq_ignore_ascii_case("Local") {
        let why = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
        errors.invalid(at, zone, why);
        if zone != "Local" {
            errors.invalid(at, zone, format!("unknown time zone {zone}"));
        }
    } else if !is_known(zone) {
        errors.invalid(at, zone, format!("unknown time zone {zone}"));
    }
}

fn is_part(part: &str) -> bool {
    (1..=14).contains(&part.len())
        && part != "."
        && part != ".."
        && !part.starts_with('-')
        && part.bytes().all(|b| b.is_ascii_alphanumeric() || b".-_+".contains(&b))
}

/// Whether the database has a zone of exactly this name; Go looks for a file.
pub(super) fn is_known(zone: &str) -> bool {
    let database = jiff::tz::db();
    zone == "UTC"
        || database.get("Europe/London").is_err()
        || database.get(zone).is_ok_and(|found| found.iana_name() == Some(zone))
}
