//! `--html`: the page of a run, with commands to rerun its scenarios.

use std::path::{Path, PathBuf};

use crate::cli::files;
use crate::report::html::{self, Details, Scenario};
use crate::report::{ScenarioResult, rerun};

/// Writes the page of results and their details, if `path` is set.
///
/// # Errors
/// The file cannot be written.
pub(in crate::cli) fn write<'a>(
    path: Option<&Path>,
    command: &str,
    results: impl Iterator<Item = (&'a ScenarioResult, Option<&'a Details>)>,
    options: &[String],
) -> Result<(), String> {
    let Some(path) = path else { return Ok(()) };
    let results: Vec<_> = results.collect();
    let shared = rerun::shared_files(results.iter().map(|(result, _)| *result));
    let command_of = |result| rerun::one(command, result, options, &shared);
    let results: Vec<_> =
        results.iter().map(|(result, details)| (*result, *details, command_of(result))).collect();
    let scenarios: Vec<Scenario<'_>> = results
        .iter()
        .map(|(result, details, rerun)| Scenario { result, details: *details, rerun })
        .collect();
    let page = html::render(command, &scenarios).map_err(|error| error.to_string())?;
    files::write(path, &page)
}

/// Returns the options that the scenarios of a run depend on.
pub(in crate::cli) fn payload_options(payloads: &[(semver::Version, PathBuf)]) -> Vec<String> {
    let option = |(version, folder): &(semver::Version, PathBuf)| {
        ["--payload".to_owned(), format!("{version}={}", folder.display())]
    };
    payloads.iter().flat_map(option).collect()
}
