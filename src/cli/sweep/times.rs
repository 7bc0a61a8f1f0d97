//! Times of cluster time as text.

use jiff::SignedDuration;

/// A time since the start as `1:02:03`, with milliseconds if there are any.
pub(in crate::cli) fn time(span: SignedDuration) -> String {
    let (seconds, millis) = (span.as_secs(), span.subsec_millis());
    let fraction = if millis == 0 { String::new() } else { format!(".{millis:03}") };
    format!("{}:{:02}:{:02}{fraction}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}
