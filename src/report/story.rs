//! The timeline of a record with the insights at its end.

use super::{insights, timeline};
use crate::record::Record;

/// Returns the timeline and the final insights of a record.
pub fn render(record: &Record, width: usize) -> String {
    let mut text = timeline::render(record, width);
    let insights = insights::at_the_end(record);
    if !insights.is_empty() {
        text += "\ninsights at the end:\n";
        text += &insights;
    }
    text.push('\n');
    text
}
