//! `JUnit` XML, for CI. It contains no wall time and no random ids, so the same results give the same bytes.

use std::time::Duration;

use quick_junit::{NonSuccessKind, Property, Report, SerializeError, TestCase, TestCaseStatus, TestSuite};

use super::ScenarioResult;
use super::steps::Outcome;

/// Renders a test suite of this name with a test case for each result. Times are virtual seconds; seed and
/// ids are properties.
///
/// # Errors
/// An error of the XML writer, which writes to memory.
pub fn render(suite: &str, results: &[ScenarioResult], per: Per) -> Result<String, SerializeError> {
    let mut cases = TestSuite::new(suite);
    let cases_of = match per {
        Per::Scenario => scenario_cases,
        Per::Step => step_cases,
    };
    cases.add_test_cases(results.iter().flat_map(cases_of));
    let mut report = Report::new("windtunnel");
    report.add_test_suite(cases);
    report.to_string()
}

/// The unit of a test case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Per {
    /// A scenario.
    Scenario,
    /// A step of a scenario.
    Step,
}

/// Returns the test case of a result. A flake gets a second case with the same name that passes, which is how
/// Prow recognizes flakes.
fn scenario_cases(result: &ScenarioResult) -> Vec<TestCase> {
    let mut cases = vec![case(result)];
    if let Some(seed) = result.passed_with.filter(|_| result.is_flake()) {
        cases.push(case(&ScenarioResult { seed, failure: None, passed_with: None, ..result.clone() }));
    }
    cases
}

/// Returns a test case for each step; its number distinguishes steps with the same text.
fn step_cases(result: &ScenarioResult) -> Vec<TestCase> {
    if result.steps.is_empty() {
        return scenario_cases(result);
    }
    let classname = format!("{}: {}", result.file, result.name);
    let cases = result.steps.iter().enumerate().map(|(index, step)| {
        let expected = result.must_fail.is_some();
        let status = match &step.outcome {
            Outcome::Failed(why) if !expected => failed(why, None),
            Outcome::Passed | Outcome::Failed(_) => TestCaseStatus::success(),
            Outcome::Skipped => {
                let mut status = TestCaseStatus::skipped();
                status.set_message(result.skipped.as_deref().unwrap_or("an earlier step failed"));
                status
            }
        };
        let name = format!("{:02} {}{}", index + 1, step.keyword, step.text);
        let mut case = TestCase::new(name, status);
        case.set_classname(classname.as_str());
        case.set_time(Duration::try_from(step.took).unwrap_or_default());
        case
    });
    let mut cases: Vec<TestCase> = cases.collect();
    // A failure outside of the steps must not get lost.
    let is_reported = result.steps.iter().any(|step| matches!(step.outcome, Outcome::Failed(_)));
    if result.failure.is_some() && !is_reported {
        cases.push(case(result));
    }
    cases
}

/// Returns a failure with its first line as the message.
fn failed(failure: &str, place: Option<String>) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    status.set_message(failure.lines().next().unwrap_or_default());
    status.set_type("expectation");
    status.set_description(format!("{}{failure}", place.unwrap_or_default()));
    status
}

fn case(result: &ScenarioResult) -> TestCase {
    let status = match (&result.failure, &result.skipped) {
        (None, None) => TestCaseStatus::success(),
        (None, Some(why)) => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(why.as_str());
            status
        }
        (Some(problems), _) if result.invalid => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
            status.set_message(problems.lines().next().unwrap_or_default());
            status.set_type("invalid file");
            status.set_description(problems.as_str());
            status
        }
        (Some(failure), _) => {
            let place = result.failed_at.map(|(line, column)| format!("{}:{line}:{column}\n", result.file));
            failed(failure, place)
        }
    };
    let mut case = TestCase::new(result.name.as_str(), status);
    case.set_classname(result.file.as_str());
    case.set_time(Duration::try_from(result.virtual_time).unwrap_or_default());
    case.add_property(Property::new("seed", result.seed.to_string()));
    case.add_properties(result.ids.iter().map(|id| Property::new("id", id.as_str())));
    case
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;
    use crate::report::steps::StepResult;

    #[test]
    fn results_become_test_cases_with_seed_ids_and_virtual_seconds() {
        let result = |name: &str, failure: Option<&str>| ScenarioResult {
            name: name.to_owned(),
            file: "scenarios/a.yaml".to_owned(),
            ids: vec!["OTA-1321".to_owned(), "OCP-22641".to_owned()],
            seed: 7,
            virtual_time: SignedDuration::from_millis(4_500_500),
            failure: failure.map(str::to_owned),
            failed_at: failure.map(|_| (12, 3)),
            ..ScenarioResult::default()
        };
        let results = [result("a & b", None), result("c", Some("expect x: <not> so\nsecond"))];
        insta::assert_snapshot!(render("rollback", &results, Per::Scenario).unwrap());
    }

    #[test]
    fn steps_can_be_test_cases_and_a_flake_has_two() {
        let step =
            |text: &str, outcome| StepResult { text: text.to_owned(), outcome, ..StepResult::default() };
        let result = ScenarioResult {
            name: "s".to_owned(),
            file: "a.yaml".to_owned(),
            failure: Some("expect x: no".to_owned()),
            steps: vec![
                step("update", Outcome::Passed),
                step("expect x", Outcome::Failed("no".to_owned())),
                step("expect y", Outcome::Skipped),
            ],
            ..ScenarioResult::default()
        };
        let xml = render("s", std::slice::from_ref(&result), Per::Step).unwrap();
        for expected in [
            r#"tests="3" skipped="1" errors="0" failures="1""#,
            r#"<testcase name="02 expect x" classname="a.yaml: s" time="0.000">"#,
            r#"<skipped message="an earlier step failed"/>"#,
        ] {
            assert!(xml.contains(expected), "{expected}\n{xml}");
        }
        let flake = ScenarioResult { passed_with: Some(2), ..result };
        let xml = render("s", &[flake], Per::Scenario).unwrap();
        assert_eq!(xml.matches(r#"<testcase name="s" classname="a.yaml""#).count(), 2, "{xml}");
        assert_eq!(xml.matches("<failure ").count(), 1, "{xml}");
    }
}
