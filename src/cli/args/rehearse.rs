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
  windtunnel rehearse must-gather.tar.gz --to 4.18.9 --what-if worker.maxUnavailable=10% --back
  windtunnel rehearse must-gather.tar.gz --to 4.18.9 --emit rehearsed && windtunnel run rehearsed
  windtunnel rehearse dumps/*.tar.gz --to 4.18.9 --junit fleet.xml
  windtunnel rehearse --kubeconfig prod.kubeconfig --to 4.18.9

Exit codes: 0 nothing stops the update (with --accept-unknown: nothing that the dump shows); 1 it stops;
2 wrong usage or unreadable input; 3 nothing stops it in what the dump shows, and the dump does not show
everything that matters. Of several dumps, the worst: 2, 1, 3, 0.")]
pub(in crate::cli) struct RehearseArgs {
    /// Folder, archive or file of a dump, or a record. Several are a fleet: a table has a line for each.
    #[cfg_attr(feature = "live", arg(required_unless_present = "kubeconfig"))]
    #[cfg_attr(not(feature = "live"), arg(required = true))]
    pub(in crate::cli) dumps: Vec<PathBuf>,
    /// Read the cluster of this kubeconfig instead of a dump, with list requests only and without Secrets.
    #[cfg(feature = "live")]
    #[arg(long, value_name = "FILE", conflicts_with = "dumps")]
    pub(in crate::cli) kubeconfig: Option<PathBuf>,
    /// Release to update to.
    #[arg(long, value_name = "VERSION", value_parser = version::version)]
    pub(in crate::cli) to: Version,
    /// Release to update to first; several are updates in turn.
    #[arg(long, value_name = "VERSION", value_parser = version::version)]
    pub(in crate::cli) via: Vec<Version>,
    /// Seeds of the runs, such as `1..20`: what depends on chance comes in some of them.
    #[arg(long, value_name = "SEEDS", default_value = "1", value_parser = seeds)]
    pub(in crate::cli) seeds: Seeds,
    /// Rehearse the update also with this change of the cluster, and print its times beside the others:
    /// `POOL.maxUnavailable=10%`, `POOL.paused=false`, or `KIND/NAMESPACE/NAME=PATCH` with a JSON merge patch (`null` deletes the
    /// object). May be repeated.
    #[arg(long, value_name = "CHANGE")]
    pub(in crate::cli) what_if: Vec<String>,
    /// Find the moment after which there is no way back, and the objects that the release before would reject.
    #[arg(long)]
    pub(in crate::cli) back: bool,
    /// Exit with 0 if nothing stops the update in what the dump shows.
    #[arg(long)]
    pub(in crate::cli) accept_unknown: bool,
    /// Format of the report.
    #[arg(long, short, value_name = "FORMAT", default_value = "text")]
    pub(in crate::cli) output: RehearsalFormat,
    /// Write the phases and stops as test cases of JUnit XML.
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) junit: Option<PathBuf>,
    /// Write the timeline of the run with the first seed as one HTML page.
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) html: Option<PathBuf>,
    /// Write the cluster and its update as a scenario for `windtunnel run` into this folder, which must be empty or missing.
    #[arg(long, value_name = "DIR")]
    pub(in crate::cli) emit: Option<PathBuf>,
    /// Number of runs at a time [default: the number of cores].
    #[arg(long, short, value_name = "N", value_parser = numbers::jobs)]
    pub(in crate::cli) jobs: Option<NonZeroUsize>,
}

impl RehearseArgs {
    /// The releases to which the cluster is updated in turn.
    pub(in crate::cli) fn targets(&self) -> Vec<Version> {
        self.via.iter().chain([&self.to]).cloned().collect()
    }
}

/// Formats of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum RehearsalFormat {
    /// For people.
    Text,
    /// For programs.
    Json,
}
