//! `windtunnel report`: a record file's timeline.

use std::path::Path;

use super::args::ReportArgs;
use super::{Exit, files, html, say};
use crate::record::Record;
use crate::report::{ScenarioResult, insights, summary, timeline};

/// Prints the timeline, the final insights and the result of a record.
pub(super) fn report(args: &ReportArgs) -> Result<Exit, String> {
    let record = read(&args.record)?;
    let result = ScenarioResult::of(&record, "");
    say(&story(&record, args.layout.width));
    say(&summary::scenario(&result));
    let told = std::iter::once((&result, Some(&record)));
    html::write(args.html.as_deref(), "windtunnel report", told, &[])?;
    Ok(if result.passed() { Exit::Passed } else { Exit::Failed })
}

/// Reads a record file.
///
/// # Errors
/// Why it is none, with its line.
pub(super) fn read(path: &Path) -> Result<Record, String> {
    let text = files::read(path)?;
    let at = |line| format!("{}:{line}", path.display());
    Record::parse(&text).map_err(|error| format!("{}: expected {}", at(error.line), error.expected))
}

/// The timeline and the final insights of a record.
pub(super) fn story(record: &Record, width: usize) -> String {
    let mut text = timeline::render(record, width);
    let insights = insights::at_the_end(record);
    if !insights.is_empty() {
        text += "\ninsights at the end:\n";
        text += &insights;
    }
    text.push('\n');
    text
}
