//! `JUnit` XML, for CI. Times are wall times; cluster times are properties. Of runs with the same results only
//! `time` and `timestamp` differ.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::SignedDuration;
use quick_junit::{NonSuccessKind, Property, Report, SerializeError, TestCase, TestCaseStatus, TestSuite};
use windtunnel_core::text::visible;
use windtunnel_update_status::status::Details;

use super::steps::Outcome;
use super::{ScenarioResult, headline, rerun, status_text, story};
use crate::record::{FailureKind, Record};

/// The number of rows of a timeline in the output of a failure.
const ROWS: usize = 60;

/// The columns of such a row.
const WIDTH: usize = 160;

/// The name of the property with a cluster time in seconds.
const CLUSTER_SECONDS: &str = "cluster-seconds";

/// The suite of test cases.
#[derive(Debug, Clone, Copy)]
pub struct Suite<'a> {
    /// The command of the run, such as `windtunnel run`, which is the name of the suite.
    pub name: &'a str,
    /// Further options to rerun a scenario; `None` if the results come from records, which cannot run again.
    pub options: Option<&'a [String]>,
    /// The wall time of the whole run.
    pub wall: Duration,
}

/// Renders a test suite with test cases for each result. Names are unique in the suite, except those of a
/// flake's two cases. Seed, ids and cluster time are properties. A record adds the end of the timeline and the
/// status to the output of a failure.
///
/// # Errors
/// An error of the XML writer, which writes to memory.
pub fn render(
    suite: Suite<'_>,
    results: &[(&ScenarioResult, Option<&Record>)],
    per: Per,
) -> Result<String, SerializeError> {
    let mut cases = TestSuite::new(suite.name);
    let names = unique_names(results.iter().map(|(result, _)| *result));
    let shared = rerun::shared_files(results.iter().map(|(result, _)| *result));
    for ((result, record), name) in results.iter().zip(&names) {
        let output = output(suite, result, *record, &shared);
        let named = Named { result, name, output: &output };
        cases.add_test_cases(match per {
            Per::Scenario => scenario_cases(named),
            Per::Step => step_cases(named),
        });
    }
    cases.set_time(suite.wall);
    let started = results.iter().filter_map(|(result, _)| result.wall).map(|wall| wall.started).min();
    if let Some(started) = started {
        // Jenkins reads this form, in UTC.
        let text = started.strftime("%Y-%m-%dT%H:%M:%S").to_string();
        cases.extra.insert("timestamp".into(), text.into());
    }
    document([cases])
}

/// Returns the XML of suites.
fn document(suites: impl IntoIterator<Item = TestSuite>) -> Result<String, SerializeError> {
    let mut report = Report::new("windtunnel");
    report.add_test_suites(suites);
    // CI systems also print failures.
    Ok(visible(&report.to_string()?).into_owned())
}

/// A result that no scenario has, such as a part of a rehearsal.
#[derive(Debug, Clone)]
pub struct Finding {
    /// The name of the test case.
    pub name: String,
    /// Its result.
    pub outcome: FindingOutcome,
    /// Its output.
    pub output: String,
}

/// The result of a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FindingOutcome {
    /// Nothing is wrong.
    Passed,
    /// Something is wrong: a message of one line, and a text.
    Failed(String, String),
    /// It could not be seen, for this reason.
    Skipped(String),
    /// The input is unusable, for this reason.
    Error(String),
}

/// Renders a test suite of findings for each input, such as a dump; the name of the suite ends with the input.
///
/// # Errors
/// As [`render`].
pub fn render_findings(
    suite: &str,
    wall: Duration,
    inputs: &[(String, Vec<Finding>)],
) -> Result<String, SerializeError> {
    let suites = inputs.iter().map(|(input, findings)| {
        let mut cases = TestSuite::new(format!("{suite} {input}"));
        cases.add_test_cases(findings.iter().map(|finding| finding_case(input, finding)));
        cases.set_time(wall);
        cases
    });
    document(suites)
}

