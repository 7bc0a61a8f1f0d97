//! `windtunnel report`: prints the timelines of record files.

pub(super) mod html;
pub(super) mod outputs;

use std::path::Path;

use super::args::{ReportArgs, jobs_or_cores};
use super::files::{self, records};
use super::parallel::in_parallel;
use super::{Exit, print_output, print_painted};
use crate::cli::output::Shown as _;
use crate::report::html::Details;
use crate::report::story::Insights;
use crate::report::{ScenarioResult, draft, story, summary};

/// Prints the timeline, the insights and the result of a record, or a line for each of several records.
pub(super) fn report(args: &ReportArgs) -> Result<Exit, String> {
    let paths = files::find_all(&args.records, "jsonl")?;
    let reported = in_parallel(&paths, jobs_or_cores(None), |path| reported(path, args, paths.len() == 1));
    let reported = reported.into_iter().collect::<Result<Vec<_>, String>>()?;
    for (_, _, text) in &reported {
        print_painted(text);
    }
    let results = reported.iter().map(|(result, details, _)| (result, details.as_ref()));
    html::write(args.html.as_deref(), "windtunnel report", results, &[])?;
    let is_passed = reported.iter().all(|(result, ..)| result.passed());
    Ok(if is_passed { Exit::Passed } else { Exit::Failed })
}

/// Returns the result of a record, its details for the page, and the text to print.
fn reported(
    path: &Path,
    args: &ReportArgs,
    is_single: bool,
) -> Result<(ScenarioResult, Option<Details>, String), String> {
    let record = records::read(path)?;
    let result = ScenarioResult::from_record(&record, "");
    let details = args.html.is_some().then(|| Details::of(&result, &record));
    let shown = if args.verbose { Insights::AtTheEnd } else { Insights::Changed };
    let text = if is_single {
        story::render(&record, args.layout.width(), shown) + &summary::scenario(&result)
    } else {
        summary::line(&result)
    };
    Ok((result, details, text))
}

pub(super) fn scenario_from(path: &Path, output: Option<&Path>) -> Result<Exit, String> {
    let text = draft::draft(&records::read(path)?).map_err(|why| format!("{}: {why}", path.shown()))?;
    match output {
        Some(output) => files::write(output, &text)?,
        None => print_output(&text),
    }
    Ok(Exit::Passed)
}
