//! The files of a rehearsal: JUnit XML, the page of its timeline, its scenario.

use std::path::Path;
use std::time::Duration;

use super::cluster::{Cluster, Outcome};
use super::emit;
use crate::cli::args::RehearseArgs;
use crate::cli::files::{self, input};
use crate::cli::output::Shown as _;
use crate::record::FailureKind;
use crate::rehearsal::{Report, Stop};
use crate::report::ScenarioResult;
use crate::report::html::{self, Details, Scenario};
use crate::report::junit::{Finding, FindingOutcome, render_findings};

/// The command, which is the name of its suites.
const COMMAND: &str = "windtunnel rehearse";

/// Checks the paths of outputs, before work starts whose result would be lost.
///
/// # Errors
/// A file cannot be written, or is an input; the folder of a scenario is not empty.
pub(super) fn check(args: &RehearseArgs) -> Result<(), String> {
    // Remembers the inputs, also those that are not read yet; a reader reports what is wrong with them.
    args.dumps.iter().filter(|dump| dump.is_file()).for_each(|dump| drop(input::check(dump)));
    for path in [&args.junit, &args.html].into_iter().flatten() {
        check_outside(path, args)?;
        files::check_report(path)?;
    }
    args.emit.as_deref().map_or(Ok(()), emit::check)
}

/// Checks that a file is none of a dump's folder.
fn check_outside(path: &Path, args: &RehearseArgs) -> Result<(), String> {
    let Ok(target) = path.canonicalize() else { return Ok(()) };
    let folders = args.dumps.iter().filter(|dump| dump.is_dir()).filter_map(|dump| dump.canonicalize().ok());
    match folders.into_iter().find(|folder| target.is_file() && target.starts_with(folder)) {
        None => Ok(()),
        Some(_) => Err(format!(
            "{}: this is a file of the dump, and would be overwritten; name another file",
            path.shown()
        )),
    }
}

/// Writes the files that the arguments ask for.
///
/// # Errors
/// A file cannot be written.
pub(super) fn write(
    args: &RehearseArgs,
    source: &str,
    cluster: &Cluster,
    outcome: &Outcome,
    wall: Duration,
) -> Result<(), String> {
    if let Some(path) = &args.junit {
        write_junit(path, &[(source.to_owned(), findings(&outcome.report))], wall)?;
    }
    if let Some(path) = &args.html {
        write_page(path, source, args, outcome)?;
    }
    args.emit.as_deref().map_or(Ok(()), |folder| emit::write(folder, source, cluster, outcome))
}

/// Writes the findings of dumps as JUnit XML.
///
/// # Errors
/// The file cannot be written.
pub(super) fn write_junit(
    path: &Path,
    dumps: &[(String, Vec<Finding>)],
    wall: Duration,
) -> Result<(), String> {
    files::write(path, &render_findings(COMMAND, wall, dumps).map_err(|error| error.to_string())?)
}

/// The findings of a report: its phases or their stops, and what cannot be seen.
pub(super) fn findings(report: &Report) -> Vec<Finding> {
    let mut found = Vec::new();
    for (to, phase, is_reached) in report.phases() {
        let stops: Vec<(usize, &Stop)> =
            (1..).zip(report.stops()).filter(|(_, stop)| stop.to == to && stop.phase == phase).collect();
        let name = format!("update to {to}: {phase}");
        if stops.is_empty() {
            let outcome = if is_reached {
                FindingOutcome::Passed
            } else {
                FindingOutcome::Skipped("the rehearsal ended before".to_owned())
            };
            found.push(Finding { name: name.clone(), outcome, output: String::new() });
        }
        found.extend(stops.into_iter().map(|(number, stop)| {
            let cause = stop.cause.as_ref().map_or_else(|| "unknown cause".to_owned(), ToString::to_string);
            let message = format!("{cause}: {}", stop.message);
            let outcome = FindingOutcome::Failed(message, report.stop_text(number));
            Finding { name: format!("{name}: {number}. {cause}"), outcome, output: String::new() }
        }));
    }
    if let Some(first) = found.first_mut() {
        first.output = report.to_string();
    }
    found.extend(report.unseen.iter().map(|unseen| Finding {
        name: format!("cannot be seen: {}", unseen.what),
        outcome: FindingOutcome::Skipped(unseen.collect.clone()),
        output: String::new(),
    }));
    found
}

/// Writes the timeline of the first run as a page.
fn write_page(path: &Path, source: &str, args: &RehearseArgs, outcome: &Outcome) -> Result<(), String> {
    let Outcome { report, record, first } = outcome;
    let stop = first.stops.first();
    let seed = args.seeds.iter().next().unwrap_or_default();
    let result = ScenarioResult {
        name: format!("update from {} to {}", report.from, report.to),
        failure: stop.map(|_| report.to_string()),
        failure_kind: stop.map(|_| FailureKind::Product),
        seed,
        ..ScenarioResult::from_record(record, source)
    };
    let details = Details::of(&result, record);
    let via: Vec<String> = args.via.iter().map(|version| format!(" --via {version}")).collect();
    let dump = args.dumps.first().map_or_else(|| format!("--kubeconfig {source}"), |_| source.to_owned());
    let rerun = format!("{COMMAND} {dump}{} --to {} --seeds {seed}", via.concat(), args.to);
    let scenario = Scenario { result: &result, details: Some(&details), rerun: &rerun };
    files::write(path, &html::render(COMMAND, &[scenario]).map_err(|error| error.to_string())?)
}
