//! `windtunnel test`: runs Gherkin features.

use super::args::{Format, TestArgs};
use super::backend::{self, Place};
use super::files::{self, FoundFiles, records, snapshots};
use super::report::outputs;
use super::run::{FAILED_FAST, all_problems};
use super::terminal::interrupt::{INTERRUPTED, Interrupt};
use super::terminal::progress::Progress;
use super::{Exit, print_errors, print_output};
use crate::record::Record;
use crate::report::steps::Written;
use crate::report::{ScenarioResult, cucumber_json, summary};
use crate::scenario::is_id;
use crate::steps::{self, FeatureFiles, RunOptions, Suite};

pub(super) fn test(args: &TestArgs) -> Result<Exit, String> {
    let found = files::read_all(&args.paths, "feature")?;
    let snapshot = if args.update_snapshots { snapshots::to_write } else { snapshots::read };
    let feature_files = FeatureFiles { snapshot, ..files::BESIDE_FEATURES };
    let (mut suite, invalid) = read(&found, feature_files, args.seed)?;
    if !invalid.is_empty() {
        print_errors(&all_problems(&invalid));
    }
    suite.retain(|number, _| args.selection.has(number));
    let interrupt = Interrupt::listen();
    let (finished, wall) = super::run::timed(|| run_all(&suite, args, &interrupt));
    let (finished, mut results): (Vec<_>, Vec<ScenarioResult>) = finished?.into_iter().unzip();
    // A shard may be empty if there are more shards than scenarios.
    if results.is_empty() && args.selection.shard.is_none() {
        return Err(args.selection.found_nothing());
    }
    results.extend(invalid);
    let for_people = args.reports.format == Format::Text;
    if for_people {
        print_results(&results);
    }
    let snapshots = snapshots::write(finished.iter().flat_map(|finished| &finished.snapshots));
    let recorded_results: Vec<(&ScenarioResult, Option<&Record>)> = results
        .iter()
        .zip(finished.iter().map(Some).chain(std::iter::repeat(None)))
        .map(|(result, finished)| (result, finished.and_then(|finished| finished.record.as_deref())))
        .collect();
    let reports = outputs::write(&args.reports, "windtunnel test", "cucumber", &recorded_results, &[]);
    let cucumber = args.cucumber_json.as_deref();
    let cucumber = cucumber.map_or(Ok(()), |path| files::write(path, &cucumber_json::render(&results)));
    let mut unwritten = records::write(args.record.as_deref(), &recorded_results);
    unwritten.extend([snapshots, reports, cucumber].into_iter().filter_map(Result::err));
    if for_people {
        if results.len() > 1 {
            print_output(&summary::recap(&results, "windtunnel test"));
        }
        print_output(&summary::run(&results, wall));
    }
    if !unwritten.is_empty() {
        return Err(unwritten.join("\n"));
    }
    Ok(interrupt.exit().unwrap_or_else(|| Exit::of(&results)))
}

/// Reads the valid features, and returns results for the files that are invalid.
///
/// # Errors
/// No file is valid; with all problems.
fn read(
    found: &FoundFiles,
    feature_files: FeatureFiles,
    seed: u64,
) -> Result<(Suite, Vec<ScenarioResult>), String> {
    let FoundFiles { sources, unreadable } = found;
    let invalid_file = |(file, why): &(String, String)| ScenarioResult::of_invalid_file(file, why, seed);
    let mut invalid: Vec<_> = unreadable.iter().map(invalid_file).collect();
    let problems =
        Suite::parse_with_files(sources, feature_files).err().map_or_else(Vec::new, |found| found.0);
    let mut valid = Vec::new();
    for source in sources {
        let own = problems.iter().filter(|problem| problem.file == source.0).map(ToString::to_string);
        match own.collect::<Vec<_>>().join("\n") {
            none if none.is_empty() => valid.push(source.clone()),
            problems => invalid.push(invalid_file(&(source.0.clone(), problems))),
        }
    }
    if valid.is_empty() {
        return Err(all_problems(&invalid));
    }
    let suite = Suite::parse_with_files(&valid, feature_files).map_err(|problems| problems.to_string())?;
    Ok((suite, invalid))
}

