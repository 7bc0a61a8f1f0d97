//! `windtunnel run`: runs scenarios in parallel and prints their results in order.

pub(super) mod restarts;
pub(super) mod until;
#[cfg(feature = "watch")]
pub(super) mod watch;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::args::{Format, RunArgs};
use super::backend::{self, Place};
use super::files::{self, FoundFiles, records, snapshots};
use super::payload::Releases;
use super::report::{html, outputs};
use super::start_from::StartFrom;
use super::terminal::interrupt::{INTERRUPTED, Interrupt};
use super::terminal::progress::Progress;
use super::{Exit, print_errors, print_output};
use crate::engine::{self, Failure, SessionError};
use crate::plan::{Plan, PlannedStep, Snapshot};
use crate::record::Record;
use crate::report::steps::Written;
use crate::report::{ScenarioResult, story, summary};
use crate::scenario;

/// The amount of output for each scenario.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Detail {
    /// A line; the reasons of failures follow at the end.
    Line,
    /// The result with its reason, seed and record.
    Result,
    /// The timeline as well.
    Timeline,
}

impl Detail {
    /// Returns the detail for this number of scenarios: one with its timeline, several with a line each.
    fn of(args: &RunArgs, scenarios: usize) -> Self {
        match scenarios {
            _ if args.verbose => Self::Timeline,
            1 if args.quiet => Self::Result,
            1 => Self::Timeline,
            _ => Self::Line,
        }
    }
}

struct FinishedRun {
    result: ScenarioResult,
    /// The record, if it is needed later: the records of a whole suite take a lot of memory.
    record: Option<Record>,
    /// The hash of the record, computed by the thread that ran the scenario, because it takes a while; empty
    /// without a record.
    hash: String,
    /// Its timeline, if it is to be printed.
    story: String,
    snapshots: Vec<Snapshot>,
    wall: Duration,
}

impl FinishedRun {
    /// Returns the result of a scenario that did not run to completion.
    fn without_record(result: ScenarioResult, wall: Duration) -> Self {
        let (hash, story) = (String::new(), String::new());
        Self { result, record: None, hash, story, snapshots: Vec::new(), wall }
    }
}

/// Runs the scenarios that the arguments name, once or after each change.
pub(super) fn run(args: &RunArgs) -> Result<Exit, String> {
    #[cfg(feature = "watch")]
    if args.interactive.watch {
        let rerun = || {
            if let Err(message) = run_all(args) {
                print_errors(&message);
            }
        };
        let written = outputs::paths(&args.reports);
        return watch::watch(&args.paths, &written, rerun).map(|()| Exit::Passed);
    }
    if args.interactive.until.is_some() {
        let (plans, invalid) = read(args)?;
        return match invalid.as_slice() {
            [] => until::run_until(args, &plans),
            invalid => Err(all_problems(invalid)),
        };
    }
    run_all(args)
}

/// Reads the scenarios to run, and returns results for the files that are invalid.
///
/// # Errors
/// No file is valid, or there is nothing to run; with all problems.
fn read(args: &RunArgs) -> Result<(Vec<Plan>, Vec<ScenarioResult>), String> {
    let FoundFiles { sources, unreadable } = files::read_all(&args.paths, "yaml")?;
    let releases = Releases::read(&args.payload)?.with_snapshots_updated(args.update_snapshots);
    let invalid_file = |file: &str, why: &str| ScenarioResult::of_invalid_file(file, why, args.seed);
    let mut invalid: Vec<_> = unreadable.iter().map(|(file, why)| invalid_file(file, why)).collect();
    let mut plans = Vec::new();
    for (file, text) in &sources {
        match scenario::parse_all(file, text, &releases) {
            Ok(found) => plans.extend(found),
            Err(found) => invalid.push(invalid_file(file, &found.to_string())),
        }
    }
    if plans.is_empty() && !invalid.is_empty() {
        return Err(all_problems(&invalid));
    }
    plans.retain(|plan| args.selection.fits(&plan.tags, &plan.ids));
    if plans.is_empty() {
        return Err(args.selection.found_nothing());
    }
    for plan in &mut plans {
        plan.strict |= args.strict;
    }
    let mut number = 0..;
    plans.retain(|_| number.next().is_some_and(|number| args.selection.has(number)));
    if let Some(path) = &args.start_from {
        let start = StartFrom::read(path)?;
        for plan in &mut plans {
            start.apply(plan);
        }
        start.print_notices();
    }
    Ok((plans, invalid))
}

