//! Warnings about valid features that probably do not mean what their author intends.

use cucumber::gherkin::{Feature, StepType};

use super::gherkin::{self, scenarios};
use super::{FeatureFiles, dry_run};
use crate::scenario::{ScenarioError, is_id};

/// The marker before the id of a test case in a comment.
const CASE: &str = "@case_id";

/// Returns the warnings about a feature and its text. All its steps must be known.
pub(super) fn warnings(
    feature: &Feature,
    text: &str,
    feature_files: Option<FeatureFiles>,
) -> Vec<ScenarioError> {
    let file = gherkin::file(feature);
    let error = |(line, column, message): (usize, usize, String)| ScenarioError {
        file: file.clone(),
        line,
        column,
        message,
    };
    let step_warnings = dry_run::warnings(feature, feature_files).into_iter();
    let step_warnings = step_warnings.map(|(place, message)| (place.line, place.col, message));
    let found = without_expectations(feature).chain(malformed_ids(text)).chain(step_warnings);
    let mut found: Vec<ScenarioError> = found.map(error).collect();
    found.sort();
    found.dedup(); // Rows of examples share the position of their scenario.
    found
}

/// Returns warnings about scenarios that expect nothing.
fn without_expectations(feature: &Feature) -> impl Iterator<Item = (usize, usize, String)> {
    let expects = |step: &cucumber::gherkin::Step| {
        let runs = ["I run ", "I try to "].iter().any(|begin| step.value.starts_with(begin));
        step.ty == StepType::Then || runs
    };
    scenarios(feature).filter(move |scenario| !scenario.steps.iter().any(expects)).map(|scenario| {
        let place = scenario.position;
        let message = "this scenario expects nothing, so it always passes".to_owned();
        (place.line, place.col, message)
    })
}

/// Returns warnings about malformed test-case ids in comments.
fn malformed_ids(text: &str) -> impl Iterator<Item = (usize, usize, String)> {
    let comments = text.lines().enumerate().filter(|(_, line)| line.trim_start().starts_with('#'));
    comments.filter_map(|(index, line)| {
        let at = line.find(CASE)?;
        let id = line[at + CASE.len()..].trim();
        let message = format!("expected an id such as `OCP-22641` after `{CASE}`, found `{id}`");
        (!is_id(id)).then(|| (index + 1, line[..at].chars().count() + 1, message))
    })
}

#[cfg(test)]
mod tests {
    use crate::steps::Suite;

    fn warnings(text: &str) -> Vec<String> {
        let suite = Suite::parse(&[("f".to_owned(), text.to_owned())]).unwrap();
        suite.warnings(text).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn warns_of_unknown_operators_and_condition_types() {
        let text = "Feature: f\n  Scenario: s\n    Given a 4.20.1 cluster\n    When operator etdc degrades\n    \
                    Then ClusterVersion condition Progresing is False\n    And throughout 5 minutes there is no health insight\n";
        assert_eq!(
            warnings(text),
            [
                "f:4:5: no release of this scenario has an operator etdc; did you mean `etcd`?",
                "f:5:5: no ClusterVersion has a condition `Progresing`; did you mean `Progressing`?",
                "f:6:5: no insights are published yet, so this expectation always holds: start with `insights: true` (in features: `Given insights are published`)",
            ]
        );
    }

    #[test]
    fn warns_of_unknown_pools_and_of_waiting_before_an_update_started() {
        let text = "Feature: f\n  Scenario: s\n    Given a 4.20.1 cluster\n    And release 4.20.8 exists\n    \
                    When I pause pool workers\n    And I update to 4.20.8\n    \
                    Then within 3 hours ClusterVersion condition Progressing is False\n";
        assert_eq!(
            warnings(text),
            [
                "f:5:5: the cluster has no pool workers; did you mean `worker`?",
                "f:7:5: ClusterVersion is not progressing yet, so this expectation holds at once, whatever the update does: expect first that ClusterVersion is progressing",
            ]
        );
    }

    #[test]
    fn warns_of_fields_of_given_objects() {
        let text = "Feature: f\n  Scenario: s\n    Given a 4.20.1 cluster\n    And this object:\n      \"\"\"\n      apiVersion: v1\n      \
                    kind: ConfigMap\n      metadata: {name: a, namespace: default}\n      dta: {}\n      \"\"\"\n    \
                    Then ClusterVersion/version exists\n";
        let expected = "f:4:5: ConfigMap: no such field `dta`; did you mean `data`?; the API server drops it with a warning";
        assert_eq!(warnings(text), [expected]);
    }

    #[test]
    fn warns_of_scenarios_without_expectations_and_of_malformed_ids() {
        let text = "Feature: f\n  # @case_id OCP-22641\n  Scenario: s\n    Given a 4.20.1 cluster\n    When 5 minutes pass\n  \
                    # @case_id 22641\n  Scenario: t\n    Given a 4.20.1 cluster\n    Then ClusterVersion/version exists\n";
        assert_eq!(
            warnings(text),
            [
                "f:3:3: this scenario expects nothing, so it always passes",
                "f:6:5: expected an id such as `OCP-22641` after `@case_id`, found `22641`",
            ]
        );
    }
}
