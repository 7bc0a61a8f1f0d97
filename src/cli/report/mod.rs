//! `windtunnel report`: prints the timelines of record files.

pub(super) mod html;
pub(super) mod outputs;

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::args::{ReportArgs, jobs_or_cores};
use super::files::{self, records};
use super::parallel::in_parallel;
use super::{Exit, print_notice, print_output, print_painted};
use crate::cli::output::Shown as _;
use crate::record::Record;
use crate::report::draft::{self, Draft};
use crate::report::html::Details;
use crate::report::story::Insights;
use crate::report::{ScenarioResult, junit, story, summary};

/// The command, which is the name of its suite.
const COMMAND: &str = "windtunnel report";

/// A record with its result.
struct Reported {
    result: ScenarioResult,
    /// Its details for the page, if one is written.
    details: Option<Details>,
    /// The record, if a report needs it: the records of a whole suite take a lot of memory.
    record: Option<Record>,
    /// The text to print.
    text: String,
}

/// Prints the timeline, the insights and the result of a record, or a line for each of several records; writes the page and the
/// JUnit file of all.
pub(super) fn report(args: &ReportArgs) -> Result<Exit, String> {
    let paths = files::find_all(&args.records, "jsonl")?;
    let reported = in_parallel(&paths, jobs_or_cores(None), |path| reported(path, args, paths.len() == 1));
    let reported = reported.into_iter().collect::<Result<Vec<_>, String>>()?;
    [&args.junit, &args.html].into_iter().flatten().try_for_each(|path| files::check_report(path))?;
    for one in &reported {
        print_painted(&one.text);
    }
    let results = reported.iter().map(|one| (&one.result, one.details.as_ref()));
    html::write(args.html.as_deref(), COMMAND, results, &[])?;
    if let Some(path) = &args.junit {
        files::write(path, &junit_of(&paths, &reported)?)?;
    }
    let is_passed = reported.iter().all(|one| one.result.passed());
    Ok(if is_passed { Exit::Passed } else { Exit::Failed })
}

/// Returns the JUnit suite of records; each is a test case of the class with the path of its file.
fn junit_of(paths: &[PathBuf], reported: &[Reported]) -> Result<String, String> {
    let results = paths.iter().zip(reported).map(|(path, one)| {
        let result = ScenarioResult { file: path.shown(), ..one.result.clone() };
        (result, one.record.as_ref())
    });
    let results: Vec<_> = results.collect();
    let results: Vec<_> = results.iter().map(|(result, record)| (result, *record)).collect();
    // Records have no wall time.
    let suite = junit::Suite { name: COMMAND, options: None, wall: Duration::ZERO };
    junit::render(suite, &results, junit::Per::Scenario).map_err(|error| error.to_string())
}

fn reported(path: &Path, args: &ReportArgs, is_single: bool) -> Result<Reported, String> {
    let record = records::read(path)?;
    let result = ScenarioResult::from_record(&record, "");
    let details = args.html.is_some().then(|| Details::of(&result, &record));
    let shown = if args.verbose { Insights::AtTheEnd } else { Insights::Changed };
    let text = if is_single {
        story::render(&record, args.layout.width(), shown) + &summary::scenario(&result)
    } else {
        summary::line(&result)
    };
    // The output of a failure has the end of its timeline.
    let record = (args.junit.is_some() && result.failure.is_some()).then_some(record);
    Ok(Reported { result, details, record, text })
}

pub(super) fn scenario_from(path: &Path, output: Option<&Path>) -> Result<Exit, String> {
    let Draft { text, lost } =
        draft::draft(&records::read(path)?).map_err(|why| format!("{}: {why}", path.shown()))?;
    for line in &lost {
        print_notice(&format!("left out: {line}"));
    }
    match output {
        Some(output) => files::write(output, &text)?,
        None => print_output(&text),
    }
    Ok(Exit::Passed)
}
