//! The results of scenarios.

use std::collections::BTreeSet;
use std::sync::Arc;

use cucumber::event::{ScenarioFinished, StepError};
use cucumber::gherkin::{Feature, Rule, Scenario, Step, StepType};
use windtunnel_core::panics;

use super::driver::SessionResults;
use super::gherkin;
use super::world::RanStep;
use crate::plan::Snapshot;
use crate::record::{FailureKind, Record, Secrets};
use crate::scenario::is_id;

/// The result of one scenario.
#[derive(Debug, Clone)]
pub struct ScenarioResult {
    /// The path of the feature, as the user typed it.
    pub file: String,
    /// Name of the feature.
    pub feature: String,
    /// Name of the scenario.
    pub name: String,
    /// Line of the scenario in the file.
    pub line: usize,
    /// The record of the run; `None` if no cluster was installed.
    pub record: Option<Arc<Record>>,
    /// Snapshot texts to write, with their files.
    pub snapshots: Vec<Snapshot>,
    /// The faults that never acted, each with the reason.
    pub idle_faults: Vec<String>,
    /// The values of Secrets, which the record lacks and the texts of steps may contain.
    pub secrets: Arc<Secrets>,
    /// The failed step and the reason; `None` if the scenario passed.
    pub failure: Option<String>,
    /// What the failure is about.
    pub failure_kind: Option<FailureKind>,
    /// Line and column of the failed step, if it ran.
    pub failed_at: Option<(usize, usize)>,
    /// The step that the cluster does not support, and the reason; later steps did not run.
    pub skipped: Option<String>,
    /// Whether the scenario started.
    pub started: bool,
    /// The tags of the scenario, its rule and its feature, without `@`.
    pub tags: Vec<String>,
    /// Ids of issues and test cases in its name, its tags and the comments above it, which count as tags.
    pub ids: Vec<String>,
    /// All steps, those of backgrounds first.
    pub steps: Vec<FeatureStep>,
}

/// A step with its keyword and text from the feature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeatureStep {
    /// The keyword with its blank: `Given `, `And ` and so on.
    pub keyword: String,
    /// The text.
    pub text: String,
    /// The line, from 1.
    pub line: usize,
    /// The number of its outcomes in the record, or of those that it would have: none if it only plans the cluster.
    pub outcomes: usize,
}

/// File, line and name of a scenario. Rows of examples can share a line and differ in their names.
pub type Place = (String, usize, String);

impl ScenarioResult {
    /// Returns the scenario's place.
    pub fn place(&self) -> Place {
        (self.file.clone(), self.line, self.name.clone())
    }
}

/// Returns a result for a scenario that has not started.
pub(super) fn not_started(feature: &Feature, rule: Option<&Rule>, scenario: &Scenario) -> ScenarioResult {
    let tags: Vec<String> = gherkin::tags(feature, rule, scenario).cloned().collect();
    let feature_step = |step: &Step| FeatureStep {
        keyword: format!("{} ", step.keyword.trim_end()),
        text: step.value.clone(),
        line: step.position.line,
        outcomes: usize::from(step.ty != StepType::Given),
    };
    ScenarioResult {
        file: gherkin::file(feature),
        feature: feature.name.clone(),
        name: scenario.name.clone(),
        line: scenario.position.line,
        record: None,
        snapshots: Vec::new(),
        idle_faults: Vec::new(),
        secrets: Arc::default(),
        failure: None,
        failure_kind: None,
        failed_at: None,
        skipped: None,
        started: false,
        ids: ids(scenario, &tags),
        tags,
        steps: gherkin::steps_of(feature, rule, scenario).map(feature_step).collect(),
    }
}

/// Returns the ids in the scenario's name and tags.
fn ids(scenario: &Scenario, tags: &[String]) -> Vec<String> {
    let words = scenario.name.split([':', ' ', ',']).chain(tags.iter().map(String::as_str));
    let found: BTreeSet<&str> = words.filter(|word| is_id(word)).collect();
    found.into_iter().map(str::to_owned).collect()
}

/// Returns the result of a scenario that ran.
pub(super) fn result(
    feature: &Feature,
    rule: Option<&Rule>,
    scenario: &Scenario,
    outcome: &ScenarioFinished,
    ended: Option<SessionResults>,
    ran: &[RanStep],
) -> ScenarioResult {
    let (record, snapshots, idle_faults, secrets) = match ended {
        Some(SessionResults { record, snapshots, idle_faults, secrets }) => {
            (Some(record), snapshots, idle_faults, secrets)
        }
        None => (None, Vec::new(), Vec::new(), Arc::default()),
    };
    let (failure, step) = match outcome {
        ScenarioFinished::StepPassed => (None, None),
        ScenarioFinished::StepSkipped => (Some("a step was skipped".to_owned()), None),
        ScenarioFinished::StepFailed(_, _, error) => {
            let why = failure_text(error);
            let step = ran.last().and_then(|last| {
                gherkin::steps_of(feature, rule, scenario).find(|step| step.position == last.position)
            });
            let text = step.map(|step| format!("{}: ", step.value.trim_end_matches(':')));
            (Some(text.unwrap_or_default() + &why), step)
        }
        ScenarioFinished::BeforeHookFailed(info) => (Some(panics::text(&**info)), None),
    };
    let mut result = ScenarioResult {
        record,
        snapshots,
        idle_faults,
        secrets,
        failure,
        failed_at: step.map(|step| (step.position.line, step.position.col)),
        started: true,
        ..not_started(feature, rule, scenario)
    };
    for (step, ran) in result.steps.iter_mut().zip(ran) {
        step.outcomes = ran.outcomes;
    }
    // A step that failed before it reached the session has no outcome, and must not count as passed.
    if result.failure.is_some()
        && let Some(last) = result.steps.iter_mut().take(ran.len()).next_back()
    {
        last.outcomes = last.outcomes.max(1);
    }
    result
}

fn failure_text(error: &StepError) -> String {
    match error {
        StepError::Panic(info) => panics::text(&**info),
        other => other.to_string(),
    }
}
