//! `windtunnel explore replay`: runs findings again.

use std::path::Path;

use windtunnel_core::text::counted;

use super::corpus;
use crate::cli::args::{ReplayFindingsArgs, jobs_or_cores};
use crate::cli::files::{self, FoundFiles};
use crate::cli::parallel::in_parallel;
use crate::cli::payload::Releases;
use crate::cli::{Exit, print_output};
use crate::explore::{Case, Finding, Replayed, Terms, replay as replay_finding, replay_scenario};
use crate::scenario;

/// A finding to run again.
enum Source {
    /// One of a corpus.
    Finding(Box<Finding>),
    /// A scenario of a file, with the rule that its comments name.
    Scenario { file: String, name: String, case: Case, oracle: String },
}

impl Source {
    /// The name of the file.
    fn file(&self) -> String {
        match self {
            Self::Finding(finding) => finding.file_name(),
            Self::Scenario { file, .. } => file.clone(),
        }
    }

    /// The cause, or the name of the scenario.
    fn cause(&self) -> &str {
        match self {
            Self::Finding(finding) => &finding.cause,
            Self::Scenario { name, .. } => name,
        }
    }

    fn replay(&self, releases: &Releases, terms: Terms<'_>) -> Replayed {
        match self {
            Self::Finding(finding) => replay_finding(finding, releases, terms),
            Self::Scenario { case, oracle, .. } => replay_scenario(case, oracle, releases, terms),
        }
    }
}

pub(super) fn replay(args: &ReplayFindingsArgs) -> Result<Exit, String> {
    let releases = Releases::read(&args.payload)?;
    let all = read(&args.source, &releases)?;
    let is_wanted = |source: &&Source| {
        let (file, cause) = (source.file(), source.cause());
        args.names.is_empty() || args.names.iter().any(|name| file.contains(name) || cause.contains(name))
    };
    let wanted: Vec<&Source> = all.iter().filter(is_wanted).collect();
    if wanted.is_empty() && !all.is_empty() {
        let causes: Vec<&str> = all.iter().map(Source::cause).collect();
        return Err(format!("no finding has this name; there are:\n{}", causes.join("\n")));
    }
    let terms = Terms { within: args.within, mutant: None };
    let outcomes = in_parallel(&wanted, jobs_or_cores(args.jobs), |source| source.replay(&releases, terms));
    for (source, outcome) in wanted.iter().zip(&outcomes) {
        print_output(&line(source, outcome));
    }
    let failing = outcomes.iter().filter(|outcome| outcome.fails()).count();
    print_output(&format!("{}: {failing} still fail\n", counted(outcomes.len(), "finding")));
    Ok(if failing == 0 { Exit::Passed } else { Exit::Failed })
}

fn line(source: &Source, outcome: &Replayed) -> String {
    let file = source.file();
    match outcome {
        Replayed::Same(text) => format!("FAIL  {file}: {}\n", text.lines().next().unwrap_or_default()),
        Replayed::Other(cause) => format!("FAIL  {file}: now breaks another rule: {cause}\n"),
        Replayed::Fixed => format!("PASS  {file}: {}\n", source.cause()),
        Replayed::CutShort(why) => {
            format!("PASS  {file}: ends early now: {}\n", why.lines().next().unwrap_or_default())
        }
    }
}

/// Reads the findings of a corpus, a scenario, or a folder of scenarios.
///
/// # Errors
/// There are none, or a file cannot be read.
fn read(path: &Path, releases: &Releases) -> Result<Vec<Source>, String> {
    if !corpus::state_files(path).is_empty() {
        let mut all = super::State::new(None, 0);
        corpus::read_all(path)?.iter().for_each(|state| all.add(state));
        let findings = all.exploration.findings.into_iter();
        return Ok(findings.map(|finding| Source::Finding(Box::new(finding))).collect());
    }
    let FoundFiles { sources, unreadable } = files::read_all(&[path.to_owned()], "yaml")?;
    if let Some(problem) = unreadable.first() {
        return Err(problem.to_string());
    }
    sources.iter().map(|(file, text)| of_file(file, text, releases)).collect()
}

fn of_file(file: &str, text: &str, releases: &Releases) -> Result<Source, String> {
    let plan = scenario::parse(file, text, releases).map_err(|problems| problems.to_string())?;
    let case = Case::of_scenario(text).map_err(|why| format!("{file}: {why}"))?;
    let rule = text.lines().find_map(|line| line.strip_prefix("# Rule: "));
    let oracle = rule.and_then(|rule| rule.split(": ").next()).unwrap_or_default().to_owned();
    Ok(Source::Scenario { file: file.to_owned(), name: plan.name, case, oracle })
}
