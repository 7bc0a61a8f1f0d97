//! Writes the reports about the results of `run` and `test`, which are the same for both.

use super::html;
use crate::cli::args::{Format, JunitPer, Reports};
use crate::cli::{files, print_output};
use crate::record::Record;
use crate::report::{ScenarioResult, blame, json, junit, test_results};

/// A result with the record of its run, if there is one.
pub(in crate::cli) type RecordedResult<'a> = (&'a ScenarioResult, Option<&'a Record>);

/// Writes all requested reports. `command` is the command of the run, such as `windtunnel run`; `kind` is the
/// type of the suite in test results; `options` are further options to rerun a scenario.
///
/// # Errors
/// All files that cannot be written; an error does not prevent other reports.
pub(in crate::cli) fn write(
    reports: &Reports,
    command: &str,
    kind: &str,
    recorded_results: &[RecordedResult<'_>],
    options: &[String],
) -> Result<(), String> {
    let results: Vec<ScenarioResult> = recorded_results.iter().map(|(result, _)| (*result).clone()).collect();
    let mut unwritten = Vec::new();
    let mut write = |path: Option<&std::path::PathBuf>, text: &dyn Fn() -> Result<String, String>| {
        let Some(path) = path else { return };
        unwritten.extend(text().and_then(|text| files::write(path, &text)).err());
    };
    let per = match reports.junit_per {
        JunitPer::Scenario => junit::Per::Scenario,
        JunitPer::Step => junit::Per::Step,
    };
    write(reports.junit.as_ref(), &|| {
        junit::render(command, &results, per).map_err(|error| error.to_string())
    });
    write(reports.junit_upgrade.as_ref(), &|| {
        blame::render(recorded_results).map_err(|error| error.to_string())
    });
    write(reports.test_results.as_ref(), &|| Ok(test_results::render("windtunnel", kind, &results)));
    unwritten.extend(
        html::write(reports.html.as_deref(), command, recorded_results.iter().copied(), options).err(),
    );
    if reports.format == Format::Json {
        print_output(&json::render(command, recorded_results));
    }
    if unwritten.is_empty() { Ok(()) } else { Err(unwritten.join("\n")) }
}

/// Returns the files that [`write`] writes.
#[cfg(feature = "watch")]
pub(in crate::cli) fn paths(reports: &Reports) -> Vec<std::path::PathBuf> {
    let files = [&reports.junit, &reports.junit_upgrade, &reports.test_results, &reports.html];
    files.into_iter().flatten().cloned().collect()
}
