//! `windtunnel run` and `windtunnel test`: run YAML scenarios and Gherkin features together, and print their results in order.
//!
//! * `scenarios.rs`, `features.rs`: what is particular to each; `no_features.rs`: a build without Gherkin
//! * `until.rs`: `--until`; `update.rs`: `--update`; `watch.rs`: `--watch`
//! * the checks that repeat a YAML scenario: `restarts.rs` (`--check-restarts`), `restored.rs` (`--check-restored`),
//!   `program_checks.rs` (programs of the user), with `reproduction.rs` for emitted scenarios

#[cfg(test)]
mod failure_kinds;
#[cfg(feature = "gherkin")]
mod features;
#[cfg(not(feature = "gherkin"))]
mod no_features;
mod omissions;
mod program_checks;
mod reproduction;
pub(super) mod restarts;
mod restored;
mod scenarios;
mod until;
mod update;
#[cfg(feature = "watch")]
mod watch;

use std::path::PathBuf;

#[cfg(feature = "gherkin")]
use self::features::Features;
#[cfg(not(feature = "gherkin"))]
use self::no_features::{self as features, Features};
use super::Exit;
use super::args::RunArgs;
use super::backend::{self, Place};
use super::files::{self, FoundFiles, Source};
use super::report::html;
use super::suite::{self, Suite, all_problems, timed};
use super::terminal::interrupt::Interrupt;
use crate::plan::Plan;
use crate::record::FailureKind;
use crate::report::ScenarioResult;
use crate::scenario::ScenarioError;

/// A name of the command. Both take the same files and flags.
#[derive(Debug, Clone, Copy)]
pub(super) struct Invocation {
    /// The command, which is the name of its suite.
    command: &'static str,
    /// The type of the suite in test results.
    kind: &'static str,
    /// The folder that is searched without paths.
    folder: &'static str,
    /// The extension of the files that a named file without a known one is read as.
    extension: &'static str,
}

/// `windtunnel run`.
pub(super) const RUN: Invocation =
    Invocation { command: "windtunnel run", kind: "scenarios", folder: "scenarios", extension: files::YAML };

/// `windtunnel test`, the older name for features.
#[cfg(feature = "gherkin")]
pub(super) const TEST: Invocation = Invocation {
    command: "windtunnel test",
    kind: "cucumber",
    folder: "features",
    extension: files::FEATURE,
};

/// The reason of a scenario that did not start.
const FAILED_FAST: &str = "another scenario failed, and --fail-fast was given";

/// What was found in files of one kind.
#[derive(Default)]
struct Found<R> {
    /// The selected scenarios.
    runnable: R,
    /// Whether a file was valid, whatever is selected.
    has_valid: bool,
    /// Results for invalid files.
    invalid: Vec<ScenarioResult>,
    warnings: Vec<ScenarioError>,
}

impl<R> Found<R> {
    fn map<T>(self, change: impl FnOnce(R) -> T) -> Found<T> {
        let Self { runnable, has_valid, invalid, warnings } = self;
        Found { runnable: change(runnable), has_valid, invalid, warnings }
    }

    fn add_invalid(&mut self, file: &str, why: &str, seed: u64) {
        self.invalid.push(ScenarioResult::of_invalid_file(file, why, seed));
    }
}

/// What the scenarios of a run share.
#[derive(Clone, Copy)]
struct Running<'a> {
    args: &'a RunArgs,
    place: &'a Place,
    suite: &'a Suite<'a>,
    interrupt: &'a Interrupt,
}

/// The scenarios that the arguments name.
struct Input {
    plans: Vec<Plan>,
    features: Features,
    /// Whether a file was valid, whatever is selected.
    has_valid: bool,
    /// Results for invalid files.
    invalid: Vec<ScenarioResult>,
    warnings: Vec<ScenarioError>,
}

impl Input {
    fn len(&self) -> usize {
        self.plans.len() + self.features.len()
    }

    /// Lets the programs start that the user has allowed already.
    fn with_permission(mut self, args: &RunArgs) -> Self {
        scenarios::permit(&mut self.plans, args);
        self
    }

