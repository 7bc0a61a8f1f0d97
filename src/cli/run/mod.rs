//! `windtunnel run`: runs scenarios in parallel and prints their results in order.
//!
//! The checks that repeat a scenario print in files of their own: `restarts.rs` (`--check-restarts`), `restored.rs`
//! (`--check-restored`), `program_checks.rs` (programs of the user), with `reproduction.rs` for emitted scenarios.

#[cfg(test)]
mod failure_kinds;
mod omissions;
mod program_checks;
mod reproduction;
pub(super) mod restarts;
mod restored;
pub(super) mod until;
#[cfg(feature = "watch")]
pub(super) mod watch;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Exit;
use super::args::RunArgs;
use super::backend::{self, Place};
use super::consent;
use super::files::{self, FoundFiles};
use super::parallel::in_parallel;
use super::payload::Releases;
use super::report::html;
use super::start_from::StartFrom;
use super::suite::{self, Combined, Finished, Listed, Stopwatch, Suite, all_problems, timed};
use super::terminal::interrupt::{INTERRUPTED, Interrupt};
use super::terminal::progress::Progress;
use crate::backends::programs::Waited;
use crate::engine::{self, Failure, SessionError};
use crate::plan::{Plan, PlannedStep};
use crate::record::{FailureKind, Record};
use crate::report::ScenarioResult;
use crate::report::steps::Written;
use crate::scenario::{self, ScenarioError, lint};

/// The command, and the type of its suite in test results.
const KIND: (&str, &str) = ("windtunnel run", "scenarios");

/// The scenarios that the arguments name.
struct Input {
    plans: Vec<Plan>,
    /// Results for invalid files.
    invalid: Vec<ScenarioResult>,
    warnings: Vec<ScenarioError>,
}

impl Input {
    /// Replaces the scenarios with commands that the user has not allowed by results.
    ///
    /// # Errors
    /// All are such scenarios, or invalid.
    fn with_consent(mut self, args: &RunArgs) -> Result<Self, String> {
        let mut refused = Vec::new();
        self.plans.retain_mut(|plan| {
            let permitted = consent::permit(&args.suite.programs, &plan.file, &mut plan.cluster.programs);
            permitted.map_err(|why| refused.push((plan.file.clone(), why))).is_ok()
        });
        // Rows of parameters have the same programs.
        refused.dedup();
        let has_refused = !refused.is_empty();
        let result = |(file, why): (String, String)| {
            ScenarioResult::of_invalid_file(&file, &why, args.suite.first_seed())
        };
        self.invalid.extend(refused.into_iter().map(result));
        // A shard may be empty as well.
        if self.plans.is_empty() && has_refused { Err(all_problems(&self.invalid)) } else { Ok(self) }
    }
}

/// Runs the scenarios that the arguments name, once or after each change.
pub(super) fn run(args: &RunArgs) -> Result<Exit, String> {
    args.suite.place.check()?;
    #[cfg(feature = "watch")]
    if args.suite.interactive.watch {
        let rerun = || {
            if let Err(message) = run_all(args) {
                super::print_errors(&message);
            }
        };
        return watch::watch(&args.paths, &args.suite, rerun).map(|()| Exit::Passed);
    }
    if args.suite.selection.list {
        let plans = read(args)?.plans;
        return Ok(suite::list(&plans.iter().map(listed).collect::<Vec<_>>()));
    }
    if args.suite.interactive.until.is_some() {
        let Input { plans, invalid, .. } = read(args)?;
        return match invalid.as_slice() {
            [] => until::run_until(&args.suite, &plans),
            invalid => Err(all_problems(invalid)),
        };
    }
    run_all(args)
}

fn listed(plan: &Plan) -> Listed {
    let tags = plan.tags.iter().chain(&plan.ids).cloned().collect();
    Listed { place: plan.file.clone(), name: plan.name.clone(), tags }
}

