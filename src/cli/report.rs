//! `windtunnel report`: a record file's timeline.

use std::path::Path;

use super::args::ReportArgs;
use super::{Exit, files, html, say};
use crate::record::Record;
use crate::report::{ScenarioResult, draft, insights, summary, timeline};

/// Prints the timeline, the final insights and the result of a record.
pub(super) fn report(args: &ReportArgs) -> Result<Exit, String> {
    let record = read(&args.record)?;
    let result = ScenarioResult::of(&record, "");
    say(&story(&record, args.layout.width()));
    say(&summary::scenario(&result));
    let told = std::iter::once((&result, Some(&record)));
    html::write(args.html.as_deref(), "windtunnel report", told, &[])?;
    Ok(if result.passed() { Exit::Passed } else { Exit::Failed })
}

/// Drafts a scenario of a record.
pub(super) fn scenario_from(path: &Path, output: Option<&Path>) -> Result<Exit, String> {
    let text = draft::draft(&read(path)?).map_err(|why| format!("{}: {why}", path.display()))?;
    match output {
        Some(output) => files::write(output, &text)?,
        None => say(&text),
    }
    Ok(Exit::Passed)
}

/// Whether a file is a record: it begins as one.
pub(super) fn is_record(path: &Path) -> bool {
    use std::io::Read as _;
    let mut start = [0; BEGINNING.len()];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start == *BEGINNING
}

/// How every record begins.
const BEGINNING: &[u8; 14] = b"{\"windtunnel\":";

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
