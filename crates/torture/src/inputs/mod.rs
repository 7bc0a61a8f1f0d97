//! Damaged inputs of all readers, in a process of their own that is watched.

mod case;
mod mutate;
pub mod worker;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::area::Area;
use crate::clock::{Stopwatch, pause};
use crate::outcome::{Kind, Outcome};
use crate::process::{shield, usage};
use crate::readers::{READERS, Reader};
use crate::trial::Trial;
use case::{Case, Cases};
use worker::{Progress, panics_file};

/// The longest time for one input. The machine may be busy.
const PATIENCE: Duration = Duration::from_secs(20);

/// The most memory of the process, in bytes. No input has more than 256 KiB.
const MEMORY_MAX: u64 = 1 << 30;

/// The most crashes, hangs and overflows of memory before the area ends.
const ENDS_MAX: usize = 50;

/// The time between two looks at the process.
const LOOK: Duration = Duration::from_millis(50);

/// Reads damaged inputs until the time is over.
pub(crate) fn run(trial: &Trial) -> Result<Outcome, String> {
    let mut outcome = Outcome::new(Area::Inputs);
    if READERS.is_empty() {
        outcome.note("there are no readers");
        return Ok(outcome);
    }
    let threads = thread::available_parallelism().map_or(1, usize::from) as u64;
    let state = trial.folder("inputs")?;
    let mut reading = Reading { trial, state, threads, first: 0, read: vec![0; READERS.len()], ends: 0 };
    let watch = Stopwatch::start();
    while !trial.is_over() && reading.ends < ENDS_MAX {
        reading.watch(&mut outcome)?;
    }
    let inputs: u64 = reading.read.iter().sum();
    outcome.count(inputs, "inputs");
    outcome.count(READERS.len() as u64, "readers");
    outcome.note(format!("{} inputs per second", inputs / watch.elapsed().as_secs().max(1)));
    outcome.note(reading.extremes());
    reading.add_panics(&mut outcome);
    Ok(outcome)
}

/// Reads one input with a reader. The inner error is the place and the message of a panic.
///
/// # Errors
/// There is no reader of this name.
pub fn replay(name: &str, input: Vec<u8>) -> Result<Result<(), String>, String> {
    let names = || READERS.iter().map(|reader| reader.name).collect::<Vec<_>>().join(", ");
    let reader = READERS.iter().find(|reader| reader.name == name);
    let reader = reader.ok_or_else(|| format!("there is no reader `{name}`; write one of {}", names()))?;
    case::quiet();
    Ok(Case { reader: *reader, input }.read())
}

/// Why a worker was ended.
enum End {
    /// The time is over.
    Over,
    /// It crashed with this exit status.
    Crashed(String),
    /// A thread reads one input for too long.
    Hung,
    /// It needs too much memory.
    Grew,
}

/// The cases that were read, and the worker's files.
struct Reading<'a> {
    trial: &'a Trial,
    state: PathBuf,
    threads: u64,
    /// The first input of each reader for the next worker.
    first: u64,
    /// The inputs of each reader.
    read: Vec<u64>,
    ends: usize,
}

