//! Reads dumps of clusters from disk: folders, archives and single files, plain or compressed.

mod archive;
pub(super) mod cluster;

use std::fs;
use std::path::Path;

use windtunnel_core::Resource;
use windtunnel_core::resources::SECRETS;
use windtunnel_core::text::one_line;

use super::files::{self, input};
use super::print_notice;
use crate::cli::output::Shown as _;
use crate::dump::{Dump, Gathering, Source, Wanted, is_apple_double, select};
use crate::record::Secrets;

/// Reads the objects of `wanted` kinds from a folder with all its subfolders, from a tar archive, or from one
/// file. They lack the values of the Secrets in the dump.
///
/// # Errors
/// A file cannot be read, or the dump contains no such object.
pub(super) fn read(path: &Path, wanted: &[&Resource]) -> Result<Dump, String> {
    let secrets = SECRETS;
    let with_secrets = [wanted, &[&secrets]].concat();
    let Gathered { gathering, count, unread } = gather(path, Wanted::Kinds(&with_secrets))?;
    if !unread.is_empty() {
        return Err(unread.join("\n"));
    }
    let mut dump = gathering.into_valid().map_err(|problems| problems.join("\n"))?;
    hide_secrets(&mut dump);
    let kinds: Vec<&str> = wanted.iter().map(|resource| &*resource.kind).collect();
    let is_empty = wanted.iter().all(|resource| dump.list(resource).next().is_none());
    if is_empty && dump.alerts.is_none() {
        Err(nothing(path, &format!(" ({})", kinds.join(", ")), count))
    } else {
        Ok(dump)
    }
}

/// Removes the values of the Secrets in a dump from all of its objects.
pub(super) fn hide_secrets(dump: &mut Dump) {
    let secrets = Secrets::of_objects(dump.list(&SECRETS).map(|secret| &**secret));
    dump.change(|object| secrets.hidden_object(object), |alerts| secrets.hide(alerts));
}

/// Reads all objects of a folder with all its subfolders, of a tar archive, or of one file, plain or compressed. Also returns a
/// line for each file or object with an error.
///
/// # Errors
/// No object can be read, or the files are too large.
pub fn read_all(path: &Path) -> Result<(Dump, Vec<String>), String> {
    let Gathered { gathering, count, unread: mut problems } = gather(path, Wanted::All)?;
    let count = count + problems.len();
    let (dump, more) = gathering.into_any();
    problems.extend(more);
    match (dump.is_empty(), problems.is_empty()) {
        (true, true) => Err(nothing(path, "", count)),
        (true, false) => Err(problems.join("\n")),
        (false, _) => Ok((dump, problems)),
    }
}

fn nothing(path: &Path, which: &str, count: usize) -> String {
    let path = path.shown();
    format!("{path}: expected objects of a cluster{which}, found none in {count} YAML and JSON files")
}

/// The files of a dump.
struct Gathered<'w> {
    gathering: Gathering<'w>,
    /// The number of files that were read.
    count: usize,
    /// A line for each unreadable file.
    unread: Vec<String>,
}

fn gather<'w>(path: &Path, wanted: Wanted<'w>) -> Result<Gathered<'w>, String> {
    let mut gathering = Gathering::new(wanted, input::limits_of_values());
    let (count, unread) = if path.is_dir() {
        folder(path, wanted, &mut gathering)?
    } else if archive::is_archive(path) {
        archive::read(path, wanted, &mut gathering)?
    } else {
        add(&mut gathering, path, text(path)?)?;
        (1, Vec::new())
    };
    Ok(Gathered { gathering, count, unread })
}

fn folder(
    path: &Path,
    wanted: Wanted<'_>,
    gathering: &mut Gathering<'_>,
) -> Result<(usize, Vec<String>), String> {
    let mut found = Vec::new();
    walk(path, "", &mut found)?;
    let selected = select_readable(path, found, wanted);
    let (skipped, readable): (Vec<_>, Vec<_>) =
        selected.into_iter().partition(|name| leads_nowhere(path, &path.join(name)));
    note_skipped(path, "links to missing files or out of the folder", &skipped);
    let (mut count, mut problems) = (0, Vec::new());
    for name in readable {
        let path = path.join(&name);
        match text(&path) {
            Ok(text) => {
                add(gathering, &path, text)?;
                count += 1;
            }
            Err(problem) => problems.push(problem),
        }
    }
    Ok((count, problems))
}

/// Selects the files that may contain wanted objects. Skips the files that macOS adds, with a notice.
fn select_readable(path: &Path, found: Vec<String>, wanted: Wanted<'_>) -> Vec<String> {
    let (added, selected): (Vec<_>, Vec<_>) =
        select(found, wanted).into_iter().partition(|name| is_apple_double(name));
    note_skipped(path, "files that macOS added, which contain no objects", &added);
    selected
}

/// Returns whether a path is a link out of the folder of a dump, or to nothing.
fn leads_nowhere(folder: &Path, path: &Path) -> bool {
    let is_missing = || fs::metadata(path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound);
    path.is_symlink() && (files::allowed::check_found(folder, path).is_err() || is_missing())
}

/// Prints which files of a dump are skipped: one line, however many they are.
fn note_skipped(path: &Path, which: &str, names: &[String]) {
    let Some(first) = names.first() else { return };
    let more = if names.len() > 1 { format!(" and {} more", names.len() - 1) } else { String::new() };
    let first = one_line(first);
    print_notice(&format!("{}: skipped {which}: {first}{more}", path.shown()));
}

/// Adds a file.
///
/// # Errors
/// The files are too large, and the flag that permits them.
fn add(gathering: &mut Gathering<'_>, path: &Path, text: String) -> Result<(), String> {
    let source = Source { path: path.shown(), text };
    let parsed = gathering.parse(source).map_err(|limit| input::with_advice(&limit))?;
    gathering.add(parsed);
    Ok(())
}

/// Finds files, by their paths below the root. Does not follow links to folders, which may form cycles.
fn walk(root: &Path, below: &str, found: &mut Vec<String>) -> Result<(), String> {
    let folder = root.join(below);
    let failed = |error: std::io::Error| format!("{}: {error}", folder.shown());
    for entry in fs::read_dir(&folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        // Files of a dump have names in UTF-8.
        let Ok(name) = entry.file_name().into_string() else { continue };
        let name = if below.is_empty() { name } else { format!("{below}/{name}") };
        if entry.file_type().map_err(failed)?.is_dir() {
            walk(root, &name, found)?;
        } else if !entry.path().is_dir() {
            found.push(name);
        }
    }
    Ok(())
}

/// Returns the text of a plain or compressed file.
fn text(path: &Path) -> Result<String, String> {
    if archive::is_compressed(path) {
        let name = path.shown();
        let bytes = archive::decompress(path).map_err(|error| format!("{name}: {error}"))?;
        return files::text(&name, bytes);
    }
    input::check_size(path).map_err(|error| format!("{}: {error}", path.shown()))?;
    files::read(path)
}
