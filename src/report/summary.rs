//! One-line results of scenarios, and the summary of a run.

use std::time::Duration;

use jiff::SignedDuration;
use windtunnel_core::text::{clock_time, one_line, truncate};

use super::ScenarioResult;
use super::steps::Outcome;

/// The longest step in a line, in characters.
const STEP_MAX: usize = 80;

/// Returns the result in a line: `PASS  name  (1:15:00 of cluster time)`, or `FAIL`, `FLAKE` or `SKIP`, a failure
/// with its kind after the name; ends with a line break.
pub fn line(result: &ScenarioResult) -> String {
    format!("{:<5} {}{}  ({})\n", word(result), one_line(&result.name), kind(result), facts(result, ""))
}

/// Returns the result in a line with its file and the wall time:
/// `PASS  name  a.yaml  (1:15:00 of cluster time, 0.8 s)`; ends with a line break.
pub fn row(result: &ScenarioResult) -> String {
    let wall = result.wall.map(|wall| format!(", {:.1} s", wall.took.as_secs_f64())).unwrap_or_default();
    let (word, name) = (word(result), one_line(&result.name));
    // The name of an invalid file is that of the file.
    let place = if result.invalid { String::new() } else { format!("  {}", one_line(&result.place())) };
    format!("{word:<5} {name}{}{place}  ({})\n", kind(result), facts(result, &wall))
}

/// Returns the kind of a failure as ` (product)`; empty without one, and for an invalid file.
fn kind(result: &ScenarioResult) -> String {
    let kind = result.failure_kind.filter(|_| result.failure.is_some() && !result.invalid);
    kind.map(|kind| format!(" ({kind})")).unwrap_or_default()
}

/// Returns the file and the name in a line.
pub fn title(result: &ScenarioResult) -> String {
    format!("{}: {}", one_line(&result.file), one_line(&result.name))
}

/// Returns the outcome in a word.
fn word(result: &ScenarioResult) -> &'static str {
    match () {
        () if result.skipped.is_some() => "SKIP",
        () if result.invalid => "ERROR",
        () if result.is_flake() => "FLAKE",
        () if result.passed() => "PASS",
        () => "FAIL",
    }
}

/// Returns the cluster time, followed by `wall`, and what else is remarkable; or why nothing ran.
fn facts(result: &ScenarioResult, wall: &str) -> String {
    if let Some(why) = &result.skipped {
        return one_line(why).into_owned();
    }
    if result.invalid {
        return "the file is invalid".to_owned();
    }
    let time = clock_time(result.virtual_time);
    let canary = if result.must_fail.is_some() { "; a canary, failed as expected" } else { "" };
    let held = held_before(result);
    let seeds = match &result.seed_runs {
        None => String::new(),
        Some(runs) if runs.failed.is_empty() => format!("; {} seeds", runs.count),
        Some(runs) => format!("; {} of {} seeds failed", runs.failed.len(), runs.count),
    };
    let omissions = if result.omissions.is_empty() { "" } else { "; with omissions" };
    let idle = match result.idle_faults.len() {
        0 => String::new(),
        1 => "; a fault never acted".to_owned(),
        count => format!("; {count} faults never acted"),
    };
    format!("{time} of cluster time{wall}{seeds}{canary}{held}{idle}{omissions}")
}

/// Returns the first step that passed because it held before, with its line, and how many more there are.
fn held_before(result: &ScenarioResult) -> String {
    let mut held = result.steps.iter().filter(|step| step.held_before && step.outcome == Outcome::Passed);
    let Some(first) = held.next() else { return String::new() };
    let line = if first.line == 0 { String::new() } else { format!(" (line {})", first.line) };
    let more = match held.count() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("; held before: {}{line}{more}", truncate(&one_line(&first.text), STEP_MAX))
}

/// Returns a warning about each fault that never acted.
pub fn idle_faults(result: &ScenarioResult) -> impl Iterator<Item = String> {
    result.idle_faults.iter().map(|fault| format!("warning: this fault never acted: {}", one_line(fault)))
}

/// Returns the [`line`] of a result and, below it, place and reason of a failure; ends with a line break.
pub fn scenario(result: &ScenarioResult) -> String {
    let mut lines = Vec::new();
    if let Some(seed) = result.passed_with.filter(|_| result.is_flake()) {
        lines.push(format!("      it passed with seed {seed}, and failed before:"));
    }
    if let Some(failure) = &result.failure {
        if !result.file.is_empty() && !result.invalid {
            let place =
                result.failed_at.map(|(line, column)| format!(":{line}:{column}")).unwrap_or_default();
            lines.push(format!("      {}{place} with seed {}", one_line(&result.file), result.seed));
        }
        lines.extend(failure.lines().map(|line| format!("      {line}")));
    }
    lines.extend(idle_faults(result).map(|warning| format!("      {warning}")));
    lines.extend((!result.waited.is_empty()).then(|| format!("      {}", result.waited)));
    lines.iter().fold(line(result), |text, line| text + line + "\n")
}

/// Returns the failures of a run in a line each, `FAIL a.yaml:12 name (product): reason`; empty if there are none.
pub fn recap(results: &[ScenarioResult]) -> String {
    let failures = results.iter().filter(|result| result.failure.is_some());
    let lines = failures.map(|result| {
        let reason = result.headline();
        // Each problem of a file begins with its place.
        if result.invalid {
            format!("{} {reason}\n", word(result))
        } else {
            let (place, name) = (result.place(), one_line(&result.name));
            format!("{} {} {name}{}: {reason}\n", word(result), one_line(&place), kind(result))
        }
    });
    lines.collect()
}

