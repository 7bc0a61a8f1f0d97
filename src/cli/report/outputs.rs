//! Writes the reports about the results of `run` and `test`, which are the same for both.

use std::path::PathBuf;
use std::time::Duration;

use super::html;
use crate::cli::args::{Format, JunitPer, Reports};
use crate::cli::{files, print_output};
use crate::record::Record;
use crate::report::html::Details;
use crate::report::{ScenarioResult, blame, cucumber_json, github, json, junit, test_results};

/// A result with the record of its run, if there is one.
type RecordedResult<'a> = (&'a ScenarioResult, Option<&'a Record>);

/// A scenario to report.
#[derive(Debug, Clone, Copy)]
pub(in crate::cli) struct Reported<'a> {
    pub(in crate::cli) result: &'a ScenarioResult,
    /// The record of its run, if a report needs it.
    pub(in crate::cli) record: Option<&'a Record>,
    /// Its details for the page, if there is one.
    pub(in crate::cli) details: Option<&'a Details>,
}

/// The variable with the file for the summary of a GitHub Actions step.
const GITHUB_SUMMARY: &str = "GITHUB_STEP_SUMMARY";

/// Checks that all requested reports can be written, before the run.
///
/// # Errors
/// All files that cannot be written.
pub(in crate::cli) fn check(reports: &Reports) -> Result<(), String> {
    let replaced = replaced_files(reports).map(|path| files::check_report(path));
    let appended = appended_file(reports).map(|path| files::check_append(&path));
    let unwritable: Vec<String> = replaced.chain(appended).filter_map(Result::err).collect();
    if unwritable.is_empty() { Ok(()) } else { Err(unwritable.join("\n")) }
}

/// Writes all requested reports. `command` is the command of the run, such as `windtunnel run`; `kind` is the
/// type of the suite in test results; `options` are further options to rerun a scenario; `wall` is the wall
/// time of the whole run.
///
/// # Errors
/// All files that cannot be written; an error does not prevent other reports.
pub(in crate::cli) fn write(
    reports: &Reports,
    (command, kind): (&str, &str),
    reported: &[Reported<'_>],
    options: &[String],
    wall: Duration,
) -> Result<(), String> {
    let results: Vec<ScenarioResult> = reported.iter().map(|reported| reported.result.clone()).collect();
    let recorded: Vec<RecordedResult<'_>> =
        reported.iter().map(|reported| (reported.result, reported.record)).collect();
    let mut unwritten = Vec::new();
    let mut write = |path: Option<&PathBuf>, text: &dyn Fn() -> Result<String, String>| {
        let Some(path) = path else { return };
        unwritten.extend(text().and_then(|text| files::write(path, &text)).err());
    };
    let per = match reports.junit_per {
        JunitPer::Scenario => junit::Per::Scenario,
        JunitPer::Step => junit::Per::Step,
    };
    write(reports.junit.as_ref(), &|| {
        let suite = junit::Suite { name: command, options: Some(options), wall };
        junit::render(suite, &recorded, per).map_err(|error| error.to_string())
    });
    write(reports.junit_upgrade.as_ref(), &|| blame::render(&recorded).map_err(|error| error.to_string()));
    write(reports.test_results.as_ref(), &|| Ok(test_results::render("windtunnel", kind, &results)));
    write(reports.cucumber_json.as_ref(), &|| Ok(cucumber_json::render(&results)));
    if let Some(path) = &reports.github_summary {
        let text = github::render(command, &results, options);
        unwritten.extend(github_summary(path.as_ref()).and_then(|path| files::append(&path, &text)).err());
    }
    let detailed = reported.iter().map(|reported| (reported.result, reported.details));
    unwritten.extend(html::write(reports.html.as_deref(), command, detailed, options).err());
    if reports.format == Format::Json {
        print_output(&json::render(command, &recorded));
    }
    if unwritten.is_empty() { Ok(()) } else { Err(unwritten.join("\n")) }
}

/// Returns the file of the summary: the one that the flag names, or that of the environment.
fn github_summary(path: Option<&PathBuf>) -> Result<PathBuf, String> {
    let variable = || std::env::var_os(GITHUB_SUMMARY).filter(|path| !path.is_empty()).map(PathBuf::from);
    path.cloned().or_else(variable).ok_or_else(|| {
        format!("--github-summary: {GITHUB_SUMMARY} is not set; name a file with --github-summary=FILE")
    })
}

/// Returns the files that [`write`] writes.
#[cfg(feature = "watch")]
pub(in crate::cli) fn paths(reports: &Reports) -> Vec<PathBuf> {
    replaced_files(reports).cloned().chain(appended_file(reports)).collect()
}

fn replaced_files(reports: &Reports) -> impl Iterator<Item = &PathBuf> {
    let Reports { junit, junit_upgrade, test_results, cucumber_json, html, .. } = reports;
    [junit, junit_upgrade, test_results, cucumber_json, html].into_iter().flatten()
}

fn appended_file(reports: &Reports) -> Option<PathBuf> {
    reports.github_summary.as_ref().and_then(|path| github_summary(path.as_ref()).ok())
}
