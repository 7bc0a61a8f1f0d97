//! Arguments of `windtunnel status`.

use std::path::PathBuf;

use super::Details;

/// `windtunnel status`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  windtunnel status flight.jsonl --at 30m           half an hour into a run
  windtunnel status --from must-gather.local.42     the cluster of a must-gather
  windtunnel status --from dump.tar.gz --details health
  windtunnel status --kubeconfig wind.kubeconfig    a cluster, simulated or not
  windtunnel status --from dump -o yaml             insights instead of the text

Exit codes: 0 printed; 1 `oc` or the cluster reports an error; 2 wrong usage,
unreadable input, or input on which `oc` crashes.")]
pub(in crate::cli) struct StatusArgs {
    #[command(flatten)]
    pub(in crate::cli) source: StatusSource,
    /// Moment of a record, from the start of the run, such as `1h30m` [default: the end].
    #[arg(long, value_name = "TIME", requires = "record")]
    pub(in crate::cli) at: Option<String>,
    /// Context of the kubeconfig [default: the current one].
    #[cfg(feature = "live")]
    #[arg(long, requires = "kubeconfig")]
    pub(in crate::cli) context: Option<String>,
    /// Moment of the status, such as `2024-05-01T12:00:00Z` [default: now by the cluster's clock; for a dump, as in `oc`,
    /// right after the last change of a ClusterVersion or ClusterOperator condition].
    #[arg(long, value_name = "TIME", conflicts_with = "record")]
    pub(in crate::cli) as_of: Option<String>,
    /// Sections to show in detail.
    #[arg(long, value_enum, value_name = "SECTIONS", default_value_t = Details::None)]
    pub(in crate::cli) details: Details,
    /// Print only the lines on nodes and pools, from the insights published in the ConfigMap or in the UpdateStatus.
    #[arg(long)]
    pub(in crate::cli) from_insights: bool,
    /// Print insights instead of the status: those of a controller started at that moment, or with --from-insights the
    /// published ones.
    #[arg(long, short, value_enum, value_name = "FORMAT")]
    pub(in crate::cli) output: Option<crate::cli::terminal::output::Format>,
}

/// The input of a status.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(in crate::cli) struct StatusSource {
    /// Record file, written by `run --record`.
    pub(in crate::cli) record: Option<PathBuf>,
    /// Files of a cluster: a folder and its subfolders, a tar archive, or a file of YAML or JSON, such as a must-gather or
    /// the output of `oc adm inspect` or `oc get -o yaml`.
    #[arg(long, value_name = "PATH")]
    pub(in crate::cli) from: Option<PathBuf>,
    /// Kubeconfig of the cluster.
    #[cfg(feature = "live")]
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) kubeconfig: Option<PathBuf>,
}
