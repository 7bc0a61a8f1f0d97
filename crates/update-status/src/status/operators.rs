//! The texts on cluster operators: their health in one line, and the table of updating operators.

use std::fmt::Write as _;

use windtunnel_core::clock::Time;
use windtunnel_core::text::truncate;

use super::TABLE;
use super::go_time::short;
use crate::assessment::cluster_operator::Operator;
use crate::assessment::operator_counts::OperatorCounts;
use crate::assessment::time::{ZERO_TIME, duration_between};

/// Maximum length of a displayed reason, in characters.
const REASON_WIDTH: usize = 20;

/// Returns the text of the line `Operator Health:`.
pub(super) fn health(operators: &OperatorCounts<'_>) -> String {
    let OperatorCounts { unavailable, degraded, .. } = *operators;
    let mut text = format!("{} Healthy", operators.total() - unavailable - degraded);
    for (count, what) in [(unavailable, "Unavailable"), (degraded, "Available but degraded")] {
        if count > 0 {
            let _ = write!(text, ", {count} {what}");
        }
    }
    text
}

/// Returns the table of these updating operators.
pub(super) fn table(updating: &[&Operator], now: Time) -> String {
    let mut rows = "NAME\tSINCE\tREASON\tMESSAGE\n".to_owned();
    for operator in updating {
        let Some(progressing) = &operator.progressing else { continue };
        let reason = if progressing.reason.is_empty() { "-" } else { &progressing.reason };
        // Keeps nanoseconds, unlike the other displayed durations, as `oc` does.
        let since = short(duration_between(progressing.since.unwrap_or(ZERO_TIME), now));
        // Aligns the continuation lines of a message with its first line.
        let message = progressing.message.replace('\n', "\n\t\t\t");
        let _ = writeln!(rows, "{}\t{since}\t{}\t{message}", operator.name, truncate(reason, REASON_WIDTH));
    }
    TABLE.layout(&rows)
}
