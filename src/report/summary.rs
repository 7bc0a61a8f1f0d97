//! One-line results of scenarios, and the summary of a run.

use std::time::Duration;

use jiff::SignedDuration;
use windtunnel_core::text::clock_time;

use super::ScenarioResult;

/// Returns the result in a line: `PASS  name  (1:15:00 of cluster time)`, or `FAIL`, `FLAKE` or `SKIP`; ends
/// with a line break.
pub fn line(result: &ScenarioResult) -> String {
    if let Some(why) = &result.skipped {
        return format!("SKIP  {}  ({why})\n", result.name);
    }
    if result.invalid {
        return format!("ERROR {}  (the file is invalid)\n", result.name);
    }
    let time = clock_time(result.virtual_time);
    let word = if result.is_flake() {
        "FLAKE"
    } else if result.passed() {
        "PASS"
    } else {
        "FAIL"
    };
    let canary = if result.must_fail.is_some() { "; a canary, failed as expected" } else { "" };
    let held = match result.steps.iter().filter(|step| step.held_before).count() {
        0 => String::new(),
        1 => "; 1 step held before".to_owned(),
        count => format!("; {count} steps held before"),
    };
    format!("{word}  {}  ({time} of cluster time{canary}{held})\n", result.name)
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
            lines.push(format!("      {}{place} with seed {}", result.file, result.seed));
        }
        lines.extend(failure.lines().map(|line| format!("      {line}")));
    }
    lines.iter().fold(line(result), |text, line| text + line + "\n")
}

/// Returns the failures and flakes of a run, each with its place and reason; empty if there are none.
/// `command` is the command that runs a scenario, such as `windtunnel run`.
pub fn recap(results: &[ScenarioResult], command: &str) -> String {
    let failures: Vec<&ScenarioResult> = results.iter().filter(|result| result.failure.is_some()).collect();
    if failures.is_empty() {
        return String::new();
    }
    let mut text = "\nFailures:\n\n".to_owned();
    for result in failures {
        text += &scenario(result);
        if !result.file.is_empty() && !result.invalid {
            text += &format!("      {command} {} --seed {}\n", result.file, result.seed);
        }
        text += "\n";
    }
    text
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

    fn result(name: &str, failure: Option<&str>) -> ScenarioResult {
        ScenarioResult {
            name: name.to_owned(),
            file: "a.yaml".to_owned(),
            ids: Vec::new(),
            seed: 7,
            virtual_time: SignedDuration::from_mins(75),
            failure: failure.map(str::to_owned),
            failed_at: failure.map(|_| (12, 3)),
            ..ScenarioResult::default()
        }
    }

    #[test]
    fn a_failure_has_its_place_seed_and_reason() {
        assert_eq!(scenario(&result("a", None)), "PASS  a  (1:15:00 of cluster time)\n");
        assert_eq!(
            scenario(&result("b", Some("expect x:\nnot so"))),
            "FAIL  b  (1:15:00 of cluster time)\n      a.yaml:12:3 with seed 7\n      expect x:\n      not so\n"
        );
    }

    #[test]
    fn only_the_recap_contains_the_reason() {
        let results = [result("a", None), result("b", Some("expect x:\nnot so"))];
        assert_eq!(line(&results[1]), "FAIL  b  (1:15:00 of cluster time)\n");
        assert_eq!(
            recap(&results, "windtunnel run"),
            "\nFailures:\n\nFAIL  b  (1:15:00 of cluster time)\n      a.yaml:12:3 with seed 7\n      expect x:\n      not so\n      \
             windtunnel run a.yaml --seed 7\n\n"
        );
        assert_eq!(recap(&results[..1], "windtunnel run"), "");
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
