//! `--html`: the page of a run, with commands to rerun its scenarios.

use std::path::{Path, PathBuf};

use crate::cli::files;
use crate::record::Record;
use crate::report::ScenarioResult;
use crate::report::html::{self, Scenario};

/// Writes the page of results and their records, if `path` is set.
///
/// # Errors
/// The file cannot be written.
pub(in crate::cli) fn write<'a>(
    path: Option<&Path>,
    command: &str,
    results: impl Iterator<Item = (&'a ScenarioResult, Option<&'a Record>)>,
    options: &[String],
) -> Result<(), String> {
    let Some(path) = path else { return Ok(()) };
    let results: Vec<_> =
        results.map(|(result, record)| (result, record, rerun_command(command, result, options))).collect();
    let scenarios: Vec<Scenario<'_>> =
        results.iter().map(|(result, record, rerun)| Scenario { result, record: *record, rerun }).collect();
    let page = html::render(command, &scenarios).map_err(|error| error.to_string())?;
    files::write(path, &page)
}

/// Returns the command that reruns a scenario; empty if its file is unknown.
fn rerun_command(command: &str, result: &ScenarioResult, options: &[String]) -> String {
    if result.file.is_empty() {
        return String::new();
    }
    let seed = result.seed.to_string();
    let words = [result.file.as_str(), "--seed", &seed].into_iter().chain(options.iter().map(String::as_str));
    // Quoting only fails for a null byte, which no path contains.
    format!("{command} {}", shlex::try_join(words).unwrap_or_default())
}

/// Returns the options that the scenarios of a run depend on.
pub(in crate::cli) fn payload_options(payloads: &[(semver::Version, PathBuf)]) -> Vec<String> {
    let option = |(version, folder): &(semver::Version, PathBuf)| {
        ["--payload".to_owned(), format!("{version}={}", folder.display())]
    };
    payloads.iter().flat_map(option).collect()
}
