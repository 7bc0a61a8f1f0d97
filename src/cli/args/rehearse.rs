//! Arguments of `windtunnel rehearse`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::ValueEnum;
use semver::Version;

use super::seeds::{Seeds, seeds};
use super::{numbers, version};

/// `windtunnel rehearse`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  windtunnel rehearse must-gather.local.42 --to 4.19.3
  windtunnel rehearse must-gather.local.42 --via 4.18.20 --to 4.19.3
  windtunnel rehearse must-gather.tar.gz --to 4.18.9 --seeds 1..20 --output json

Exit codes: 0 nothing stops the update (with --accept-unknown: nothing that the dump shows); 1 it stops;
2 wrong usage or unreadable input; 3 nothing stops it in what the dump shows, and the dump does not show
everything that matters.")]
pub(in crate::cli) struct RehearseArgs {
    /// Folder, archive or file of a dump, or a record.
    pub(in crate::cli) dump: PathBuf,
    /// Release to update to.
    #[arg(long, value_name = "VERSION", value_parser = version::version)]
    pub(in crate::cli) to: Version,
    /// Release to update to first; several are updates in turn.
    #[arg(long, value_name = "VERSION", value_parser = version::version)]
    pub(in crate::cli) via: Vec<Version>,
    /// Seeds of the runs, such as `1..20`: what depends on chance comes in some of them.
    #[arg(long, value_name = "SEEDS", default_value = "1", value_parser = seeds)]
    pub(in crate::cli) seeds: Seeds,
    /// Exit with 0 if nothing stops the update in what the dump shows.
    #[arg(long)]
    pub(in crate::cli) accept_unknown: bool,
    /// Format of the report.
    #[arg(long, short, value_name = "FORMAT", default_value = "text")]
    pub(in crate::cli) output: RehearsalFormat,
    /// Number of runs at a time [default: the number of cores].
    #[arg(long, short, value_name = "N", value_parser = numbers::jobs)]
    pub(in crate::cli) jobs: Option<NonZeroUsize>,
}

/// Formats of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum RehearsalFormat {
    /// For people.
    Text,
    /// For programs.
    Json,
}
