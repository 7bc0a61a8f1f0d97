//! Arguments of `windtunnel explore`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Subcommand;
use jiff::SignedDuration;
use semver::Version;
use windtunnel_core::text::parse_duration;

use super::run_options::{Shard, shard};
use super::{numbers, payload};

/// `windtunnel explore`.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_precedence_over_arg = true,
    disable_help_subcommand = true,
    after_help = "Examples:
  windtunnel explore --budget 10m --emit found --html found.html
  windtunnel explore --runs 200 --seed 7 --corpus corpus --emit found
  windtunnel explore scenarios/update --runs 50
  windtunnel explore --budget 1h --shard 2/3 --corpus /shared/corpus
  windtunnel explore --mutants 20 --budget 1m
  windtunnel explore --seeded --runs 60
  windtunnel explore replay found
  windtunnel explore minimise my-failure.yaml

A folder that is named as a command of `explore` is written `./replay`.

Exit codes: 0 no run breaks a rule (--mutants and --seeded: each is found); 1 some run does (--mutants and
--seeded: one is not found); 2 wrong usage or unreadable input; 130 and 143 a signal ended it, after its summary."
)]
pub(in crate::cli) struct ExploreArgs {
    /// Another command than to explore.
    #[command(subcommand)]
    pub(in crate::cli) command: Option<ExploreCommand>,
    /// Scenarios to disturb, or folders to search for `*.yaml` [default: invent clusters and updates].
    pub(in crate::cli) paths: Vec<PathBuf>,
    /// Time to explore; what has begun then is finished [default: 10m, unless --runs is given].
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    budget: Option<SignedDuration>,
    /// Number of runs, with those of an earlier exploration in --corpus. The same seed and number give the same findings,
    /// whatever --jobs is.
    #[arg(long, value_name = "N", value_parser = numbers::count)]
    pub(in crate::cli) runs: Option<u32>,
    /// Number of runs at a time [default: the number of cores].
    #[arg(long, short, value_name = "N", value_parser = numbers::jobs)]
    pub(in crate::cli) jobs: Option<NonZeroUsize>,
    /// Seed of all random choices.
    #[arg(long, default_value_t = 1, value_parser = numbers::number::<u64>)]
    pub(in crate::cli) seed: u64,
    /// Invent other cases than the other shards, such as `2/3` or `1+1/3`. Shards with the same --corpus learn from each
    /// other when they start.
    #[arg(long, value_name = "I/N", value_parser = shard, conflicts_with = "mutants")]
    pub(in crate::cli) shard: Option<Shard>,
    /// Cluster time that a cluster has to converge after all faults have ended.
    #[arg(long, value_name = "DURATION", default_value = "12h", value_parser = duration)]
    pub(in crate::cli) within: SignedDuration,
    /// Keep what the exploration knows in this folder, and continue from there.
    #[arg(long, value_name = "DIR")]
    pub(in crate::cli) corpus: Option<PathBuf>,
    /// Write a scenario for each finding into this folder.
    #[arg(long, value_name = "DIR")]
    pub(in crate::cli) emit: Option<PathBuf>,
    /// Write the result as an HTML page.
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) html: Option<PathBuf>,
    /// Explore clusters with this number of deliberately broken components, one at a time, and print which are found;
    /// --runs and --budget are for each [default: 8 runs].
    #[arg(long, value_name = "N", value_parser = numbers::count, conflicts_with_all = ["paths", "corpus", "emit", "html"])]
    pub(in crate::cli) mutants: Option<u32>,
    /// Explore clusters with a planted bug, one at a time, and print which are found: these, or all without a name. Each is
    /// after a known bug. --runs and --budget are for each.
    #[arg(long, value_name = "NAME", num_args = 0.., conflicts_with_all = ["paths", "corpus", "emit", "html", "mutants"])]
    pub(in crate::cli) seeded: Option<Vec<String>>,
    /// Output format of the summary.
    #[arg(long, value_enum, default_value_t = ExploreFormat::Text)]
    pub(in crate::cli) format: ExploreFormat,
    /// Read the payload of a release from a folder, as for `windtunnel run`.
    #[arg(long, value_name = "VERSION=DIR", value_parser = payload::parse)]
    pub(in crate::cli) payload: Vec<(Version, PathBuf)>,
}

/// The number of runs with each mutant, if neither --runs nor --budget limits them.
const RUNS_OF_MUTANTS: u32 = 8;

