//! Finds, reads and writes files.
//!
//! `allowed.rs` has the folders into which paths may lead (`--allow-folder`), by the rule of `src/folders.rs`.

pub(super) mod allowed;
pub(super) mod input;
mod read_files;
pub(super) mod records;
pub(super) mod snapshots;
mod target;

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::{fs, io};

use windtunnel_core::text::nearest;
use windtunnel_openshift::payload::{METADATA, RELEASE};

#[cfg(feature = "watch")]
pub(super) use self::read_files::was_read;
use crate::cli::output::Shown as _;
use crate::scenario::ScenarioError;
#[cfg(feature = "gherkin")]
use crate::steps::FeatureFiles;

/// Reads what a feature names next to itself.
#[cfg(feature = "gherkin")]
pub(super) const BESIDE_FEATURES: FeatureFiles =
    FeatureFiles { folder: read_beside, text: text_beside, snapshot: snapshots::read };

/// A file: its name as the user would type it, and its text.
pub(super) type Source = (String, String);

/// The files that paths name or contain.
#[derive(Default)]
pub(super) struct FoundFiles {
    /// Those that could be read.
    pub(super) sources: Vec<Source>,
    /// Why the others could not.
    pub(super) unreadable: Vec<ScenarioError>,
}

/// Reads all files with this extension that the paths name or contain, in order of their names; a file that
/// is named twice is read once.
///
/// # Errors
/// All missing paths, and folders without such files.
pub(super) fn read_all(paths: &[PathBuf], extension: &str) -> Result<FoundFiles, String> {
    read_found(paths, &format!("*.{extension}"), |path| find(path, extension))
}

/// Returns the files that the paths name, and those with this extension in folders, in order of their names.
///
/// # Errors
/// As [`read_all`].
pub(super) fn find_all(paths: &[PathBuf], extension: &str) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    allowed::give(paths);
    for path in paths {
        let files = find(path, extension)?;
        if files.is_empty() {
            return Err(format!("{}: expected files named *.{extension} here, found none", path.shown()));
        }
        found.extend(files);
    }
    Ok(found)
}

/// Reads scenarios and features; a folder contains either or both.
///
/// # Errors
/// As [`read_all`].
pub(super) fn read_sources(paths: &[PathBuf]) -> Result<FoundFiles, String> {
    read_found(paths, "*.yaml or *.feature", |path| {
        let fitting = RUN_BY.iter().filter(|(kind, _)| path.is_dir() || has_extension(path, kind));
        let found: Vec<Vec<PathBuf>> = fitting.map(|(kind, _)| find(path, kind)).collect::<Result<_, _>>()?;
        fs::metadata(path).map_err(|error| unreadable(path, &error))?;
        Ok(found.concat())
    })
}

/// Reads scenarios and features to run. Of a folder both, unless `with_features` is false; a named file is of the kind that its
/// extension says, or else of the kind `other`. If that is features, a folder's YAML files without a timeline are left out: they
/// are the data of features.
///
/// # Errors
/// As [`read_all`].
pub(super) fn read_runnable(
    paths: &[PathBuf],
    other: &str,
    with_features: bool,
) -> Result<FoundFiles, String> {
    let with_features = with_features && cfg!(feature = "gherkin");
    let kinds = if with_features { &[YAML, FEATURE][..] } else { &[YAML] };
    let expected = kinds.iter().map(|kind| format!("*.{kind}")).collect::<Vec<_>>().join(" or ");
    let mut found = read_found(paths, &expected, |path| {
        if !path.is_dir() {
            return find(path, kind_of(path, other));
        }
        let found: Vec<Vec<PathBuf>> = kinds.iter().map(|kind| find(path, kind)).collect::<Result<_, _>>()?;
        Ok(found.concat())
    })?;
    if other == FEATURE {
        let is_named = |file: &str| paths.iter().any(|path| path == Path::new(file));
        let has_timeline = |text: &str| text.lines().any(|line| line.starts_with("timeline"));
        found.sources.retain(|(file, text)| {
            kind_of(file.as_ref(), other) == FEATURE || is_named(file) || has_timeline(text)
        });
        if found.sources.is_empty() && found.unreadable.is_empty() {
            let path = paths.first().map(|path| path.shown()).unwrap_or_default();
            return Err(format!("{path}: expected files named {expected} here, found none"));
        }
    }
    Ok(found)
}

