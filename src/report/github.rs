//! A summary of results in Markdown, for the page of a GitHub Actions job.

use std::fmt::Write as _;

use windtunnel_core::text::{clock_time, truncate, visible};

use super::{ScenarioResult, rerun};

/// The maximum number of failures with their reasons.
const FAILURES_MAX: usize = 50;

/// The maximum length of a reason in the table, in characters.
const REASON_MAX: usize = 300;

/// Renders the counts, a table of the failures, and the command that runs these again. `command` is the
/// command of the run, such as `windtunnel run`.
pub fn render(command: &str, results: &[ScenarioResult], options: &[String]) -> String {
    let count = |wanted: fn(&ScenarioResult) -> bool| results.iter().filter(|result| wanted(result)).count();
    let counts = [
        ("passed", count(ScenarioResult::passed)),
        ("failed", count(ScenarioResult::failed)),
        ("flakes", count(ScenarioResult::is_flake)),
        ("skipped", count(|result| result.skipped.is_some())),
        ("invalid files", count(|result| result.invalid)),
    ];
    let shown = counts.iter().filter(|(word, count)| *count > 0 || ["passed", "failed"].contains(word));
    let counts: Vec<String> = shown.map(|(word, count)| format!("{count} {word}")).collect();
    let mut text = format!("### {command}: {}\n\n", counts.join(", "));
    let failures: Vec<&ScenarioResult> = results.iter().filter(|result| result.failure.is_some()).collect();
    if failures.is_empty() {
        return text;
    }
    text += "| scenario | place | kind | cluster time | reason |\n|---|---|---|---|---|\n";
    for result in failures.iter().take(FAILURES_MAX) {
        let reason = result.failure.as_deref().unwrap_or_default();
        let cells = [
            cell(&result.name),
            cell(&result.place()),
            result.failure_kind.map(|kind| kind.to_string()).unwrap_or_default(),
            clock_time(result.virtual_time),
            cell(&truncate(reason, REASON_MAX)),
        ];
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    if let Some(more) = failures.len().checked_sub(FAILURES_MAX).filter(|more| *more > 0) {
        let _ = writeln!(text, "\nand {more} more");
    }
    let again = rerun::failures(command, results, options);
    if !again.is_empty() {
        let _ = write!(text, "\nRun the failures again:\n\n```sh\n{again}\n```\n\n");
    }
    visible(&text).into_owned()
}

/// Returns a text as the cell of a table: Markdown and HTML in it stay text.
fn cell(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.trim().chars() {
        match letter {
            '\n' => out += "<br>",
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '|' | '`' | '*' | '_' | '[' | ']' | '\\' => out.extend(['\\', letter]),
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::FailureKind;

    #[test]
    fn a_summary_has_counts_and_a_row_for_each_failure() {
        let passed = ScenarioResult::not_started("a", "a.yaml", &[], 1);
        let failure = Some("expect `x` | <b>:\nnot so".to_owned());
        let failed = ScenarioResult {
            failure,
            failure_kind: Some(FailureKind::Product),
            failed_at: Some((12, 3)),
            ..ScenarioResult::not_started("b", "b.yaml", &[], 1)
        };
        assert_eq!(
            render("windtunnel run", std::slice::from_ref(&passed), &[]),
            "### windtunnel run: 1 passed, 0 failed\n\n"
        );
        assert_eq!(
            render("windtunnel run", &[passed, failed], &[]),
            "### windtunnel run: 1 passed, 1 failed\n\n\
             | scenario | place | kind | cluster time | reason |\n|---|---|---|---|---|\n\
             | b | b.yaml:12 | product | 0:00:00 | expect \\`x\\` \\| &lt;b&gt;:<br>not so |\n\n\
             Run the failures again:\n\n```sh\nwindtunnel run b.yaml --seed 1\n```\n\n"
        );
    }
}
