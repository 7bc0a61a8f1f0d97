//! `windtunnel explore`: invents faulty updates, runs them, and shrinks those that break a rule into scenarios.

mod budgets;
mod corpus;
mod curve;
mod display;
mod minimise;
mod mutants;
mod page;
mod replay;
mod report;
mod seeded;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::SignedDuration;
use windtunnel_core::text::short_duration;

use self::corpus::{Corpus, State};
use self::display::Display;
use self::report::Summary;
use super::args::{CorpusReportArgs, ExploreArgs, ExploreCommand, ExploreFormat, jobs_or_cores};
use super::files::{self, FoundFiles};
use super::payload::Releases;
use super::suite::Stopwatch;
use super::terminal::interrupt::Interrupt;
use super::{Exit, print_notice, print_output};
use crate::explore::{Case, Exploration, Settings, Stop, Terms, seed_of_shard};
use crate::scenario;

pub(super) fn explore(args: &ExploreArgs) -> Result<Exit, String> {
    match &args.command {
        Some(ExploreCommand::Replay(args)) => replay::replay(args),
        Some(ExploreCommand::Minimise(args)) => minimise::minimise(args),
        Some(ExploreCommand::Report(args)) => report_corpus(args),
        None => run(args),
    }
}

fn run(args: &ExploreArgs) -> Result<Exit, String> {
    let releases = Releases::read(&args.payload)?;
    let settings = settings(args, &releases)?;
    let interrupt = Interrupt::listen();
    if let Some(names) = &args.seeded {
        return seeded::explore(args, &settings, names, &interrupt);
    }
    if let Some(count) = args.mutants {
        return Ok(mutants::explore(args, &settings, count, &interrupt));
    }
    let outputs = Outputs::open(args)?;
    let mut state = outputs.known(args)?;
    outputs.keep(&state)?;
    let known = state.exploration.states_seen();
    let mut exploration = std::mem::take(&mut state.exploration);
    state.exploration.clone_from(&exploration);
    let watch = Stopwatch::start();
    let ending =
        Ending { known, watch, format: args.format, emit: args.emit.clone(), html: args.html.clone() };
    let mut progress = Progress {
        display: Display::new(&exploration, goal(args)),
        watch,
        findings: exploration.findings.len(),
        wall_before: state.wall_seconds,
        outputs,
        state: Arc::new(Mutex::new(state)),
        failure: None,
    };
    let (last_ending, last_state) = (ending.clone(), Arc::clone(&progress.state));
    interrupt.finish_within(GRACE, move || last_ending.report_unfinished(&lock(&last_state)));
    progress.explore(&mut exploration, &settings, args, &interrupt);
    interrupt.has_finished();
    let Progress { state, failure, .. } = progress;
    if let Some(why) = failure {
        return Err(why);
    }
    let state = lock(&state);
    ending.report(&state)?;
    Ok(interrupt.exit().unwrap_or_else(|| exit(&state.exploration)))
}

/// How long running cases may take to finish after a signal.
const GRACE: Duration = Duration::from_secs(5);

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The reports at the end of an exploration.
#[derive(Clone)]
struct Ending {
    known: usize,
    watch: Stopwatch,
    format: ExploreFormat,
    emit: Option<PathBuf>,
    html: Option<PathBuf>,
}

impl Ending {
    /// Prints the summary, and writes the page.
    ///
    /// # Errors
    /// The page cannot be written.
    fn report(&self, state: &State) -> Result<(), String> {
        let summary = Summary { state, known: self.known, wall: self.watch.read().took };
        print_summary(summary, self.format, self.emit.as_deref());
        self.html.as_deref().map_or(Ok(()), |path| page::write(path, summary))
    }

    /// Reports an exploration whose running cases did not finish in time. Its files are those of the last batch.
    fn report_unfinished(&self, state: &State) {
        print_notice("the running cases take too long: they are dropped");
        if let Err(why) = self.report(state) {
            print_notice(&why);
        }
    }
}

fn exit(exploration: &Exploration) -> Exit {
    if exploration.findings.is_empty() { Exit::Passed } else { Exit::Failed }
}

fn print_summary(summary: Summary<'_>, format: ExploreFormat, emit: Option<&Path>) {
    print_output(&match format {
        ExploreFormat::Text => summary.to_text(emit),
        ExploreFormat::Json => summary.to_json(),
    });
}

/// The end of an exploration, in words.
fn goal(args: &ExploreArgs) -> String {
    let runs = args.runs.map(|runs| format!("until run {runs}"));
    let budget = args.budget().map(|budget| format!("of {}", short_duration(budget)));
    budget.into_iter().chain(runs).collect::<Vec<_>>().join(", ")
}

/// `windtunnel explore report`.
fn report_corpus(args: &CorpusReportArgs) -> Result<Exit, String> {
    let mut all = State::new(None, 0);
    for state in corpus::read_all(&args.corpus)? {
        all.add(&state);
    }
    let summary = Summary { state: &all, known: 0, wall: Duration::from_secs_f64(all.wall_seconds.max(0.0)) };
    if let Some(folder) = &args.emit {
        emit(folder, &all.exploration)?;
    }
    print_summary(summary, args.format, args.emit.as_deref());
    if let Some(path) = &args.html {
        page::write(path, summary)?;
    }
    Ok(exit(&all.exploration))
}

