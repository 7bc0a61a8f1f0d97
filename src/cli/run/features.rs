//! The Gherkin features of a run: reads them, and runs their scenarios with each seed.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use futures::StreamExt as _;
use futures::channel::mpsc;

use super::{FAILED_FAST, Found, Running};
use crate::cli::args::RunArgs;
use crate::cli::files::{self, Source, snapshots};
use crate::cli::suite::{Combined, Finished, Listed, Stopwatch};
use crate::cli::terminal::interrupt::INTERRUPTED;
use crate::cli::terminal::progress::Progress;
use crate::cli::{consent, print_notice};
use crate::plan::{Plan, TextDifference};
use crate::report::ScenarioResult;
use crate::report::steps::Written;
use crate::scenario::{Rewritten, is_id};
use crate::steps::{self, FeatureFiles, RunOptions, Suite};

/// The scenarios of features.
#[derive(Default)]
pub(super) struct Features(Option<Suite>);

/// Parses features, and keeps the scenarios that the arguments select.
///
/// # Errors
/// The valid features cannot be one suite.
pub(super) fn parse(sources: Vec<Source>, args: &RunArgs) -> Result<Found<Features>, String> {
    let suite_args = &args.suite;
    let snapshot = if suite_args.updates() { snapshots::to_write } else { snapshots::read };
    let feature_files = FeatureFiles { snapshot, ..files::BESIDE_FEATURES };
    let mut found: Found<Features> = Found::default();
    let mut valid = Vec::new();
    for source in sources {
        match Suite::parse_with_files(std::slice::from_ref(&source), feature_files) {
            Ok(suite) => {
                found.warnings.extend(suite.warnings(&source.1));
                valid.push(source);
            }
            Err(problems) => found.add_invalid(&source.0, &problems.to_string(), suite_args.first_seed()),
        }
    }
    if valid.is_empty() {
        return Ok(found);
    }
    let mut suite =
        Suite::parse_with_files(&valid, feature_files).map_err(|problems| problems.to_string())?;
    let selection = &suite_args.selection;
    let tags = selection.tags.as_ref().map(|tags| &tags.wanted);
    suite.select(tags, |name| selection.fits_name(name));
    found.has_valid = true;
    found.runnable = Features(Some(suite));
    Ok(found)
}

/// Replaces an expected text of the step on a line.
///
/// # Errors
/// Why it cannot be replaced.
pub(super) fn with_text(text: &str, line: usize, difference: &TextDifference) -> Result<Rewritten, String> {
    steps::with_text(text, line, difference)
}

impl Features {
    fn list(&self) -> Vec<steps::ScenarioResult> {
        self.0.as_ref().map(Suite::scenario_list).unwrap_or_default()
    }

    /// Returns the number of scenarios.
    pub(super) fn len(&self) -> usize {
        self.list().len()
    }

    /// Keeps the scenarios whose number `keeps` accepts.
    pub(super) fn retain(&mut self, keeps: impl Fn(usize) -> bool) {
        if let Some(suite) = &mut self.0 {
            suite.retain(|number, _| keeps(number));
        }
    }

    /// Returns the files of the scenarios.
    pub(super) fn files(&self) -> BTreeSet<String> {
        self.list().into_iter().map(|scenario| scenario.file).collect()
    }

    /// Returns each scenario that names a cluster as a plan.
    pub(super) fn plans(&self) -> Vec<Plan> {
        self.0.as_ref().map(Suite::plans).unwrap_or_default()
    }

    /// Returns a result for each scenario before any of them starts.
    pub(super) fn not_started(&self, seed: u64) -> Vec<ScenarioResult> {
        let not_started = |scenario: steps::ScenarioResult| {
            let ids: Vec<String> = scenario.ids.iter().filter(|id| is_id(id)).cloned().collect();
            let result = ScenarioResult::not_started(&scenario.name, &scenario.file, &ids, seed);
            ScenarioResult { feature: scenario.feature, line: scenario.line, tags: scenario.tags, ..result }
        };
        self.list().into_iter().map(not_started).collect()
    }

