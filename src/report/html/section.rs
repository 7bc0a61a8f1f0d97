//! The template's data of a scenario.

use serde::Serialize;
use windtunnel_core::text::short_duration;

use super::packed::{Shared, pack};
use super::{Scenario, failure, steps};
use crate::report::ScenarioResult;

/// The outcome of a scenario, in the order of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    /// It failed, or its file is invalid.
    Fail,
    /// It failed, and passed with another seed.
    Flake,
    /// It did not run.
    Skip,
    /// It passed.
    Pass,
}

impl State {
    fn of(result: &ScenarioResult) -> Self {
        match () {
            () if result.skipped.is_some() => Self::Skip,
            () if result.is_flake() => Self::Flake,
            () if result.passed() => Self::Pass,
            () => Self::Fail,
        }
    }

    /// Returns the states for people, each with the number of sections; only of states that occur, except
    /// passed and failed.
    pub(super) fn counts(sections: &[Section]) -> Vec<(Self, &'static str, usize)> {
        let all =
            [(Self::Pass, "passed"), (Self::Fail, "failed"), (Self::Flake, "flaky"), (Self::Skip, "skipped")];
        let count = |state| sections.iter().filter(|section| section.state == state).count();
        let counted = all.into_iter().map(|(state, word)| (state, word, count(state)));
        counted.filter(|(state, _, count)| *count > 0 || matches!(state, Self::Pass | Self::Fail)).collect()
    }
}

/// The template's data of a scenario.
#[derive(Debug, Serialize)]
pub(super) struct Section {
    /// The place among the results, from 1.
    number: usize,
    name: String,
    file: String,
    ids: Vec<String>,
    tags: Vec<String>,
    seed: u64,
    pub(super) state: State,
    /// Why it did not run.
    skipped: String,
    time: String,
    rerun: String,
    /// The first characters of the record's hash.
    record: String,
    /// The rows of its steps. Those of a scenario that passed are in `data`.
    steps: Vec<steps::Step>,
    failure: Option<failure::Failure>,
    /// The data of its timeline; empty without a record.
    data: String,
}

impl Section {
    pub(super) fn of(number: usize, scenario: &Scenario<'_>, shared: &Shared<'_>) -> Self {
        let Scenario { result, details, rerun } = scenario;
        let failure = match details {
            Some(details) => details.failure.clone(),
            None => failure::explain(result, None, &[]),
        };
        let state = State::of(result);
        let steps = details.map(|details| details.steps.clone()).unwrap_or_default();
        let (shown, packed) = if state == State::Pass { (Vec::new(), steps) } else { (steps, Vec::new()) };
        let data = details.map(|details| {
            let mut data = shared.rest_of(&details.data);
            data.steps = packed;
            pack(&data)
        });
        Self {
            number,
            name: result.name.clone(),
            file: result.file.clone(),
            ids: result.ids.clone(),
            tags: result.tags.clone(),
            seed: result.seed,
            state,
            skipped: result.skipped.clone().unwrap_or_default(),
            time: short_duration(jiff::SignedDuration::from_secs(result.virtual_time.as_secs())),
            rerun: (*rerun).to_owned(),
            record: details.map(|details| details.record.clone()).unwrap_or_default(),
            steps: shown,
            failure,
            data: data.unwrap_or_default(),
        }
    }
}
