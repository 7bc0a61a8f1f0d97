//! `test-results.yaml`: a short summary of a suite, which CI steps add to the report of a job.

use serde_json::json;
use windtunnel_core::yaml;

use super::ScenarioResult;

/// Renders the counts of a suite and the names of its failed scenarios.
pub fn render(suite: &str, kind: &str, results: &[ScenarioResult]) -> String {
    let count = |wanted: fn(&ScenarioResult) -> bool| results.iter().filter(|result| wanted(result)).count();
    let failing: Vec<&str> = results
        .iter()
        .filter(|result| result.failed() && !result.has_no_cluster())
        .map(|result| result.name.as_str())
        .collect();
    let document = json!({
        (suite): {
            "type": kind,
            "total": results.len(),
            "failures": failing.len(),
            "errors": count(|result| result.invalid || result.has_no_cluster()),
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
    fn counts_results_and_names_failing_scenarios() {
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
