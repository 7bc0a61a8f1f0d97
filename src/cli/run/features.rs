//! `windtunnel test`: runs Gherkin features.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use futures::StreamExt as _;
use futures::channel::mpsc;

use super::args::TestArgs;
use super::backend::{self, Place};
use super::consent;
use super::files::{self, FoundFiles, snapshots};
use super::run::{FAILED_FAST, until};
use super::suite::{self, Combined, Finished, Listed, Stopwatch, Suite as Output, all_problems, timed};
use super::terminal::interrupt::{INTERRUPTED, Interrupt};
use super::terminal::progress::Progress;
use super::{Exit, print_notice};
use crate::report::ScenarioResult;
use crate::report::steps::Written;
use crate::scenario::{ScenarioError, is_id};
use crate::steps::{self, FeatureFiles, RunOptions, Suite};

/// The command, and the type of its suite in test results.
const KIND: (&str, &str) = ("windtunnel test", "cucumber");

/// The features that the arguments name.
struct Input {
    suite: Suite,
    /// Results for invalid files.
    invalid: Vec<ScenarioResult>,
    warnings: Vec<ScenarioError>,
}

impl Input {
    /// Replaces the scenarios with commands that the user has not allowed by results.
    ///
    /// # Errors
    /// All are such scenarios, or invalid.
    fn with_consent(mut self, args: &TestArgs) -> Result<Self, String> {
        let permitted = args.suite.programs.permitted();
        let (mut refused, mut announced) = (BTreeMap::new(), BTreeSet::new());
        for (place, programs) in self.suite.programs() {
            let file = place.0.clone();
            match consent::check(permitted.as_ref(), &file, &programs) {
                Err(why) => drop(refused.insert(place, why)),
                Ok(()) => announced.extend(consent::announcement(&file, &programs)),
            }
        }
        self.suite.retain(|_, place| !refused.contains_key(place));
        let result = |((file, _, _), why): (&steps::Place, &String)| {
            ScenarioResult::of_invalid_file(file, why, args.suite.first_seed())
        };
        self.invalid.extend(refused.iter().map(result));
        if self.suite.scenario_list().is_empty() && !refused.is_empty() {
            return Err(all_problems(&self.invalid));
        }
        for line in &announced {
            print_notice(line);
        }
        Ok(self)
    }
}

/// Runs the features that the arguments name, once or after each change.
pub(super) fn test(args: &TestArgs) -> Result<Exit, String> {
    args.suite.place.check()?;
    #[cfg(feature = "watch")]
    if args.suite.interactive.watch {
        let rerun = || {
            if let Err(message) = test_all(args) {
                super::print_errors(&message);
            }
        };
        return super::run::watch::watch(&args.paths, &args.suite, rerun).map(|()| Exit::Passed);
    }
    let is_list = args.suite.selection.list;
    if !is_list && args.suite.interactive.until.is_none() {
        return test_all(args);
    }
    let Input { suite, invalid, .. } = read(args)?;
    if is_list {
        let listed = |scenario: &steps::ScenarioResult| Listed {
            place: format!("{}:{}", scenario.file, scenario.line),
            name: scenario.name.clone(),
            tags: scenario.tags.clone(),
        };
        return Ok(suite::list(&suite.scenario_list().iter().map(listed).collect::<Vec<_>>()));
    }
    match invalid.as_slice() {
        [] => until::run_until(&args.suite, &suite.plans()),
        invalid => Err(all_problems(invalid)),
    }
}

fn test_all(args: &TestArgs) -> Result<Exit, String> {
    suite::check_outputs(&args.suite)?;
    let Input { suite, invalid, warnings } = read(args)?.with_consent(args)?;
    suite::print_findings(&warnings, &invalid, args.suite.quiet);
    let interrupt = match args.suite.interactive.watches() {
        true if args.suite.place.can_outlive_process() => Interrupt::listen_to_end(),
        true => Interrupt::default(),
        false => Interrupt::listen(),
    };
    let count = suite.scenario_list().len() * args.suite.seeds().len();
    let output = Output::new(&args.suite, KIND, Vec::new(), count);
    let (finished, wall) = timed(|| run_all(&suite, args, &output, &interrupt));
    output.end(finished?, invalid, wall, &interrupt)
}