/// Returns the kind of a file by its extension: [`YAML`] or [`FEATURE`], or else `other`.
pub(super) fn kind_of<'k>(path: &Path, other: &'k str) -> &'k str {
    [YAML, FEATURE].into_iter().find(|kind| has_extension(path, kind)).unwrap_or(other)
}

/// Reads the files that `find` returns for each path; no file for a path is an error.
fn read_found(
    paths: &[PathBuf],
    expected: &str,
    find: impl Fn(&Path) -> Result<Vec<PathBuf>, String>,
) -> Result<FoundFiles, String> {
    let (mut files, mut errors, mut seen) = (FoundFiles::default(), Vec::new(), BTreeSet::new());
    allowed::give(paths);
    for path in paths {
        let found = match find(path) {
            Err(error) => {
                errors.push(error);
                continue;
            }
            Ok(found) => found,
        };
        if found.is_empty() {
            errors.push(format!("{}: expected files named {expected} here, found none", path.shown()));
        }
        for file in found {
            if !seen.insert(file.canonicalize().unwrap_or_else(|_| file.clone())) {
                continue;
            }
            match read_source(&file) {
                Ok(source) => files.sources.push(source),
                Err(problem) => files.unreadable.push(problem),
            }
        }
    }
    if errors.is_empty() { Ok(files) } else { Err(errors.join("\n")) }
}

/// Reads a text, with the name of its file.
///
/// # Errors
/// The problem, at the first byte that is not UTF-8, or at the start.
fn read_source(path: &Path) -> Result<Source, ScenarioError> {
    let file = path.display().to_string();
    let at_start = |error: io::Error| ScenarioError {
        file: file.clone(),
        line: 1,
        column: 1,
        message: error.to_string(),
    };
    read_files::remember(path);
    let text = decoded(input::read(path).map_err(at_start)?);
    let text =
        text.map_err(|(line, column, message)| ScenarioError { file: file.clone(), line, column, message })?;
    Ok((file, text))
}

/// Reads a text.
///
/// # Errors
/// The path with the reason; for invalid UTF-8, the position of the first invalid byte.
pub(super) fn read(path: &Path) -> Result<String, String> {
    text(&path.shown(), read_bytes(path)?)
}

/// Reads a file.
///
/// # Errors
/// The path with the reason.
fn read_bytes(path: &Path) -> Result<Vec<u8>, String> {
    if path.is_dir() {
        return Err(format!("{}: expected a file, found a folder", path.shown()));
    }
    read_files::remember(path);
    input::read(path).map_err(|error| unreadable(path, &error))
}

/// Returns the error for an unreadable path; for a missing one, with the nearest existing name.
pub(super) fn unreadable(path: &Path, error: &io::Error) -> String {
    let hint = if error.kind() == io::ErrorKind::NotFound { nearest_path(path) } else { String::new() };
    format!("{}: {error}{hint}", path.shown())
}

/// Returns `; did you mean ...?` with the first missing part of a path replaced by the nearest name in its
/// folder, or the empty text.
pub(super) fn nearest_path(path: &Path) -> String {
    if let Some(file) = without_line(path) {
        return format!(
            "; a path has no line: write `{0} --name NAME`; `windtunnel run {0} --list` prints the names",
            file.shown()
        );
    }
    let is_missing = |part: &&Path| !part.as_os_str().is_empty() && !part.exists();
    let Some(missing) = path.ancestors().take_while(is_missing).last() else { return String::new() };
    if missing.is_symlink() {
        // The path is right, but its target is missing.
        return String::new();
    }
    let folder = missing.parent().unwrap_or(Path::new(""));
    let listed = fs::read_dir(if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
    let entries = listed.into_iter().flatten().filter_map(Result::ok);
    let names: BTreeSet<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    let name = missing.file_name().unwrap_or_default().to_string_lossy();
    let found = nearest(&name, names.iter().map(String::as_str)).map(|found| folder.join(found));
    found.map(|found| format!("; did you mean `{}`?", found.shown())).unwrap_or_default()
}

/// Returns the existing file of a path that ends with a line, such as `a.feature:9`, as other programs select scenarios.
fn without_line(path: &Path) -> Option<PathBuf> {
    let (file, line) = path.to_str()?.rsplit_once(':')?;
    let is_line = !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit());
    Some(PathBuf::from(file)).filter(|file| is_line && file.is_file() && !path.exists())
}

/// Decodes UTF-8.
///
/// # Errors
/// The position of the first invalid byte.
pub(super) fn text(name: &str, bytes: Vec<u8>) -> Result<String, String> {
    decoded(bytes).map_err(|(line, column, message)| format!("{name}:{line}:{column}: {message}"))
}

