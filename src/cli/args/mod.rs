//! The arguments of all commands.
//!
//! * `suite.rs`: flags that `run` and `test` share; `seeds.rs` has `--seeds`
//! * `place.rs`: the names of backends
//! * `program.rs`: `--program`
//! * `controllers.rs`: `--controllers` and `--without`

mod check;
mod checks;
#[cfg(feature = "live")]
mod clock;
mod clusters;
#[cfg(feature = "serve")]
pub(super) mod controllers;
mod dump;
#[cfg(feature = "serve")]
mod envtest;
mod explore;
#[cfg(feature = "serve")]
mod faults;
#[cfg(all(feature = "live", feature = "serve"))]
pub(super) mod insights;
mod logs;
mod mutate;
mod numbers;
mod payload;
mod place;
mod program;
#[cfg(feature = "live")]
mod rbac;
mod rehearse;
mod risks;
mod rollback_check;
mod rollback_pairs;
mod run_options;
mod seeds;
mod status;
mod suite;
mod sweep;
mod version;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

pub(super) use self::check::{CheckFormat, CheckRecordsArgs};
pub(super) use self::checks::CheckArgs;
#[cfg(feature = "live")]
pub(super) use self::clock::{ClockArgs, ClockChange};
#[cfg(feature = "live")]
pub(super) use self::clusters::RecordArgs;
#[cfg(any(feature = "live", feature = "serve"))]
pub(super) use self::clusters::speed;
#[cfg(feature = "serve")]
pub(super) use self::clusters::{ClockStart, Listening, ReplayArgs, ServeArgs, kubernetes_minor};
pub(super) use self::dump::{DumpArgs, ListingFormat};
#[cfg(feature = "serve")]
pub(super) use self::envtest::EnvtestArgs;
pub(super) use self::explore::{
    CorpusReportArgs, ExploreArgs, ExploreCommand, ExploreFormat, MinimiseArgs, ReplayFindingsArgs,
};
#[cfg(feature = "serve")]
pub(super) use self::faults::FaultArgs;
pub(super) use self::logs::{LogsArgs, MustGatherArgs};
pub(super) use self::mutate::MutateArgs;
pub(super) use self::place::{BackendKind, PlaceArgs};
#[cfg(feature = "live")]
pub(super) use self::place::{CleanArgs, SPEED, WRITES_PER_SECOND};
pub(super) use self::program::{CONSENT, ProgramArgs};
#[cfg(feature = "live")]
pub(super) use self::rbac::{RbacArgs, RbacFormat};
pub(super) use self::rehearse::{RehearsalFormat, RehearseArgs};
pub(super) use self::risks::RisksArgs;
pub(super) use self::rollback_check::{Judges, ReportFormat, RollbackCheckArgs};
pub(super) use self::rollback_pairs::{PairsFormat, RollbackPairsArgs};
#[cfg(test)]
pub(super) use self::run_options::shard;
pub(super) use self::run_options::{Format, Interactive, JunitPer, Layout, Reports, Selection, Shard};
pub(super) use self::status::StatusArgs;
pub(super) use self::suite::{SuiteArgs, jobs_or_cores};
pub(super) use self::sweep::SweepArgs;
use super::files::input::UNPACK_LIMIT;
use super::templates;

