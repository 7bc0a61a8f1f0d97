//! The timeline of a record with its insights.

use super::{insights, timeline};
use crate::record::Record;

/// The insights below a timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Insights {
    /// Those that changed during the run, in a line each.
    Changed,
    /// Those that exist at the end, as YAML.
    AtTheEnd,
}

/// Returns the timeline and the insights of a record.
pub fn render(record: &Record, width: usize, shown: Insights) -> String {
    with_insights(timeline::render(record, width), record, shown)
}

/// Returns the short timeline of a run that passed, and the insights that changed.
pub fn render_passed(record: &Record, width: usize) -> String {
    with_insights(timeline::render_passed(record, width), record, Insights::Changed)
}

fn with_insights(mut text: String, record: &Record, shown: Insights) -> String {
    let (title, insights) = match shown {
        Insights::Changed => ("insights that changed", insights::changed(record)),
        Insights::AtTheEnd => ("insights at the end", insights::at_the_end(record)),
    };
    if !insights.is_empty() {
        text += &format!("\n{title}:\n{insights}");
    }
    text.push('\n');
    text
}

/// Returns the last `rows` lines of the timeline of a record, below a line that counts the rest.
pub fn tail(record: &Record, width: usize, rows: usize) -> String {
    let text = timeline::render(record, width);
    let lines: Vec<&str> = text.lines().collect();
    let omitted = lines.len().saturating_sub(rows);
    let head = match omitted {
        0 => String::new(),
        count => format!("{:>7}  {count} earlier rows omitted\n", "..."),
    };
    lines[omitted..].iter().fold(head, |text, line| text + line + "\n")
}
