//! Loads examples from the files of the repository.

use std::fs;
use std::path::{Path, PathBuf};

/// Returns a path below the root of the repository.
fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Returns the content of files, given by their paths in the repository. Skips files that do not exist: a program that
/// was built may run without the repository.
pub(super) fn files(paths: &[&str]) -> Vec<Vec<u8>> {
    paths.iter().filter_map(|path| fs::read(in_repository(path)).ok()).collect()
}

/// Returns the text of a file; empty if it does not exist.
pub(super) fn text(path: &str) -> String {
    fs::read_to_string(in_repository(path)).unwrap_or_default()
}

/// Returns the content of all files in a folder that have this extension, in the order of their names.
pub(super) fn folder(path: &str, extension: &str) -> Vec<Vec<u8>> {
    let entries = fs::read_dir(in_repository(path)).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|found| found == extension));
    paths.sort();
    paths.iter().filter_map(|path| fs::read(path).ok()).collect()
}

/// Returns texts as inputs.
pub(super) fn texts(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}