/// A wind tunnel for OpenShift updates: runs updates and rollbacks in a simulated cluster, in virtual time.
#[derive(Debug, Parser)]
#[command(
    version,
    after_help = "Exit codes: 0 all passed (serve: ended by a signal), 1 a scenario failed, 2 wrong usage, unreadable \
                  input, or a server that cannot start, 130 and 143 a run ended by SIGINT or SIGTERM."
)]
pub(super) struct Args {
    /// The command to run.
    #[command(subcommand)]
    pub(super) command: Command,
    /// Bytes that a compressed file, or the files of interest in an archive, may have when unpacked. One file of a dump may have
    /// 256 MiB, or an eighth of this if that is more. More than the default also raises the limits of values and documents.
    #[arg(long, global = true, hide = true, value_name = "BYTES", default_value_t = UNPACK_LIMIT, value_parser = numbers::number::<u64>)]
    pub(super) unpack_limit: u64,
    /// Folder into which paths in scenarios, features, payloads and dumps may lead, besides their own and those of the command
    /// line. May be repeated.
    #[arg(long, global = true, hide = true, value_name = "DIR")]
    pub(super) allow_folder: Vec<PathBuf>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Run scenarios and features, and print the results.
    Run(RunArgs),
    /// Print the timeline of a record, or the results of several; write the page of all.
    Report(ReportArgs),
    /// Print the logs of simulated programs in a record; without a pod, list them.
    Logs(LogsArgs),
    /// Write the cluster of a record, with its logs, as the files of a must-gather.
    MustGather(MustGatherArgs),
    /// List the kinds and files of a dump: what windtunnel reads of it, and what not.
    Dump(DumpArgs),
    /// Print the output of `oc adm upgrade status` for a record, the files of a cluster, or a cluster.
    Status(StatusArgs),
    /// Run the update of a cluster from its dump, and list where it stops, why, and how it goes on.
    Rehearse(RehearseArgs),
    /// Evaluate the risks of graph data for clusters, and check their PromQL.
    Risks(RisksArgs),
    /// List the objects of a newer release that an older one rejects or changes, each with a proof.
    RollbackCheck(RollbackCheckArgs),
    /// Update clusters of many kinds to the next minor, take each update back, and report what becomes of them.
    RollbackPairs(RollbackPairsArgs),
    /// Run the update status controller for a cluster, and publish insights until SIGTERM or SIGINT.
    #[cfg(all(feature = "live", feature = "serve"))]
    Insights(insights::InsightsArgs),
    /// Run `oc adm` commands against any cluster.
    #[cfg(feature = "live")]
    #[command(subcommand)]
    Adm(AdmCommand),
    /// Record the changes in a cluster until SIGINT or SIGTERM.
    #[cfg(feature = "live")]
    Record(RecordArgs),
    /// Serve a Kubernetes API over HTTPS until SIGTERM or SIGINT.
    #[cfg(feature = "serve")]
    Serve(ServeArgs),
    /// Print, pause, advance or change the speed of the clock of a served cluster.
    #[cfg(feature = "live")]
    Clock(ClockArgs),
    /// Report the used and unused rules of the users of a served cluster, or of a recorded run.
    #[cfg(feature = "live")]
    Rbac(RbacArgs),
    /// Run a command with the programs of controller-runtime's envtest.
    #[cfg(feature = "serve")]
    Envtest(EnvtestArgs),
    /// Replay a record in a served cluster.
    #[cfg(feature = "serve")]
    Replay(ReplayArgs),
    /// Run features and scenarios: as `run`, but without paths the folder `features`.
    #[cfg(feature = "gherkin")]
    Test(RunArgs),
    /// Split a scenario or a feature into pre- and post-upgrade scenarios.
    #[cfg(feature = "gherkin")]
    #[command(alias = "twins")]
    SplitUpgrade(SplitUpgradeArgs),
    /// List the Gherkin steps, or find the step for a text.
    #[cfg(feature = "gherkin")]
    Steps(StepsArgs),
    /// Remove the clusters and objects of killed runs, and of runs with --keep.
    #[cfg(feature = "live")]
    Clean(CleanArgs),
    /// Draft a scenario from a record.
    ScenarioFrom {
        /// Record file of a run or a cluster.
        record: PathBuf,
        /// File to write [default: print the scenario].
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Report errors and suspicious steps in scenarios and features without running them.
    Lint(LintArgs),
    /// Run scenarios with deliberately broken components, and report expectations that none of them breaks.
    Mutate(MutateArgs),
    /// Ask a copy of the cluster to go back at each moment of a scenario's update, and report what becomes of it.
    Sweep(SweepArgs),
    /// Check that records of runs and of watched clusters keep the rules of updates.
    Check(CheckRecordsArgs),
    /// Invent faulty updates, run them, and shrink those that break a rule into scenarios.
    Explore(ExploreArgs),
    /// Write a scenario or a feature from a template; without a path, list the templates.
    New(NewArgs),
    /// Print the JSON Schema of a file, for editors.
    Schema {
        /// Kind of file.
        kind: SchemaOf,
    },
    /// Print a completion script for a shell.
    Completions {
        /// Shell to complete commands in.
        shell: clap_complete::Shell,
    },
}

/// `windtunnel run`.
#[derive(Debug, clap::Args)]
pub(super) struct RunArgs {
    /// Scenario and feature files, or folders to search for `*.yaml` and `*.feature` [default: the folder `scenarios`; of
    /// `test`, the folder `features`].
    pub(super) paths: Vec<PathBuf>,
    /// Read the payload of a release from a folder, as written by `oc adm release extract`; the release exists in every
    /// scenario. This flag, `--start-from` and the `--check-*` flags are for YAML scenarios only.
    #[arg(long, value_name = "VERSION=DIR", value_parser = payload::parse)]
    pub(super) payload: Vec<(semver::Version, PathBuf)>,
    /// Start with the cluster of a record or a dump (as for `serve --from`) instead of the scenario's: its release and
    /// history, nodes, channel, capabilities, known updates and faults. Standard error lists the parts not taken.
    #[arg(long, value_name = "PATH")]
    pub(super) start_from: Option<PathBuf>,
    /// Let a run of `--start-from` pass although it leaves out objects of this kind that can hold an update up, such as
    /// `PodDisruptionBudget`; may be repeated. The result says `with omissions`.
    #[arg(long, value_name = "KIND", requires = "start_from")]
    pub(super) ignore: Vec<String>,
    /// Run each scenario three times, and fail if the records differ.
    #[arg(long, conflicts_with = "until")]
    pub(super) check_determinism: bool,
    #[command(flatten)]
    pub(super) checks: CheckArgs,
    /// Take each cluster back to its first release at the end, unless the scenario does, and fail if the cluster differs
    /// from its state before the update, and from a second cluster that was not updated.
    #[arg(long, conflicts_with_all = ["retry", "until"])]
    pub(super) check_restored: bool,
    // Last, because its last heading applies to all later flags.
    #[command(flatten)]
    pub(super) suite: SuiteArgs,
}

/// `windtunnel lint`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit codes: 0 no findings, 1 warnings, 2 errors or unreadable input.")]
pub(super) struct LintArgs {
    /// Scenario and feature files, or folders to search for `*.yaml` and `*.feature` [default: the existing ones of the
    /// folders `scenarios` and `features`].
    pub(super) paths: Vec<PathBuf>,
    /// Read the payload of a release from a folder, as for `windtunnel run`.
    #[arg(long, value_name = "VERSION=DIR", value_parser = payload::parse)]
    pub(super) payload: Vec<(semver::Version, PathBuf)>,
    /// Output format of the findings.
    #[arg(long, value_enum, default_value_t = LintFormat::Text)]
    pub(super) format: LintFormat,
}

/// The output format of lint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum LintFormat {
    /// One line per finding.
    Text,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
}

