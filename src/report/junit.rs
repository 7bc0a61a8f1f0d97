//! `JUnit` XML, for CI. The same results give the same bytes: it holds no wall time and no random ids.

use std::time::Duration;

use quick_junit::{NonSuccessKind, Property, Report, SerializeError, TestCase, TestCaseStatus, TestSuite};

use super::ScenarioResult;

/// One test suite of this name with a test case for each result. Times are virtual seconds; the seed and the ids
/// stand as properties.
///
/// # Errors
/// Only what the XML writer gives, which writes to memory.
pub fn render(suite: &str, results: &[ScenarioResult]) -> Result<String, SerializeError> {
    let mut cases = TestSuite::new(suite);
    cases.add_test_cases(results.iter().map(case));
    let mut report = Report::new("windtunnel");
    report.add_test_suite(cases);
    report.to_string()
}

fn case(result: &ScenarioResult) -> TestCase {
    let status = match (&result.failure, &result.skipped) {
        (None, None) => TestCaseStatus::success(),
        (None, Some(why)) => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(why.as_str());
            status
        }
        (Some(failure), _) => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_message(failure.lines().next().unwrap_or_default());
            status.set_type("expectation");
            let place = result.failed_at.map(|(line, column)| format!("{}:{line}:{column}\n", result.file));
            status.set_description(format!("{}{failure}", place.unwrap_or_default()));
            status
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
            skipped: None,
        };
        let xml =
            render("rollback", &[result("a & b", None), result("c", Some("expect x: <not> so\nsecond"))]);
        insta::assert_snapshot!(xml.unwrap());
    }
}
