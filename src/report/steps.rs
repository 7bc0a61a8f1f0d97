//! The results of a scenario's steps.

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
    /// Whether the record contains it. A step that only plans the cluster precedes the record.
    pub recorded: bool,
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

/// Returns the results of steps, in the order of the file.
pub fn results(record: Option<&Record>, written: &[Written]) -> Vec<StepResult> {
    let mut outcomes = record.map(step_outcomes).unwrap_or_default().into_iter();
    let step = |step: &Written| {
        let (took, outcome, held_before) = if step.recorded {
            outcomes.next().unwrap_or((SignedDuration::ZERO, Outcome::Skipped, false))
        } else {
            let outcome = if record.is_some() { Outcome::Passed } else { Outcome::Skipped };
            (SignedDuration::ZERO, outcome, false)
        };
        let Written { keyword, text, line, .. } = step.clone();
        StepResult { keyword, text, line, took, outcome, held_before }
    };
    written.iter().map(step).collect()
}

/// Returns, for each step, its duration, its outcome and whether it held before, in a record.
fn step_outcomes(record: &Record) -> Vec<(SignedDuration, Outcome, bool)> {
    let mut began = record.header.epoch;
    let outcomes = record.entries.iter().filter_map(|entry| match &entry.event {
        Event::Step { .. } => {
            began = entry.at;
            None
        }
        Event::Outcome { failure, held_before, .. } => {
            let outcome = failure.clone().map_or(Outcome::Passed, Outcome::Failed);
            Some((entry.at.duration_since(began), outcome, *held_before))
        }
        _ => None,
    });
    outcomes.collect()
}