/// Returns the problems of invalid files.
pub(super) fn all_problems(invalid: &[ScenarioResult]) -> String {
    invalid.iter().filter_map(|result| result.failure.as_deref()).collect::<Vec<_>>().join("\n")
}

fn run_all(args: &RunArgs) -> Result<Exit, String> {
    if args.check_determinism && args.place.can_outlive_process() {
        return Err("--check-determinism requires `--backend in-process` or `--backend served`".to_owned());
    }
    if args.check_restarts && args.place.can_outlive_process() {
        return Err("--check-restarts requires `--backend in-process` or `--backend served`".to_owned());
    }
    let (plans, invalid) = read(args)?;
    if !invalid.is_empty() {
        print_errors(&all_problems(&invalid));
    }
    let interrupt = match args.interactive.watches() {
        true if args.place.can_outlive_process() => Interrupt::listen_to_end(),
        true => Interrupt::default(),
        false => Interrupt::listen(),
    };
    let failed = AtomicBool::new(false);
    let place = backend::make(&args.place, &interrupt)?;
    let at_a_time = place.runs_at_a_time();
    let detail = Detail::of(args, plans.len());
    let progress = Progress::of(plans.len());
    let (finished, wall) = timed(|| {
        in_parallel(&plans, at_a_time, |plan| {
            let finished = run_unless_failed(&failed, &interrupt, &place, plan, args, detail);
            progress.done(&plan.name);
            finished
        })
    });
    progress.end();
    drop(place);
    let for_people = args.reports.format == Format::Text;
    if for_people {
        plans.iter().zip(&finished).for_each(|(plan, finished)| print(plan, finished, args, detail));
    }
    let new_snapshots = finished.iter().flat_map(|finished| &finished.snapshots);
    let recorded_results: Vec<_> = finished
        .iter()
        .map(|finished| (&finished.result, finished.record.as_ref()))
        .chain(invalid.iter().map(|result| (result, None)))
        .collect();
    // A failure to write a file must not hide the result of the run.
    let mut unwritten = records::write(args.record.as_deref(), &recorded_results);
    unwritten.extend(snapshots::write(new_snapshots).err());
    let options = html::payload_options(&args.payload);
    let reports = outputs::write(&args.reports, "windtunnel run", "scenarios", &recorded_results, &options);
    unwritten.extend(reports.err());
    let results: Vec<ScenarioResult> =
        finished.into_iter().map(|finished| finished.result).chain(invalid).collect();
    if for_people {
        if results.len() > 1 {
            print_output(&summary::recap(&results, "windtunnel run"));
        }
        print_output(&summary::run(&results, wall));
    }
    if !unwritten.is_empty() {
        return Err(unwritten.join("\n"));
    }
    Ok(interrupt.exit().unwrap_or_else(|| Exit::of(&results)))
}

/// Runs a scenario, unless no further one may start; reruns a failed one with other seeds.
fn run_unless_failed(
    failed: &AtomicBool,
    interrupt: &Interrupt,
    place: &Place,
    plan: &Plan,
    args: &RunArgs,
    detail: Detail,
) -> FinishedRun {
    let why = match args.selection.fail_fast && failed.load(Ordering::Relaxed) {
        _ if interrupt.is_interrupted() => Some(INTERRUPTED),
        true => Some(FAILED_FAST),
        false => None,
    };
    if let Some(why) = why {
        let result = ScenarioResult::skipped(&plan.name, &plan.file, &plan.ids, args.seed, why);
        let result = result.of_scenario(None, &plan.tags, &written(plan));
        return FinishedRun::without_record(result, Duration::ZERO);
    }
    let mut finished = run_once(place, plan, args, args.seed, detail);
    if finished.result.failed() {
        let seeds = (1..=args.selection.retry).map(|more| args.seed.wrapping_add(more));
        let mut seeds = seeds.take_while(|_| !interrupt.is_interrupted());
        finished.result.passed_with =
            seeds.find(|seed| run_once(place, plan, args, *seed, detail).result.passed());
    }
    failed.fetch_or(finished.result.failed(), Ordering::Relaxed);
    finished
}

/// Returns the steps of a plan for reports.
fn written(plan: &Plan) -> Vec<Written> {
    let step = |planned: &PlannedStep| Written {
        keyword: String::new(),
        text: planned.text.clone(),
        line: planned.line,
        recorded: true,
    };
    plan.timeline.iter().map(step).collect()
}

/// The reason of a scenario that did not start.
pub(super) const FAILED_FAST: &str = "another scenario failed, and --fail-fast was given";