/// Reads the scenarios to run.
///
/// # Errors
/// No file is valid, or there is nothing to run; with all problems.
fn read(args: &RunArgs) -> Result<Input, String> {
    let selection = &args.suite.selection;
    let FoundFiles { sources, unreadable } = files::read_all(&args.paths, "yaml")?;
    let releases = Releases::read(&args.payload)?.with_snapshots_updated(args.suite.update_snapshots);
    let invalid_file =
        |file: &str, why: &str| ScenarioResult::of_invalid_file(file, why, args.suite.first_seed());
    let invalid = unreadable.iter().map(|problem| invalid_file(&problem.file, &problem.to_string()));
    let (mut plans, mut invalid, mut warnings) = (Vec::new(), invalid.collect::<Vec<_>>(), Vec::new());
    for (file, text) in &sources {
        match scenario::parse_all(file, text, &releases) {
            Ok(found) => {
                warnings.extend(lint::warnings(&found, text));
                plans.extend(found);
            }
            Err(found) => invalid.push(invalid_file(file, &found.to_string())),
        }
    }
    if plans.is_empty() && !invalid.is_empty() {
        return Err(all_problems(&invalid));
    }
    plans.retain(|plan| selection.fits(&plan.tags, &plan.ids) && selection.fits_name(&plan.name));
    if plans.is_empty() {
        return Err(selection.found_nothing());
    }
    for plan in &mut plans {
        plan.strict.get_or_insert(args.suite.is_strict());
        plan.cluster.programs.extend(args.suite.program_plans());
        plan.cluster.shows_secrets = args.suite.place.show_secrets;
    }
    let mut number = 0..;
    plans.retain(|_| number.next().is_some_and(|number| selection.has(number)));
    warnings.retain(|warning| plans.iter().any(|plan| plan.file == warning.file));
    if let Some(path) = &args.start_from {
        let start = StartFrom::read(path, &args.ignore)?;
        for plan in &mut plans {
            start.apply(plan);
        }
        start.print_notices();
    }
    Ok(Input { plans, invalid, warnings })
}

fn run_all(args: &RunArgs) -> Result<Exit, String> {
    suite::check_outputs(&args.suite)?;
    args.checks.emit.as_deref().map_or(Ok(()), files::check_folder)?;
    let place_args = &args.suite.place;
    if args.check_determinism && place_args.can_outlive_process() {
        return Err("--check-determinism requires `--backend in-process` or `--backend served`".to_owned());
    }
    if let Some(flag) = args.checks.flags().next().filter(|_| place_args.can_outlive_process()) {
        return Err(format!("{flag} requires `--backend in-process` or `--backend served`"));
    }
    if args.check_restored && place_args.can_outlive_process() {
        return Err("--check-restored requires `--backend in-process` or `--backend served`".to_owned());
    }
    let Input { plans, invalid, warnings } = read(args)?.with_consent(args)?;
    suite::print_findings(&warnings, &invalid, args.suite.quiet);
    let interrupt = match args.suite.interactive.watches() {
        true if place_args.can_outlive_process() => Interrupt::listen_to_end(),
        true => Interrupt::default(),
        false => Interrupt::listen(),
    };
    let failed = AtomicBool::new(false);
    let place = backend::make(place_args, &interrupt)?;
    let at_a_time = args.suite.jobs().min(place.runs_at_a_time());
    let seeds = args.suite.seeds();
    let options =
        html::payload_options(&args.payload).into_iter().chain(args.suite.programs.consent_options());
    let options = options.collect();
    let suite = Suite::new(&args.suite, KIND, options, plans.len() * seeds.len());
    let progress = Progress::of(plans.len());
    let scenarios = plans.iter().enumerate();
    let runs = scenarios.flat_map(|(index, plan)| seeds.iter().map(move |seed| (index, plan, *seed)));
    let runs: Vec<(usize, &Plan, u64)> = runs.collect();
    let combined = Combined::new(plans.len(), seeds.len());
    let (_, wall) = timed(|| {
        in_parallel(&runs, at_a_time, |(index, plan, seed)| {
            let finished = run_unless_failed(&failed, &interrupt, &place, (plan, *seed), args, &suite);
            combined.add(*index, finished, |finished| {
                progress.done(*index, suite.text(finished), &finished.result.name, finished.result.failed());
            });
        })
    });
    progress.end();
    drop(place);
    suite.end(combined.into_results(), invalid, wall, &interrupt)
}

