//! Results as one JSON document. It contains no wall time, so the same results give the same bytes.

use serde_json::{Value, json};

use super::ScenarioResult;
use super::seeds::SeedRuns;
use super::steps::{Outcome, StepResult};
use crate::record::{FailureKind, Record};

/// Renders all results with the hashes of their records, and the counts by outcome.
pub fn render(command: &str, results: &[(&ScenarioResult, Option<&Record>)]) -> String {
    let count = |wanted: &str| results.iter().filter(|(result, _)| outcome(result) == wanted).count();
    let document = json!({
        "command": command,
        "windtunnel": env!("CARGO_PKG_VERSION"),
        "passed": count("passed"),
        "failed": count("failed"),
        "flakes": count("flake"),
        "skipped": count("skipped"),
        "invalid": count("invalid"),
        "scenarios": results.iter().map(|(result, record)| scenario(result, *record)).collect::<Vec<_>>(),
    });
    serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
}

fn outcome(result: &ScenarioResult) -> &'static str {
    match () {
        () if result.invalid => "invalid",
        () if result.skipped.is_some() => "skipped",
        () if result.is_flake() => "flake",
        () if result.failed() => "failed",
        () => "passed",
    }
}

fn scenario(result: &ScenarioResult, record: Option<&Record>) -> Value {
    json!({
        "name": result.name,
        "file": result.file,
        "feature": result.feature,
        "line": result.line,
        "ids": result.ids,
        "tags": result.tags,
        "seed": result.seed,
        "outcome": outcome(result),
        "failure": result.failure,
        "failureKind": result.failure_kind.filter(|_| result.failure.is_some()).map(FailureKind::as_str),
        "failedAt": result.failed_at.map(|(line, column)| json!({ "line": line, "column": column })),
        "skipped": result.skipped,
        "mustFail": result.must_fail,
        "passedWithSeed": result.passed_with,
        "seeds": result.seed_runs.as_ref().map(seeds),
        "clusterSeconds": result.virtual_time.as_secs_f64(),
        "record": record.map(Record::hash),
        "steps": result.steps.iter().map(step).collect::<Vec<_>>(),
    })
}

fn seeds(runs: &SeedRuns) -> Value {
    json!({ "run": runs.count, "failed": runs.failed.keys().collect::<Vec<_>>() })
}

fn step(step: &StepResult) -> Value {
    let (outcome, failure) = match &step.outcome {
        Outcome::Passed => ("passed", None),
        Outcome::Failed(why) => ("failed", Some(why)),
        Outcome::Skipped => ("skipped", None),
    };
    json!({
        "keyword": step.keyword.trim_end(),
        "text": step.text,
        "line": step.line,
        "outcome": outcome,
        "failure": failure,
        "heldBefore": step.held_before,
        "clusterSeconds": step.took.as_secs_f64(),
    })
}
