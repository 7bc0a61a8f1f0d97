//! Arguments of `windtunnel risks`.

use std::path::PathBuf;

use windtunnel_openshift::release::Architecture;

use crate::cli::terminal::output::Format;

/// `windtunnel risks`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  windtunnel risks cincinnati-graph-data                           the risks, and errors in their PromQL
  windtunnel risks cincinnati-graph-data --over must-gather.tar.gz --to 4.18.20
  windtunnel risks cincinnati-graph-data --over flight.jsonl cluster.yaml -o json

Exit codes: 0 every query has a result or needs metrics that the input does not contain, 1 a query is invalid or has an
error for a cluster, 2 wrong usage or unreadable input.")]
pub(in crate::cli) struct RisksArgs {
    /// Folder in the layout of cincinnati-graph-data.
    pub(in crate::cli) graph_data: PathBuf,
    /// Clusters to evaluate the risks for: dumps (as for `serve --from`), records, and scenarios, whose cluster is
    /// installed.
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub(in crate::cli) over: Vec<PathBuf>,
    /// Moment of records, from the start of the run, such as `1h30m` [default: the end].
    #[arg(long, value_name = "TIME", requires = "over")]
    pub(in crate::cli) at: Option<String>,
    /// Only risks of updates from this release. Without `--from` and `--to`, of clusters of `--over` only risks of updates
    /// that they can take: from their release to those that their update service offers.
    #[arg(long, value_name = "VERSION", value_parser = super::version::version)]
    pub(in crate::cli) from: Option<semver::Version>,
    /// Only risks of updates to this release.
    #[arg(long, value_name = "VERSION", value_parser = super::version::version)]
    pub(in crate::cli) to: Option<semver::Version>,
    /// Architecture of the releases.
    #[arg(long, value_name = "NAME", default_value = "amd64", value_parser = architecture)]
    pub(in crate::cli) arch: Architecture,
    /// Print the result as data instead of a table.
    #[arg(long, short, value_enum, value_name = "FORMAT")]
    pub(in crate::cli) output: Option<Format>,
}

fn architecture(name: &str) -> Result<Architecture, String> {
    Architecture::find(name).ok_or_else(|| format!("expected one of {}", Architecture::NAMES.join(", ")))
}