fn run_once(place: &Place, plan: &Plan, args: &RunArgs, seed: u64, detail: Detail) -> FinishedRun {
    let (outcome, wall) = timed(|| engine::run_plan_on(place.backend(), plan, seed));
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(SessionError::Unsupported(why)) => {
            let result = ScenarioResult::skipped(&plan.name, &plan.file, &plan.ids, args.seed, &why);
            return FinishedRun::without_record(result, wall);
        }
        Err(error) => {
            let result = ScenarioResult::not_started(&plan.name, &plan.file, &plan.ids, seed);
            let mut result = result.of_scenario(None, &plan.tags, &written(plan));
            result.failure = Some(format!("the cluster could not be installed: {error}"));
            result.failed_at = error.place();
            return FinishedRun::without_record(result, wall);
        }
    };
    let result = ScenarioResult::from_record(&outcome.record, &plan.file);
    let mut result = result.of_scenario(Some(&outcome.record), &plan.tags, &written(plan));
    if let Some(Failure { step, error: SessionError::Unsupported(why), .. }) = &outcome.failure {
        (result.skipped, result.failure) = (Some(format!("{step}: {why}")), None);
    } else {
        result.failed_at = outcome.failure.map(|failure| (failure.line, failure.column));
    }
    let mut result = result.judge_canary();
    if args.check_determinism {
        // The third run starts from a copy of the second one's cluster.
        let difference = ["second", "third"].iter().find_map(|ordinal| {
            match engine::run_plan_on(place.backend(), plan, seed) {
                Ok(repeated) => first_difference(&outcome.record, &repeated.record),
                Err(error) => {
                    Some(format!("the cluster could not be installed in the {ordinal} run: {error}"))
                }
            }
        });
        if let Some(difference) = difference {
            result.failure = Some(format!("the same seed gave two different records: {difference}"));
        }
    }
    if args.check_restarts && result.passed() {
        result.failure = restarts::check(plan, seed);
    }
    let (record, snapshots) = (outcome.record, outcome.snapshots);
    let (hash, keeps_record) = (record.hash(), args.record.is_some() || args.reports.need_records());
    let is_printed = detail == Detail::Timeline && args.reports.format == Format::Text;
    let story = if is_printed { story::render(&record, args.layout.width()) } else { String::new() };
    FinishedRun { result, record: keeps_record.then_some(record), hash, story, snapshots, wall }
}

/// Returns the first line in which two records differ.
fn first_difference(first: &Record, second: &Record) -> Option<String> {
    let (first, second) = (first.to_lines(), second.to_lines());
    if first == second {
        return None;
    }
    let line = first.lines().zip(second.lines()).position(|(a, b)| a != b);
    Some(match line {
        Some(index) => format!("line {} of the record", index + 1),
        None => "one record is longer than the other".to_owned(),
    })
}

fn print(plan: &Plan, finished: &FinishedRun, args: &RunArgs, detail: Detail) {
    if detail == Detail::Line {
        /// This many characters of a hash distinguish records.
        const DIGITS: usize = 12;
        let line = summary::line(&finished.result);
        let record = finished.hash.get(..DIGITS).map(|start| format!("  record {start}")).unwrap_or_default();
        return print_output(&format!("{}{record}\n", line.trim_end()));
    }
    if detail == Detail::Timeline {
        print_output(&format!("{}: {}\n\n", plan.file, plan.name));
        print_output(&finished.story);
    }
    print_output(&summary::scenario(&finished.result));
    if !finished.hash.is_empty() {
        let millis = finished.wall.as_secs_f64() * 1000.0;
        print_output(&format!("      seed {}, record {}, {millis:.0} ms\n", args.seed, finished.hash));
    }
    print_output("\n");
}

/// Processes the items on all cores, at most `at_a_time` at once; the results are in the order of the items.
pub(super) fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    at_a_time: usize,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::with_capacity(items.len()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(items.len()).min(at_a_time);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else { break };
                    match catch_unwind(AssertUnwindSafe(|| work(item))) {
                        Ok(result) => {
                            done.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
                        }
                        Err(panic) => {
                            print_errors("a run panicked; this is a bug in windtunnel");
                            resume_unwind(panic)
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

/// Returns the result with the wall time that it took.
#[expect(clippy::disallowed_methods, reason = "the command line reports the wall time of a run")]
pub(super) fn timed<R>(work: impl FnOnce() -> R) -> (R, Duration) {
    let start = std::time::Instant::now();
    let result = work();
    (result, start.elapsed())
}
