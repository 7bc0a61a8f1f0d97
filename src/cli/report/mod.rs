//! `windtunnel report`: prints the timeline of a record file.

pub(super) mod html;
pub(super) mod outputs;

use std::path::Path;

use super::args::ReportArgs;
use super::files::{self, records};
use super::{Exit, print_output};
use crate::report::{ScenarioResult, draft, story, summary};

/// Prints the timeline, the final insights and the result of a record.
pub(super) fn report(args: &ReportArgs) -> Result<Exit, String> {
    let record = records::read(&args.record)?;
    let result = ScenarioResult::from_record(&record, "");
    print_output(&story::render(&record, args.layout.width()));
    print_output(&summary::scenario(&result));
    let results = std::iter::once((&result, Some(&record)));
    html::write(args.html.as_deref(), "windtunnel report", results, &[])?;
    Ok(if result.passed() { Exit::Passed } else { Exit::Failed })
}

pub(super) fn scenario_from(path: &Path, output: Option<&Path>) -> Result<Exit, String> {
    let text = draft::draft(&records::read(path)?).map_err(|why| format!("{}: {why}", path.display()))?;
    match output {
        Some(output) => files::write(output, &text)?,
        None => print_output(&text),
    }
    Ok(Exit::Passed)
}
