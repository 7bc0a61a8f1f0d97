//! The output of `run` and `test`: a line for each scenario while they run, then failures, reports and the
//! exit code.
//!
//! `seeds.rs` makes one result of the runs with several seeds. `src/report/summary.rs` has the texts.

mod list;
mod seeds;
mod wall;

use std::sync::Arc;
use std::time::Duration;

pub(super) use self::list::{Listed, list};
pub(super) use self::seeds::Combined;
pub(super) use self::wall::{Stopwatch, timed};
use super::args::{Format, SuiteArgs};
use super::files::{records, snapshots};
use super::report::outputs::{self, Reported};
use super::terminal::interrupt::Interrupt;
use super::{Exit, print_errors, print_notice, print_output, print_painted};
use crate::plan::Snapshot;
use crate::record::Record;
use crate::report::html::Details;
use crate::report::story::{self, Insights};
use crate::report::{ScenarioResult, rerun, summary};
use crate::scenario::ScenarioError;

/// The amount of output for each scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// A line; failures follow at the end.
    Line,
    /// The result with its reason, seed and record.
    Result,
    /// The timeline as well.
    Timeline,
}

/// The number of failures whose timelines are printed after a run of several scenarios.
const TIMELINES_MAX: usize = 5;

/// The number of rows of such a timeline.
const ROWS_OF_FAILURE: usize = 60;

/// A finished scenario.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) result: ScenarioResult,
    /// The record, if it is needed later: the records of a whole suite take a lot of memory.
    record: Option<Arc<Record>>,
    /// Its details for the page, if one is written.
    details: Option<Details>,
    /// The hash of the record, which takes a while to compute; empty without a record.
    hash: String,
    /// Its timeline, if it is to be printed.
    story: String,
    snapshots: Vec<Snapshot>,
}

impl Finished {
    /// Returns the result of a scenario that did not run to completion.
    pub(super) fn without_record(result: ScenarioResult) -> Self {
        let (hash, story) = (String::new(), String::new());
        Self { result, record: None, details: None, hash, story, snapshots: Vec::new() }
    }

    fn reported(&self) -> Reported<'_> {
        Reported { result: &self.result, record: self.record.as_deref(), details: self.details.as_ref() }
    }
}

/// Checks that the files of the results can be created, before the run whose results would be lost.
///
/// # Errors
/// All files that cannot be written.
pub(super) fn check_outputs(args: &SuiteArgs) -> Result<(), String> {
    let record = args.record.as_deref().map_or(Ok(()), records::check);
    let errors = [record, outputs::check(&args.reports)].into_iter().filter_map(Result::err);
    let errors: Vec<String> = errors.collect();
    if errors.is_empty() { Ok(()) } else { Err(errors.join("\n")) }
}

/// Checks that the records of this many scenarios have a folder.
///
/// # Errors
/// `--record` names a file for several records.
pub(super) fn check_record(args: &SuiteArgs, count: usize) -> Result<(), String> {
    args.record.as_deref().map_or(Ok(()), |path| records::check_count(path, count))
}

/// Writes the reports of a command that ran nothing, so that CI shows why. Returns the reason, and all files that cannot be
/// written.
pub(super) fn end_without_runs(
    args: &SuiteArgs,
    named: (&str, &str),
    results: Vec<ScenarioResult>,
    why: String,
) -> String {
    let finished: Vec<Finished> = results.into_iter().map(Finished::without_record).collect();
    let reported: Vec<Reported<'_>> = finished.iter().map(Finished::reported).collect();
    match outputs::write(&args.reports, named, &reported, &[], Duration::ZERO) {
        Ok(()) => why,
        Err(unwritten) => format!("{why}\n{unwritten}"),
    }
}

/// A run of scenarios or features.
#[derive(Debug)]
pub(super) struct Suite<'a> {
    args: &'a SuiteArgs,
    /// The command of the run, such as `windtunnel run`.
    command: &'static str,
    /// The type of the suite in test results.
    kind: &'static str,
    /// Further options to rerun a scenario.
    options: Vec<String>,
    detail: Detail,
}

impl<'a> Suite<'a> {
    /// Returns a run of this many scenarios; each counts once per seed.
    pub(super) fn new(
        args: &'a SuiteArgs,
        (command, kind): (&'static str, &'static str),
        options: Vec<String>,
        count: usize,
    ) -> Self {
        let detail = match count {
            _ if args.verbose => Detail::Timeline,
            1 if args.quiet => Detail::Result,
            1 => Detail::Timeline,
            _ => Detail::Line,
        };
        Self { args, command, kind, options, detail }
    }

    fn is_for_people(&self) -> bool {
        self.args.reports.format == Format::Text
    }