/// Decodes UTF-8.
///
/// # Errors
/// Line, column and description of the first invalid byte.
fn decoded(bytes: Vec<u8>) -> Result<String, (usize, usize, String)> {
    String::from_utf8(bytes).map_err(|error| {
        let (good, rest) = error.as_bytes().split_at(error.utf8_error().valid_up_to());
        let good = String::from_utf8_lossy(good);
        let last_line = good.rsplit('\n').next().unwrap_or_default();
        let (line, column) = (good.matches('\n').count() + 1, last_line.chars().count() + 1);
        let byte = rest.first().copied().unwrap_or_default();
        (line, column, format!("expected text in UTF-8, found the byte 0x{byte:02x}"))
    })
}

/// Reads all YAML files in a folder, in order of their names. `folder` is relative to `file`, which refers to
/// it.
///
/// # Errors
/// The folder or one of its files cannot be read, or is outside the folders that `file` may use.
pub(super) fn read_beside(file: &str, folder: &str) -> Result<Vec<Source>, String> {
    let path = allowed::named(file, folder)?;
    let entries = fs::read_dir(&path).map_err(|error| unreadable(&path, &error))?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| has_extension(path, "yaml"));
    files.iter().try_for_each(|found| allowed::check_found(&path, found))?;
    files.retain(|path| path.is_file());
    files.sort();
    files.iter().map(|path| Ok((path.display().to_string(), read(path)?))).collect()
}

/// Returns the text of a file. `name` is relative to `file`, which refers to it.
///
/// # Errors
/// As [`read`]; it is outside the folders that `file` may use.
#[cfg(feature = "gherkin")]
pub(super) fn text_beside(file: &str, name: &str) -> Result<String, String> {
    read(&allowed::named(file, name)?)
}

/// The extension of YAML scenarios.
pub(super) const YAML: &str = "yaml";

/// The extension of features.
pub(super) const FEATURE: &str = "feature";

/// The extensions of files, with the command that runs them.
const RUN_BY: &[(&str, &str)] = &[(YAML, "run"), (FEATURE, "run")];

/// Returns the files of a path. Does not follow links to folders, which may form cycles, except those of the kubelet.
///
/// # Errors
/// The path cannot be read, is for another command, or has a link out of it.
fn find(path: &Path, extension: &str) -> Result<Vec<PathBuf>, String> {
    find_below(path, path, extension)
}

/// As [`find`], for a path in a folder that the user named.
fn find_below(folder: &Path, path: &Path, extension: &str) -> Result<Vec<PathBuf>, String> {
    let failed = |error: io::Error| unreadable(path, &error);
    if !path.is_dir() {
        // A file that the user names is accepted with any extension.
        fs::metadata(path).map_err(failed)?;
        let other = RUN_BY.iter().find(|(kind, _)| *kind != extension && has_extension(path, kind));
        if let Some((_, command)) = other {
            return Err(format!("{}: run this file with `windtunnel {command}`", path.shown()));
        }
        return Ok(vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let (path, kind) = (entry.path(), entry.file_type().map_err(failed)?);
        if is_of_kubelet(&path) || kind.is_dir() && (is_payload(&path) || is_test_data(&path)) {
            continue;
        }
        let is_folder_of_volume = is_folder_of_volume(&path);
        if is_folder_of_volume || kind.is_symlink() && has_extension(&path, extension) {
            allowed::check_found(folder, &path)?;
        }
        if kind.is_dir() || is_folder_of_volume {
            found.extend(find_below(folder, &path, extension)?);
        } else if has_extension(&path, extension) && !is_included(&path) && !path.is_dir() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Returns whether a folder contains the payload of a release, whose manifests are not scenarios.
fn is_payload(folder: &Path) -> bool {
    [METADATA.to_owned(), format!("{RELEASE}/{METADATA}")].iter().any(|path| folder.join(path).is_file())
}

/// Returns whether a name is one of those that the kubelet changes with each update of a ConfigMap's or a Secret's volume. Beside
/// it is a link with the constant name of each file.
///
/// Source: `pkg/volume/util/atomic_writer.go` of Kubernetes.
fn is_of_kubelet(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".."))
}

/// Returns whether a path is the link that the kubelet creates for a folder in such a volume.
fn is_folder_of_volume(path: &Path) -> bool {
    let is_in_data = |to: PathBuf| {
        let mut parts = to.components();
        parts.next() == Some(Component::Normal("..data".as_ref()))
            && matches!(parts.next(), Some(Component::Normal(_)))
            && parts.all(|part| matches!(part, Component::Normal(_)))
    };
    fs::read_link(path).is_ok_and(is_in_data) && path.is_dir()
}

/// Returns whether a folder contains test data of features.
fn is_test_data(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| name == "testdata")
}

