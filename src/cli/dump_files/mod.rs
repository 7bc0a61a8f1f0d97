//! Reads dumps of clusters from disk: folders, archives and single files, plain or packed.

pub(super) mod cluster;
pub(super) mod listing;
mod packed;
mod reader;

use std::fs;
use std::io::{self, BufReader};
use std::path::Path;

use windtunnel_core::Resource;
use windtunnel_core::resources::SECRETS;
use windtunnel_core::text::one_line;

use self::packed::Packed;
use self::reader::{Failure, Member, Reader};
use super::files::{self, input};
use super::print_notice;
use crate::cli::output::Shown as _;
use crate::dump::{Dump, Gathering, Look, Wanted, look};
use crate::record::Secrets;

/// Reads the objects of `wanted` kinds from a folder with all its subfolders, from an archive, or from one
/// file. They lack the values of the Secrets in the dump.
///
/// # Errors
/// A file cannot be read, or the dump contains no such object.
pub(super) fn read(path: &Path, wanted: &[&Resource]) -> Result<Dump, String> {
    read_with(path, wanted, &[])
}

/// As [`read`], with the objects of `also` kinds, even if the dump contains none of them.
///
/// # Errors
/// As [`read`].
pub(super) fn read_with(path: &Path, wanted: &[&Resource], also: &[&Resource]) -> Result<Dump, String> {
    let secrets = SECRETS;
    let all = [wanted, also, &[&secrets]].concat();
    let Gathered { gathering, count } = gather(path, Wanted::Kinds(&all))?;
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

/// Reads all objects of a folder with all its subfolders, of an archive, or of one file, plain or packed. Also returns a
/// line for each file or object with an error.
///
/// # Errors
/// No object can be read, or the files are too large.
pub fn read_all(path: &Path) -> Result<(Dump, Vec<String>), String> {
    let Gathered { gathering, count } = gather(path, Wanted::All)?;
    let (dump, problems) = gathering.into_any();
    match (dump.is_empty(), problems.is_empty()) {
        (true, true) => Err(format!("{} ({})", nothing(path, "", count), dump.inventory.summary())),
        (true, false) => Err(problems.join("\n")),
        (false, _) => Ok((dump, problems)),
    }
}

/// Reads all files, even if none has an object.
///
/// # Errors
/// The dump cannot be read, or the files are too large.
pub(super) fn read_files(path: &Path) -> Result<Dump, String> {
    Ok(gather(path, Wanted::All)?.gathering.into_any().0)
}

fn nothing(path: &Path, which: &str, count: usize) -> String {
    let path = path.shown();
    format!("{path}: expected objects of a cluster{which}, found none in {count} YAML and JSON files")
}

/// The files of a dump.
struct Gathered<'w> {
    gathering: Gathering<'w>,
    /// The number of files of YAML and JSON.
    count: usize,
}

fn gather<'w>(path: &Path, wanted: Wanted<'w>) -> Result<Gathered<'w>, String> {
    let mut gathering = Gathering::new(wanted, input::limits_of_values());
    let mut reader = Reader::new(wanted, &mut gathering);
    let mut links = Vec::new();
    if path.is_dir() {
        links = read_folder(path, wanted, &mut reader)?;
    } else {
        match read_file(path, &path.to_string_lossy(), &mut reader) {
            // The end of an archive may be missing.
            Err(failure @ Failure::Damaged(_)) if reader.has_parsed() && matches!(wanted, Wanted::All) => {
                reader.count_unread(
                    &path.shown(),
                    format!("{}; the files before that are read", message(path, failure)),
                );
            }
            read => read.map_err(|failure| message(path, failure))?,
        }
    }
    let (count, added) = reader.finish();
    let own_name = if path.is_dir() { own_name(path) } else { String::new() };
    let below = |name: String| name.strip_prefix(&own_name).map(str::to_owned).unwrap_or(name);
    let mut added: Vec<String> = added.into_iter().map(below).collect();
    added.sort();
    note_skipped(path, "files that macOS added, which contain no objects", &added);
    note_skipped(path, "links to missing files or out of the folder", &links);
    Ok(Gathered { gathering, count })
}

