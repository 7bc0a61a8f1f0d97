//! What is to be deleted, one file each, which its process holds locked: who is killed lets go of the lock, and the next
//! start finds the file.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use crate::backends::BackendError;

/// What the names of the files end with.
const ENDING: &str = "lock";

/// All that is to be deleted.
pub(super) struct Ledger {
    folder: PathBuf,
}

/// A cluster that is to be deleted.
pub(super) struct Entry {
    name: String,
    program: String,
    path: PathBuf,
    /// Locked as long as it is open.
    _file: File,
}

impl Ledger {
    /// The ledger in a folder, which is made if need be.
    ///
    /// # Errors
    /// It cannot be made.
    pub(super) fn open(folder: &Path) -> Result<Self, BackendError> {
        std::fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
        Ok(Self { folder: folder.to_owned() })
    }

    /// Where it stands.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Notes a cluster before it is made.
    ///
    /// # Errors
    /// It cannot be noted: then it must not be made.
    pub(super) fn begin(&self, name: &str, program: &str) -> Result<Entry, BackendError> {
        let path = self.folder.join(format!("{name}.{ENDING}"));
        let noted = || {
            let mut file = OpenOptions::new().write(true).create_new(true).open(&path)?;
            file.lock()?;
            file.write_all(program.as_bytes())?;
            file.sync_all()?;
            Ok(file)
        };
        let file = noted().map_err(|error| failed(&path, &error))?;
        Ok(Entry { name: name.to_owned(), program: program.to_owned(), path, _file: file })
    }

    /// The clusters whose process is gone.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub(super) fn abandoned(&self) -> Result<Vec<Entry>, BackendError> {
        let files = std::fs::read_dir(&self.folder).map_err(|error| failed(&self.folder, &error))?;
        let mut found = Vec::new();
        for path in files.filter_map(|entry| Some(entry.ok()?.path())) {
            let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
            if path.extension().is_none_or(|ending| ending != ENDING) {
                continue;
            }
            let Ok(mut file) = File::open(&path) else { continue };
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock | TryLockError::Error(_)) => continue,
            }
            let mut program = String::new();
            if file.read_to_string(&mut program).is_ok() {
                found.push(Entry { name, program, path, _file: file });
            }
        }
        found.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(found)
    }
}

impl Entry {
    /// The name of the cluster.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The program that makes it.
    pub(super) fn program(&self) -> &str {
        &self.program
    }

    /// It is gone, or is to stay.
    pub(super) fn forget(self) {
        // What stays is looked at again by the next start, which finds that the cluster is gone.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Writes a file that nobody else may read.
///
/// # Errors
/// It cannot be written.
pub(super) fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(text.as_bytes())
}

fn failed(path: &Path, error: &std::io::Error) -> BackendError {
    BackendError::Failed(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_is_not_abandoned() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(&folder.path().join("new")).unwrap();
        let names = || ledger.abandoned().unwrap().iter().map(|entry| entry.name.clone()).collect::<Vec<_>>();
        let (held, left) =
            (ledger.begin("windtunnel-a", "kind").unwrap(), ledger.begin("windtunnel-b", "k3d").unwrap());
        assert!(names().is_empty());
        // A process that ends lets go.
        drop(left);
        assert_eq!(names(), ["windtunnel-b"]);
        let found = ledger.abandoned().unwrap().remove(0);
        assert_eq!(found.program(), "k3d");
        found.forget();
        assert!(names().is_empty());
        held.forget();
        assert_eq!(std::fs::read_dir(ledger.folder()).unwrap().count(), 0);
    }
}
