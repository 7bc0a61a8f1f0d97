//! The files of an exploration. Each is written beside its place and then renamed, so that a killed process leaves either
//! the old file or the new one.

use std::fs;
use std::path::{Path, PathBuf};

use crate::explore::{Exploration, Finding};

/// The name of the file with everything that an exploration knows.
const STATE: &str = "state.json";

/// A folder in which an exploration keeps what it knows.
pub(super) struct Corpus {
    folder: PathBuf,
}

impl Corpus {
    /// Opens a folder, or creates it.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub(super) fn open(folder: &Path) -> Result<Self, String> {
        create(folder)?;
        Ok(Self { folder: folder.to_owned() })
    }

    /// Reads what an earlier exploration knew; nothing, if there was none.
    ///
    /// # Errors
    /// The file cannot be read, or another version of windtunnel wrote it.
    pub(super) fn read(&self) -> Result<Exploration, String> {
        let path = self.folder.join(STATE);
        if !path.exists() {
            return Ok(Exploration::default());
        }
        let failed = |why: String| format!("{}: {why}", path.display());
        let text = fs::read_to_string(&path).map_err(|error| failed(error.to_string()))?;
        serde_json::from_str(&text)
            .map_err(|error| failed(format!("this is no state of an exploration: {error}")))
    }

    /// Writes what an exploration knows.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn write(&self, exploration: &Exploration) -> Result<(), String> {
        let text = serde_json::to_string(exploration).map_err(|error| error.to_string())?;
        replace(&self.folder.join(STATE), &text)
    }
}

/// Writes the scenarios of findings into a folder.
///
/// # Errors
/// A file cannot be written.
pub(super) fn emit(folder: &Path, findings: &[Finding]) -> Result<(), String> {
    create(folder)?;
    findings.iter().try_for_each(|finding| replace(&folder.join(finding.file_name()), &finding.scenario()))
}

fn create(folder: &Path) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|error| format!("{}: cannot be created: {error}", folder.display()))
}

/// Replaces a file at once.
fn replace(path: &Path, text: &str) -> Result<(), String> {
    let new = path.with_extension("new");
    let written = fs::write(&new, text).and_then(|()| fs::rename(&new, path));
    written.map_err(|error| format!("{}: cannot be written: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_corpus_is_read_back_and_foreign_files_are_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let corpus = Corpus::open(&folder.path().join("corpus")).unwrap();
        assert_eq!(corpus.read().unwrap(), Exploration::default());
        let exploration = Exploration { runs: 7, ..Exploration::default() };
        corpus.write(&exploration).unwrap();
        assert_eq!(corpus.read().unwrap(), exploration);
        fs::write(folder.path().join("corpus").join(STATE), "{").unwrap();
        assert!(corpus.read().unwrap_err().contains("no state of an exploration"));
    }
}
