//! Arguments of `windtunnel check`.

use std::path::PathBuf;

/// `windtunnel check`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The rules are the invariants of runs, and those about records in docs/how-to/explore.md. Scenarios that break
something on purpose may break rules.

Examples:
  windtunnel check flight.jsonl
  windtunnel check records --rule max-unavailable --rule budget
  windtunnel check flight.jsonl --format json

Exit codes: 0 every record keeps every rule; 1 some record breaks a rule; 2 wrong usage or an unreadable record."
)]
pub(in crate::cli) struct CheckRecordsArgs {
    /// Record files of runs or of watched clusters, or folders to search for `*.jsonl`.
    #[arg(required = true)]
    pub(in crate::cli) records: Vec<PathBuf>,
    /// Rule to check; repeat for more [default: all].
    #[arg(long = "rule", value_name = "ID")]
    pub(in crate::cli) rules: Vec<String>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = CheckFormat::Text)]
    pub(in crate::cli) format: CheckFormat,
}

/// The output format of `windtunnel check`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(in crate::cli) enum CheckFormat {
    /// A line for each broken rule, and a summary.
    Text,
    /// One JSON document.
    Json,
}
