//! Warnings about scenarios that are valid but probably do not mean what their author intends.
//!
//! `names.rs`, `existence.rs`, `metrics.rs` and `fields.rs` know what exists, `vacuous.rs` the expectations that always hold, `faults.rs` the
//! faults that never act, `system_values.rs` what users cannot set; known condition types and reasons are in `vocabulary.rs`. Warnings about features are in `src/steps/warnings.rs`.

mod alert_minors;
mod at_once;
mod existence;
mod faults;
mod feature_sets;
mod fields;
mod hops;
mod metrics;
mod missing_kinds;
mod names;
mod no_effect;
mod node_labels;
mod restored;
mod risk_rules;
pub mod sarif;
mod signatures;
mod system_values;
#[cfg(test)]
mod tests;
mod unused_releases;
mod vacuous;
pub(super) mod vocabulary;

use at_once::Progress;
use existence::Existence;
use faults::Faults;
use feature_sets::FeatureSet;
use fields::Fields;
use metrics::Metrics;
use names::Names;
use node_labels::NodeLabels;
use restored::Updates;
use vacuous::Vacuous;
pub use vocabulary::{KnownReason, known_reasons};

use serde_json::Value;

use super::ScenarioError;
use crate::plan::{ClusterPlan, Expectation, Plan, PlannedObject, PlannedStep, Step};

/// The state of a cluster after the steps so far, as far as the warnings need it.
#[derive(Debug, Clone)]
pub struct Steps {
    names: Names,
    progress: Progress,
    feature_set: FeatureSet,
    updates: Updates,
    existence: Existence,
    fields: Fields,
    vacuous: Vacuous,
    faults: Faults,
    node_labels: NodeLabels,
    metrics: Metrics,
}

impl Steps {
    /// Returns the state before the first step.
    pub fn new(cluster: &ClusterPlan) -> Self {
        Self {
            names: Names::new(cluster),
            progress: Progress::at_start(cluster),
            feature_set: FeatureSet::at_start(cluster),
            updates: Updates::default(),
            existence: Existence::at_start(cluster),
            fields: Fields::at_start(cluster),
            vacuous: Vacuous::default(),
            faults: Faults::at_start(cluster),
            node_labels: NodeLabels::at_start(cluster),
            metrics: Metrics::of(cluster),
        }
    }

    /// Returns warnings about the next step of the run.
    pub fn warnings_about(&mut self, step: &Step) -> Vec<String> {
        let names = self.names.warnings_about(step).into_iter();
        let others = [
            self.progress.warning_about(step),
            self.feature_set.warning_about(step),
            self.updates.warning_about(step),
        ];
        let found = names.chain(others.into_iter().flatten());
        let found = found.chain(self.existence.warnings_about(step)).chain(self.fields.warnings_about(step));
        let found = found.chain(self.vacuous.warnings_about(step)).chain(self.faults.warnings_about(step));
        let found =
            found.chain(self.node_labels.warnings_about(step)).chain(self.metrics.warnings_about(step));
        found.chain(system_values::of_step(step)).collect()
    }
}

/// Returns warnings about the scenarios of a file, in the order of its text. `plans` are those that
/// [`super::parse_all`] returned for `text`.
pub fn warnings(plans: &[Plan], text: &str) -> Vec<ScenarioError> {
    let mut found: Vec<ScenarioError> = plans.iter().flat_map(|plan| plan_warnings(plan, text)).collect();
    found.sort();
    found.dedup();
    found
}

fn plan_warnings(plan: &Plan, text: &str) -> Vec<ScenarioError> {
    let mut found = no_effect::warnings(plan);
    found.extend(unused_releases::warnings(plan, text));
    found.extend(hops::warnings(plan, text));
    found.extend(signatures::warnings(plan));
    found.extend(risk_rules::warnings(plan));
    found.extend(missing_kinds::warnings(plan));
    found.extend(faults::warnings(plan));
    found.extend(system_values::of_cluster(&plan.cluster).iter().map(|message| at_start(plan, message)));
    found.extend(object_warnings(plan));
    let mut steps = Steps::new(&plan.cluster);
    steps.existence.foresee(&plan.timeline);
    for step in &plan.timeline {
        found.extend(steps.warnings_about(&step.step).iter().map(|message| at(plan, step, message)));
    }
    found
}

/// Returns warnings about an object of a cluster that is not installed yet.
pub fn warnings_about_object(cluster: &ClusterPlan, object: &Value) -> Vec<String> {
    let initial = cluster.objects.iter().map(|planned| &planned.object);
    let misspelt = Existence::at_start(cluster).misspelt_namespace(object, initial);
    Fields::at_start(cluster).dropped_of(object).into_iter().chain(misspelt).collect()
}

/// Returns warnings about the objects with which a cluster starts.
fn object_warnings(plan: &Plan) -> impl Iterator<Item = ScenarioError> {
    plan.cluster.objects.iter().flat_map(move |PlannedObject { place, object }| {
        let (line, column) = place.unwrap_or((1, 1));
        let found = warnings_about_object(&plan.cluster, object).into_iter();
        found.map(move |message| ScenarioError { file: plan.file.clone(), line, column, message })
    })
}

/// Returns the expectations of a step, also those that it retries.
fn expected_states(step: &Step) -> Vec<&Expectation> {
    match step {
        Step::Expect(expectation) => vec![expectation],
        Step::Retry(retry) => retry.steps.iter().flat_map(|planned| expected_states(&planned.step)).collect(),
        _ => Vec::new(),
    }
}

fn at_start(plan: &Plan, message: &str) -> ScenarioError {
    ScenarioError { file: plan.file.clone(), line: 1, column: 1, message: message.to_owned() }
}

fn at(plan: &Plan, step: &PlannedStep, message: &str) -> ScenarioError {
    let file = plan.file.clone();
    ScenarioError { file, line: step.line, column: step.column, message: message.to_owned() }
}
