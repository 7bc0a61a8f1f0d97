//! `windtunnel report`: a record file's timeline.

use super::args::ReportArgs;
use super::{Exit, files, say};
use crate::record::Record;
use crate::report::{ScenarioResult, insights, summary, timeline};

/// Prints the timeline, the final insights and the result of a record.
pub(super) fn report(args: &ReportArgs) -> Result<Exit, String> {
    let name = args.record.display();
    let text = files::read(&args.record)?;
    let record = Record::parse(&text)
        .map_err(|error| format!("{name}:{}: expected {}", error.line, error.expected))?;
    let result = ScenarioResult::of(&record, "");
    say(&story(&record, args.layout.width));
    say(&summary::scenario(&result));
    Ok(if result.passed() { Exit::Passed } else { Exit::Failed })
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