    /// Replaces the scenarios with commands that the user has not allowed by results.
    fn with_consent(mut self, args: &RunArgs) -> Self {
        let mut refused = scenarios::remove_refused(&mut self.plans, args);
        refused.extend(self.features.remove_refused(args));
        // A shard may be empty as well.
        self.has_valid &= refused.is_empty() || self.len() > 0;
        self.invalid.extend(refused);
        self
    }

    /// Returns a failed result for each scenario, because the backend provided no cluster.
    fn without_cluster(&self, seed: u64, why: &str) -> Vec<ScenarioResult> {
        let plans = self
            .plans
            .iter()
            .map(|plan| ScenarioResult::not_started(&plan.name, &plan.file, &plan.ids, seed));
        let mut results: Vec<ScenarioResult> = plans.chain(self.features.not_started(seed)).collect();
        for result in &mut results {
            result.fail(FailureKind::Tool, Some(why.to_owned()));
        }
        results.extend(self.invalid.iter().cloned());
        results
    }
}

/// Runs the scenarios and features that the arguments name, once or after each change.
pub(super) fn run(args: &RunArgs, invocation: Invocation) -> Result<Exit, String> {
    args.suite.place.check()?;
    #[cfg(feature = "watch")]
    if args.suite.interactive.watch {
        let rerun = || {
            if let Err(message) = run_all(args, invocation) {
                super::print_errors(&message);
            }
        };
        return watch::watch(&paths(args, invocation), &args.suite, rerun).map(|()| Exit::Passed);
    }
    if args.suite.selection.list {
        let Input { plans, features, .. } = read(args, invocation)?;
        let listed = plans.iter().map(scenarios::listed).chain(features.listed());
        return Ok(suite::list(&listed.collect::<Vec<_>>()));
    }
    if args.suite.interactive.until.is_some() {
        let Input { mut plans, features, invalid, .. } = read(args, invocation)?;
        plans.extend(features.plans());
        return match invalid.as_slice() {
            [] => until::run_until(&args.suite, &plans),
            invalid => Err(all_problems(invalid)),
        };
    }
    run_all(args, invocation)
}

/// Returns the paths of the arguments, or else the default.
fn paths(args: &RunArgs, invocation: Invocation) -> Vec<PathBuf> {
    if args.paths.is_empty() { vec![PathBuf::from(invocation.folder)] } else { args.paths.clone() }
}

/// Returns the flags that only YAML scenarios can have.
fn flags_for_yaml(args: &RunArgs) -> impl Iterator<Item = &'static str> {
    let flags = [
        ("--payload", !args.payload.is_empty()),
        ("--start-from", args.start_from.is_some()),
        ("--check-determinism", args.check_determinism),
        ("--check-restored", args.check_restored),
    ];
    flags.into_iter().filter_map(|(flag, is_set)| is_set.then_some(flag)).chain(args.checks.flags())
}

/// Reads the files that the arguments name: those of scenarios, and those of features.
///
/// # Errors
/// All missing paths; a feature with a flag that only YAML scenarios can have.
fn read_files(args: &RunArgs, invocation: Invocation) -> Result<(FoundFiles, Vec<Source>), String> {
    let flag = flags_for_yaml(args).next();
    let paths = paths(args, invocation);
    let mut found = files::read_runnable(&paths, invocation.extension, flag.is_none())?;
    let is_feature =
        |(file, _): &Source| files::kind_of(file.as_ref(), invocation.extension) == files::FEATURE;
    let (features, scenarios) = std::mem::take(&mut found.sources).into_iter().partition(is_feature);
    found.sources = scenarios;
    let features: Vec<Source> = features;
    match (flag, features.first()) {
        (Some(flag), Some((file, _))) => {
            Err(format!("{flag}: expected YAML scenarios only, found the feature {file}"))
        }
        _ => Ok((found, features)),
    }
}

/// Reads the scenarios to run.
///
/// # Errors
/// No file is valid, or there is nothing to run; with all problems.
fn read(args: &RunArgs, invocation: Invocation) -> Result<Input, String> {
    let input = read_valid(args, invocation)?;
    if input.has_valid { Ok(input) } else { Err(all_problems(&input.invalid)) }
}

