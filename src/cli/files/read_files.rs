//! The files that this process has read: `--watch` waits for their changes, and no output may replace them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

static READ: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Remembers a file and the target of a link, even one that cannot be read.
pub(super) fn remember(path: &Path) {
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    read.insert(absolute(path));
    read.extend(path.canonicalize().ok());
}

/// Returns whether this process has read a file, or tried to.
pub(in crate::cli) fn was_read(path: &Path) -> bool {
    READ.lock().unwrap_or_else(PoisonError::into_inner).contains(&absolute(path))
}

/// Returns whether a path leads to an existing file that this process has read.
pub(super) fn is_input(path: &Path) -> bool {
    let Ok(target) = path.canonicalize() else { return false };
    target.is_file() && (was_read(path) || was_read(&target))
}

/// Returns the path without links in its folder. The file itself may not exist.
fn absolute(path: &Path) -> PathBuf {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    path.file_name().map_or_else(|| folder.clone(), |name| folder.join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_by_any_path() {
        remember(Path::new("src/lib.rs"));
        assert!(was_read(&Path::new("src").canonicalize().unwrap().join("lib.rs")));
        assert!(was_read(Path::new("./src/../src/lib.rs")) && !was_read(Path::new("src/log")));
    }
}