/// Reads the selected scenarios of the valid features, and results for the files that are invalid.
///
/// # Errors
/// No file is valid, or there is nothing to run; with all problems.
fn read(args: &TestArgs) -> Result<Input, String> {
    let (selection, seed) = (&args.suite.selection, args.suite.first_seed());
    let snapshot = if args.suite.update_snapshots { snapshots::to_write } else { snapshots::read };
    let feature_files = FeatureFiles { snapshot, ..files::BESIDE_FEATURES };
    let FoundFiles { sources, unreadable } = files::read_all(&args.paths, "feature")?;
    let invalid_file = |file: &str, why: &str| ScenarioResult::of_invalid_file(file, why, seed);
    let invalid = unreadable.iter().map(|problem| invalid_file(&problem.file, &problem.to_string()));
    let (mut valid, mut invalid, mut warnings) = (Vec::new(), invalid.collect::<Vec<_>>(), Vec::new());
    for source in sources {
        match Suite::parse_with_files(std::slice::from_ref(&source), feature_files) {
            Ok(suite) => {
                warnings.extend(suite.warnings(&source.1));
                valid.push(source);
            }
            Err(problems) => invalid.push(invalid_file(&source.0, &problems.to_string())),
        }
    }
    if valid.is_empty() {
        return Err(all_problems(&invalid));
    }
    let mut suite =
        Suite::parse_with_files(&valid, feature_files).map_err(|problems| problems.to_string())?;
    let tags = selection.tags.as_ref().map(|tags| &tags.wanted);
    suite.select(tags, |name| selection.fits_name(name));
    let is_empty = suite.scenario_list().is_empty();
    suite.retain(|number, _| selection.has(number));
    // A shard may be empty if there are more shards than scenarios.
    if is_empty {
        return Err(selection.found_nothing());
    }
    let files: Vec<String> = suite.scenario_list().into_iter().map(|scenario| scenario.file).collect();
    warnings.retain(|warning| files.contains(&warning.file));
    Ok(Input { suite, invalid, warnings })
}

/// Runs a suite with each seed, and reruns failed scenarios with other seeds.
fn run_all(
    suite: &Suite,
    args: &TestArgs,
    output: &Output<'_>,
    interrupt: &Interrupt,
) -> Result<Vec<Finished>, String> {
    let place = backend::make(&args.suite.place, interrupt)?;
    let (retries, seeds) = (args.suite.selection.retry, args.suite.seeds());
    // The result of a scenario is open until all seeds and retries are over.
    let prints = retries == 0 && seeds.len() == 1;
    let mut run = Run { suite: suite.clone(), place: &place, args, output, interrupt, prints };
    if seeds.len() > 1 {
        let finished = run_seeds(&run, &seeds)?;
        output.print_all(&finished);
        return Ok(finished);
    }
    let first = args.suite.first_seed();
    let mut finished = run.run(first)?;
    for more in 1..=retries {
        let seed = first.wrapping_add(more);
        let failing: Vec<steps::Place> = finished
            .iter()
            .filter(|(_, finished)| finished.result.failed())
            .map(|(place, _)| place.clone())
            .collect();
        if failing.is_empty() || interrupt.is_interrupted() {
            break;
        }
        run.suite = suite.clone();
        run.suite.retain(|_, place| failing.contains(place));
        let rerun = run.run(seed)?;
        let passed: Vec<_> = rerun.into_iter().filter(|(_, finished)| finished.result.passed()).collect();
        for (place, finished) in &mut finished {
            if passed.iter().any(|(repeated, _)| repeated == place) {
                finished.result.passed_with = Some(seed);
            }
        }
    }
    let finished: Vec<Finished> = finished.into_iter().map(|(_, finished)| finished).collect();
    if retries > 0 {
        output.print_all(&finished);
    }
    Ok(finished)
}

