//! Arguments of `windtunnel clock`.

use std::path::PathBuf;

/// `windtunnel clock`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The clock is that of `serve --version`, `serve --scenario` and `run --until TIME --serve`.

Examples:
  windtunnel clock --kubeconfig wind.kubeconfig              print it
  windtunnel clock pause --kubeconfig wind.kubeconfig
  windtunnel clock jump 2h --kubeconfig wind.kubeconfig

Exit codes: 0 printed or changed; 1 the cluster reports an error; 2 wrong usage."
)]
pub(in crate::cli) struct ClockArgs {
    /// Kubeconfig of the cluster [default: KUBECONFIG, or the one in the home folder].
    #[arg(long, global = true, value_name = "FILE")]
    pub(in crate::cli) kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig [default: the current one].
    #[arg(long, global = true, value_name = "NAME")]
    pub(in crate::cli) context: Option<String>,
    /// The change; without one, print the clock.
    #[command(subcommand)]
    pub(in crate::cli) change: Option<ClockChange>,
}

/// A change of a clock.
#[derive(Debug, clap::Subcommand)]
pub(in crate::cli) enum ClockChange {
    /// Stop time: no component acts until it is resumed.
    Pause,
    /// Continue after a pause.
    Resume,
    /// Change the speed of time.
    Speed {
        /// Speed, such as `10x`.
        #[arg(value_name = "FACTOR", value_parser = super::speed)]
        factor: f64,
    },
    /// Advance the clock, and wait until everything up to that time has happened.
    Jump {
        /// Duration such as `2h`, or time such as `2026-05-01T12:00:00Z`.
        #[arg(value_name = "DURATION|TIME")]
        to: String,
    },
}
