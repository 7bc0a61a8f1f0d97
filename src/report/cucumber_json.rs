//! Results in Cucumber's JSON format: a list of features with their scenarios and steps. A YAML file is a
//! feature with the name of the file. Durations are virtual.

use serde_json::{Value, json};

use super::ScenarioResult;
use super::steps::{Outcome, StepResult};

/// Renders the report. Consecutive results of the same feature form one entry.
pub fn render(results: &[ScenarioResult]) -> String {
    let mut features: Vec<Value> = Vec::new();
    for result in results {
        let same = |feature: &Value| {
            feature["uri"] == result.file.as_str() && feature["name"] == name_of_feature(result)
        };
        if !features.last().is_some_and(same) {
            features.push(json!({
                "uri": result.file,
                "id": id(name_of_feature(result)),
                "keyword": "Feature",
                "name": name_of_feature(result),
                "line": 1,
                "description": "",
                "elements": [],
            }));
        }
        let elements = features.last_mut().and_then(|feature| feature["elements"].as_array_mut());
        if let Some(elements) = elements {
            elements.push(element(result));
        }
    }
    serde_json::to_string_pretty(&features).unwrap_or_default() + "\n"
}

fn name_of_feature(result: &ScenarioResult) -> &str {
    if result.feature.is_empty() { &result.file } else { &result.feature }
}

fn element(result: &ScenarioResult) -> Value {
    let tags = result.tags.iter().map(|tag| json!({ "name": format!("@{tag}"), "line": result.line }));
    json!({
        "id": format!("{};{}", id(name_of_feature(result)), id(&result.name)),
        "keyword": "Scenario",
        "type": "scenario",
        "name": result.name,
        "line": result.line,
        "description": "",
        "tags": tags.collect::<Vec<_>>(),
        "steps": result.steps.iter().map(|found| step(result, found)).collect::<Vec<_>>(),
    })
}

fn step(result: &ScenarioResult, step: &StepResult) -> Value {
    let (status, error) = match &step.outcome {
        // A canary must fail at this step.
        Outcome::Failed(_) if result.must_fail.is_some() => ("passed", None),
        Outcome::Passed => ("passed", None),
        Outcome::Failed(why) => ("failed", Some(why)),
        Outcome::Skipped => ("skipped", None),
    };
    let mut outcome = json!({ "status": status });
    if status != "skipped" {
        outcome["duration"] = json!(u64::try_from(step.took.as_nanos()).unwrap_or(0));
    }
    if let Some(error) = error {
        outcome["error_message"] = json!(error);
    }
    json!({
        "keyword": step.keyword,
        "name": step.text,
        "line": step.line,
        "match": { "location": format!("{}:{}", result.file, step.line) },
        "result": outcome,
    })
}

/// Returns a name as part of an id: `A z-stream update` becomes `a-z-stream-update`.
fn id(name: &str) -> String {
    name.to_lowercase().replace(' ', "-")
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;

    #[test]
    fn groups_the_scenarios_of_a_feature_with_their_steps() {
        let step = |text: &str, outcome| StepResult {
            keyword: "When ".to_owned(),
            text: text.to_owned(),
            line: 4,
            took: SignedDuration::from_secs(2),
            outcome,
            held_before: false,
        };
        let result = |name: &str, outcome| ScenarioResult {
            name: name.to_owned(),
            file: "a.feature".to_owned(),
            feature: "The A".to_owned(),
            tags: vec!["slow".to_owned()],
            steps: vec![step("one", outcome), step("two", Outcome::Skipped)],
            ..ScenarioResult::default()
        };
        let results = [result("S 1", Outcome::Passed), result("S 2", Outcome::Failed("not so".to_owned()))];
        let found: Value = serde_json::from_str(&render(&results)).unwrap();
        assert_eq!(found.as_array().unwrap().len(), 1);
        let elements = &found[0]["elements"];
        assert_eq!(elements[0]["id"], "the-a;s-1");
        assert_eq!(elements[0]["tags"][0]["name"], "@slow");
        assert_eq!(
            elements[0]["steps"][0]["result"],
            json!({ "status": "passed", "duration": 2_000_000_000_u64 })
        );
        assert_eq!(elements[1]["steps"][0]["result"]["error_message"], "not so");
        assert_eq!(elements[1]["steps"][1]["result"], json!({ "status": "skipped" }));
    }
}
