//! Finding, reading and writing files.

mod target;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use windtunnel_core::text::nearest;
use windtunnel_openshift::payload::{METADATA, RELEASE};

use crate::record::Record;
use crate::report::ScenarioResult;

/// A file that was read: its name as the user would write it, and its text.
pub(super) type Source = (String, String);

/// Reads all files with this extension that the paths name or hold, in order of their names; a file that is named
/// twice is read once.
///
/// # Errors
/// All paths that cannot be read, and a folder without such files.
pub(super) fn read_all(paths: &[PathBuf], extension: &str) -> Result<Vec<Source>, String> {
    read_found(paths, &format!("*.{extension}"), |path| find(path, extension))
}

/// The same for scenarios and features: a folder holds either or both.
///
/// # Errors
/// As [`read_all`].
pub(super) fn read_played(paths: &[PathBuf]) -> Result<Vec<Source>, String> {
    read_found(paths, "*.yaml or *.feature", |path| {
        let fitting = PLAYED_BY.iter().filter(|(kind, _)| path.is_dir() || has_extension(path, kind));
        let found: Vec<Vec<PathBuf>> = fitting.map(|(kind, _)| find(path, kind)).collect::<Result<_, _>>()?;
        fs::metadata(path).map_err(|error| unreadable(path, &error))?;
        Ok(found.concat())
    })
}

/// Reads what `find` finds at each path, of which there must be something.
fn read_found(
    paths: &[PathBuf],
    expected: &str,
    find: impl Fn(&Path) -> Result<Vec<PathBuf>, String>,
) -> Result<Vec<Source>, String> {
    let (mut sources, mut errors, mut seen) = (Vec::new(), Vec::new(), BTreeSet::new());
    for path in paths {
        let found = match find(path) {
            Err(error) => {
                errors.push(error);
                continue;
            }
            Ok(found) => found,
        };
        if found.is_empty() {
            errors.push(format!("{}: expected files named {expected} here, found none", path.display()));
        }
        for file in found {
            if !seen.insert(file.canonicalize().unwrap_or_else(|_| file.clone())) {
                continue;
            }
            match read(&file) {
                Ok(text) => sources.push((file.display().to_string(), text)),
                Err(error) => errors.push(error),
            }
        }
    }
    if errors.is_empty() { Ok(sources) } else { Err(errors.join("\n")) }
}

/// Reads a text.
///
/// # Errors
/// What could not be read, and why; for what is no text, where it stops to be one.
pub(super) fn read(path: &Path) -> Result<String, String> {
    if path.is_dir() {
        return Err(format!("{}: expected a file, found a folder", path.display()));
    }
    let bytes = fs::read(path).map_err(|error| unreadable(path, &error))?;
    text(&path.display().to_string(), bytes)
}

/// Why a path cannot be read; for a missing one, the path with the nearest name that exists.
fn unreadable(path: &Path, error: &io::Error) -> String {
    let hint = if error.kind() == io::ErrorKind::NotFound { nearest_path(path) } else { String::new() };
    format!("{}: {error}{hint}", path.display())
}

/// `; did you mean ...?` with the first missing part of a path corrected to the nearest name in its folder, or nothing.
fn nearest_path(path: &Path) -> String {
    let is_missing = |part: &&Path| !part.as_os_str().is_empty() && !part.exists();
    let Some(missing) = path.ancestors().take_while(is_missing).last() else { return String::new() };
    let folder = missing.parent().unwrap_or(Path::new(""));
    let listed = fs::read_dir(if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
    let entries = listed.into_iter().flatten().filter_map(Result::ok);
    let names: BTreeSet<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    let name = missing.file_name().unwrap_or_default().to_string_lossy();
    let found = nearest(&name, names.iter().map(String::as_str)).map(|found| folder.join(found));
    found.map(|found| format!("; did you mean `{}`?", found.display())).unwrap_or_default()
}

/// The text that bytes are.
///
/// # Errors
/// Where they stop to be one.
pub(super) fn text(name: &str, bytes: Vec<u8>) -> Result<String, String> {
    String::from_utf8(bytes).map_err(|error| {
        let (good, rest) = error.as_bytes().split_at(error.utf8_error().valid_up_to());
        let good = String::from_utf8_lossy(good);
        let last_line = good.rsplit('\n').next().unwrap_or_default();
        let (line, column) = (good.matches('\n').count() + 1, last_line.chars().count() + 1);
        let byte = rest.first().copied().unwrap_or_default();
        format!("{name}:{line}:{column}: expected text in UTF-8, found the byte 0x{byte:02x}")
    })
}

/// Reads all YAML files in a folder that a file names, by its path from there, in order of their names.
///
/// # Errors
/// The folder or one of its files cannot be read.
pub(super) fn read_beside(file: &str, folder: &str) -> Result<Vec<Source>, String> {
    let path = Path::new(file).parent().unwrap_or(Path::new("")).join(folder);
    let entries = fs::read_dir(&path).map_err(|error| unreadable(&path, &error))?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| path.is_file() && has_extension(path, "yaml"));
    files.sort();
    files.iter().map(|path| Ok((path.display().to_string(), read(path)?))).collect()
}

