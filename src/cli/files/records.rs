//! Record files.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde::de::IgnoredAny;

use crate::cli::output::Shown as _;
use crate::cli::print_notice;
use crate::record::{Record, Secrets};
use crate::report::ScenarioResult;

/// The first bytes of every record.
const BEGINNING: &[u8; 14] = b"{\"windtunnel\":";

/// Returns whether a file is a record, by its first bytes.
pub(in crate::cli) fn is_record(path: &Path) -> bool {
    use std::io::Read as _;
    let mut start = [0; BEGINNING.len()];
    let read = super::input::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start == *BEGINNING
}

/// Reads a record file for output: without the values of Secrets, which an older windtunnel or `--show-secrets` wrote.
///
/// # Errors
/// As [`read_unchanged`].
pub(in crate::cli) fn read(path: &Path) -> Result<Record, String> {
    let mut record = read_unchanged(path)?;
    Secrets::default().hide_in(&mut record);
    Ok(record)
}

/// Reads a record file. Ignores an incomplete last line, with a notice.
///
/// # Errors
/// The reason why the file is not a record, with the line.
pub(in crate::cli) fn read_unchanged(path: &Path) -> Result<Record, String> {
    let mut bytes = super::read_bytes(path)?;
    let (complete, length) = (complete_lines(&bytes), bytes.len());
    bytes.truncate(complete);
    let text = super::text(&path.shown(), bytes)?;
    if complete < length {
        print_notice(&format!(
            "{}:{}: ignored the last line, which is incomplete: the recording was interrupted",
            path.shown(),
            text.lines().count() + 1
        ));
    }
    let at = |line| format!("{}:{line}", path.shown());
    let is_scenario = [super::YAML, super::FEATURE].contains(&super::kind_of(path, ""));
    let hint = if is_scenario {
        format!(
            "; this is the name of a scenario: `windtunnel run {} --record FILE.jsonl` records a run of it",
            path.shown()
        )
    } else {
        String::new()
    };
    Record::parse(&text).map_err(|error| format!("{}: expected {}{hint}", at(error.line), error.expected))
}

/// Returns whether a path is a folder for records, which may be missing.
fn is_folder(to: &Path) -> bool {
    to.is_dir() || to.as_os_str().as_encoded_bytes().ends_with(b"/")
}

/// Checks that records can be written to a file or a folder, before the run that they are of.
///
/// # Errors
/// The path with the reason.
pub(in crate::cli) fn check(to: &Path) -> Result<(), String> {
    match (to.is_dir(), is_folder(to)) {
        (true, _) => super::check_folder(to),
        (false, true) => super::check_new_folder(to),
        (false, false) => super::check_report(to),
    }
}

/// Checks that this many records fit: several need a folder.
///
/// # Errors
/// The path is that of a file, with what to write instead.
pub(in crate::cli) fn check_count(to: &Path, count: usize) -> Result<(), String> {
    if count < 2 || is_folder(to) {
        return Ok(());
    }
    let path = to.shown();
    Err(format!(
        "--record {path}: expected a folder for the records of {count} scenarios, found a file; write `{path}/`"
    ))
}

/// Returns the length of a record without an incomplete last line, which a killed machine or a full disk leaves: one that has no
/// line break and is no JSON. The first line is always kept, since there is no record without it.
fn complete_lines(bytes: &[u8]) -> usize {
    let Some(last_break) = bytes.iter().rposition(|byte| *byte == b'\n') else { return bytes.len() };
    let (lines, rest) = bytes.split_at(last_break + 1);
    let is_json = serde_json::from_slice::<IgnoredAny>(rest).is_ok();
    if is_json { bytes.len() } else { lines.len() }
}

/// Returns the paths for the records of scenarios, which are given by file and name. In a folder they are named after their
/// files; a file is that of the only one that ran.
fn paths(to: &Path, scenarios: &[(&str, &str)]) -> Vec<PathBuf> {
    if !is_folder(to) {
        return scenarios.iter().map(|_| to.to_owned()).collect();
    }
    let mut taken: BTreeMap<String, u32> = BTreeMap::new();
    let paths = scenarios.iter().map(|(file, name)| {
        let stem = Path::new(file).file_stem().map_or((*name).into(), OsStr::to_string_lossy);
        let count = taken.entry(stem.to_string()).or_insert(0);
        *count += 1;
        let number = if *count == 1 { String::new() } else { format!("-{count}") };
        to.join(format!("{stem}{number}.jsonl"))
    });
    paths.collect()
}

/// Writes the records of the scenarios that started to a file or a folder; returns the errors.
pub(in crate::cli) fn write(
    to: Option<&Path>,
    results: &[(&ScenarioResult, Option<&Record>)],
) -> Vec<String> {
    let Some(to) = to else { return Vec::new() };
    let named: Vec<_> =
        results.iter().map(|(result, _)| (result.file.as_str(), result.name.as_str())).collect();
    let paths = paths(to, &named);
    let started = paths.iter().zip(results).filter_map(|(path, (_, record))| Some((path, (*record)?)));
    let write = |path: &Path, record: &Record| match path.strip_prefix(to) {
        Ok(name) if !name.as_os_str().is_empty() => super::write_into(to, name, &record.to_lines()),
        _ => super::write(path, &record.to_lines()),
    };
    started.filter_map(|(path, record)| write(path, record).err()).collect()
}