/// Returns whether a file contains steps for `include` and is not a scenario.
fn is_included(path: &Path) -> bool {
    path.to_string_lossy().ends_with(".steps.yaml")
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}

/// Writes a file, atomically if the system permits it. Its folder must exist: a missing one is more often a mistake in the path
/// than a wish.
///
/// # Errors
/// The path with the reason; this process has read the file.
pub(super) fn write(path: &Path, text: &str) -> Result<(), String> {
    check_no_input(path)?;
    overwrite(path, text)
}

/// As [`write`], also for a file that this process has read to change it.
///
/// # Errors
/// The path with the reason.
pub(super) fn overwrite(path: &Path, text: &str) -> Result<(), String> {
    check_parent(path)?;
    target::write(path, text, false).map_err(|error| unwritten(path, &error))
}

/// Writes a file below a folder that the user named for files of this command. Creates it and the folders in it.
///
/// # Errors
/// The path with the reason; a name that leads out of the folder, which may come from a record.
pub(super) fn write_into(folder: &Path, name: impl AsRef<Path>, text: &str) -> Result<(), String> {
    let name = name.as_ref();
    if !name.components().all(|part| matches!(part, Component::Normal(_))) {
        return Err(format!(
            "{}: expected the name of a file in this folder, found {:?}; nothing is written outside of it",
            folder.display(),
            name.display().to_string()
        ));
    }
    create_folder(folder)?;
    let between: Vec<&Path> = name.ancestors().skip(1).filter(|part| !part.as_os_str().is_empty()).collect();
    between.into_iter().rev().try_for_each(|part| create_folder(&folder.join(part)))?;
    write(&folder.join(name), text)
}

/// Creates a folder, unless it exists. The folder above it must exist.
///
/// # Errors
/// The folder with the reason.
pub(super) fn create_folder(folder: &Path) -> Result<(), String> {
    if folder.as_os_str().is_empty() {
        return Ok(());
    }
    check_folder_above(folder)?;
    target::create_folder(folder)
        .map_err(|error| format!("{}: cannot create the folder: {error}", folder.shown()))
}

/// Creates a folder and those above it, in place of a program that does so.
///
/// # Errors
/// The folder with the reason.
#[cfg(feature = "serve")]
pub(super) fn create_folders(folder: &Path) -> Result<(), String> {
    target::create_folders(folder)
        .map_err(|error| format!("{}: cannot create the folder: {error}", folder.shown()))
}

fn check_folder_above(folder: &Path) -> Result<(), String> {
    let failed = |why| Err(format!("{}: cannot create the folder: {why}", folder.shown()));
    missing_parent(folder).map_or(Ok(()), failed)
}

/// Checks that the folder of a file exists, before work starts whose result would be lost.
///
/// # Errors
/// The path with the reason.
pub(super) fn check_parent(path: &Path) -> Result<(), String> {
    missing_parent(path).map_or(Ok(()), |why| Err(format!("{}: cannot be written: {why}", path.shown())))
}

/// Returns that the folder of a path is missing.
fn missing_parent(path: &Path) -> Option<String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir())?;
    let folder_text = folder.shown();
    Some(if folder.exists() {
        format!("{folder_text} is no folder")
    } else {
        format!("there is no folder {folder_text}; create it first")
    })
}

/// Checks that a path is no file that this process has read: an output would destroy it.
///
/// # Errors
/// The path with the reason.
fn check_no_input(path: &Path) -> Result<(), String> {
    if !read_files::is_input(path) {
        return Ok(());
    }
    Err(format!(
        "{}: this is an input of the command, and would be overwritten; name another file",
        path.shown()
    ))
}

/// Checks that a path is no scenario and no feature, as which no report is read again.
///
/// # Errors
/// The path with the reason.
fn check_no_scenario(path: &Path) -> Result<(), String> {
    let has_timeline =
        |bytes: Vec<u8>| bytes.split(|byte| *byte == b'\n').any(|line| line.starts_with(b"timeline:"));
    let is_yaml = || has_extension(path, YAML) && fs::read(path).is_ok_and(has_timeline);
    let kind = match path.is_file() {
        true if has_extension(path, FEATURE) => "feature",
        true if is_yaml() => "scenario",
        _ => return Ok(()),
    };
    Err(format!("{}: this is a {kind}, and would be overwritten; name another file", path.shown()))
}