/// Returns the message of a failure.
fn message(path: &Path, failure: Failure) -> String {
    match failure {
        Failure::Limit(message) => message,
        Failure::Damaged(error) => files::unreadable(path, &error),
    }
}

/// Reads the files of a folder. Returns the links that lead nowhere.
fn read_folder(path: &Path, wanted: Wanted<'_>, reader: &mut Reader<'_, '_>) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    walk(path, "", &mut found, reader)?;
    found.sort();
    let own_name = own_name(path);
    let mut skipped = Vec::new();
    for name in found {
        let (file, within) = (path.join(&name), own_name.clone() + &name);
        if look(&within, b" ", wanted) == Look::Unwanted {
            continue;
        }
        if leads_nowhere(path, &file) {
            reader.count_link(&file.shown());
            skipped.push(name);
            continue;
        }
        match read_file(&file, &within, reader) {
            Ok(()) => reader.add_parsed(),
            Err(Failure::Limit(message)) => return Err(message),
            Err(failure) => reader.count_unread(&file.shown(), message(&file, failure)),
        }
    }
    Ok(skipped)
}

/// Returns the start of the paths in a folder: its name, which may be one of the names that say the kind of objects.
fn own_name(folder: &Path) -> String {
    folder.file_name().map(|name| format!("{}/", name.to_string_lossy())).unwrap_or_default()
}

/// Reads a file, and everything that is packed in it.
fn read_file(path: &Path, within: &str, reader: &mut Reader<'_, '_>) -> Result<(), Failure> {
    let mut content = BufReader::new(input::open(path)?);
    reader.start_limits();
    let form = Packed::of(within, &packed::start_of(&mut content)?);
    io::Seek::rewind(&mut content)?;
    match form {
        // It may be larger than the limit for one file.
        Some(Packed::Zip) => return reader.read_zip(&path.shown(), content, 0),
        Some(_) => {}
        None => input::check_size(path)?,
    }
    let size = path.metadata().map_or(0, |metadata| metadata.len());
    reader.read(Member { path: path.shown(), within: within.to_owned(), size, content: &mut content }, 0)
}

/// Returns whether a path is a link out of the folder of a dump, or to nothing.
fn leads_nowhere(folder: &Path, path: &Path) -> bool {
    let is_missing = || fs::metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    path.is_symlink() && (files::allowed::check_found(folder, path).is_err() || is_missing())
}

/// Prints which files of a dump are skipped: one line, however many they are.
fn note_skipped(path: &Path, which: &str, names: &[String]) {
    let Some(first) = names.first() else { return };
    let more = if names.len() > 1 { format!(" and {} more", names.len() - 1) } else { String::new() };
    let first = one_line(first);
    print_notice(&format!("{}: skipped {which}: {first}{more}", path.shown()));
}

/// Finds files, by their paths below the root. Does not follow links to folders, which may form cycles.
fn walk(
    root: &Path,
    below: &str,
    found: &mut Vec<String>,
    reader: &mut Reader<'_, '_>,
) -> Result<(), String> {
    let folder = root.join(below);
    let failed = |error: io::Error| files::unreadable(&folder, &error);
    for entry in fs::read_dir(&folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let Ok(name) = entry.file_name().into_string() else {
            let path = entry.path().shown();
            reader.count_unread(&path, format!("{path}: expected a name in UTF-8"));
            continue;
        };
        let name = if below.is_empty() { name } else { format!("{below}/{name}") };
        if entry.file_type().map_err(failed)?.is_dir() {
            walk(root, &name, found, reader)?;
        } else if entry.path().is_dir() {
            reader.count_link(&entry.path().shown());
        } else {
            found.push(name);
        }
    }
    Ok(())
}
