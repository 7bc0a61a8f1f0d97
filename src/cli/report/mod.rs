//! `windtunnel report`: prints the timeline of a record file.

pub(super) mod html;
pub(super) mod outputs;

use std::path::Path;

use super::args::ReportArgs;
use super::{Exit, files, print_output};
use crate::record::Record;
use crate::report::{ScenarioResult, draft, insights, summary, timeline};

/// Prints the timeline, the final insights and the result of a record.
pub(super) fn report(args: &ReportArgs) -> Result<Exit, String> {
    let record = read(&args.record)?;
    let result = ScenarioResult::from_record(&record, "");
    print_output(&story(&record, args.layout.width()));
    print_output(&summary::scenario(&result));
    let results = std::iter::once((&result, Some(&record)));
    html::write(args.html.as_deref(), "windtunnel report", results, &[])?;
    Ok(if result.passed() { Exit::Passed } else { Exit::Failed })
}

pub(super) fn scenario_from(path: &Path, output: Option<&Path>) -> Result<Exit, String> {
    let text = draft::draft(&read(path)?).map_err(|why| format!("{}: {why}", path.display()))?;
    match output {
        Some(output) => files::write(output, &text)?,
        None => print_output(&text),
    }
    Ok(Exit::Passed)
}

/// Returns whether a file is a record, by its first bytes.
pub(super) fn is_record(path: &Path) -> bool {
    use std::io::Read as _;
    let mut start = [0; BEGINNING.len()];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start == *BEGINNING
}

/// The first bytes of every record.
const BEGINNING: &[u8; 14] = b"{\"windtunnel\":";

/// Reads a record file.
///
/// # Errors
/// The reason why the file is not a record, with the line.
pub(super) fn read(path: &Path) -> Result<Record, String> {
    let text = files::read(path)?;
    let at = |line| format!("{}:{line}", path.display());
    Record::parse(&text).map_err(|error| format!("{}: expected {}", at(error.line), error.expected))
}

/// Returns the timeline and the final insights of a record.
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