/// Reads the scenarios to run; there may be invalid files only.
///
/// # Errors
/// A path is missing, or valid files have nothing to run.
fn read_valid(args: &RunArgs, invocation: Invocation) -> Result<Input, String> {
    let (FoundFiles { sources, unreadable }, features) = read_files(args, invocation)?;
    let yaml = scenarios::parse(&sources, args)?;
    let gherkin = features::parse(features, args)?;
    let (selection, seed) = (&args.suite.selection, args.suite.first_seed());
    let unreadable = unreadable
        .iter()
        .map(|problem| ScenarioResult::of_invalid_file(&problem.file, &problem.to_string(), seed));
    let invalid: Vec<ScenarioResult> = unreadable.chain(yaml.invalid).chain(gherkin.invalid).collect();
    let has_valid = yaml.has_valid || gherkin.has_valid;
    let warnings = [yaml.warnings, gherkin.warnings].concat();
    let mut input = Input { plans: yaml.runnable, features: gherkin.runnable, has_valid, invalid, warnings };
    if has_valid && input.len() == 0 {
        return Err(selection.found_nothing());
    }
    // A shard may be empty if there are more shards than scenarios.
    let (mut number, first_of_features) = (0.., input.plans.len());
    input.plans.retain(|_| number.next().is_some_and(|number| selection.has(number)));
    input.features.retain(|number| selection.has(first_of_features + number));
    let files = input.features.files();
    let is_selected = |file: &str| files.contains(file) || input.plans.iter().any(|plan| plan.file == file);
    input.warnings.retain(|warning| is_selected(&warning.file));
    if has_valid {
        scenarios::start_from(&mut input.plans, args)?;
    }
    Ok(input)
}

fn run_all(args: &RunArgs, invocation: Invocation) -> Result<Exit, String> {
    let read_input = read_valid(args, invocation)?;
    // No output may be an input.
    suite::check_outputs(&args.suite)?;
    args.checks.emit.as_deref().map_or(Ok(()), files::check_folder)?;
    let place_args = &args.suite.place;
    // Only a cluster in this process can be repeated.
    let repeating = flags_for_yaml(args).find(|flag| flag.starts_with("--check-"));
    if let Some(flag) = repeating.filter(|_| place_args.can_outlive_process()) {
        return Err(format!("{flag} requires `--backend in-process` or `--backend served`"));
    }
    let mut input = read_input.with_consent(args);
    let Invocation { command, kind, .. } = invocation;
    let fail = |results, why| suite::end_without_runs(&args.suite, (command, kind), results, why);
    if !input.has_valid {
        let problems = all_problems(&input.invalid);
        return Err(fail(input.invalid, problems));
    }
    suite::check_record(&args.suite, input.len())?;
    suite::print_findings(&input.warnings, &input.invalid, args.suite.quiet);
    let interrupt = match args.suite.interactive.watches() {
        true if place_args.can_outlive_process() => Interrupt::listen_to_end(),
        true => Interrupt::default(),
        false => Interrupt::listen(),
    };
    let place = backend::make(place_args, &interrupt).map_err(|why| {
        let results = input.without_cluster(args.suite.first_seed(), &why);
        fail(results, format!("{why}\nno scenario ran: the backend provided no cluster (tool)"))
    })?;
    if args.suite.updates() && !place_args.can_outlive_process() {
        let updated = update::update(args, &place, &input)?;
        if args.suite.dry_run {
            return Ok(if updated.changed || updated.fails { Exit::Failed } else { Exit::Passed });
        }
        if updated.changed {
            input = read(args, invocation)?.with_permission(args);
        }
    }
    let options =
        html::payload_options(&args.payload).into_iter().chain(args.suite.programs.consent_options());
    let count = input.len() * args.suite.seeds().len();
    let suite = Suite::new(&args.suite, (command, kind), options.collect(), count);
    let (finished, wall) = timed(|| {
        let running = Running { args, place: &place, suite: &suite, interrupt: &interrupt };
        let mut finished = scenarios::run_all(&input.plans, running);
        let has_failed = finished.iter().any(|finished| finished.result.failed());
        let skips = args.suite.selection.fail_fast && has_failed;
        input.features.run_all(running, skips).map(|features| {
            finished.extend(features);
            finished
        })
    });
    drop(place);
    suite.end(finished?, input.invalid, wall, &interrupt)
}
