//! Arguments of `windtunnel rbac`.

use std::path::PathBuf;

/// `windtunnel rbac`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The cluster is one of `windtunnel serve`, `replay` or `run --serve`. It counts requests from its start.
A record has the users of the programs of its scenario, with the roles that they have at the end of the run.
The permissions that the server checks beside those of requests count as well, such as `bind`, or `approve` on `signers`.

Examples:
  windtunnel rbac --kubeconfig wind.kubeconfig
  windtunnel rbac --kubeconfig wind.kubeconfig --user mine --strict
  windtunnel rbac flight.jsonl --user mine --strict

Exit codes: 0 printed; 1 the cluster reports an error, or with --strict a user has unused rights or refused requests;
2 wrong usage, an unreadable record, or one without requests of users."
)]
pub(in crate::cli) struct RbacArgs {
    /// Record file of a run with programs [default: ask a cluster].
    #[arg(conflicts_with_all = ["kubeconfig", "context"])]
    pub(in crate::cli) record: Option<PathBuf>,
    /// Kubeconfig of the cluster [default: KUBECONFIG, or the one in the home folder].
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig [default: the current one].
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) context: Option<String>,
    /// User to report, or the last part of its name, such as `mine` for `system:serviceaccount:default:mine`; repeat for
    /// more [default: every user with a request, except administrators].
    #[arg(long, value_name = "USER")]
    pub(in crate::cli) user: Vec<String>,
    /// Fail if a user has unused rights or refused requests.
    #[arg(long)]
    pub(in crate::cli) strict: bool,
    /// Output format.
    #[arg(long, value_enum, default_value_t = RbacFormat::Text)]
    pub(in crate::cli) format: RbacFormat,
}

/// The output format of `windtunnel rbac`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(in crate::cli) enum RbacFormat {
    /// Lines for people.
    Text,
    /// One JSON object.
    Json,
}
