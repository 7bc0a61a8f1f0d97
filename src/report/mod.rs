//! A record to text that people and machines read: a timeline, a summary, `JUnit` XML. A parsed record file is enough
//! for all of them; nothing here writes a file.

pub mod insights;
pub mod junit;
pub mod summary;
pub mod timeline;

use jiff::SignedDuration;

use crate::record::{Event, Record};

/// What came of one scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScenarioResult {
    /// Name of the scenario.
    pub name: String,
    /// The file it stands in, as the user named it; may be empty.
    pub file: String,
    /// Issue and test-case ids.
    pub ids: Vec<String>,
    /// The seed of the run.
    pub seed: u64,
    /// How much virtual time the run covered.
    pub virtual_time: SignedDuration,
    /// The step that failed, and why; `None`: all passed.
    pub failure: Option<String>,
    /// Line and column in the file of the step that failed, where known.
    pub failed_at: Option<(usize, usize)>,
    /// Why it was not played; `None`: it was.
    pub skipped: Option<String>,
}

impl ScenarioResult {
    /// Reads the result from the record of a run; `file` is where the scenario stands.
    pub fn of(record: &Record, file: &str) -> Self {
        let end = record.entries.last().map_or(record.header.epoch, |entry| entry.at);
        let failure = record.entries.iter().find_map(|entry| match &entry.event {
            Event::Outcome { text, failure: Some(failure) } => Some(format!("{text}: {failure}")),
            _ => None,
        });
        Self {
            name: record.header.scenario.clone(),
            file: file.to_owned(),
            ids: record.header.ids.clone(),
            seed: record.header.seed,
            virtual_time: end.duration_since(record.header.epoch),
            failure,
            failed_at: None,
            skipped: None,
        }
    }

    /// The result of a scenario of which there is no record, since no cluster could be installed for it.
    pub fn unplayed(name: &str, file: &str, ids: &[String], seed: u64) -> Self {
        Self {
            name: name.to_owned(),
            file: file.to_owned(),
            ids: ids.to_vec(),
            seed,
            virtual_time: SignedDuration::ZERO,
            failure: None,
            failed_at: None,
            skipped: None,
        }
    }

    /// The result of a scenario that was not begun, and why not.
    pub fn skipped(name: &str, file: &str, ids: &[String], seed: u64, why: &str) -> Self {
        Self { skipped: Some(why.to_owned()), ..Self::unplayed(name, file, ids, seed) }
    }

    /// Whether it was played and all steps passed.
    pub fn passed(&self) -> bool {
        self.failure.is_none() && self.skipped.is_none()
    }

    /// Whether a step failed.
    pub fn failed(&self) -> bool {
        self.failure.is_some()
    }
}