/// The text of a file that another one names, by its path from there.
///
/// # Errors
/// As [`read`].
pub(super) fn text_beside(file: &str, name: &str) -> Result<String, String> {
    read(&Path::new(file).parent().unwrap_or(Path::new("")).join(name))
}

/// Which command plays files with which extension.
const PLAYED_BY: &[(&str, &str)] = &[("yaml", "run"), ("feature", "test")];

/// The files that a path means. Folders that are linked to are not searched: links may go in circles.
fn find(path: &Path, extension: &str) -> Result<Vec<PathBuf>, String> {
    let failed = |error: io::Error| unreadable(path, &error);
    if !path.is_dir() {
        // A file is taken whatever its name is: the user said so.
        fs::metadata(path).map_err(failed)?;
        let other = PLAYED_BY.iter().find(|(kind, _)| *kind != extension && has_extension(path, kind));
        if let Some((_, command)) = other {
            return Err(format!(
                "{}: files of this kind are played by `windtunnel {command}`",
                path.display()
            ));
        }
        return Ok(vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let (path, kind) = (entry.path(), entry.file_type().map_err(failed)?);
        if kind.is_dir() && (is_payload(&path) || is_test_data(&path)) {
            continue;
        }
        if kind.is_dir() {
            found.extend(find(&path, extension)?);
        } else if has_extension(&path, extension) && !is_included(&path) && !path.is_dir() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Whether a folder holds the payload of a release, whose manifests are no files to be played.
fn is_payload(folder: &Path) -> bool {
    [METADATA.to_owned(), format!("{RELEASE}/{METADATA}")].iter().any(|path| folder.join(path).is_file())
}

/// Whether a folder holds what features obtain as test data.
fn is_test_data(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| name == "testdata")
}

/// Whether a file holds steps that scenarios include, and is none itself.
fn is_included(path: &Path) -> bool {
    path.to_string_lossy().ends_with(".steps.yaml")
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}

/// Where the records of scenarios are written, each known by its file and its name: one to the path itself, several into a
/// folder, by the names of their files.
pub(super) fn record_paths(to: &Path, scenarios: &[(&str, &str)]) -> Vec<PathBuf> {
    if scenarios.len() == 1 && !to.is_dir() {
        return vec![to.to_owned()];
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

/// Writes the records of the scenarios that were begun into a file or a folder; tells of each that cannot be written.
pub(super) fn write_records(to: Option<&Path>, told: &[(&ScenarioResult, Option<&Record>)]) -> Vec<String> {
    let Some(to) = to else { return Vec::new() };
    let named: Vec<_> = told.iter().map(|(result, _)| (result.file.as_str(), result.name.as_str())).collect();
    let paths = record_paths(to, &named);
    let begun = paths.iter().zip(told).filter_map(|(path, (_, record))| Some((path, (*record)?)));
    begun.filter_map(|(path, record)| write(path, &record.to_lines()).err()).collect()
}

/// Writes a file whole or not at all; makes its folder where there is none.
///
/// # Errors
/// What could not be written, and why.
pub(super) fn write(path: &Path, text: &str) -> Result<(), String> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        let failed = |error| format!("{}: no folder can be made here: {error}", folder.display());
        fs::create_dir_all(folder).map_err(failed)?;
    }
    target::write(path, text, false).map_err(|error| unwritten(path, &error))
}

/// The same for a file that only its owner may read. Its folder must be there: who may read that is not for us to say.
///
/// # Errors
/// As [`write`].
#[cfg(feature = "serve")]
pub(super) fn write_private(path: &Path, text: &str) -> Result<(), String> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir()) {
        let (path, folder) = (path.display(), folder.display());
        return Err(format!("{path}: cannot be written: there is no folder {folder}; make it first"));
    }
    target::write(path, text, true).map_err(|error| unwritten(path, &error))
}

/// Makes an empty file that only its owner may read, to be written little by little.
///
/// # Errors
/// As [`write`].
#[cfg(feature = "live")]
pub(super) fn create_private(path: &Path) -> Result<fs::File, String> {
    target::create_private(path).map_err(|error| unwritten(path, &error))
}

fn unwritten(path: &Path, error: &std::io::Error) -> String {
    format!("{}: cannot be written: {error}", path.display())
}
