//! `test-results.yaml`: how a suite came out, in the few lines that CI steps put into the report of a job.

use serde_json::json;
use windtunnel_core::yaml;

use super::ScenarioResult;

/// The counts of a suite of this name, and which scenarios failed.
pub fn render(suite: &str, kind: &str, results: &[ScenarioResult]) -> String {
    let count = |wanted: fn(&ScenarioResult) -> bool| results.iter().filter(|result| wanted(result)).count();
    let failing: Vec<&str> =
        results.iter().filter(|result| result.failed()).map(|result| result.name.as_str()).collect();
    let document = json!({
        (suite): {
            "type": kind,
            "total": results.len(),
            "failures": failing.len(),
            // What cannot be read is told before anything is played.
            "errors": 0,
            "skipped": count(|result| result.skipped.is_some()),
            "flakes": count(ScenarioResult::is_flake),
            "failingScenarios": failing,
        }
    });
    yaml::to_string(&document).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suite_is_counted_and_failing_scenarios_are_named() {
        let failed = ScenarioResult {
            name: "b".to_owned(),
            failure: Some("x".to_owned()),
            ..ScenarioResult::default()
        };
        let flake = ScenarioResult { passed_with: Some(2), ..failed.clone() };
        let found = render("windtunnel", "cucumber", &[ScenarioResult::default(), failed, flake]);
        assert_eq!(
            found,
            "windtunnel:\n  errors: 0\n  failingScenarios:\n  - b\n  failures: 1\n  flakes: 1\n  skipped: 0\n  total: 3\n  type: cucumber\n"
        );
    }
}