fn print_results(results: &[ScenarioResult]) {
    let mut feature = None;
    for result in results {
        if feature != Some((&result.file, &result.feature)) {
            feature = Some((&result.file, &result.feature));
            print_output(&format!("{}: {}\n", result.file, result.feature));
        }
        print_output(&if results.len() > 1 { summary::line(result) } else { summary::scenario(result) });
    }
}

type FinishedScenario = (steps::ScenarioResult, ScenarioResult);

/// Runs a suite, and reruns failed scenarios with other seeds.
fn run_all(suite: &Suite, args: &TestArgs, interrupt: &Interrupt) -> Result<Vec<FinishedScenario>, String> {
    let place = backend::make(&args.place, interrupt)?;
    let run = |suite, seed| run_suite(suite, &place, args, seed, interrupt);
    let mut finished = run(suite.clone(), args.seed)?;
    for more in 1..=args.selection.retry {
        let seed = args.seed.wrapping_add(more);
        let failing: Vec<_> = finished
            .iter()
            .filter(|(_, result)| result.failed())
            .map(|(outcome, _)| outcome.place())
            .collect();
        if failing.is_empty() || interrupt.is_interrupted() {
            break;
        }
        let mut rerun = suite.clone();
        rerun.retain(|_, place| failing.contains(place));
        let passed: Vec<_> = run(rerun, seed)?.into_iter().filter(|(_, result)| result.passed()).collect();
        for (outcome, result) in &mut finished {
            if passed.iter().any(|(repeated, _)| repeated.place() == outcome.place()) {
                result.passed_with = Some(seed);
            }
        }
    }
    Ok(finished)
}

fn run_suite(
    suite: Suite,
    place: &Place,
    args: &TestArgs,
    seed: u64,
    interrupt: &Interrupt,
) -> Result<Vec<FinishedScenario>, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .map_err(|error| format!("cannot start the runtime: {error}"))?;
    let tags = args.selection.tags.as_ref().map(|tags| tags.wanted.clone());
    let progress = std::rc::Rc::new(Progress::of(suite.count(tags.as_ref())));
    let shared_progress = std::rc::Rc::clone(&progress);
    let keeps_records = args.record.is_some() || args.reports.need_records();
    let interrupted = interrupt.clone();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let options = RunOptions {
        tags,
        seed,
        strict: args.strict,
        concurrency: cores.min(place.runs_at_a_time()),
        fail_fast: args.selection.fail_fast,
        backend: place.shared(),
        stop: interrupt.flag(),
    };
    let take = move |mut finished: steps::ScenarioResult| {
        let why = if interrupted.is_interrupted() { INTERRUPTED } else { FAILED_FAST };
        let result = result(&finished, seed, why);
        if finished.started {
            shared_progress.done(&finished.name);
        }
        // The records of a whole suite take a lot of memory.
        finished.record = finished.record.filter(|_| keeps_records);
        (finished, result)
    };
    let finished = runtime.block_on(suite.run_each(options, take));
    progress.end();
    Ok(finished)
}

/// Converts a result; `why` is the reason if the scenario did not start.
fn result(finished: &steps::ScenarioResult, seed: u64, why: &str) -> ScenarioResult {
    let ids: Vec<String> = finished.ids.iter().filter(|id| is_id(id)).cloned().collect();
    let record = finished.record.as_deref();
    let mut result = if finished.started {
        record.map_or_else(
            || ScenarioResult::not_started(&finished.name, &finished.file, &[], seed),
            |record| ScenarioResult::from_record(record, &finished.file),
        )
    } else {
        ScenarioResult::skipped(&finished.name, &finished.file, &[], seed, why)
    };
    result.name.clone_from(&finished.name);
    result.feature.clone_from(&finished.feature);
    result.line = finished.line;
    result.ids = ids;
    result.failure.clone_from(&finished.failure);
    result.skipped = finished.skipped.clone().or(result.skipped);
    result.failed_at = finished.failed_at.or_else(|| finished.failure.as_ref().map(|_| (finished.line, 1)));
    let written: Vec<Written> = finished.steps.iter().map(written).collect();
    result.of_scenario(record, &finished.tags, &written).judge_canary()
}

fn written(step: &steps::FeatureStep) -> Written {
    Written { keyword: step.keyword.clone(), text: step.text.clone(), line: step.line, recorded: !step.plans }
}
