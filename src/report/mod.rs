//! A record to text that people and machines read: a timeline, a summary, `JUnit` XML. A parsed record file is enough
//! for all of them; nothing here writes a file.

pub mod blame;
pub mod cucumber_json;
pub mod draft;
pub mod html;
pub mod insights;
pub mod json;
pub mod junit;
pub mod status;
pub mod steps;
pub mod summary;
pub mod test_results;
pub mod timeline;

use jiff::SignedDuration;

use self::steps::{Outcome, StepResult, Written};
use crate::record::{Event, Record};

/// The tag of scenarios that must fail: where one passes, whoever plays them would notice nothing.
pub const CANARY: &str = "canary";

/// What came of one scenario.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
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
    /// Name of the feature; empty where there is none.
    pub feature: String,
    /// Line of the scenario in its file, from 1; 0: not known.
    pub line: usize,
    /// Tags, without `@`.
    pub tags: Vec<String>,
    /// Its steps, in order, also those that were not reached.
    pub steps: Vec<StepResult>,
    /// The seed with which it passed after it had failed: a flake.
    pub passed_with: Option<u64>,
    /// How it failed where it must fail ([`CANARY`]).
    pub must_fail: Option<String>,
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
            ..Self::default()
        }
    }

    /// The same with what is written in the scenario's file: its tags and its steps.
    #[must_use]
    pub fn of_scenario(self, record: Option<&Record>, tags: &[String], written: &[Written]) -> Self {
        Self { tags: tags.to_vec(), steps: steps::results(record, written), ..self }
    }

    /// The same, judged by what it must do: a canary passes when one of its steps failed.
    #[must_use]
    pub fn judged(mut self) -> Self {
        if self.skipped.is_some() || !self.tags.iter().any(|tag| tag == CANARY) {
            return self;
        }
        let failed_step = self.steps.iter().any(|step| matches!(step.outcome, Outcome::Failed(_)));
        match self.failure.take() {
            None => {
                self.failure =
                    Some("this canary must fail, and passed: who plays it notices nothing".to_owned());
            }
            Some(failure) if failed_step => self.must_fail = Some(failure),
            // What fails before its steps do shows nothing of these.
            Some(other) => self.failure = Some(other),
        }
        self
    }

    /// Whether it failed at first, and then passed with another seed.
    pub fn is_flake(&self) -> bool {
        self.failure.is_some() && self.passed_with.is_some()
    }

    /// The result of a scenario of which there is no record, since no cluster could be installed for it.
    pub fn unplayed(name: &str, file: &str, ids: &[String], seed: u64) -> Self {
        Self { name: name.to_owned(), file: file.to_owned(), ids: ids.to_vec(), seed, ..Self::default() }
    }

    /// The result of a scenario that was not begun, and why not.
    pub fn skipped(name: &str, file: &str, ids: &[String], seed: u64, why: &str) -> Self {
        Self { skipped: Some(why.to_owned()), ..Self::unplayed(name, file, ids, seed) }
    }

    /// Whether it was played and all steps passed.
    pub fn passed(&self) -> bool {
        self.failure.is_none() && self.skipped.is_none()
    }

    /// Whether a step failed, and it never passed.
    pub fn failed(&self) -> bool {
        self.failure.is_some() && self.passed_with.is_none()
    }
}
