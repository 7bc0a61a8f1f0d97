//! The steps of a scenario as table rows.

use serde::Serialize;
use windtunnel_core::clock::Time;
use windtunnel_core::text::{clock_time, short_duration};

use crate::record::{Event, Record};

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Step {
    /// The start, as `H:MM:SS` since the start of the run.
    at: String,
    /// The cluster time that it took; empty for none.
    took: String,
    text: String,
    passed: bool,
    /// The output of its commands.
    output: String,
}

/// Returns all steps that ran, in order.
pub(super) fn step_rows(record: &Record) -> Vec<Step> {
    let mut steps = Vec::new();
    let (mut began, mut output) = (record.header.epoch, String::new());
    for entry in &record.entries {
        match &entry.event {
            Event::Step { .. } => (began, output) = (entry.at, String::new()),
            Event::Command { stdout, stderr, .. } => output.extend([stdout.as_str(), stderr]),
            Event::Outcome { text, failure, .. } => steps.push(Step {
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
