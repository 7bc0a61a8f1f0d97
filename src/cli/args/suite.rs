//! The arguments that `run` and `test` share.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use super::seeds::{self, Seeds};
use super::{Interactive, Layout, PlaceArgs, ProgramArgs, Reports, Selection, numbers};
use crate::plan::{ProgramPlan, ProgramTime};

/// Arguments of a run of scenarios or features.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(in crate::cli) struct SuiteArgs {
    /// Seed of every random draw.
    #[arg(long, default_value_t = 1, value_parser = numbers::number::<u64>)]
    seed: u64,
    /// Run each scenario with each of these seeds, such as `1..50` or `1,7,20..30`, and print the seeds with which it
    /// fails. Reports have the first run that failed, or else the first run.
    #[arg(long, value_name = "SEEDS", value_parser = seeds::seeds,
          conflicts_with_all = ["seed", "retry", "until", "update"])]
    seeds: Option<Seeds>,
    /// Write the record of the scenario to the file PATH; if PATH ends with `/` or is a folder, the record of each scenario
    /// into it.
    #[arg(long, value_name = "PATH")]
    pub(in crate::cli) record: Option<PathBuf>,
    /// Let expectations with `within` pass that have held since before the last action, and therefore pass whatever it
    /// does. The tag `@lenient` asks for it in a feature, the line `strict: false` in a scenario.
    #[arg(long)]
    lenient: bool,
    /// The default; kept for older scripts.
    #[arg(long, hide = true, conflicts_with = "lenient")]
    strict: bool,
    /// Replace exact expected texts by what the run printed and reported, in the files of scenarios and features and in those of
    /// `matches`. A file is written if its scenarios pass with the new texts.
    #[arg(long, visible_alias = "update-snapshots", conflicts_with = "until")]
    update: bool,
    /// Print what `--update` would write, and write and run nothing else.
    #[arg(long, requires = "update")]
    pub(in crate::cli) dry_run: bool,
    /// Print no timeline and no warning.
    #[arg(long, short)]
    pub(in crate::cli) quiet: bool,
    /// Print the timeline of every scenario [default: of the only one; of several, those of failures].
    #[arg(long, short, conflicts_with = "quiet")]
    pub(in crate::cli) verbose: bool,
    #[command(flatten)]
    pub(in crate::cli) programs: ProgramArgs,
    /// The clock of the cluster beside programs of `--program`: `lockstep`, or a speed such as `60x`.
    #[arg(long, value_name = "TIME", default_value = "lockstep", value_parser = super::program::time)]
    program_time: ProgramTime,
    #[command(flatten)]
    pub(in crate::cli) selection: Selection,
    #[command(flatten)]
    pub(in crate::cli) reports: Reports,
    #[command(flatten)]
    pub(in crate::cli) layout: Layout,
    #[command(flatten)]
    pub(in crate::cli) interactive: Interactive,
    // Last, because the heading applies to all later flags.
    #[command(flatten, next_help_heading = "Backend options")]
    pub(in crate::cli) place: PlaceArgs,
}

impl SuiteArgs {
    /// Returns whether expected texts are replaced.
    pub(in crate::cli) fn updates(&self) -> bool {
        self.update
    }

    /// Returns whether expectations fail that have held since before the last action, unless a scenario says otherwise.
    pub(in crate::cli) fn is_strict(&self) -> bool {
        self.strict || !self.lenient
    }

    /// Returns the seeds of each scenario, at least one, in ascending order.
    pub(in crate::cli) fn seeds(&self) -> Vec<u64> {
        self.seeds.as_ref().map_or_else(|| vec![self.seed], |seeds| seeds.iter().collect())
    }

    /// Returns the only seed, or the first of several.
    pub(in crate::cli) fn first_seed(&self) -> u64 {
        self.seeds.as_ref().and_then(|seeds| seeds.iter().next()).unwrap_or(self.seed)
    }

    /// Returns the programs of `--program`.
    pub(in crate::cli) fn program_plans(&self) -> Vec<ProgramPlan> {
        self.programs.plans(self.program_time)
    }

    /// Returns the number of scenarios that may run at the same time on this machine.
    pub(in crate::cli) fn jobs(&self) -> usize {
        jobs_or_cores(self.selection.jobs)
    }
}

/// Returns the number of `--jobs`; without it, the number of cores.
pub(in crate::cli) fn jobs_or_cores(jobs: Option<NonZeroUsize>) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    jobs.map_or_else(cores, usize::from)
}
