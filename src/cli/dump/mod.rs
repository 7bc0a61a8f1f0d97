//! Reads dumps of clusters from disk: folders, archives and single files, plain or compressed.

mod archive;
pub(super) mod cluster;

use std::fs;
use std::path::Path;

use windtunnel_core::Resource;

use super::files;
use crate::dump::{Dump, Source, Wanted, select};

/// Reads the objects of `wanted` kinds from a folder with all its subfolders, from a tar archive, or from one
/// file.
///
/// # Errors
/// A file cannot be read, or the dump contains no such object.
pub(super) fn read(path: &Path, wanted: &[&Resource]) -> Result<Dump, String> {
    let (sources, unread) = sources(path, Wanted::Kinds(wanted))?;
    if !unread.is_empty() {
        return Err(unread.join("\n"));
    }
    let count = sources.len();
    let dump = Dump::parse(sources, wanted).map_err(|problems| problems.join("\n"))?;
    let kinds: Vec<&str> = wanted.iter().map(|resource| &*resource.kind).collect();
    if dump.is_empty() { Err(nothing(path, &format!(" ({})", kinds.join(", ")), count)) } else { Ok(dump) }
}

/// Reads all objects of a folder with all its subfolders, of a tar archive, or of one file, plain or compressed. Also returns a
/// line for each file or object with an error.
///
/// # Errors
/// No object can be read.
pub fn read_all(path: &Path) -> Result<(Dump, Vec<String>), String> {
    let (sources, mut problems) = sources(path, Wanted::All)?;
    let count = sources.len() + problems.len();
    let (dump, more) = Dump::read_all(sources);
    problems.extend(more);
    match (dump.is_empty(), problems.is_empty()) {
        (true, true) => Err(nothing(path, "", count)),
        (true, false) => Err(problems.join("\n")),
        (false, _) => Ok((dump, problems)),
    }
}

fn nothing(path: &Path, which: &str, count: usize) -> String {
    let path = path.display();
    format!("{path}: expected objects of a cluster{which}, found none in {count} YAML and JSON files")
}

/// Files with their texts, and a line for each unreadable file.
type Sources = (Vec<Source>, Vec<String>);

fn sources(path: &Path, wanted: Wanted<'_>) -> Result<Sources, String> {
    if path.is_dir() {
        folder(path, wanted)
    } else if archive::is_archive(path) {
        archive::read(path, wanted).map_err(|error| format!("{}: {error}", path.display()))
    } else {
        Ok((vec![Source { path: path.display().to_string(), text: text(path)? }], Vec::new()))
    }
}

fn folder(path: &Path, wanted: Wanted<'_>) -> Result<Sources, String> {
    let mut found = Vec::new();
    walk(path, "", &mut found)?;
    let (mut sources, mut problems) = (Vec::new(), Vec::new());
    for name in select(found, wanted) {
        let path = path.join(&name);
        match text(&path) {
            Ok(text) => sources.push(Source { text, path: path.display().to_string() }),
            Err(problem) => problems.push(problem),
        }
    }
    Ok((sources, problems))
}

/// Finds files, by their paths below the root. Does not follow links to folders, which may form cycles.
fn walk(root: &Path, below: &str, found: &mut Vec<String>) -> Result<(), String> {
    let folder = root.join(below);
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
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
        let name = path.display().to_string();
        let bytes = archive::decompress(path).map_err(|error| format!("{name}: {error}"))?;
        return files::text(&name, bytes);
    }
    files::read(path)
}
