//! Reports of records for people and machines: a timeline, a summary, `JUnit` XML and others. A parsed record
//! file is enough for all of them; nothing here writes a file.
//!
//! * `timeline/`: what a write changed, in a line
//! * `summary.rs`: the lines of a suite; `seeds.rs` for several seeds
//! * `html/`: the page; `junit.rs`, `cucumber_json.rs`, `github.rs`, `json.rs`, `test_results.rs` other formats
//! * `draft/`: `windtunnel scenario-from`
//! * `blame.rs`: which component a failure waits for

pub mod blame;
pub mod cucumber_json;
pub mod draft;
pub mod github;
pub mod html;
pub mod insights;
pub mod json;
pub mod junit;
pub mod rerun;
pub mod seeds;
pub mod status_text;
pub mod steps;
pub mod story;
pub mod summary;
pub mod test_results;
pub mod timeline;

use std::borrow::Cow;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use windtunnel_core::text::truncate;

use self::seeds::SeedRuns;
use self::steps::{Outcome, StepResult, Written};
use crate::record::{Event, FailureKind, Record, Secrets};

/// The tag of scenarios that must fail. If one passes, the suite would not notice real failures.
pub const CANARY: &str = "canary";

/// The longest headline of a failure, in characters.
const HEADLINE_MAX: usize = 500;

/// Returns the first line of a failure, truncated. A first line that ends with a colon has the second one behind it.
fn headline(failure: &str) -> String {
    let mut lines = failure.lines();
    let first = lines.next().unwrap_or_default();
    let second = lines.next().filter(|_| first.ends_with(':'));
    let line = second.map_or(Cow::Borrowed(first), |second| format!("{first} {}", second.trim()).into());
    truncate(&line, HEADLINE_MAX)
}

/// The result of one scenario.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScenarioResult {
    /// Name of the scenario.
    pub name: String,
    /// The path of its file, as the user typed it; may be empty.
    pub file: String,
    /// Issue and test-case ids.
    pub ids: Vec<String>,
    /// The seed of the run.
    pub seed: u64,
    /// The virtual time of the run, or of all runs with several seeds.
    pub virtual_time: SignedDuration,
    /// How long the run waited for programs of this machine, for people; empty without any.
    pub waited: String,
    /// The failed step and the reason; `None` if all steps passed.
    pub failure: Option<String>,
    /// What the failure is about; `None` without one, and in a record of an older windtunnel.
    pub failure_kind: Option<FailureKind>,
    /// Line and column of the failed step in the file, if known.
    pub failed_at: Option<(usize, usize)>,
    /// The objects of a dump that can hold an update up, and that the run left out.
    pub omissions: Vec<String>,
    /// The faults that never acted, each with the reason; empty for a result from a record.
    pub idle_faults: Vec<String>,
    /// Why it did not run; `None` if it ran.
    pub skipped: Option<String>,
    /// Name of the feature; empty if there is none.
    pub feature: String,
    /// Line of the scenario in its file, from 1; 0 if unknown.
    pub line: usize,
    /// Tags, without `@`.
    pub tags: Vec<String>,
    /// Its steps in order, including those that were not reached.
    pub steps: Vec<StepResult>,
    /// The seed with which it passed after a failure: a flake.
    pub passed_with: Option<u64>,
    /// Its runs with several seeds; `None` for one seed. The rest of the result is that of one of them.
    pub seed_runs: Option<SeedRuns>,
    /// Whether its file is invalid, so that nothing could run; `failure` has the problems.
    pub invalid: bool,
    /// The failure of a scenario that must fail ([`CANARY`]).
    pub must_fail: Option<String>,
    /// The wall time of the run, for terminals and CI only; `None` if it did not run, or came from a record.
    pub wall: Option<WallTime>,
}

/// The wall time of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WallTime {
    /// Its start.
    pub started: Timestamp,
    /// The time that it took.
    pub took: Duration,
}

impl ScenarioResult {
    /// Returns the result from the record of a run; `file` is the path of the scenario.
    pub fn from_record(record: &Record, file: &str) -> Self {
        let end = record.entries.last().map_or(record.header.epoch, |entry| entry.at);
        let failed = record.entries.iter().find_map(|entry| match &entry.event {
            Event::Outcome { text, failure: Some(failure), kind, .. } => {
                Some((format!("{text}: {failure}"), *kind))
            }
            _ => None,
        });
        let (failure, kind) = failed.unzip();
        Self {
            name: record.header.scenario.clone(),
            file: file.to_owned(),
            ids: record.header.ids.clone(),
            seed: record.header.seed,
            virtual_time: end.duration_since(record.header.epoch),
            failure,
            failure_kind: kind.flatten(),
            ..Self::default()
        }
    }

