//! `windtunnel run`: plays scenarios side by side and prints them in order.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::args::RunArgs;
use super::payload::Releases;
use super::report::story;
use super::{Exit, complain, files, say, snapshots};
use crate::engine;
use crate::record::Record;
use crate::report::{ScenarioResult, junit, summary};
use crate::scenario;
use crate::scenario::plan::{Plan, Snapshot};

/// What one scenario came to.
struct Played {
    result: ScenarioResult,
    record: Option<Record>,
    snapshots: Vec<Snapshot>,
    wall: Duration,
}

/// Plays what the arguments name.
pub(super) fn run(args: &RunArgs) -> Result<Exit, String> {
    let sources = files::read_all(&args.paths, "yaml")?;
    let releases = Releases::read(&args.payload)?.with_snapshots_updated(args.update_snapshots);
    let (mut plans, mut problems) = (Vec::new(), Vec::new());
    for (file, text) in &sources {
        match scenario::read_all(file, text, &releases) {
            Ok(found) => plans.extend(found),
            Err(found) => problems.push(found.to_string()),
        }
    }
    if !problems.is_empty() {
        return Err(problems.join("\n"));
    }
    let mut number = 0..;
    plans.retain(|_| number.next().is_some_and(|number| args.selection.has(number)));
    let records = args.record.as_deref().map(|to| record_paths(to, &plans)).unwrap_or_default();
    let failed = AtomicBool::new(false);
    let (played, wall) = timed(|| side_by_side(&plans, |plan| play_unless(&failed, plan, args)));
    // What cannot be written must not hide how the run came out.
    let mut unwritten = Vec::new();
    for (index, (plan, played)) in plans.iter().zip(&played).enumerate() {
        tell(plan, played, args);
        if let (Some(path), Some(record)) = (records.get(index), &played.record) {
            unwritten.extend(files::write(path, &record.to_lines()).err());
        }
    }
    let kept = played.iter().flat_map(|played| &played.snapshots);
    unwritten.extend(snapshots::write(kept).err());
    let results: Vec<ScenarioResult> = played.into_iter().map(|played| played.result).collect();
    if let Some(path) = &args.junit {
        let xml = junit::render("windtunnel run", &results).map_err(|error| error.to_string())?;
        unwritten.extend(files::write(path, &xml).err());
    }
    say(&summary::run(&results, wall));
    if !unwritten.is_empty() {
        return Err(unwritten.join("\n"));
    }
    Ok(if results.iter().any(ScenarioResult::failed) { Exit::Failed } else { Exit::Passed })
}

/// Plays a scenario, unless another has failed and none is to be begun then.
fn play_unless(failed: &AtomicBool, plan: &Plan, args: &RunArgs) -> Played {
    if args.selection.fail_fast && failed.load(Ordering::Relaxed) {
        let result = ScenarioResult::skipped(&plan.name, &plan.file, &plan.ids, args.seed, FAILED_FAST);
        return Played { result, record: None, snapshots: Vec::new(), wall: Duration::ZERO };
    }
    let played = play(plan, args);
    failed.fetch_or(played.result.failed(), Ordering::Relaxed);
    played
}

/// Why a scenario was not begun.
pub(super) const FAILED_FAST: &str = "another scenario failed before, and --fail-fast was given";

fn play(plan: &Plan, args: &RunArgs) -> Played {
    let (outcome, wall) = timed(|| engine::play(plan, args.seed));
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(error) => {
            let mut result = ScenarioResult::unplayed(&plan.name, &plan.file, &plan.ids, args.seed);
            result.failure = Some(format!("the cluster could not be installed: {error}"));
            result.failed_at = error.place();
            return Played { result, record: None, snapshots: Vec::new(), wall };
        }
    };
    let mut result = ScenarioResult::of(&outcome.record, &plan.file);
    result.failed_at = outcome.failure.map(|failure| (failure.line, failure.column));
    if args.check_determinism {
        let difference = match engine::play(plan, args.seed) {
            Ok(again) => first_difference(&outcome.record, &again.record),
            Err(error) => Some(format!("the second time the cluster could not be installed: {error}")),
        };
        if let Some(difference) = difference {
            result.failure = Some(format!("the same seed gave two different records: {difference}"));
        }
    }
    Played { result, record: Some(outcome.record), snapshots: outcome.snapshots, wall }
}

/// The first line in which two records differ.
fn first_difference(one: &Record, other: &Record) -> Option<String> {
    let (one, other) = (one.to_lines(), other.to_lines());
    if one == other {
        return None;
    }
    let line = one.lines().zip(other.lines()).position(|(a, b)| a != b);
    Some(match line {
        Some(index) => format!("line {} of the record", index + 1),
        None => "one of them goes on after the other's end".to_owned(),
    })
}

fn tell(plan: &Plan, played: &Played, args: &RunArgs) {
    if !args.quiet {
        say(&format!("{}: {}\n\n", plan.file, plan.name));
        if let Some(record) = &played.record {
            say(&story(record, args.layout.width));
        }
    }
    say(&summary::scenario(&played.result));
    if let Some(record) = &played.record {
        let millis = played.wall.as_secs_f64() * 1000.0;
        say(&format!("      seed {}, record {}, {millis:.0} ms\n", args.seed, record.hash()));
    }
    say("\n");
}

/// Where the record of each plan goes: to the file itself, or into that folder as `<name of the plan's file>.jsonl`. Files of
/// the same name in different folders are numbered.
fn record_paths(to: &Path, plans: &[Plan]) -> Vec<PathBuf> {
    if plans.len() == 1 && !to.is_dir() {
        return vec![to.to_owned()];
    }
    let mut taken: BTreeMap<String, u32> = BTreeMap::new();
    let paths = plans.iter().map(|plan| {
        let stem =
            Path::new(&plan.file).file_stem().map_or(plan.name.as_str().into(), OsStr::to_string_lossy);
        let count = taken.entry(stem.to_string()).or_insert(0);
        *count += 1;
        let number = if *count == 1 { String::new() } else { format!("-{count}") };
        to.join(format!("{stem}{number}.jsonl"))
    });
    paths.collect()
}

/// Does the work for each item on all cores; the results are in the order of the items.
fn side_by_side<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::with_capacity(items.len()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(items.len());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else { break };
                    // One thread per run: thread-local randomness belongs to it alone.
                    let result = std::thread::scope(|own| own.spawn(|| work(item)).join());
                    match result {
                        Ok(result) => {
                            done.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
                        }
                        Err(panic) => {
                            complain("a run panicked; this is a bug in windtunnel");
                            std::panic::resume_unwind(panic)
                        }
                    }
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

/// How long something took on the wall.
#[expect(clippy::disallowed_methods, reason = "the command line tells people how long they waited")]
pub(super) fn timed<R>(work: impl FnOnce() -> R) -> (R, Duration) {
    let start = std::time::Instant::now();
    let result = work();
    (result, start.elapsed())
}
