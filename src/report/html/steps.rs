//! The steps of a scenario as rows of a table.

use serde::Serialize;
use windtunnel_core::clock::Time;
use windtunnel_core::text::{clock_time, short_duration};

use crate::record::{Event, Record};

/// A step as it was played.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Step {
    /// When it began, as `H:MM:SS` since the start.
    at: String,
    /// How much cluster time it took; empty: none.
    took: String,
    text: String,
    passed: bool,
    /// What the commands printed that it ran.
    output: String,
}

/// All steps that were played, in order.
pub(super) fn of(record: &Record) -> Vec<Step> {
    let mut steps = Vec::new();
    let (mut began, mut output) = (record.header.epoch, String::new());
    for entry in &record.entries {
        match &entry.event {
            Event::Step { .. } => (began, output) = (entry.at, String::new()),
            Event::Command { stdout, stderr, .. } => output.extend([stdout.as_str(), stderr]),
            Event::Outcome { text, failure } => steps.push(Step {
                at: clock_time(began.duration_since(record.header.epoch)),
                took: took(began, entry.at),
                text: text.clone(),
                passed: failure.is_none(),
                output: std::mem::take(&mut output),
            }),
            _ => (),
        }
    }
    steps
}

fn took(from: Time, to: Time) -> String {
    let span = to.duration_since(from);
    if span.is_zero() { String::new() } else { short_duration(span) }
}