    /// Returns a finished scenario with the parts of its record that are needed later.
    pub(super) fn finished(
        &self,
        result: ScenarioResult,
        record: Arc<Record>,
        snapshots: Vec<Snapshot>,
    ) -> Finished {
        let (width, is_for_people) = (self.args.layout.width(), self.is_for_people());
        let story = match self.detail {
            Detail::Timeline if is_for_people && self.args.verbose => {
                story::render(&record, width, Insights::AtTheEnd)
            }
            Detail::Timeline if is_for_people && result.passed() && result.must_fail.is_none() => {
                story::render_passed(&record, width)
            }
            Detail::Timeline if is_for_people => story::render(&record, width, Insights::Changed),
            Detail::Line if is_for_people && result.failed() && !self.args.quiet => {
                story::tail(&record, width, ROWS_OF_FAILURE)
            }
            _ => String::new(),
        };
        let hash = if self.detail == Detail::Line { String::new() } else { record.hash() };
        let keeps_record =
            self.args.record.is_some() || self.args.reports.need_record_of(result.failure.is_some());
        let details = self.args.reports.html.is_some().then(|| Details::of(&result, &record));
        Finished { result, record: keeps_record.then_some(record), details, hash, story, snapshots }
    }

    /// Returns the text to print as soon as a scenario is finished.
    pub(super) fn text(&self, finished: &Finished) -> String {
        let result = &finished.result;
        if !self.is_for_people() {
            return String::new();
        }
        if self.detail == Detail::Line {
            return summary::row(result);
        }
        let mut text = String::new();
        if self.detail == Detail::Timeline {
            text += &format!("{}\n\n{}", summary::title(result), finished.story);
        }
        text += &summary::scenario(result);
        if !finished.hash.is_empty() {
            let millis = result.wall.map_or(0.0, |wall| wall.took.as_secs_f64() * 1000.0);
            text += &format!("      seed {}, record {}, {millis:.0} ms\n", result.seed, finished.hash);
        }
        text + "\n"
    }

    /// Prints the texts of all scenarios at once.
    #[cfg(feature = "gherkin")]
    pub(super) fn print_all(&self, finished: &[Finished]) {
        for one in finished {
            print_painted(&self.text(one));
        }
    }

    /// Prints failures and counts, and writes all reports.
    ///
    /// # Errors
    /// All files that cannot be written.
    pub(super) fn end(
        &self,
        mut finished: Vec<Finished>,
        invalid: Vec<ScenarioResult>,
        wall: Duration,
        interrupt: &Interrupt,
    ) -> Result<Exit, String> {
        finished.extend(invalid.into_iter().map(Finished::without_record));
        if self.is_for_people() {
            self.print_end(&finished, wall);
        }
        // A failure to write a file must not hide the result of the run.
        let reported: Vec<Reported<'_>> = finished.iter().map(Finished::reported).collect();
        let recorded: Vec<_> = reported.iter().map(|reported| (reported.result, reported.record)).collect();
        let mut unwritten = records::write(self.args.record.as_deref(), &recorded);
        // The status in a run that fails is no example.
        let passed = finished.iter().filter(|finished| finished.result.passed());
        unwritten.extend(snapshots::write(passed.flat_map(|finished| &finished.snapshots)).err());
        let reports =
            outputs::write(&self.args.reports, (self.command, self.kind), &reported, &self.options, wall);
        unwritten.extend(reports.err());
        if !unwritten.is_empty() {
            return Err(unwritten.join("\n"));
        }
        let results = || Exit::of(finished.iter().map(|finished| &finished.result));
        Ok(interrupt.exit().unwrap_or_else(results))
    }

    fn print_end(&self, finished: &[Finished], wall: Duration) {
        let results: Vec<ScenarioResult> = finished.iter().map(|finished| finished.result.clone()).collect();
        if results.len() > 1 || self.detail == Detail::Line {
            print_painted(&self.failures(finished));
            print_painted(&summary::recap(&results));
            let again = rerun::failures(self.command, &results, &self.options);
            if !again.is_empty() {
                print_output(&format!("\nRun the failures again:\n  {again}\n"));
            }
            if results.iter().any(|result| result.failure.is_some()) {
                print_output("\n");
            }
        }
        print_painted(&summary::run(&results, wall));
    }

    /// Returns the failures, the first ones with their timelines.
    fn failures(&self, finished: &[Finished]) -> String {
        let failures: Vec<&Finished> =
            finished.iter().filter(|finished| finished.result.failure.is_some()).collect();
        if failures.is_empty() {
            return String::new();
        }
        let mut text = "\nFailures:\n\n".to_owned();
        for (index, Finished { result, story, .. }) in failures.iter().enumerate() {
            if self.detail == Detail::Line && index < TIMELINES_MAX && !story.is_empty() {
                text += &format!("{}\n\n{story}\n", summary::title(result));
            }
            text += &summary::scenario(result);
            text += "\n";
        }
        text
    }
}

/// Prints warnings and the problems of invalid files before a run.
pub(super) fn print_findings(warnings: &[ScenarioError], invalid: &[ScenarioResult], is_quiet: bool) {
    if !invalid.is_empty() {
        print_errors(&all_problems(invalid));
    }
    for warning in warnings.iter().filter(|_| !is_quiet) {
        print_notice(&format!("warning: {warning}"));
    }
}

/// Returns the problems of invalid files.
pub(super) fn all_problems(invalid: &[ScenarioResult]) -> String {
    invalid.iter().filter_map(|result| result.failure.as_deref()).collect::<Vec<_>>().join("\n")
}
