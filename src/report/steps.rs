//! What came of each step of a scenario.

use jiff::SignedDuration;

use crate::record::{Event, Record};

/// A step as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// `Given `, `When ` ... with its blank; empty in scenarios of YAML.
    pub keyword: String,
    /// The step in one line.
    pub text: String,
    /// Its line in the file, from 1.
    pub line: usize,
    /// Whether a record tells of it. One that only plans the cluster is done before there is a record.
    pub recorded: bool,
}

/// What came of a step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StepResult {
    /// `Given `, `When ` ... with its blank; empty in scenarios of YAML.
    pub keyword: String,
    /// The step in one line.
    pub text: String,
    /// Its line in the file, from 1; 0: not known.
    pub line: usize,
    /// How much virtual time it took.
    pub took: SignedDuration,
    /// How it came out.
    pub outcome: Outcome,
}

/// How a step came out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Outcome {
    /// It passed.
    #[default]
    Passed,
    /// It failed, for this reason.
    Failed(String),
    /// It was not played.
    Skipped,
}

/// The results of steps as they are written.
pub fn results(record: Option<&Record>, written: &[Written]) -> Vec<StepResult> {
    let mut played = record.map(played).unwrap_or_default().into_iter();
    let step = |step: &Written| {
        let (took, outcome) = if step.recorded {
            played.next().unwrap_or((SignedDuration::ZERO, Outcome::Skipped))
        } else {
            let outcome = if record.is_some() { Outcome::Passed } else { Outcome::Skipped };
            (SignedDuration::ZERO, outcome)
        };
        let Written { keyword, text, line, .. } = step.clone();
        StepResult { keyword, text, line, took, outcome }
    };
    written.iter().map(step).collect()
}

/// How long each step took that a record tells of, and how it came out.
fn played(record: &Record) -> Vec<(SignedDuration, Outcome)> {
    let mut began = record.header.epoch;
    let outcomes = record.entries.iter().filter_map(|entry| match &entry.event {
        Event::Step { .. } => {
            began = entry.at;
            None
        }
        Event::Outcome { failure, .. } => {
            let outcome = failure.clone().map_or(Outcome::Passed, Outcome::Failed);
            Some((entry.at.duration_since(began), outcome))
        }
        _ => None,
    });
    outcomes.collect()
}
