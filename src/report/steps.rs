//! The results of a scenario's steps.

use std::borrow::Cow;

use jiff::SignedDuration;

use crate::record::{Event, Record};

/// A step in its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The keyword with its blank, such as `Given `; empty for YAML scenarios.
    pub keyword: String,
    /// The step in one line.
    pub text: String,
    /// Its line in the file, from 1.
    pub line: usize,
    /// The number of its outcomes in the record: none if it only plans the cluster, and two if it waits for a moment first.
    pub outcomes: usize,
}

/// The result of a step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StepResult {
    /// The keyword with its blank, such as `Given `; empty for YAML scenarios.
    pub keyword: String,
    /// The step in one line.
    pub text: String,
    /// Its line in the file, from 1; 0 if unknown.
    pub line: usize,
    /// The virtual time that it took.
    pub took: SignedDuration,
    /// Its outcome.
    pub outcome: Outcome,
    /// Whether it is an expectation that has held since before the last actions.
    pub held_before: bool,
}

/// The outcome of a step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Outcome {
    /// It passed.
    #[default]
    Passed,
    /// It failed, for this reason.
    Failed(String),
    /// It did not run.
    Skipped,
}

/// Returns the text of a step that ended, with a mark if it held before.
pub(super) fn marked(text: &str, held_before: bool) -> Cow<'_, str> {
    if held_before { Cow::Owned(format!("{text} (held before)")) } else { Cow::Borrowed(text) }
}

/// Returns the results of steps, in the order of the file.
pub fn results(record: Option<&Record>, written: &[Written]) -> Vec<StepResult> {
    let mut outcomes = record.map(recorded_results).unwrap_or_default().into_iter();
    let step = |step: &Written| {
        let skipped = StepResult { outcome: Outcome::Skipped, ..StepResult::default() };
        let result = match record {
            Some(_) if step.outcomes == 0 => StepResult::default(),
            _ if step.outcomes == 0 => skipped,
            _ => outcomes.by_ref().take(step.outcomes).reduce(and_then).unwrap_or(skipped),
        };
        let Written { keyword, text, line, .. } = step.clone();
        StepResult { keyword, text, line, ..result }
    };
    written.iter().map(step).collect()
}

/// Returns the result of two parts of a step.
fn and_then(first: StepResult, second: StepResult) -> StepResult {
    StepResult {
        took: first.took + second.took,
        held_before: first.held_before || second.held_before,
        ..if first.outcome == Outcome::Passed { second } else { first }
    }
}

/// Returns the results of the steps in a record, without their places in the file.
fn recorded_results(record: &Record) -> Vec<StepResult> {
    let mut began = record.header.epoch;
    let outcomes = record.entries.iter().filter_map(|entry| match &entry.event {
        Event::Step { .. } => {
            began = entry.at;
            None
        }
        Event::Outcome { failure, held_before, .. } => {
            let outcome = failure.clone().map_or(Outcome::Passed, Outcome::Failed);
            let took = entry.at.duration_since(began);
            Some(StepResult { took, outcome, held_before: *held_before, ..StepResult::default() })
        }
        _ => None,
    });
    outcomes.collect()
}
