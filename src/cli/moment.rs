//! Moments in arguments.

use windtunnel_core::clock::{Time, after};
use windtunnel_core::text::parse_duration;

use crate::record::Record;

/// Returns the moment of a record that `--at` names, counted from the start of its run; without it, the end.
///
/// # Errors
/// The text is not a duration.
pub(in crate::cli) fn of_record(record: &Record, at: Option<&str>) -> Result<Time, String> {
    at.map_or(Ok(record.end()), |text| since_start(record, "--at", text))
}

/// Returns the moment that a flag names by the time since the start of a run.
///
/// # Errors
/// As [`of_record`].
pub(in crate::cli) fn since_start(record: &Record, flag: &str, text: &str) -> Result<Time, String> {
    let span = parse_duration(text)
        .ok_or_else(|| format!("{flag}: expected a time since the start such as `1h30m`, found `{text}`"))?;
    Ok(after(record.header.epoch, span))
}

/// Returns the moment that `--as-of` names.
///
/// # Errors
/// The text is not a time.
pub(in crate::cli) fn as_of(text: &str) -> Result<Time, String> {
    text.parse()
        .map_err(|_| format!("--as-of: expected a time such as `2024-05-01T12:00:00Z`, found `{text}`"))
}