    /// Returns the rows of `--list`.
    pub(super) fn listed(&self) -> Vec<Listed> {
        let listed = |scenario: steps::ScenarioResult| Listed {
            place: format!("{}:{}", scenario.file, scenario.line),
            name: scenario.name,
            tags: scenario.tags,
        };
        self.list().into_iter().map(listed).collect()
    }

    /// Removes the scenarios with commands that the user has not allowed. Returns a result for each of them.
    pub(super) fn remove_refused(&mut self, args: &RunArgs) -> Vec<ScenarioResult> {
        let Some(suite) = &mut self.0 else { return Vec::new() };
        let permitted = args.suite.programs.permitted();
        let (mut refused, mut announced) = (BTreeMap::new(), BTreeSet::new());
        for (place, programs) in suite.programs() {
            let file = place.0.clone();
            match consent::check(permitted.as_ref(), &file, &programs) {
                Err(why) => drop(refused.insert(place, why)),
                Ok(()) => announced.extend(consent::announcement(&file, &programs)),
            }
        }
        suite.retain(|_, place| !refused.contains_key(place));
        for line in &announced {
            print_notice(line);
        }
        let result = |((file, _, _), why): (&steps::Place, &String)| {
            ScenarioResult::of_invalid_file(file, why, args.suite.first_seed())
        };
        refused.iter().map(result).collect()
    }

    /// Runs the scenarios with each seed, and prints each as soon as it is finished. With `skips`, none starts: another one
    /// failed, and the user asked to stop then.
    ///
    /// # Errors
    /// The runtime cannot start.
    pub(super) fn run_all(&self, run: Running<'_>, skips: bool) -> Result<Vec<Finished>, String> {
        let Some(suite) = self.0.as_ref().filter(|suite| !suite.scenario_list().is_empty()) else {
            return Ok(Vec::new());
        };
        if skips {
            let seed = run.args.suite.first_seed();
            let skipped = |scenario: &steps::ScenarioResult| {
                Finished::without_record(result(scenario, seed, FAILED_FAST))
            };
            let finished: Vec<Finished> = suite.scenario_list().iter().map(skipped).collect();
            run.suite.print_all(&finished);
            return Ok(finished);
        }
        run_suite(suite, run)
    }
}

/// Runs a suite with each seed, and reruns failed scenarios with other seeds.
fn run_suite(suite: &Suite, running: Running<'_>) -> Result<Vec<Finished>, String> {
    let Running { args, suite: output, interrupt, .. } = running;
    let (retries, seeds) = (args.suite.selection.retry, args.suite.seeds());
    // The result of a scenario is open until all seeds and retries are over.
    let prints = retries == 0 && seeds.len() == 1;
    let mut run = Run { suite: suite.clone(), running, prints };
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
        if run.running.interrupt.is_interrupted() || has_failed && run.running.args.suite.selection.fail_fast
        {
            break;
        }
    }
    Ok(combined.into_results())
}

/// One run of a suite.
struct Run<'a> {
    suite: Suite,
    running: Running<'a>,
    /// Whether each scenario is printed as soon as it is finished.
    prints: bool,
}

impl Run<'_> {
    fn run(&self, seed: u64) -> Result<Vec<(steps::Place, Finished)>, String> {
        let Self { suite, running: Running { args, place, suite: output, interrupt }, prints } = self;
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
                Some(record) => output.finished(result, record, finished.snapshots),
                None => Finished::without_record(result),
            };
            let text = if *prints { output.text(&finished) } else { String::new() };
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
    result.idle_faults.clone_from(&finished.idle_faults);
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
    Written {
        keyword: step.keyword.clone(),
        text: step.text.clone(),
        line: step.line,
        outcomes: step.outcomes,
    }
}
