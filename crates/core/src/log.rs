//! Lines that programs print to the logs of their containers.

use std::fmt;

use crate::clock::Time;

/// One line of a container's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// When the container runtime received it.
    pub at: Time,
    /// The line, without its line break.
    pub text: String,
}

/// The severity of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// `I`
    Info,
    /// `W`
    Warning,
    /// `E`
    Error,
}

/// Formats a line as klog prints it: severity, time, process ID, source file with line, message.
///
/// ```
/// # use windtunnel_core::log::{Severity, klog};
/// let at = "2026-11-25T20:05:00Z".parse().unwrap();
/// let line = klog(Severity::Info, at, "cvo.go:794", "Error handling version");
/// assert_eq!(line, "I1125 20:05:00.000000       1 cvo.go:794] Error handling version");
/// ```
pub fn klog(severity: Severity, at: Time, source: &str, message: impl fmt::Display) -> String {
    let letter = match severity {
        Severity::Info => 'I',
        Severity::Warning => 'W',
        Severity::Error => 'E',
    };
    let time = jiff::tz::Offset::UTC.to_datetime(at);
    let (month, day) = (time.month(), time.day());
    let (hour, minute, second) = (time.hour(), time.minute(), time.second());
    let micros = time.subsec_nanosecond() / 1000;
    format!(
        "{letter}{month:02}{day:02} {hour:02}:{minute:02}:{second:02}.{micros:06} {:7} {source}] {message}",
        1
    )
}
