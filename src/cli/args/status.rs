//! Arguments of `windtunnel status`.

use std::path::PathBuf;

use super::Details;

/// `windtunnel status`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  windtunnel status flight.jsonl --at 30m           half an hour into a run
  windtunnel status --from must-gather.local.42     what a must-gather tells
  windtunnel status --from dump.tar.gz --details health
  windtunnel status --kubeconfig wind.kubeconfig    a cluster, simulated or not
  windtunnel status --from dump -o yaml             insights instead of the text

Exit codes: 0 printed; 1 `oc` or the cluster refuses; 2 wrong usage,
unreadable input, or input on which `oc` crashes.")]
pub(in crate::cli) struct StatusArgs {
    #[command(flatten)]
    pub(in crate::cli) source: StatusSource,
    /// The moment, counted from the start of the run, such as `1h30m`; without it, the end.
    #[arg(long, value_name = "TIME", requires = "record")]
    pub(in crate::cli) at: Option<String>,
    /// The context of the kubeconfig, if not the current one.
    #[cfg(feature = "live")]
    #[arg(long, requires = "kubeconfig")]
    pub(in crate::cli) context: Option<String>,
    /// The moment, such as `2024-05-01T12:00:00Z`; without it, now by the clock of a cluster, and right after the last change of a
    /// ClusterVersion or ClusterOperator condition for a dump, as `oc` has it.
    #[arg(long, value_name = "TIME", conflicts_with = "record")]
    pub(in crate::cli) as_of: Option<String>,
    /// Which sections to show in detail.
    #[arg(long, value_enum, default_value_t = Details::None)]
    pub(in crate::cli) details: Details,
    /// Only the lines on nodes and pools, made from published insights alone: those of the ConfigMap, or of the UpdateStatus.
    #[arg(long)]
    pub(in crate::cli) from_insights: bool,
    /// Print insights instead, by their keys: those that a controller would publish that starts at the moment, or with
    /// --from-insights those that one published.
    #[arg(long, short, value_enum, value_name = "FORMAT")]
    pub(in crate::cli) output: Option<crate::cli::terminal::output::Format>,
}

/// What a status is made from.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(in crate::cli) struct StatusSource {
    /// A record file that `run --record` wrote.
    pub(in crate::cli) record: Option<PathBuf>,
    /// Files of a cluster: a folder with what is below it, a tar archive, or one file of YAML or JSON; a must-gather, what
    /// `oc adm inspect` or `oc get -o yaml` wrote.
    #[arg(long, value_name = "PATH")]
    pub(in crate::cli) from: Option<PathBuf>,
    /// A cluster of this kubeconfig.
    #[cfg(feature = "live")]
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) kubeconfig: Option<PathBuf>,
}
