//! The process that reads damaged inputs. A crash, a hang or memory without bound ends only this process.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::case::{Case, Cases, quiet};
use crate::clock::Deadline;
use crate::readers::READERS;

/// The inputs that are kept for equal panics.
const EQUAL_KEPT: usize = 3;

/// The time that a thread stays with a reader, so that slow readers do not keep fast ones from their inputs.
const SLICE: Duration = Duration::from_millis(20);

/// The settings of a worker.
#[derive(Debug, Clone)]
pub struct Work {
    /// The seed of all inputs.
    pub seed: u64,
    /// The number of threads.
    pub threads: u64,
    /// The first input of each reader.
    pub first: u64,
    /// Reads only this case.
    pub case: Option<u64>,
    /// The folder with the progress of the threads.
    pub state: PathBuf,
    /// The folder for inputs that panic.
    pub evidence: PathBuf,
}

/// The progress of a thread.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Progress {
    /// The case that it reads.
    pub(super) case: u64,
    /// The highest number of an input.
    pub(super) highest: u64,
    /// The cases of each reader that it has begun.
    pub(super) begun: Vec<u64>,
}

impl Progress {
    fn to_bytes(&self) -> Vec<u8> {
        [self.case, self.highest].iter().chain(&self.begun).flat_map(|number| number.to_le_bytes()).collect()
    }

    /// The progress in a file; none before its thread has begun.
    pub(super) fn load(state: &Path, index: u64) -> Self {
        let bytes = fs::read(state_file(state, index)).unwrap_or_default();
        let mut numbers = bytes.chunks_exact(8).map(|part| part.try_into().map_or(0, u64::from_le_bytes));
        let (case, highest) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
        Self { case, highest, begun: numbers.collect() }
    }
}

/// Reads cases until the standard input ends, which it does when the parent ends.
///
/// # Errors
/// A file cannot be written.
pub fn run(work: &Work) -> io::Result<()> {
    quiet();
    let panics = Mutex::default();
    if let Some(case) = work.case {
        return Thread::new(work, 0, &panics)?.read(case);
    }
    thread::spawn(|| {
        let _ = io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    thread::scope(|scope| {
        let read = |index| {
            let panics = &panics;
            scope.spawn(move || Thread::new(work, index, panics)?.read_all())
        };
        let threads: Vec<_> = (0..work.threads).map(read).collect();
        threads.into_iter().try_for_each(|thread| thread.join().unwrap_or(Ok(())))
    })
}

/// Counts of equal panics.
type Panics = Mutex<BTreeMap<String, usize>>;

/// A thread that reads cases.
struct Thread<'a> {
    work: &'a Work,
    index: u64,
    panics: &'a Panics,
    cases: Cases,
    file: File,
    progress: Progress,
}

impl<'a> Thread<'a> {
    fn new(work: &'a Work, index: u64, panics: &'a Panics) -> io::Result<Self> {
        let file = File::create(state_file(&work.state, index))?;
        let cases = Cases::new(READERS, work.seed);
        let progress = Progress { begun: vec![0; READERS.len()], ..Progress::default() };
        Ok(Self { work, index, panics, cases, file, progress })
    }

    /// Reads inputs of all readers in turn.
    fn read_all(mut self) -> io::Result<()> {
        let readers = self.cases.readers();
        let mut next = vec![self.work.first + self.index; READERS.len()];
        if readers == 0 {
            return Ok(());
        }
        loop {
            for (reader, input) in (0..readers).zip(&mut next) {
                let slice = Deadline::after(SLICE);
                while !slice.left().is_zero() {
                    self.progress.highest = self.progress.highest.max(*input);
                    self.read(*input * readers + reader)?;
                    *input += self.work.threads;
                }
            }
        }
    }

    fn read(&mut self, number: u64) -> io::Result<()> {
        let Some(case) = self.cases.case(number) else { return Ok(()) };
        self.progress.case = number;
        let reader = usize::try_from(number % self.cases.readers()).ok();
        if let Some(begun) = reader.and_then(|reader| self.progress.begun.get_mut(reader)) {
            *begun += 1;
        }
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(&self.progress.to_bytes())?;
        match case.read() {
            Ok(()) => Ok(()),
            Err(panic) => keep(self.work, number, &case, &panic, self.panics),
        }
    }
}

/// Writes the input of a panic and its message, unless there are enough of its kind.
fn keep(work: &Work, number: u64, case: &Case, panic: &str, panics: &Panics) -> io::Result<()> {
    let line = format!("{}: {panic}", case.reader.name);
    let mut panics = panics.lock().unwrap_or_else(PoisonError::into_inner);
    let count = panics.entry(line.clone()).or_default();
    *count += 1;
    if *count > EQUAL_KEPT {
        return Ok(());
    }
    fs::create_dir_all(&work.evidence)?;
    let input = work.evidence.join(format!("{}-{}-{number}.input", case.reader.name, work.seed));
    fs::write(&input, &case.input)?;
    let mut found = File::options().create(true).append(true).open(panics_file(&work.state))?;
    writeln!(found, "{line} (input: {})", input.display())
}

/// The file with the progress of a thread.
fn state_file(state: &Path, index: u64) -> PathBuf {
    state.join(format!("thread-{index}"))
}

/// The file with a line for each kept panic.
pub(super) fn panics_file(state: &Path) -> PathBuf {
    state.join("panics")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_the_same_after_it_is_written_and_empty_without_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let progress = Progress { case: 7, highest: 3, begun: vec![1 << 40, 0, 5] };
        fs::write(state_file(folder.path(), 1), progress.to_bytes()).unwrap();
        assert_eq!(Progress::load(folder.path(), 1), progress);
        assert_eq!(Progress::load(folder.path(), 0), Progress::default());
    }
}