fn finding_case(input: &str, finding: &Finding) -> TestCase {
    let status = match &finding.outcome {
        FindingOutcome::Passed => TestCaseStatus::success(),
        FindingOutcome::Failed(message, text) => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_message(headline(message));
            status.set_type(FailureKind::Product.as_str());
            status.set_description(text.as_str());
            status
        }
        FindingOutcome::Skipped(why) => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(why.as_str());
            status
        }
        FindingOutcome::Error(why) => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
            status.set_message(headline(why));
            status.set_description(why.as_str());
            status
        }
    };
    let mut case = TestCase::new(finding.name.as_str(), status);
    case.set_classname(input);
    if !finding.output.is_empty() {
        case.set_system_out(finding.output.as_str());
    }
    case
}

/// The unit of a test case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Per {
    /// A scenario.
    Scenario,
    /// A step of a scenario.
    Step,
}

/// A result with its unique name and its output.
#[derive(Clone, Copy)]
struct Named<'a> {
    result: &'a ScenarioResult,
    name: &'a str,
    output: &'a str,
}

/// Returns a name for each result: its own, or if others have the same, with its file, its line or a number.
fn unique_names<'a>(results: impl Iterator<Item = &'a ScenarioResult> + Clone) -> Vec<String> {
    let mut shared: BTreeMap<&str, usize> = BTreeMap::new();
    for result in results.clone() {
        *shared.entry(&result.name).or_default() += 1;
    }
    let mut taken: BTreeMap<String, usize> = BTreeMap::new();
    let name = |result: &ScenarioResult| {
        let name = match shared.get(result.name.as_str()) {
            Some(1) | None => result.name.clone(),
            _ if result.line == 0 => format!("{} ({})", result.name, result.file),
            _ => format!("{} ({}:{})", result.name, result.file, result.line),
        };
        let count = taken.entry(name.clone()).or_default();
        *count += 1;
        if *count == 1 { name } else { format!("{name} #{count}") }
    };
    results.map(name).collect()
}

/// Returns the output of a test case: the command to run it again, and for a failure the end of the timeline
/// and the status at that moment.
fn output(
    suite: Suite<'_>,
    result: &ScenarioResult,
    record: Option<&Record>,
    shared: &BTreeSet<&str>,
) -> String {
    let again =
        suite.options.map(|options| rerun::one(suite.name, result, options, shared)).unwrap_or_default();
    let mut text = if again.is_empty() { String::new() } else { format!("run it again: {again}\n") };
    if let Some(record) = record.filter(|_| result.failure.is_some()) {
        text += &format!("\nthe end of the timeline:\n{}", story::tail(record, WIDTH, ROWS));
        if let Some(status) = status_text::render_at(record, record.end(), Details::None) {
            text += &format!("\noc adm upgrade status:\n{status}");
        }
    }
    text
}

/// Returns the test case of a result. A flake gets a second case with the same name that passes, which is how
/// Prow recognizes flakes.
fn scenario_cases(named: Named<'_>) -> Vec<TestCase> {
    let mut cases = vec![case(named)];
    if let Some(seed) = named.result.passed_with.filter(|_| named.result.is_flake()) {
        let passed = ScenarioResult { seed, failure: None, passed_with: None, ..named.result.clone() };
        cases.push(case(Named { result: &passed, ..named }));
    }
    cases
}