impl ExploreArgs {
    /// The number of runs; `None` if only the time to explore counts.
    pub(in crate::cli) fn runs(&self) -> Option<u64> {
        let default = (self.mutants.is_some() && self.budget.is_none()).then_some(RUNS_OF_MUTANTS);
        self.runs.or(default).map(u64::from)
    }

    /// The time to explore; `None` if only the number of runs counts.
    pub(in crate::cli) fn budget(&self) -> Option<SignedDuration> {
        let is_endless = self.runs.is_none() && self.mutants.is_none();
        let default = is_endless.then(|| SignedDuration::from_mins(10));
        self.budget.or(default)
    }
}

/// Other commands of `windtunnel explore`.
#[derive(Debug, Subcommand)]
pub(in crate::cli) enum ExploreCommand {
    /// Run findings again, and report which of them still break a rule.
    Replay(ReplayFindingsArgs),
    /// Make a failing scenario smaller, for as long as the same step fails for the same reason.
    Minimise(MinimiseArgs),
    /// Print the summary of a corpus, with all its shards, or write its page.
    Report(CorpusReportArgs),
}

/// `windtunnel explore replay`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  windtunnel explore replay corpus
  windtunnel explore replay found
  windtunnel explore replay corpus converges \"MachineConfigPool worker\"

Exit codes: 0 no finding breaks a rule any more; 1 one does; 2 wrong usage or unreadable input.")]
pub(in crate::cli) struct ReplayFindingsArgs {
    /// Corpus of --corpus, a scenario of --emit, or a folder of such scenarios.
    #[arg(value_name = "CORPUS_OR_FILE")]
    pub(in crate::cli) source: PathBuf,
    /// Run only findings with one of these texts in their file name or their cause.
    #[arg(value_name = "NAME")]
    pub(in crate::cli) names: Vec<String>,
    /// Cluster time that a cluster has to converge after all faults have ended.
    #[arg(long, value_name = "DURATION", default_value = "12h", value_parser = duration)]
    pub(in crate::cli) within: SignedDuration,
    /// Number of runs at a time [default: the number of cores].
    #[arg(long, short, value_name = "N", value_parser = numbers::jobs)]
    pub(in crate::cli) jobs: Option<NonZeroUsize>,
    /// Read the payload of a release from a folder, as for `windtunnel run`.
    #[arg(long, value_name = "VERSION=DIR", value_parser = payload::parse)]
    pub(in crate::cli) payload: Vec<(Version, PathBuf)>,
}

/// `windtunnel explore minimise`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  windtunnel explore minimise my-failure.yaml
  windtunnel explore minimise my-failure.yaml --output smaller.yaml --runs 500

Exit codes: 0 the smaller scenario is printed or written; 1 the scenario does not fail; 2 wrong usage or
unreadable input; 130 and 143 a signal ended it, after it printed or wrote the smallest scenario so far.")]
pub(in crate::cli) struct MinimiseArgs {
    /// Scenario that fails.
    pub(in crate::cli) scenario: PathBuf,
    /// File to write [default: print the scenario].
    #[arg(long, short, value_name = "FILE")]
    pub(in crate::cli) output: Option<PathBuf>,
    /// The greatest number of runs.
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = numbers::count)]
    pub(in crate::cli) runs: u32,
    /// Read the payload of a release from a folder, as for `windtunnel run`.
    #[arg(long, value_name = "VERSION=DIR", value_parser = payload::parse)]
    pub(in crate::cli) payload: Vec<(Version, PathBuf)>,
}

/// `windtunnel explore report`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0 the corpus has no finding; 1 it has some; 2 wrong usage or unreadable input."
)]
pub(in crate::cli) struct CorpusReportArgs {
    /// Folder of --corpus.
    pub(in crate::cli) corpus: PathBuf,
    /// Write the result as an HTML page.
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) html: Option<PathBuf>,
    /// Write a scenario for each finding into this folder.
    #[arg(long, value_name = "DIR")]
    pub(in crate::cli) emit: Option<PathBuf>,
    /// Output format of the summary.
    #[arg(long, value_enum, default_value_t = ExploreFormat::Text)]
    pub(in crate::cli) format: ExploreFormat,
}

/// The output format of an exploration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(in crate::cli) enum ExploreFormat {
    /// A summary, and the scenario of each finding.
    Text,
    /// One JSON document.
    Json,
}

fn duration(text: &str) -> Result<SignedDuration, String> {
    match parse_duration(text) {
        Some(span) if span > SignedDuration::ZERO => Ok(span),
        Some(_) => Err("nothing can run in no time: expected a duration such as `10m` or `12h`".to_owned()),
        None => Err(format!("expected a duration such as `10m` or `12h`, not `{text}`")),
    }
}
