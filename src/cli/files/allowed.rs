//! The folders of the command line, into which the paths in files may lead.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::folders::{AllowedFolders, Outside};

static ALLOWED: Mutex<AllowedFolders> = Mutex::new(AllowedFolders::new());

fn allowed() -> MutexGuard<'static, AllowedFolders> {
    ALLOWED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Allows the folder of `--allow-folder`.
///
/// # Errors
/// There is no such folder.
pub(in crate::cli) fn allow(folder: &Path) -> Result<(), String> {
    if !folder.is_dir() {
        return Err(format!("--allow-folder: {}: expected a folder, found none", folder.display()));
    }
    allowed().allow(folder);
    Ok(())
}

/// Allows the folders that arguments of the command line name, and the folders of the files that they name.
pub(in crate::cli) fn give(paths: &[PathBuf]) {
    for path in paths {
        let folder = if path.is_dir() { path } else { path.parent().unwrap_or(Path::new("")) };
        allowed().allow(folder);
    }
}

/// Returns the path that a file names, which is relative to the file.
///
/// # Errors
/// It leads out of the folder of the file and of those of the command line.
pub(in crate::cli) fn named(file: &str, name: &str) -> Result<PathBuf, String> {
    allowed().named(file, name).map_err(|outside| with_advice(&outside))
}

/// Checks a path that was found in a folder, or below it.
///
/// # Errors
/// It leads out of the folder and of those of the command line.
pub(in crate::cli) fn check_found(folder: &Path, path: &Path) -> Result<(), String> {
    allowed().check_found(folder, path).map_err(|outside| with_advice(&outside))
}

/// Checks a path that a file names, and that is relative to this process.
///
/// # Errors
/// As [`named`].
pub(in crate::cli) fn check_used(file: &Path, path: &Path) -> Result<(), String> {
    let own = file.parent().unwrap_or(Path::new(""));
    allowed().check_used(own, path).map_err(|outside| with_advice(&outside))
}

fn with_advice(outside: &Outside) -> String {
    let rule = match outside {
        Outside::Named(_) => ": its own folder, and those of the command line",
        Outside::Found(_) => "",
    };
    format!("{outside}{rule}; copy the file there, or add `--allow-folder DIR` if you trust this input")
}
