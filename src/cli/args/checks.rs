//! The flags of `run` that repeat a scenario with faults.

use std::path::PathBuf;

/// The flags of `run` that repeat a scenario with faults.
#[derive(Debug, clap::Args)]
#[command(group(
    clap::ArgGroup::new("checks").args(["check_restarts", "check_staleness", "check_gaps"]).multiple(true)
))]
pub(in crate::cli) struct CheckArgs {
    /// Continue each scenario in a copy of the cluster once per write of each simulated component, kill the component
    /// right after that write, and fail if a final state differs. A scenario with `programs` is repeated from the start,
    /// once with a kill before and once after each write of each program.
    #[arg(long, conflicts_with_all = ["retry", "until"])]
    pub(in crate::cli) check_restarts: bool,
    /// Repeat each scenario with `programs` for each event that a program may see late: once with a view that lacks it
    /// for ten seconds, and twice with a restart. Fail if a final state differs.
    #[arg(long, conflicts_with_all = ["retry", "until"])]
    pub(in crate::cli) check_staleness: bool,
    /// Repeat each scenario with `programs` for each intermediate state of an object that a program may never see. Fail
    /// if a final state differs.
    #[arg(long, conflicts_with_all = ["retry", "until"])]
    pub(in crate::cli) check_gaps: bool,
    /// Try at most N of the possible faults of programs in each check, evenly spread.
    #[arg(long, value_name = "N", requires = "checks", value_parser = clap::value_parser!(u32).range(1..))]
    pub(in crate::cli) check_runs: Option<u32>,
    /// Write a scenario into this folder for each difference that faults of programs make, instead of printing its
    /// faults only.
    #[arg(long, value_name = "DIR", requires = "checks")]
    pub(in crate::cli) emit: Option<PathBuf>,
}

impl CheckArgs {
    /// The flags that are set.
    pub(in crate::cli) fn flags(&self) -> impl Iterator<Item = &'static str> {
        let Self { check_restarts, check_staleness, check_gaps, .. } = *self;
        let flags = [
            ("--check-restarts", check_restarts),
            ("--check-staleness", check_staleness),
            ("--check-gaps", check_gaps),
        ];
        flags.into_iter().filter_map(|(flag, is_set)| is_set.then_some(flag))
    }
}
