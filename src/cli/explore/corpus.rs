//! The folder in which an exploration keeps what it knows. Each shard writes a file of its own, as a whole, so a killed process
//! leaves either the old file or the new one.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::curve::Curve;
use crate::cli::args::Shard;
use crate::cli::files;
use crate::cli::output::Shown as _;
use crate::explore::Exploration;

/// The format of the files. It changes when an older windtunnel could not read a newer file, or the other way round.
const FORMAT: u64 = 1;

/// Everything that is kept of an exploration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct State {
    format: u64,
    /// The version of windtunnel.
    windtunnel: String,
    /// The shard, such as `2/3`; empty without shards.
    pub(super) shard: String,
    /// The newest seed.
    pub(super) seed: u64,
    /// The seconds that it took on the machine, in all processes.
    pub(super) wall_seconds: f64,
    /// The growth of the number of states.
    pub(super) curve: Curve,
    pub(super) exploration: Exploration,
}

impl State {
    pub(super) fn new(shard: Option<Shard>, seed: u64) -> Self {
        Self {
            format: FORMAT,
            windtunnel: env!("CARGO_PKG_VERSION").to_owned(),
            shard: shard.map_or_else(String::new, |shard| shard.to_string()),
            seed,
            wall_seconds: 0.0,
            curve: Curve::default(),
            exploration: Exploration::default(),
        }
    }

    /// Adds what another shard knows, for the summary of all.
    pub(super) fn add(&mut self, other: &Self) {
        self.exploration.add(&other.exploration, &other.shard);
        self.wall_seconds = self.wall_seconds.max(other.wall_seconds);
        self.seed = other.seed;
        self.curve.add(&other.curve);
    }
}

/// A folder in which an exploration keeps what it knows.
pub(super) struct Corpus {
    folder: PathBuf,
    /// The file of this shard.
    own: PathBuf,
}

impl Corpus {
    /// Opens a folder, or creates it.
    ///
    /// # Errors
    /// The folder cannot be created, nothing can be written into it, or its file is a link out of it.
    pub(super) fn open(folder: &Path, shard: Option<Shard>) -> Result<Self, String> {
        files::check_folder(folder)?;
        let name = shard.map_or_else(
            || "state.json".to_owned(),
            |shard| {
                let (index, count) = shard.numbers();
                format!("state-{index}-of-{count}.json")
            },
        );
        let own = folder.join(name);
        files::allowed::check_found(folder, &own)?;
        Ok(Self { folder: folder.to_owned(), own })
    }

    /// Reads what an earlier exploration of this shard knew; `None`, if there was none.
    ///
    /// # Errors
    /// The file cannot be read, or another version of windtunnel wrote it.
    pub(super) fn read(&self) -> Result<Option<State>, String> {
        if self.own.exists() { read(&self.own).map(Some) } else { Ok(None) }
    }

    /// Reads what the other shards know, and why some of their files cannot be read.
    pub(super) fn read_others(&self) -> (Vec<State>, Vec<String>) {
        let (mut states, mut problems) = (Vec::new(), Vec::new());
        for path in state_files(&self.folder).into_iter().filter(|path| *path != self.own) {
            match read(&path) {
                Ok(state) => states.push(state),
                Err(why) => problems.push(why),
            }
        }
        (states, problems)
    }

    /// Writes what this shard knows.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn write(&self, state: &State) -> Result<(), String> {
        let text = serde_json::to_string(state).map_err(|error| error.to_string())?;
        files::overwrite(&self.own, &text)
    }
}

/// Reads the files of all shards of a corpus.
///
/// # Errors
/// The folder has no such files, or one of them cannot be read.
pub(super) fn read_all(folder: &Path) -> Result<Vec<State>, String> {
    let files = state_files(folder);
    if files.is_empty() {
        return Err(format!(
            "{}: expected the folder of `windtunnel explore --corpus`, and it has no state.json",
            folder.shown()
        ));
    }
    files.iter().map(|path| read(path)).collect()
}

/// The files of shards in a folder, in order of their names.
pub(super) fn state_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_state = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("state") && path.extension().is_some_and(|extension| extension == "json")
    };
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_state).collect();
    found.sort();
    found
}

fn read(path: &Path) -> Result<State, String> {
    let failed = |why: String| format!("{}: {why}", path.shown());
    let foreign = |why: String| {
        failed(format!(
            "this is no state of an exploration: {why}; give --corpus another folder, or remove this file"
        ))
    };
    files::allowed::check_found(path.parent().unwrap_or(Path::new("")), path)?;
    let bytes = files::input::read(path).map_err(|error| failed(format!("cannot be read: {error}")))?;
    let document: Value = serde_json::from_slice(&bytes).map_err(|error| foreign(error.to_string()))?;
    match document["format"].as_u64() {
        Some(FORMAT) => serde_json::from_value(document).map_err(|error| foreign(error.to_string())),
        Some(format) => Err(failed(format!(
            "windtunnel {} wrote this state of an exploration in format {format}, and this is windtunnel {}, which reads \
             format {FORMAT}; use that version, or give --corpus another folder",
            document["windtunnel"].as_str().unwrap_or("(unknown)"),
            env!("CARGO_PKG_VERSION"),
        ))),
        None => Err(foreign("it has no `format`".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_corpus_is_read_back_and_foreign_files_are_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("corpus");
        let corpus = Corpus::open(&folder, None).unwrap();
        assert_eq!(corpus.read(), Ok(None));
        let mut state = State::new(None, 3);
        state.exploration.runs = 7;
        corpus.write(&state).unwrap();
        assert_eq!(corpus.read(), Ok(Some(state)));
        for (text, problem) in [
            ("{", "no state of an exploration: EOF"),
            ("[]", "no state of an exploration: it has no `format`"),
            (
                r#"{"format": 9, "windtunnel": "8.1.0"}"#,
                "windtunnel 8.1.0 wrote this state of an exploration in format 9",
            ),
            (r#"{"format": 1}"#, "no state of an exploration: missing field"),
        ] {
            fs::write(folder.join("state.json"), text).unwrap();
            let found = corpus.read().unwrap_err();
            assert!(found.contains(problem) && found.contains("state.json: "), "{found}");
        }
    }

    #[test]
    fn shards_read_each_others_files_and_report_torn_ones() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let shard = |text: &str| Some(crate::cli::args::shard(text).unwrap());
        let one = Corpus::open(folder, shard("1/3")).unwrap();
        one.write(&State::new(shard("1/3"), 1)).unwrap();
        fs::write(folder.join("state-3-of-3.json"), "{\"format\": 1, ").unwrap();
        fs::write(folder.join("notes.json"), "not a state").unwrap();
        let two = Corpus::open(folder, shard("2/3")).unwrap();
        assert_eq!(two.read(), Ok(None));
        let (states, problems) = two.read_others();
        assert_eq!(states.iter().map(|state| &*state.shard).collect::<Vec<_>>(), ["1/3"]);
        assert_eq!(problems.len(), 1);
        assert!(problems[0].contains("state-3-of-3.json: "), "{problems:?}");
        assert!(read_all(folder).is_err());
    }
}
