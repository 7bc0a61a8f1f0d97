//! Finding, reading and writing files.

use std::fs;
use std::path::{Path, PathBuf};

/// A file that was read: its name as the user would write it, and its text.
pub(super) type Source = (String, String);

/// Reads all files with this extension that the paths name or hold, in order of their names.
///
/// # Errors
/// All paths that cannot be read, and a folder without such files.
pub(super) fn read_all(paths: &[PathBuf], extension: &str) -> Result<Vec<Source>, String> {
    let (mut sources, mut errors) = (Vec::new(), Vec::new());
    for path in paths {
        match find(path, extension) {
            Err(error) => errors.push(error),
            Ok(files) if files.is_empty() => {
                errors
                    .push(format!("{}: expected files named *.{extension} here, found none", path.display()));
            }
            Ok(files) => {
                for file in files {
                    match fs::read_to_string(&file) {
                        Ok(text) => sources.push((file.display().to_string(), text)),
                        Err(error) => errors.push(format!("{}: {error}", file.display())),
                    }
                }
            }
        }
    }
    if errors.is_empty() { Ok(sources) } else { Err(errors.join("\n")) }
}

fn find(path: &Path, extension: &str) -> Result<Vec<PathBuf>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    if !path.is_dir() {
        // A file is taken whatever its name is: the user said so.
        fs::metadata(path).map_err(failed)?;
        return Ok(vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?.path();
        if entry.is_dir() {
            found.extend(find(&entry, extension)?);
        } else if entry.extension().is_some_and(|found| found == extension) {
            found.push(entry);
        }
    }
    found.sort();
    Ok(found)
}

/// Writes a file whole or not at all.
///
/// # Errors
/// What could not be written, and why.
pub(super) fn write(path: &Path, text: &str) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    let mut draft = path.as_os_str().to_owned();
    draft.push(".part");
    fs::write(&draft, text).and_then(|()| fs::rename(&draft, path)).map_err(failed)
}