/// Returns a test case for each step; its number distinguishes steps with the same text. Steps have no wall
/// time of their own.
fn step_cases(named: Named<'_>) -> Vec<TestCase> {
    let result = named.result;
    if result.steps.is_empty() {
        return scenario_cases(named);
    }
    let classname = format!("{}: {}", result.file, named.name);
    let cases = result.steps.iter().enumerate().map(|(index, step)| {
        let expected = result.must_fail.is_some();
        let status = match &step.outcome {
            Outcome::Failed(why) if !expected => failed(result, why, None),
            Outcome::Passed | Outcome::Failed(_) => TestCaseStatus::success(),
            Outcome::Skipped => {
                let mut status = TestCaseStatus::skipped();
                status.set_message(result.skipped.as_deref().unwrap_or("an earlier step failed"));
                status
            }
        };
        let is_failed = matches!(step.outcome, Outcome::Failed(_)) && !expected;
        let name = format!("{:02} {}{}", index + 1, step.keyword, step.text);
        let mut case = TestCase::new(name, status);
        case.set_classname(classname.as_str());
        case.add_property(cluster_seconds(step.took));
        if is_failed {
            case.set_system_out(named.output);
        }
        case
    });
    let mut cases: Vec<TestCase> = cases.collect();
    // A failure outside of the steps must not get lost.
    let is_reported = result.steps.iter().any(|step| matches!(step.outcome, Outcome::Failed(_)));
    if result.failure.is_some() && !is_reported {
        cases.push(case(named));
    }
    cases
}

/// Returns a failure with its first line as the message and its kind as the type.
fn failed(result: &ScenarioResult, failure: &str, place: Option<String>) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    status.set_message(headline(failure));
    // Records of an older windtunnel have no kind.
    status.set_type(result.failure_kind.map_or("expectation", FailureKind::as_str));
    status.set_description(format!("{}{failure}", place.unwrap_or_default()));
    status
}

fn status_of(result: &ScenarioResult) -> TestCaseStatus {
    match (&result.failure, &result.skipped) {
        (None, None) => TestCaseStatus::success(),
        (None, Some(why)) => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(why.as_str());
            status
        }
        (Some(problems), _) if result.invalid || result.has_no_cluster() => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
            status.set_message(headline(problems));
            status.set_type(result.failure_kind.unwrap_or(FailureKind::Scenario).as_str());
            status.set_description(problems.as_str());
            status
        }
        (Some(failure), _) => {
            let place = result.failed_at.map(|(line, column)| format!("{}:{line}:{column}\n", result.file));
            failed(result, failure, place)
        }
    }
}

fn case(Named { result, name, output }: Named<'_>) -> TestCase {
    let mut case = TestCase::new(name, status_of(result));
    case.set_classname(result.file.as_str());
    case.set_time(result.wall.map_or(Duration::ZERO, |wall| wall.took));
    case.add_property(Property::new("seed", result.seed.to_string()));
    case.add_property(cluster_seconds(result.virtual_time));
    case.add_properties(result.idle_faults.iter().map(|fault| Property::new("idle-fault", fault.as_str())));
    case.add_properties(result.omissions.iter().map(|left| Property::new("left-out", left.as_str())));
    case.add_properties(result.ids.iter().map(|id| Property::new("id", id.as_str())));
    if !output.is_empty() {
        case.set_system_out(output);
    }
    case
}

