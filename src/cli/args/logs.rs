//! Arguments of `windtunnel logs` and `windtunnel must-gather`.

use std::path::PathBuf;

/// `windtunnel logs`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  windtunnel logs flight.jsonl                             the pods that printed lines
  windtunnel logs flight.jsonl cluster-version-operator    the lines of all its pods
  windtunnel logs flight.jsonl cluster-version --from 30m --until 40m

Exit codes: 0 printed; 1 no line in that time; 2 wrong usage, unreadable input,
or a record without such a pod.")]
pub(in crate::cli) struct LogsArgs {
    /// Record file.
    pub(in crate::cli) record: PathBuf,
    /// Pods to print: a name, or its first characters, with or without `NAMESPACE/` [default: list the pods].
    pub(in crate::cli) pod: Option<String>,
    /// Container to print [default: all].
    #[arg(long, short, value_name = "NAME", requires = "pod")]
    pub(in crate::cli) container: Option<String>,
    /// Number of last lines to print [default: all].
    #[arg(long, value_name = "N", requires = "pod", value_parser = super::numbers::number::<usize>)]
    pub(in crate::cli) tail: Option<usize>,
    /// Moment of the first lines, from the start of the run, such as `30m` [default: the installation].
    #[arg(long, value_name = "TIME", requires = "pod")]
    pub(in crate::cli) from: Option<String>,
    /// Moment of the last lines, from the start of the run [default: the end].
    #[arg(long, value_name = "TIME", requires = "pod")]
    pub(in crate::cli) until: Option<String>,
    /// Print the time before each line, as `oc logs --timestamps`.
    #[arg(long, requires = "pod")]
    pub(in crate::cli) timestamps: bool,
}

/// `windtunnel must-gather`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct MustGatherArgs {
    /// Record file.
    pub(in crate::cli) record: PathBuf,
    /// Folder to write; it must be empty or missing.
    #[arg(long, short, value_name = "DIR")]
    pub(in crate::cli) output: PathBuf,
    /// Moment of the record, from the start of the run, such as `1h30m` [default: the end].
    #[arg(long, value_name = "TIME")]
    pub(in crate::cli) at: Option<String>,
}