/// Returns the counts by outcome, the cluster time, the `wall` time and their ratio; ends with a line break.
pub fn run(results: &[ScenarioResult], wall: Duration) -> String {
    let passed = results.iter().filter(|result| result.passed()).count();
    let failed = results.iter().filter(|result| result.failed()).count();
    let flakes = results.iter().filter(|result| result.is_flake()).count();
    let some = |count: usize, word: &str| match count {
        0 => String::new(),
        count => format!(", {count} {word}"),
    };
    let flaked = some(flakes, if flakes == 1 { "flake" } else { "flakes" });
    let invalid = results.iter().filter(|result| result.invalid).count();
    let skipped = flaked + &some(results.len() - passed - failed - flakes - invalid, "skipped");
    let skipped = skipped + &some(invalid, if invalid == 1 { "invalid file" } else { "invalid files" });
    let covered =
        results.iter().fold(SignedDuration::ZERO, |sum, result| sum.saturating_add(result.virtual_time));
    let seconds = wall.as_secs_f64();
    let speed = if seconds > 0.0 {
        format!(" ({:.0} times as fast)", covered.as_secs_f64() / seconds)
    } else {
        String::new()
    };
    let scenarios = if results.len() == 1 { "scenario" } else { "scenarios" };
    format!(
        "{} {scenarios}: {passed} passed, {failed} failed{skipped}; {} of cluster time in {seconds:.2} s{speed}\n",
        results.len(),
        clock_time(covered)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::FailureKind;
    use crate::report::WallTime;
    use crate::report::steps::StepResult;

    fn result(name: &str, failure: Option<&str>) -> ScenarioResult {
        ScenarioResult {
            name: name.to_owned(),
            file: "a.yaml".to_owned(),
            ids: Vec::new(),
            seed: 7,
            virtual_time: SignedDuration::from_mins(75),
            failure: failure.map(str::to_owned),
            failure_kind: failure.map(|_| FailureKind::Product),
            failed_at: failure.map(|_| (12, 3)),
            ..ScenarioResult::default()
        }
    }

    #[test]
    fn a_failure_has_its_place_seed_and_reason() {
        assert_eq!(scenario(&result("a", None)), "PASS  a  (1:15:00 of cluster time)\n");
        assert_eq!(
            scenario(&result("b", Some("expect x:\nnot so"))),
            "FAIL  b (product)  (1:15:00 of cluster time)\n      a.yaml:12:3 with seed 7\n      expect x:\n      not so\n"
        );
    }

    #[test]
    fn a_row_has_the_file_and_the_wall_time_and_a_recap_the_reason() {
        let results = [result("a", None), result("b", Some("expect x:\nnot so"))];
        assert_eq!(row(&results[1]), "FAIL  b (product)  a.yaml:12  (1:15:00 of cluster time)\n");
        let wall = WallTime { started: jiff::Timestamp::UNIX_EPOCH, took: Duration::from_millis(1260) };
        let timed = ScenarioResult { wall: Some(wall), ..results[0].clone() };
        assert_eq!(row(&timed), "PASS  a  a.yaml  (1:15:00 of cluster time, 1.3 s)\n");
        let invalid = ScenarioResult::of_invalid_file("c.yaml", "c.yaml:1:2: no\nc.yaml:3:4: yes", 1);
        assert_eq!(row(&invalid), "ERROR c.yaml  (the file is invalid)\n");
        assert_eq!(
            recap(&[results.as_slice(), &[invalid]].concat()),
            "FAIL a.yaml:12 b (product): expect x: not so\nERROR c.yaml:1:2: no\n"
        );
        assert_eq!(recap(&results[..1]), "");
    }

    #[test]
    fn a_line_names_the_first_step_that_held_before_and_counts_the_others() {
        let step = |text: &str, line, outcome| StepResult {
            text: text.to_owned(),
            line,
            outcome,
            held_before: true,
            ..StepResult::default()
        };
        let mut passed = result("a", None);
        passed.steps = vec![step("expect x", 6, Outcome::Passed)];
        assert_eq!(line(&passed), "PASS  a  (1:15:00 of cluster time; held before: expect x (line 6))\n");
        passed.steps.push(step("expect y", 8, Outcome::Passed));
        passed.steps.push(step("expect z", 9, Outcome::Failed("held before".to_owned())));
        let expected = "PASS  a  (1:15:00 of cluster time; held before: expect x (line 6) and 1 more)\n";
        assert_eq!(line(&passed), expected);
    }

    #[test]
    fn a_headline_is_cut_and_the_body_whole() {
        let long = format!("expect x: {}", "y".repeat(1500));
        let failed = result("b", Some(&long));
        assert_eq!(failed.headline().chars().count(), 500);
        assert!(failed.headline().ends_with("yyy..."));
        assert!(scenario(&failed).contains(&long));
        assert!(!recap(&[failed]).contains(&long));
    }

    #[test]
    fn summarizes_counts_and_speed_of_a_run() {
        let results = [result("a", None), result("b", Some("x"))];
        assert_eq!(
            run(&results, Duration::from_millis(1500)),
            "2 scenarios: 1 passed, 1 failed; 2:30:00 of cluster time in 1.50 s (6000 times as fast)\n"
        );
        assert_eq!(
            run(&[], Duration::ZERO),
            "0 scenarios: 0 passed, 0 failed; 0:00:00 of cluster time in 0.00 s\n"
        );
    }
}