/// Checks that a new folder can be created, if it is missing, and that files can be written into an existing one. Changes nothing.
///
/// # Errors
/// The folder with the reason.
pub(super) fn check_new_folder(folder: &Path) -> Result<(), String> {
    // With a slash at its end, a file does not exist.
    if folder.components().collect::<PathBuf>().exists() {
        return check_folder(folder);
    }
    check_folder_above(folder)?;
    let above = folder.parent().unwrap_or(Path::new(""));
    target::check_inside(above)
        .map_err(|error| format!("{}: cannot create the folder: {error}", folder.shown()))
}

/// Checks that a file can be written into a folder, which is created if necessary.
///
/// # Errors
/// The folder with the reason.
pub(super) fn check_folder(folder: &Path) -> Result<(), String> {
    let failed = |error: &io::Error| {
        format!("{}: nothing can be written into this folder: {error}; choose another one", folder.shown())
    };
    check_folder_above(folder)?;
    target::create_folder(folder).map_err(|error| failed(&error))?;
    target::check_inside(folder).map_err(|error| failed(&error))
}

/// Checks that a file can be written, before work starts whose result would be lost. Its folder must exist. Changes nothing.
///
/// # Errors
/// The path with the reason; this process has read the file.
pub(super) fn check_file(path: &Path) -> Result<(), String> {
    check_no_input(path)?;
    check_parent(path)?;
    target::check(path).map_err(|error| unwritten(path, &error))
}

/// As [`check_file`], for a report, which replaces no scenario and no feature.
///
/// # Errors
/// The path with the reason.
pub(super) fn check_report(path: &Path) -> Result<(), String> {
    check_file(path)?;
    check_no_scenario(path)
}

/// As [`check_report`], for a file to append to.
///
/// # Errors
/// The path with the reason.
pub(super) fn check_append(path: &Path) -> Result<(), String> {
    check_no_input(path)?;
    check_no_scenario(path)?;
    check_parent(path)?;
    target::check_append(path).map_err(|error| unwritten(path, &error))
}

/// Appends to a file, or creates it.
///
/// # Errors
/// The path with the reason.
pub(super) fn append(path: &Path, text: &str) -> Result<(), String> {
    check_parent(path)?;
    target::append(path, text).map_err(|error| unwritten(path, &error))
}

/// Writes a file that only its owner may read. Its folder must exist, since its permissions are the user's
/// decision.
///
/// # Errors
/// As [`write`].
#[cfg(feature = "serve")]
pub(super) fn write_private(path: &Path, text: &str) -> Result<(), String> {
    check_parent(path)?;
    target::write(path, text, true).map_err(|error| unwritten(path, &error))
}

/// Creates an empty file that only its owner may read, to be written incrementally.
///
/// # Errors
/// As [`write`].
#[cfg(feature = "live")]
pub(super) fn create_private(path: &Path) -> Result<fs::File, String> {
    create(path, true)
}

/// Creates an empty file, to be written incrementally.
///
/// # Errors
/// As [`write`].
#[cfg(feature = "serve")]
pub(super) fn create_log(path: &Path) -> Result<fs::File, String> {
    create(path, false)
}

#[cfg(any(feature = "live", feature = "serve"))]
fn create(path: &Path, private: bool) -> Result<fs::File, String> {
    check_parent(path)?;
    target::create(path, private).map_err(|error| unwritten(path, &error))
}

/// Puts a program at a path, in the place of a file: a link to it, or a copy.
///
/// # Errors
/// As [`write`].
#[cfg(feature = "serve")]
pub(super) fn install(program: &Path, path: &Path, copy: bool) -> Result<(), String> {
    #[cfg(unix)]
    let put = if copy { target::copy } else { target::link };
    #[cfg(not(unix))]
    let (put, _) = (target::copy, copy);
    put(program, path).map_err(|error| unwritten(path, &error))
}

/// Checks that a path has no link of another user in a world-writable folder.
///
/// # Errors
/// The path with the reason.
#[cfg(feature = "serve")]
pub(super) fn check_links(path: &Path) -> Result<(), String> {
    target::check_links(path).map_err(|error| format!("{}: {error}", path.shown()))
}

fn unwritten(path: &Path, error: &std::io::Error) -> String {
    format!("{}: cannot be written: {error}", path.shown())
}