impl Reading<'_> {
    /// Starts a worker, for all cases or for one.
    fn spawn(&self, case: Option<u64>) -> Result<Child, String> {
        let stderr = File::options().create(true).append(true).open(self.state.join("stderr"));
        let mut command = Command::new(&self.trial.own_program);
        command.args(["read-cases", "--seed", &self.trial.seed.to_string()]);
        command.args(["--threads", &self.threads.to_string(), "--first", &self.first.to_string()]);
        command.arg("--state").arg(&self.state).arg("--evidence").arg(&self.trial.evidence);
        if let Some(case) = case {
            command.args(["--case", &case.to_string()]);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        command.stderr(stderr.map_err(|error| error.to_string())?);
        shield(&mut command);
        command.spawn().map_err(|error| format!("{}: {error}", self.trial.own_program.display()))
    }

    /// Runs a worker until the time is over or it breaks.
    fn watch(&mut self, outcome: &mut Outcome) -> Result<(), String> {
        let mut child = self.spawn(None)?;
        let end = self.await_end(&mut child);
        let _ = child.kill();
        let _ = child.wait();
        let progress = self.progress();
        for progress in &progress {
            for (read, begun) in self.read.iter_mut().zip(&progress.begun) {
                *read += begun;
            }
        }
        if !matches!(end, End::Over) {
            self.ends += 1;
            let current: Vec<u64> = progress.iter().map(|progress| progress.case).collect();
            self.blame(&current, &end, outcome)?;
            let highest = progress.iter().map(|progress| progress.highest).max();
            self.first = highest.unwrap_or_default() + 1;
        }
        Ok(())
    }

    /// Waits until a worker breaks or the time is over.
    fn await_end(&self, child: &mut Child) -> End {
        let mut since: Vec<(Progress, Stopwatch)> =
            self.progress().into_iter().map(|progress| (progress, Stopwatch::start())).collect();
        while !self.trial.is_over() {
            if let Ok(Some(status)) = child.try_wait() {
                return if status.success() { End::Over } else { End::Crashed(status.to_string()) };
            }
            if usage::resident(child.id()).is_some_and(|bytes| bytes > MEMORY_MAX) {
                return End::Grew;
            }
            for (known, progress) in since.iter_mut().zip(self.progress()) {
                if known.0 != progress {
                    *known = (progress, Stopwatch::start());
                } else if known.1.elapsed() > PATIENCE {
                    return End::Hung;
                }
            }
            pause(LOOK);
        }
        End::Over
    }

    /// The progress of each thread.
    fn progress(&self) -> Vec<Progress> {
        (0..self.threads).map(|index| Progress::load(&self.state, index)).collect()
    }

    /// Reads the current case of each thread alone, to find the one that broke the worker.
    fn blame(&self, current: &[u64], end: &End, outcome: &mut Outcome) -> Result<(), String> {
        let cases = Cases::new(READERS, self.trial.seed);
        let mut blamed = false;
        for number in current {
            let Some((kind, text)) = self.alone(*number)? else { continue };
            blamed = true;
            let Some(case) = cases.case(*number) else { continue };
            let name = format!("{}-{}-{number}.input", case.reader.name, self.trial.seed);
            let copy = self.state.join(&name);
            fs::write(&copy, &case.input).map_err(|error| error.to_string())?;
            let kept = self.trial.keep(&copy, &name)?;
            outcome.add(kind, format!("{}: {text} (input: {})", case.reader.name, kept.display()));
        }
        if !blamed {
            let (kind, text) = describe(end);
            outcome.add(kind, format!("the readers {text} at the cases {current:?} together, at none alone"));
        }
        Ok(())
    }

    /// Reads one case alone. Returns how it broke, if it did.
    fn alone(&self, number: u64) -> Result<Option<(Kind, String)>, String> {
        let state = self.trial.folder("inputs/alone")?;
        let alone = Reading { trial: self.trial, state, threads: 1, first: 0, read: Vec::new(), ends: 0 };
        let mut child = alone.spawn(Some(number))?;
        let end = alone.await_end(&mut child);
        let _ = child.kill();
        let _ = child.wait();
        Ok((!matches!(end, End::Over)).then(|| describe(&end)))
    }

    /// The readers with the most and the fewest inputs. All have the same time.
    fn extremes(&self) -> String {
        let counted = || self.read.iter().zip(READERS);
        let describe = |found: Option<(&u64, &Reader)>| {
            found.map(|(inputs, reader)| format!("{inputs} of {}", reader.name)).unwrap_or_default()
        };
        let (fewest, most) =
            (counted().min_by_key(|(inputs, _)| *inputs), counted().max_by_key(|(inputs, _)| *inputs));
        format!("every reader had the same time: from {} to {}", describe(fewest), describe(most))
    }

    /// Adds each different panic once.
    fn add_panics(&self, outcome: &mut Outcome) {
        let text = fs::read_to_string(panics_file(&self.state)).unwrap_or_default();
        let mut seen = BTreeSet::new();
        for line in text.lines() {
            let panic = line.rsplit_once(" (input: ").map_or(line, |(panic, _)| panic);
            if seen.insert(panic) {
                outcome.add(Kind::Panic, line);
            }
        }
    }
}

fn describe(end: &End) -> (Kind, String) {
    match end {
        End::Crashed(status) => (Kind::Panic, format!("crashed ({status})")),
        End::Grew => (Kind::Growth, format!("needs more than {} MiB", usage::mebibytes(MEMORY_MAX))),
        End::Hung | End::Over => (Kind::Hang, format!("does not end within {} s", PATIENCE.as_secs())),
    }
}