    /// Makes the result a failure of this kind, unless it is one already or `failure` is `None`.
    pub fn fail(&mut self, kind: FailureKind, failure: Option<String>) {
        if self.failure.is_none() && failure.is_some() {
            (self.failure, self.failure_kind) = (failure, Some(kind));
        }
    }

    /// Returns the result with tags and steps from the scenario's file.
    #[must_use]
    pub fn of_scenario(self, record: Option<&Record>, tags: &[String], written: &[Written]) -> Self {
        Self { tags: tags.to_vec(), steps: steps::results(record, written), ..self }
    }

    /// Returns the result without the values of Secrets.
    #[must_use]
    pub fn without_secrets(mut self, secrets: &Secrets) -> Self {
        let steps = self.steps.iter_mut().flat_map(|step| {
            let why = match &mut step.outcome {
                Outcome::Failed(why) => Some(why),
                Outcome::Passed | Outcome::Skipped => None,
            };
            [Some(&mut step.text), why].into_iter().flatten()
        });
        let reasons = [&mut self.failure, &mut self.must_fail, &mut self.skipped].into_iter().flatten();
        for text in steps.chain(reasons).chain([&mut self.name]) {
            *text = secrets.hide(text);
        }
        self
    }

    /// Returns the result with failure and success swapped for a canary: it passes if one of its steps
    /// failed.
    #[must_use]
    pub fn judge_canary(mut self) -> Self {
        if self.skipped.is_some() || !self.tags.iter().any(|tag| tag == CANARY) {
            return self;
        }
        let failed_step = self.steps.iter().any(|step| matches!(step.outcome, Outcome::Failed(_)));
        match self.failure.take() {
            None => {
                let why = "expected this canary to fail, but it passed: its checks detect no failure";
                self.fail(FailureKind::Scenario, Some(why.to_owned()));
            }
            Some(failure) if failed_step => {
                (self.must_fail, self.failure_kind) = (Some(failure), None);
            }
            // A failure before the steps proves nothing about them.
            Some(other) => self.failure = Some(other),
        }
        self
    }

    /// Returns whether it failed at first, and then passed with another seed.
    pub fn is_flake(&self) -> bool {
        self.failure.is_some() && self.passed_with.is_some()
    }

    /// Returns the result of a scenario without a record, because no cluster could be installed.
    pub fn not_started(name: &str, file: &str, ids: &[String], seed: u64) -> Self {
        Self { name: name.to_owned(), file: file.to_owned(), ids: ids.to_vec(), seed, ..Self::default() }
    }

    /// Returns the result of a file that is invalid, with all its problems.
    pub fn of_invalid_file(file: &str, problems: &str, seed: u64) -> Self {
        let failure = Some(problems.to_owned());
        let failure_kind = Some(FailureKind::Scenario);
        Self { failure, failure_kind, invalid: true, ..Self::not_started(file, file, &[], seed) }
    }

    /// Returns the result of a scenario that did not start, with the reason.
    pub fn skipped(name: &str, file: &str, ids: &[String], seed: u64, why: &str) -> Self {
        Self { skipped: Some(why.to_owned()), ..Self::not_started(name, file, ids, seed) }
    }

    /// Returns the place of its failure, or else of the scenario, as `FILE:LINE`, as far as it is known.
    pub fn place(&self) -> String {
        let failed_at = self.failed_at.filter(|_| self.failure.is_some());
        let line = failed_at.map_or(self.line, |(line, _)| line);
        if line == 0 { self.file.clone() } else { format!("{}:{line}", self.file) }
    }

    /// Returns the failure in a line of at most [`HEADLINE_MAX`] characters; empty without one. The whole text is `failure`.
    pub fn headline(&self) -> String {
        headline(self.failure.as_deref().unwrap_or_default())
    }

    /// Returns whether it failed before it began, for lack of a cluster.
    pub fn has_no_cluster(&self) -> bool {
        self.failure_kind == Some(FailureKind::Tool) && self.wall.is_none() && self.virtual_time.is_zero()
    }

    /// Returns whether it ran and all steps passed.
    pub fn passed(&self) -> bool {
        self.failure.is_none() && self.skipped.is_none()
    }

    /// Returns whether a step failed, and no other seed passed.
    pub fn failed(&self) -> bool {
        self.failure.is_some() && self.passed_with.is_none() && !self.invalid
    }
}