fn settings<'a>(args: &ExploreArgs, releases: &'a Releases) -> Result<Settings<'a>, String> {
    let (index, count) = args.shard.map_or((1, 1), super::args::Shard::numbers);
    Ok(Settings {
        seed: seed_of_shard(args.seed, index, count),
        runs: args.runs(),
        jobs: jobs_or_cores(args.jobs),
        terms: Terms { within: args.within, mutant: None },
        scenarios: if args.paths.is_empty() { Vec::new() } else { scenarios(args, releases)? },
        releases,
    })
}

/// Reads the scenarios of the user. Those that cannot be explored print a notice.
///
/// # Errors
/// A file cannot be read or has mistakes, or no scenario is left.
fn scenarios(args: &ExploreArgs, releases: &Releases) -> Result<Vec<Case>, String> {
    let FoundFiles { sources, unreadable } = files::read_all(&args.paths, "yaml")?;
    let mut problems: Vec<String> = unreadable.iter().map(ToString::to_string).collect();
    let mut cases = Vec::new();
    for (file, text) in &sources {
        if let Err(found) = scenario::parse_all(file, text, releases) {
            problems.push(found.to_string());
            continue;
        }
        match Case::of_scenario(text) {
            Ok(case) => cases.push(case),
            Err(why) => print_notice(&format!("{file}: skipped: {why}")),
        }
    }
    if !problems.is_empty() {
        return Err(problems.join("\n"));
    }
    if cases.is_empty() {
        return Err(
            "found no scenario to explore; without paths, clusters and updates are invented".to_owned()
        );
    }
    Ok(cases)
}

/// The files of an exploration.
struct Outputs<'a> {
    corpus: Option<Corpus>,
    emit: Option<&'a Path>,
}

impl<'a> Outputs<'a> {
    /// Opens the folders.
    ///
    /// # Errors
    /// Nothing can be written into one of them: nothing runs whose result would be lost.
    fn open(args: &'a ExploreArgs) -> Result<Self, String> {
        let corpus = args.corpus.as_deref().map(|folder| Corpus::open(folder, args.shard)).transpose()?;
        args.emit.as_deref().map_or(Ok(()), files::check_folder)?;
        args.html.as_deref().map_or(Ok(()), files::check_report)?;
        Ok(Self { corpus, emit: args.emit.as_deref() })
    }

    /// The state of this shard, with the knowledge of others.
    fn known(&self, args: &ExploreArgs) -> Result<State, String> {
        let Some(corpus) = &self.corpus else { return Ok(State::new(args.shard, args.seed)) };
        let mut state = corpus.read()?.unwrap_or_else(|| State::new(args.shard, args.seed));
        state.seed = args.seed;
        let (others, problems) = corpus.read_others();
        for problem in problems {
            print_notice(&format!("warning: skipped what another shard knows: {problem}"));
        }
        for other in others {
            state.exploration.learn(&other.exploration, &other.shard);
        }
        Ok(state)
    }

    /// Writes the corpus and the scenarios of findings.
    fn keep(&self, state: &State) -> Result<(), String> {
        self.corpus.as_ref().map_or(Ok(()), |corpus| corpus.write(state))?;
        self.emit.map_or(Ok(()), |folder| emit(folder, &state.exploration))
    }
}

/// Writes the scenarios of findings into a folder.
fn emit(folder: &Path, exploration: &Exploration) -> Result<(), String> {
    let write = |finding: &crate::explore::Finding| {
        files::write_into(folder, finding.file_name(), &finding.scenario())
    };
    exploration.findings.iter().try_for_each(write)
}

/// What happens while the exploration runs.
struct Progress<'a> {
    display: Display,
    watch: Stopwatch,
    /// The number of findings that were reported.
    findings: usize,
    /// The seconds that earlier processes took.
    wall_before: f64,
    outputs: Outputs<'a>,
    /// The state after the last batch.
    state: Arc<Mutex<State>>,
    /// Why a file could not be written.
    failure: Option<String>,
}

impl Progress<'_> {
    fn explore(
        &mut self,
        exploration: &mut Exploration,
        settings: &Settings<'_>,
        args: &ExploreArgs,
        interrupt: &Interrupt,
    ) {
        let limit = args.budget().and_then(|budget: SignedDuration| Duration::try_from(budget).ok());
        let watch = self.watch;
        let has_failed = AtomicBool::new(false);
        let is_interrupted = || interrupt.is_interrupted() || has_failed.load(Ordering::Relaxed);
        let is_over = || limit.is_some_and(|limit| watch.read().took >= limit);
        let stop = Stop { is_interrupted: &is_interrupted, is_over: &is_over };
        exploration.explore(settings, stop, &mut |exploration| {
            self.after_batch(exploration);
            // Without its files, an exploration is useless.
            has_failed.store(self.failure.is_some(), Ordering::Relaxed);
        });
        self.after_batch(exploration);
        self.display.end();
    }

    /// Reports new findings, and writes the files.
    fn after_batch(&mut self, exploration: &Exploration) {
        for finding in exploration.findings.iter().skip(self.findings) {
            self.display.print(&format!("run {}: {}", finding.found_in_run, finding.cause));
        }
        self.findings = exploration.findings.len();
        let wall = self.watch.read().took;
        let mut state = lock(&self.state);
        state.curve.push(exploration.runs, exploration.states_seen());
        state.wall_seconds = self.wall_before + wall.as_secs_f64();
        state.exploration.clone_from(exploration);
        if let Err(why) = self.outputs.keep(&state) {
            self.failure.get_or_insert(why);
        }
        drop(state);
        self.display.update(exploration, wall);
    }
}
