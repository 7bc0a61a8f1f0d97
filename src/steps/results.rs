//! How the scenarios of features came out.

use std::collections::BTreeSet;
use std::sync::Arc;

use cucumber::event::{ScenarioFinished, StepError};
use cucumber::gherkin::{Feature, Rule, Scenario, Step, StepType};
use windtunnel_core::panics;

use super::driver::Ended;
use super::gherkin;
use crate::plan::Snapshot;
use crate::record::{Event as Entry, Record};
use crate::scenario::is_id;

/// How one scenario came out.
#[derive(Debug, Clone)]
pub struct ScenarioResult {
    /// The feature's file, as the user named it.
    pub file: String,
    /// Name of the feature.
    pub feature: String,
    /// Name of the scenario.
    pub name: String,
    /// Line of the scenario in the file.
    pub line: usize,
    /// Everything that happened; `None` when no cluster was installed.
    pub record: Option<Arc<Record>>,
    /// Texts to be kept, with their files.
    pub snapshots: Vec<Snapshot>,
    /// The step that failed, and why; `None`: it passed.
    pub failure: Option<String>,
    /// Line and column of the step that failed, where it was played.
    pub failed_at: Option<(usize, usize)>,
    /// The step that its cluster cannot do, and why; those after it were not played.
    pub skipped: Option<String>,
    /// Whether it was begun at all.
    pub begun: bool,
    /// Its tags and those of its rule and its feature, without `@`.
    pub tags: Vec<String>,
    /// Ids of issues and test cases: in its name, in its tags, and in the comments above it, which are tags as well.
    pub ids: Vec<String>,
    /// All steps that it says, those of backgrounds first.
    pub steps: Vec<SaidStep>,
}

/// A step as it is said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaidStep {
    /// `Given `, `And ` ... with its blank.
    pub keyword: String,
    /// The sentence.
    pub text: String,
    /// Its line, from 1.
    pub line: usize,
    /// Whether it plans the cluster and nothing else.
    pub plans: bool,
}

/// Where a scenario stands. Rows of examples stand where their scenario does, and have other names.
pub type Place = (String, usize, String);

impl ScenarioResult {
    /// Where it stands.
    pub fn place(&self) -> Place {
        (self.file.clone(), self.line, self.name.clone())
    }
}

/// The result of a scenario of which nothing is known yet.
pub(super) fn of(feature: &Feature, rule: Option<&Rule>, scenario: &Scenario) -> ScenarioResult {
    let tags = feature.tags.iter().chain(rule.iter().flat_map(|rule| &rule.tags)).chain(&scenario.tags);
    let tags: Vec<String> = tags.cloned().collect();
    let said = |step: &Step| SaidStep {
        keyword: format!("{} ", step.keyword.trim_end()),
        text: step.value.clone(),
        line: step.position.line,
        plans: step.ty == StepType::Given,
    };
    ScenarioResult {
        file: feature.path.as_ref().map(|path| path.display().to_string()).unwrap_or_default(),
        feature: feature.name.clone(),
        name: scenario.name.clone(),
        line: scenario.position.line,
        record: None,
        snapshots: Vec::new(),
        failure: None,
        failed_at: None,
        skipped: None,
        begun: false,
        ids: ids(scenario, &tags),
        tags,
        steps: gherkin::steps_of(feature, rule, scenario).map(said).collect(),
    }
}

/// The ids of a scenario: what its name begins with, and its tags.
fn ids(scenario: &Scenario, tags: &[String]) -> Vec<String> {
    let words = scenario.name.split([':', ' ', ',']).chain(tags.iter().map(String::as_str));
    let found: BTreeSet<&str> = words.filter(|word| is_id(word)).collect();
    found.into_iter().map(str::to_owned).collect()
}

/// The result of a scenario that was played.
pub(super) fn result(
    feature: &Feature,
    rule: Option<&Rule>,
    scenario: &Scenario,
    outcome: &ScenarioFinished,
    ended: Option<Ended>,
) -> ScenarioResult {
    let (record, snapshots) = ended.map(|ended| (ended.record, ended.snapshots)).unzip();
    let (failure, step) = match outcome {
        ScenarioFinished::StepPassed => (None, None),
        ScenarioFinished::StepSkipped => (Some("a step was skipped".to_owned()), None),
        ScenarioFinished::StepFailed(_, _, error) => {
            let (why, step) = (
                in_words(error),
                record.as_ref().and_then(|record| last_step(feature, rule, scenario, record)),
            );
            (
                Some(step.map_or_else(
                    || why.clone(),
                    |step| format!("{}: {why}", step.value.trim_end_matches(':')),
                )),
                step,
            )
        }
        ScenarioFinished::BeforeHookFailed(info) => (Some(panics::text(&**info)), None),
    };
    ScenarioResult {
        record,
        snapshots: snapshots.unwrap_or_default(),
        failure,
        failed_at: step.map(|step| (step.position.line, step.position.col)),
        begun: true,
        ..of(feature, rule, scenario)
    }
}

/// The step that was played last: each of them has left an outcome in the record, but for those that plan the cluster.
fn last_step<'f>(
    feature: &'f Feature,
    rule: Option<&'f Rule>,
    scenario: &'f Scenario,
    record: &Record,
) -> Option<&'f Step> {
    let played = record.entries.iter().filter(|entry| matches!(entry.event, Entry::Outcome { .. })).count();
    gherkin::steps_of(feature, rule, scenario)
        .filter(|step| step.ty != StepType::Given)
        .nth(played.checked_sub(1)?)
}

fn in_words(error: &StepError) -> String {
    match error {
        StepError::Panic(info) => panics::text(&**info),
        other => other.to_string(),
    }
}
