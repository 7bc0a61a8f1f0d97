//! Finds recordings: ours in `tests/`, data of other projects in `../shared`, which a clone does not have.

use std::fs;
use std::path::{Path, PathBuf};

use crate::skipped::skipped;

/// A recording in `tests/`.
pub(crate) fn ours(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(path)
}

/// A file or folder in `../shared`, if it exists.
pub(crate) fn shared(path: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared").join(path);
    path.exists().then_some(path)
}

/// A file or folder in `../shared`. Reports the test as skipped if it does not exist.
#[track_caller]
pub(crate) fn shared_or_skip(path: &str) -> Option<PathBuf> {
    let found = shared(path);
    if found.is_none() {
        skipped(&format!("../shared/{path}"));
    }
    found
}

/// The sorted paths in a folder, which must not be empty.
pub(crate) fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(!found.is_empty(), "nothing in {}", folder.display());
    found.sort();
    found
}

/// The folders of generated clusters: those in `tests/`, then the others in `../shared`.
pub(crate) fn generated_clusters() -> Vec<PathBuf> {
    let mut found = entries(&ours("status/clusters"));
    let more = shared("golden/upgrade-status-made").map(|folder| entries(&folder)).unwrap_or_default();
    let is_new = |path: &PathBuf| found.iter().all(|known| known.file_name() != path.file_name());
    let more: Vec<PathBuf> = more.into_iter().filter(is_new).collect();
    found.extend(more);
    found
}