fn cluster_seconds(time: SignedDuration) -> Property {
    Property::new(CLUSTER_SECONDS, format!("{:.3}", time.as_secs_f64()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::WallTime;
    use crate::report::steps::StepResult;

    fn suite() -> Suite<'static> {
        Suite { name: "windtunnel run", options: Some(&[]), wall: Duration::from_millis(1500) }
    }

    fn xml(results: &[ScenarioResult], per: Per) -> String {
        let results: Vec<_> = results.iter().map(|result| (result, None)).collect();
        render(suite(), &results, per).unwrap()
    }

    #[test]
    fn results_become_test_cases_with_wall_time_seed_ids_and_cluster_seconds() {
        let started = "2026-11-26T08:19:32.5Z".parse().unwrap();
        let result = |name: &str, failure: Option<&str>| ScenarioResult {
            name: name.to_owned(),
            file: "scenarios/a.yaml".to_owned(),
            ids: vec!["OTA-1321".to_owned(), "OCP-22641".to_owned()],
            seed: 7,
            virtual_time: SignedDuration::from_millis(4_500_500),
            failure: failure.map(str::to_owned),
            failure_kind: failure.map(|_| FailureKind::Product),
            failed_at: failure.map(|_| (12, 3)),
            wall: Some(WallTime { started, took: Duration::from_millis(750) }),
            ..ScenarioResult::default()
        };
        let results = [result("a & b", None), result("c", Some("expect x: <not> so\nsecond"))];
        insta::assert_snapshot!(xml(&results, Per::Scenario));
    }

    #[test]
    fn results_of_records_have_no_command_that_runs_them_again() {
        let result = ScenarioResult::not_started("a", "a.jsonl", &[], 1);
        let suite = Suite { options: None, ..suite() };
        let found = render(suite, &[(&result, None)], Per::Scenario).unwrap();
        assert!(found.contains(r#"classname="a.jsonl""#) && !found.contains("run it again"), "{found}");
    }

    #[test]
    fn names_are_unique() {
        let result = |name: &str, file: &str, line| ScenarioResult {
            line,
            ..ScenarioResult::not_started(name, file, &[], 1)
        };
        let results = [
            result("a", "x.yaml", 0),
            result("b", "x.yaml", 0),
            result("b", "y.yaml", 0),
            result("b", "y.yaml", 0),
            result("b", "f.feature", 3),
        ];
        assert_eq!(
            unique_names(results.iter()),
            ["a", "b (x.yaml)", "b (y.yaml)", "b (y.yaml) #2", "b (f.feature:3)"]
        );
    }

    #[test]
    fn findings_are_passed_failed_skipped_or_errors() {
        let finding =
            |name: &str, outcome| Finding { name: name.to_owned(), outcome, output: "seen".to_owned() };
        let findings = vec![
            finding("accept", FindingOutcome::Passed),
            finding("pool worker", FindingOutcome::Failed("PDB a/b".to_owned(), "all of <it>".to_owned())),
            finding("pods", FindingOutcome::Skipped("not in the dump".to_owned())),
        ];
        let error = vec![finding("dump", FindingOutcome::Error("no ClusterVersion".to_owned()))];
        let inputs = [("a.yaml".to_owned(), findings), ("b.yaml".to_owned(), error)];
        let found = render_findings("windtunnel rehearse", Duration::from_secs(2), &inputs).unwrap();
        for expected in [
            r#"<testsuite name="windtunnel rehearse a.yaml" tests="3" skipped="1" errors="0" failures="1""#,
            r#"<testsuite name="windtunnel rehearse b.yaml" tests="1" skipped="0" errors="1" failures="0""#,
            r#"<failure message="PDB a/b" type="product">all of &lt;it&gt;</failure>"#,
            r#"<skipped message="not in the dump"/>"#,
            "<system-out>seen</system-out>",
        ] {
            assert!(found.contains(expected), "{expected}\n{found}");
        }
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
        let found = xml(std::slice::from_ref(&result), Per::Step);
        for expected in [
            r#"tests="3" skipped="1" errors="0" failures="1" time="1.500""#,
            r#"<testcase name="02 expect x" classname="a.yaml: s">"#,
            r#"<property name="cluster-seconds" value="0.000"/>"#,
            r#"<skipped message="an earlier step failed"/>"#,
        ] {
            assert!(found.contains(expected), "{expected}\n{found}");
        }
        assert_eq!(found.matches("run it again: windtunnel run a.yaml --seed 0").count(), 1, "{found}");
        let flake = ScenarioResult { passed_with: Some(2), ..result };
        let found = xml(&[flake], Per::Scenario);
        assert_eq!(found.matches(r#"<testcase name="s" classname="a.yaml""#).count(), 2, "{found}");
        assert_eq!(found.matches("<failure ").count(), 1, "{found}");
    }
}
