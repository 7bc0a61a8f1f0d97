//! Arguments of `windtunnel rollback-pairs`.

use std::num::NonZeroUsize;

use windtunnel_core::text::did_you_mean;

use super::numbers;
use crate::engine::pairs::Topology;

/// `windtunnel rollback-pairs`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  windtunnel rollback-pairs --from 4.13 --to 4.14
  windtunnel rollback-pairs --capabilities None,vCurrent --topology SingleReplica
  windtunnel rollback-pairs --format markdown

Exit codes: 0 every update ends and can be taken back; 1 at least one does not; 2 wrong usage.")]
pub(in crate::cli) struct RollbackPairsArgs {
    /// Oldest minor, such as 4.12.
    #[arg(long, value_name = "MINOR", default_value = "4.12", value_parser = minor)]
    pub(in crate::cli) from: (u64, u64),
    /// Newest minor [default: the newest that windtunnel knows].
    #[arg(long, value_name = "MINOR", value_parser = minor)]
    pub(in crate::cli) to: Option<(u64, u64)>,
    /// Baseline capability sets of the clusters, such as `None,vCurrent` [default: all that the older release knows].
    #[arg(long, value_name = "SETS", value_delimiter = ',')]
    pub(in crate::cli) capabilities: Vec<String>,
    /// Machines of the clusters: HighlyAvailable (three control-plane nodes and three workers), Compact (three nodes),
    /// SingleReplica (one node) [default: all].
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = topology)]
    pub(in crate::cli) topology: Vec<Topology>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = PairsFormat::Table)]
    pub(in crate::cli) format: PairsFormat,
    /// Seed of every random draw.
    #[arg(long, default_value_t = 1, value_parser = numbers::number::<u64>)]
    pub(in crate::cli) seed: u64,
    /// Number of clusters that run at a time [default: the number of cores].
    #[arg(long, short, value_name = "N", value_parser = numbers::jobs)]
    pub(in crate::cli) jobs: Option<NonZeroUsize>,
}

/// The output format of the pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(in crate::cli) enum PairsFormat {
    /// Table for people, a row per cluster.
    Table,
    /// JSON document with all clusters.
    Json,
    /// Markdown page, a table per pair.
    Markdown,
}

fn minor(text: &str) -> Result<(u64, u64), String> {
    let parsed =
        text.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    parsed.ok_or_else(|| format!("expected a minor such as 4.14, not `{text}`"))
}

fn topology(name: &str) -> Result<Topology, String> {
    let names = Topology::ALL.map(Topology::name);
    let found = Topology::ALL.into_iter().find(|topology| topology.name() == name);
    found.ok_or_else(|| format!("expected {}, not `{name}`{}", names.join(", "), did_you_mean(name, names)))
}
