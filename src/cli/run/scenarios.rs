//! The YAML scenarios of a run: reads them, and runs each with each seed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{FAILED_FAST, Found, Running, omissions, program_checks, restored};
use crate::backends::programs::Waited;
use crate::cli::args::RunArgs;
use crate::cli::backend::Place;
use crate::cli::consent;
use crate::cli::files::Source;
use crate::cli::parallel::in_parallel;
use crate::cli::payload::Releases;
use crate::cli::start_from::StartFrom;
use crate::cli::suite::{Combined, Finished, Listed, Stopwatch, Suite};
use crate::cli::terminal::interrupt::{INTERRUPTED, Interrupt};
use crate::cli::terminal::progress::Progress;
use crate::engine::{self, Failure, SessionError};
use crate::plan::{Plan, PlannedStep};
use crate::record::{FailureKind, Record};
use crate::report::ScenarioResult;
use crate::report::steps::Written;
use crate::scenario::{self, lint};

/// Parses scenarios, and keeps those that the arguments select.
///
/// # Errors
/// A payload cannot be read.
pub(super) fn parse(sources: &[Source], args: &RunArgs) -> Result<Found<Vec<Plan>>, String> {
    let suite = &args.suite;
    let releases = Releases::read(&args.payload)?.with_snapshots_updated(suite.updates());
    let mut found: Found<Vec<Plan>> = Found::default();
    for (file, text) in sources {
        match scenario::parse_all(file, text, &releases) {
            Ok(plans) => {
                found.warnings.extend(lint::warnings(&plans, text));
                found.has_valid = true;
                found.runnable.extend(plans);
            }
            Err(problems) => found.add_invalid(file, &problems.to_string(), suite.first_seed()),
        }
    }
    let selection = &suite.selection;
    found.runnable.retain(|plan| selection.fits(&plan.tags, &plan.ids) && selection.fits_name(&plan.name));
    complete(&mut found.runnable, args);
    Ok(found)
}

/// Adds what the arguments say about every scenario.
pub(super) fn complete(plans: &mut [Plan], args: &RunArgs) {
    let suite = &args.suite;
    for plan in plans {
        plan.strict.get_or_insert(suite.is_strict());
        plan.cluster.programs.extend(suite.program_plans());
        plan.cluster.shows_secrets = suite.place.show_secrets;
    }
}

/// Lets scenarios begin with the cluster of `--start-from`.
///
/// # Errors
/// The dump cannot be read.
pub(super) fn start_from(plans: &mut [Plan], args: &RunArgs) -> Result<(), String> {
    let Some(path) = &args.start_from else { return Ok(()) };
    let start = StartFrom::read(path, &args.ignore)?;
    for plan in plans {
        start.apply(plan);
    }
    start.print_notices();
    Ok(())
}

/// Gives scenarios that are parsed again the cluster of `--start-from`, and the permissions that the user has given.
///
/// # Errors
/// The dump cannot be read.
pub(super) fn prepare(plans: &mut [Plan], args: &RunArgs) -> Result<(), String> {
    if let Some(path) = &args.start_from {
        let start = StartFrom::read(path, &args.ignore)?;
        for plan in &mut *plans {
            start.apply(plan);
        }
    }
    permit(plans, args);
    Ok(())
}

/// Lets the programs of scenarios start that the user has allowed.
pub(super) fn permit(plans: &mut [Plan], args: &RunArgs) {
    let Some(variables) = args.suite.programs.permitted() else { return };
    for program in plans.iter_mut().flat_map(|plan| &mut plan.cluster.programs) {
        program.permit(&variables);
    }
}

/// Removes the scenarios with commands that the user has not allowed. Returns a result for each of their files.
pub(super) fn remove_refused(plans: &mut Vec<Plan>, args: &RunArgs) -> Vec<ScenarioResult> {
    let mut refused = Vec::new();
    plans.retain_mut(|plan| {
        let permitted = consent::permit(&args.suite.programs, &plan.file, &mut plan.cluster.programs);
        permitted.map_err(|why| refused.push((plan.file.clone(), why))).is_ok()
    });
    // Rows of parameters have the same programs.
    refused.dedup();
    let result =
        |(file, why): (String, String)| ScenarioResult::of_invalid_file(&file, &why, args.suite.first_seed());
    refused.into_iter().map(result).collect()
}

pub(super) fn listed(plan: &Plan) -> Listed {
    let tags = plan.tags.iter().chain(&plan.ids).cloned().collect();
    Listed { place: plan.file.clone(), name: plan.name.clone(), tags }
}

/// Runs scenarios with each seed, several at a time, and prints each as soon as it is finished.
pub(super) fn run_all(plans: &[Plan], run: Running<'_>) -> Vec<Finished> {
    let Running { args, place, suite, interrupt } = run;
    let failed = AtomicBool::new(false);
    let at_a_time = args.suite.jobs().min(place.runs_at_a_time());
    let seeds = args.suite.seeds();
    let progress = Progress::of(plans.len());
    let scenarios = plans.iter().enumerate();
    let runs = scenarios.flat_map(|(index, plan)| seeds.iter().map(move |seed| (index, plan, *seed)));
    let runs: Vec<(usize, &Plan, u64)> = runs.collect();
    let combined = Combined::new(plans.len(), seeds.len());
    in_parallel(&runs, at_a_time, |(index, plan, seed)| {
        let finished = run_unless_failed(&failed, interrupt, place, (plan, *seed), args, suite);
        combined.add(*index, finished, |finished| {
            progress.done(*index, suite.text(finished), &finished.result.name, finished.result.failed());
        });
    });
    progress.end();
    combined.into_results()
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
        outcomes: 1,
    };
    plan.timeline.iter().map(step).collect()
}

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
    result.idle_faults.clone_from(&outcome.idle_faults);
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
    let omissions = omissions::of(plan, &outcome.record);
    result.omissions = omissions.iter().map(ToString::to_string).collect();
    if result.passed() {
        result.fail(FailureKind::Tool, omissions::failure(&omissions));
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