/// Runs a suite with each of several seeds.
fn run_seeds(run: &Run<'_>, seeds: &[u64]) -> Result<Vec<Finished>, String> {
    let places: Vec<steps::Place> =
        run.suite.scenario_list().iter().map(steps::ScenarioResult::place).collect();
    let combined = Combined::new(places.len(), seeds.len());
    for seed in seeds {
        let finished = run.run(*seed)?;
        let has_failed = finished.iter().any(|(_, finished)| finished.result.failed());
        for (place, finished) in finished {
            if let Some(index) = places.iter().position(|other| *other == place) {
                combined.add(index, finished, |_| {});
            }
        }
        if run.interrupt.is_interrupted() || has_failed && run.args.suite.selection.fail_fast {
            break;
        }
    }
    Ok(combined.into_results())
}

/// One run of a suite.
struct Run<'a> {
    suite: Suite,
    place: &'a Place,
    args: &'a TestArgs,
    output: &'a Output<'a>,
    interrupt: &'a Interrupt,
    /// Whether each scenario is printed as soon as it is finished.
    prints: bool,
}

impl Run<'_> {
    fn run(&self, seed: u64) -> Result<Vec<(steps::Place, Finished)>, String> {
        let Self { suite, place, args, interrupt, .. } = self;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .map_err(|error| format!("cannot start the runtime: {error}"))?;
        let watches: Rc<RefCell<BTreeMap<steps::Place, Stopwatch>>> = Rc::default();
        let started = Rc::clone(&watches);
        let options = RunOptions {
            seed,
            strict: args.suite.is_strict(),
            programs: args.suite.program_plans().into(),
            permitted: args.suite.programs.permitted(),
            shows_secrets: args.suite.place.show_secrets,
            concurrency: args.suite.jobs().min(place.runs_at_a_time()),
            fail_fast: args.suite.selection.fail_fast,
            backend: place.shared(),
            stop: interrupt.flag(),
            begin: Rc::new(move |place| {
                started.borrow_mut().insert(place, Stopwatch::start());
            }),
        };
        let order = suite.scenario_list().into_iter().map(|scenario| scenario.place());
        let order: BTreeMap<steps::Place, usize> = order.zip(0..).collect();
        let progress = Progress::of(order.len());
        let take = |finished: steps::ScenarioResult| {
            let (place, started) = (finished.place(), finished.started);
            let why = if interrupt.is_interrupted() { INTERRUPTED } else { FAILED_FAST };
            let mut result = result(&finished, seed, why);
            result.wall = watches.borrow().get(&place).filter(|_| started).map(Stopwatch::read);
            let finished = match finished.record {
                Some(record) => self.output.finished(result, record, finished.snapshots),
                None => Finished::without_record(result),
            };
            let text = if self.prints { self.output.text(&finished) } else { String::new() };
            let (index, result) = (order.get(&place).copied().unwrap_or_default(), &finished.result);
            progress.done(index, text, &result.name, result.failed());
            (place, finished)
        };
        // The hooks of the suite must not borrow, so a channel connects them with the output.
        let (sender, receiver) = mpsc::unbounded();
        let send = move |finished| {
            let _ = sender.unbounded_send(finished);
        };
        let running = suite.clone().run_each(options, send);
        let (_, mut finished) =
            runtime.block_on(futures::future::join(running, receiver.map(take).collect::<Vec<_>>()));
        progress.end();
        finished.sort_by_key(|(place, _)| order.get(place).copied());
        Ok(finished)
    }
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
    result.failure_kind = finished.failure_kind;
    result.skipped = finished.skipped.clone().or(result.skipped);
    result.failed_at = finished.failed_at.or_else(|| finished.failure.as_ref().map(|_| (finished.line, 1)));
    let written: Vec<Written> = finished.steps.iter().map(written).collect();
    let result = result.of_scenario(record, &finished.tags, &written).judge_canary();
    result.without_secrets(&finished.secrets)
}

fn written(step: &steps::FeatureStep) -> Written {
    Written { keyword: step.keyword.clone(), text: step.text.clone(), line: step.line, recorded: !step.plans }
}
