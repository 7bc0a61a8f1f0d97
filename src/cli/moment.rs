//! Moments in arguments.

use jiff::SignedDuration;
use windtunnel_core::clock::{Time, after};
use windtunnel_core::text::{parse_duration, short_duration};

use crate::record::Record;

/// Returns the moment of a record that `--at` names, counted from the start of its run; without it, the end.
///
/// # Errors
/// The text is not a duration, or the record ends before.
pub(in crate::cli) fn of_record(record: &Record, at: Option<&str>) -> Result<Time, String> {
    let end = record.end();
    let Some(text) = at else { return Ok(end) };
    let moment = since_start(record, "--at", text)?;
    // A moment has whole seconds, unlike the last entry.
    if moment <= end || moment.as_second() == end.as_second() {
        return Ok(moment);
    }
    let length = SignedDuration::from_secs(end.duration_since(record.header.epoch).as_secs());
    Err(format!(
        "--at: {text} is after the end of the record, which is {}: expected a moment up to then",
        short_duration(length)
    ))
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
