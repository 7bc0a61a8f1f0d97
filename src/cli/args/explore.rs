//! Arguments of `windtunnel explore`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use jiff::SignedDuration;
use semver::Version;
use windtunnel_core::text::parse_duration;

use super::{numbers, payload};

/// `windtunnel explore`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  windtunnel explore --budget 10m --emit found
  windtunnel explore --runs 200 --seed 7 --corpus corpus --emit found
  windtunnel explore scenarios/update --runs 50
  windtunnel explore --mutants 20 --runs 8
  windtunnel explore --seeded --runs 60

Exit codes: 0 no run breaks a rule (--mutants and --seeded: each is found); 1 some run does (--mutants and
--seeded: one is not found); 2 wrong usage or unreadable input; 130 and 143 a signal ended it, after its summary.")]
pub(in crate::cli) struct ExploreArgs {
    /// Scenarios to disturb, or folders to search for `*.yaml` [default: invent clusters and updates].
    pub(in crate::cli) paths: Vec<PathBuf>,
    /// Time to explore; what has begun then is finished [default: 10m, unless --runs is given].
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    budget: Option<SignedDuration>,
    /// Number of runs. The same seed and number give the same findings, whatever --jobs is.
    #[arg(long, value_name = "N", value_parser = numbers::count)]
    pub(in crate::cli) runs: Option<u32>,
    /// Number of runs at a time [default: the number of cores].
    #[arg(long, short, value_name = "N", value_parser = numbers::jobs)]
    pub(in crate::cli) jobs: Option<NonZeroUsize>,
    /// Seed of all random choices.
    #[arg(long, default_value_t = 1, value_parser = numbers::number::<u64>)]
    pub(in crate::cli) seed: u64,
    /// Cluster time that a cluster has to converge after all faults have ended.
    #[arg(long, value_name = "DURATION", default_value = "12h", value_parser = duration)]
    pub(in crate::cli) within: SignedDuration,
    /// Keep what the exploration knows in this folder, and continue from there.
    #[arg(long, value_name = "DIR")]
    pub(in crate::cli) corpus: Option<PathBuf>,
    /// Write a scenario for each finding into this folder.
    #[arg(long, value_name = "DIR")]
    pub(in crate::cli) emit: Option<PathBuf>,
    /// Explore clusters with this number of deliberately broken components, one at a time, and print which are found;
    /// --runs is the number of runs for each.
    #[arg(long, value_name = "N", value_parser = numbers::count, conflicts_with_all = ["paths", "corpus", "emit", "budget"])]
    pub(in crate::cli) mutants: Option<u32>,
    /// Explore clusters with a defect after a known bug, one at a time, and print which are found: these, or all
    /// without a name. --runs and --budget are for each defect.
    #[arg(long, value_name = "NAME", num_args = 0.., conflicts_with_all = ["paths", "corpus", "emit", "mutants"])]
    pub(in crate::cli) seeded: Option<Vec<String>>,
    /// Output format of the summary.
    #[arg(long, value_enum, default_value_t = ExploreFormat::Text)]
    pub(in crate::cli) format: ExploreFormat,
    /// Read the payload of a release from a folder, as for `windtunnel run`.
    #[arg(long, value_name = "VERSION=DIR", value_parser = payload::parse)]
    pub(in crate::cli) payload: Vec<(Version, PathBuf)>,
}

impl ExploreArgs {
    /// The time to explore; `None` if only the number of runs counts.
    pub(in crate::cli) fn budget(&self) -> Option<SignedDuration> {
        let default = self.runs.is_none().then(|| SignedDuration::from_mins(10));
        self.budget.or(default)
    }
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
    let span = parse_duration(text).filter(|span| *span > SignedDuration::ZERO);
    span.ok_or_else(|| format!("expected a duration such as `10m` or `12h`, not `{text}`"))
}
