//! `windtunnel explore`: invents faulty updates, runs them, and shrinks those that break a rule into scenarios.

mod corpus;
mod mutants;
mod report;
mod seeded;

use std::io::IsTerminal as _;
use std::path::Path;
use std::time::Duration;

use self::corpus::Corpus;
use self::report::Summary;
use super::args::{ExploreArgs, ExploreFormat, jobs_or_cores};
use super::files::{self, FoundFiles};
use super::payload::Releases;
use super::suite::Stopwatch;
use super::terminal::interrupt::Interrupt;
use super::{Exit, print_notice, print_output};
use crate::explore::{Case, Exploration, Settings, Terms};
use crate::scenario;

/// The least time between two lines of progress.
const PROGRESS_EVERY: Duration = Duration::from_secs(10);

pub(super) fn explore(args: &ExploreArgs) -> Result<Exit, String> {
    let releases = Releases::read(&args.payload)?;
    let settings = settings(args, &releases)?;
    let interrupt = Interrupt::listen();
    if let Some(names) = &args.seeded {
        return seeded::explore(args, &settings, names, &interrupt);
    }
    if let Some(count) = args.mutants {
        return Ok(mutants::explore(args, &settings, count, &interrupt));
    }
    let corpus = args.corpus.as_deref().map(Corpus::open).transpose()?;
    let mut exploration = corpus.as_ref().map_or_else(|| Ok(Exploration::default()), Corpus::read)?;
    let watch = Stopwatch::start();
    let known = exploration.states_seen();
    let limit = args.budget().and_then(|budget| Duration::try_from(budget).ok());
    let is_over = || interrupt.is_interrupted() || limit.is_some_and(|limit| watch.read().took >= limit);
    let mut progress = Progress { watch, last: Duration::ZERO, findings: 0, failure: None };
    exploration.explore(&settings, &is_over, &mut |exploration| {
        progress.after_batch(exploration, known, corpus.as_ref(), args.emit.as_deref());
    });
    progress.keep(&exploration, corpus.as_ref(), args.emit.as_deref());
    if let Some(why) = progress.failure {
        return Err(why);
    }
    let summary = Summary { exploration: &exploration, known, wall: watch.read().took, seed: args.seed };
    print_output(&match args.format {
        ExploreFormat::Text => summary.to_text(args.emit.as_deref()),
        ExploreFormat::Json => summary.to_json(),
    });
    let found = if exploration.findings.is_empty() { Exit::Passed } else { Exit::Failed };
    Ok(interrupt.exit().unwrap_or(found))
}

fn settings<'a>(args: &ExploreArgs, releases: &'a Releases) -> Result<Settings<'a>, String> {
    Ok(Settings {
        seed: args.seed,
        runs: args.runs.map(u64::from),
        jobs: jobs_or_cores(args.jobs),
        terms: Terms { within: args.within, broken: None },
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
        return Err("found no scenario to explore".to_owned());
    }
    Ok(cases)
}

/// What happens while the exploration runs.
struct Progress {
    watch: Stopwatch,
    /// When the last line of progress was printed.
    last: Duration,
    /// The number of findings that were reported.
    findings: usize,
    /// Why a file could not be written.
    failure: Option<String>,
}

impl Progress {
    fn after_batch(
        &mut self,
        exploration: &Exploration,
        known: usize,
        corpus: Option<&Corpus>,
        emit: Option<&Path>,
    ) {
        self.keep(exploration, corpus, emit);
        let now = self.watch.read().took;
        if std::io::stderr().is_terminal() && now >= self.last + PROGRESS_EVERY {
            self.last = now;
            print_notice(&report::counters(exploration, known, now));
        }
    }

    /// Writes the corpus and the scenarios of new findings.
    fn keep(&mut self, exploration: &Exploration, corpus: Option<&Corpus>, emit: Option<&Path>) {
        for finding in exploration.findings.iter().skip(self.findings) {
            print_notice(&format!("run {}: {}", finding.found_in_run, finding.cause));
        }
        self.findings = exploration.findings.len();
        let kept = corpus.map_or(Ok(()), |corpus| corpus.write(exploration));
        let emitted = emit.map_or(Ok(()), |folder| corpus::emit(folder, &exploration.findings));
        if let Err(why) = kept.and(emitted) {
            self.failure.get_or_insert(why);
        }
    }
}