/// `windtunnel split-upgrade`.
#[cfg(feature = "gherkin")]
#[derive(Debug, clap::Args)]
pub(super) struct SplitUpgradeArgs {
    /// Scenario or feature to split.
    pub(super) path: PathBuf,
    /// Folder for the files `<name>-prepare` and `<name>-check`, of the same type as PATH [default: print them].
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
}

/// `windtunnel new`.
#[derive(Debug, clap::Args)]
pub(super) struct NewArgs {
    /// File to write, named *.yaml or *.feature.
    pub(super) path: Option<PathBuf>,
    /// Template of the file.
    #[arg(long, value_name = "NAME", requires = "path",
          value_parser = clap::builder::PossibleValuesParser::new(templates::TEMPLATES.iter().map(|(name, ..)| *name)))]
    pub(super) from_template: Option<String>,
}

/// The files with a JSON Schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum SchemaOf {
    /// Scenario file.
    Scenario,
    /// Report of `rehearse --output json`.
    Rehearsal,
    /// Reports of `rehearse --output json` with several dumps.
    Rehearsals,
}

/// `windtunnel report`.
#[derive(Debug, clap::Args)]
pub(super) struct ReportArgs {
    /// Record files, or folders to search for `*.jsonl`.
    #[arg(required = true)]
    pub(super) records: Vec<PathBuf>,
    /// Write the timelines as one HTML page.
    #[arg(long, value_name = "FILE")]
    pub(super) html: Option<PathBuf>,
    /// Write the results of all records as one JUnit XML file, with a test case for each record.
    #[arg(long, value_name = "FILE")]
    pub(super) junit: Option<PathBuf>,
    /// Print all insights at the end as YAML, instead of a line for each that changed.
    #[arg(long, short)]
    pub(super) verbose: bool,
    #[command(flatten)]
    pub(super) layout: Layout,
}

/// `windtunnel adm`.
#[cfg(feature = "live")]
#[derive(Debug, Subcommand)]
pub(super) enum AdmCommand {
    /// Show and change updates like `oc adm upgrade`, with its flags, subcommands, messages and exit codes; `--kubeconfig`,
    /// `--context`, `--server`, `--token`, `--certificate-authority` and `--insecure-skip-tls-verify` select the cluster.
    #[command(disable_help_flag = true)]
    Upgrade {
        /// Arguments of `oc adm upgrade`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
}

/// The flag `--details`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Details {
    /// Summaries only.
    None,
    /// Every section.
    All,
    /// All rows of the tables of nodes.
    Nodes,
    /// Descriptions, references and resources in update health.
    Health,
    /// The table of updating cluster operators.
    Operators,
}

/// `windtunnel steps`.
#[cfg(feature = "gherkin")]
#[derive(Debug, clap::Args)]
pub(super) struct StepsArgs {
    /// Print the step for this text, with its values, or the nearest steps.
    #[arg(long = "match", value_name = "TEXT")]
    pub(super) text: Option<String>,
    /// Print the list as a Markdown page.
    #[arg(long, conflicts_with = "text")]
    pub(super) markdown: bool,
}