/// Runs a scenario with a seed, unless no further one may start; reruns a failed one with other seeds.
fn run_unless_failed(
    failed: &AtomicBool,
    interrupt: &Interrupt,
    place: &Place,
    (plan, seed): (&Plan, u64),
    args: &RunArgs,
    suite: &Suite<'_>,
) -> Finished {
    let selection = &args.suite.selection;
    let why = match selection.fail_fast && failed.load(Ordering::Relaxed) {
        _ if interrupt.is_interrupted() => Some(INTERRUPTED),
        true => Some(FAILED_FAST),
        false => None,
    };
    if let Some(why) = why {
        let result = ScenarioResult::skipped(&plan.name, &plan.file, &plan.ids, seed, why);
        let result = result.of_scenario(None, &plan.tags, &written(plan));
        return Finished::without_record(result.without_secrets(&engine::secrets_of(plan)));
    }
    let mut finished = run_once(place, plan, args, seed, suite);
    if finished.result.failed() {
        let seeds = (1..=selection.retry).map(|more| seed.wrapping_add(more));
        let mut seeds = seeds.take_while(|_| !interrupt.is_interrupted());
        finished.result.passed_with =
            seeds.find(|seed| run_once(place, plan, args, *seed, suite).result.passed());
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

fn run_once(place: &Place, plan: &Plan, args: &RunArgs, seed: u64, suite: &Suite<'_>) -> Finished {
    let watch = Stopwatch::start();
    let outcome = match engine::run_plan_on(place.backend(), plan, seed) {
        Ok(outcome) => outcome,
        Err(error) => {
            let result = not_started(plan, &error, seed, watch);
            return Finished::without_record(result.without_secrets(&engine::secrets_of(plan)));
        }
    };
    let wall = Some(watch.read());
    let result = ScenarioResult::from_record(&outcome.record, &plan.file);
    let mut result = result.of_scenario(Some(&outcome.record), &plan.tags, &written(plan));
    result.waited = outcome.waited.as_ref().map(Waited::to_string).unwrap_or_default();
    if let Some(Failure { step, error: SessionError::Unsupported(why), .. }) = &outcome.failure {
        (result.skipped, result.failure) = (Some(format!("{step}: {why}")), None);
    } else {
        result.failed_at = outcome.failure.map(|failure| (failure.line, failure.column));
    }
    let mut result = result.judge_canary();
    if args.check_determinism {
        // A run that is not deterministic proves nothing about the rest.
        if let Some(difference) = nondeterminism(place, plan, seed, &outcome.record) {
            (result.failure, result.failure_kind) = (Some(difference), Some(FailureKind::Tool));
        }
    }
    if result.passed() {
        let failure = program_checks::check(plan, seed, &args.checks, &place.backend().stop());
        result.fail(FailureKind::Product, failure);
    }
    if args.check_restored && result.passed() {
        result.fail(FailureKind::Product, restored::check(plan, seed));
    }
    result.omissions = omissions::of(plan, &outcome.record);
    if result.passed() {
        result.fail(FailureKind::Tool, omissions::failure(&result.omissions));
    }
    let result = ScenarioResult { wall, ..result }.without_secrets(&outcome.secrets);
    suite.finished(result, Arc::new(outcome.record), outcome.snapshots)
}

/// Returns the result of a scenario whose cluster could not be installed.
fn not_started(plan: &Plan, error: &SessionError, seed: u64, watch: Stopwatch) -> ScenarioResult {
    if let SessionError::Unsupported(why) = error {
        return ScenarioResult::skipped(&plan.name, &plan.file, &plan.ids, seed, why);
    }
    let result = ScenarioResult::not_started(&plan.name, &plan.file, &plan.ids, seed);
    let what = match error {
        SessionError::ProgramNotStarted(_) => "",
        _ => "the cluster could not be installed: ",
    };
    let file = dumped_file(plan, error).map(|file| format!("{file}: ")).unwrap_or_default();
    ScenarioResult {
        failure: Some(format!("{file}{what}{error}")),
        failure_kind: Some(error.kind()),
        failed_at: error.place(),
        wall: Some(watch.read()),
        ..result.of_scenario(None, &plan.tags, &written(plan))
    }
}

/// Returns the file of a dump whose node or ClusterVersion the API server rejected.
fn dumped_file<'p>(plan: &'p Plan, error: &SessionError) -> Option<&'p str> {
    let (object, past) = (error.rejected_object()?, &plan.cluster.past);
    match object.strip_prefix("nodes/") {
        Some(name) => past.nodes.iter().find(|node| node.name == name)?.file.as_deref(),
        None => past.file.as_deref().filter(|_| object == "clusterversions.config.openshift.io/version"),
    }
}

/// Runs a scenario twice more. Returns the difference between the records; `None` if there is none.
fn nondeterminism(place: &Place, plan: &Plan, seed: u64, record: &Record) -> Option<String> {
    // The third run starts from a copy of the second one's cluster.
    let difference = ["second", "third"].iter().find_map(|ordinal| {
        match engine::run_plan_on(place.backend(), plan, seed) {
            Ok(repeated) => first_difference(record, &repeated.record),
            Err(error) => Some(format!("the cluster could not be installed in the {ordinal} run: {error}")),
        }
    });
    if place.backend().stop().is_requested() && !plan.cluster.programs.is_empty() {
        return Some(crate::backends::INTERRUPTED.to_owned());
    }
    difference.map(|difference| format!("the same seed gave two different records: {difference}"))
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
