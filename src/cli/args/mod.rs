//! Arguments as data.

mod clusters;
mod place;
mod playing;
mod status;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

#[cfg(feature = "live")]
pub(super) use self::clusters::RecordArgs;
#[cfg(any(feature = "live", feature = "serve"))]
pub(super) use self::clusters::speed;
#[cfg(feature = "serve")]
pub(super) use self::clusters::{EnvtestArgs, Listening, ReplayArgs, ServeArgs, kubernetes_minor};
#[cfg(feature = "live")]
pub(super) use self::place::CleanArgs;
pub(super) use self::place::{BackendKind, PlaceArgs};
pub(super) use self::playing::{Format, JunitPer, Layout, Look, Reports, Selection};
pub(super) use self::status::StatusArgs;

/// A wind tunnel for OpenShift updates: plays updates and rollbacks in a simulated cluster, in virtual time.
#[derive(Debug, Parser)]
#[command(
    version,
    after_help = "Exit codes: 0 all passed (serve: ended by a signal), 1 a scenario failed, 2 wrong usage, unreadable \
                  input, or a server that cannot be served, 130 and 143 a run that SIGINT or SIGTERM ended."
)]
pub(super) struct Args {
    /// What to do.
    #[command(subcommand)]
    pub(super) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Run scenarios and print what happened in them.
    Run(RunArgs),
    /// Print the timeline of a record that `run --record` wrote.
    Report(ReportArgs),
    /// Print what `oc adm upgrade status` prints, for a record, the files of a cluster, or a cluster.
    Status(StatusArgs),
    /// Run the update status controller for a cluster: publish insights until SIGTERM or SIGINT.
    #[cfg(all(feature = "live", feature = "serve"))]
    Insights(super::insights::args::InsightsArgs),
    /// Talk to any cluster as `oc adm` does.
    #[cfg(feature = "live")]
    #[command(subcommand)]
    Adm(AdmCommand),
    /// Watch a cluster and write what happens in it into a record, until SIGINT or SIGTERM.
    #[cfg(feature = "live")]
    Record(RecordArgs),
    /// Serve a Kubernetes API over HTTPS until SIGTERM or SIGINT.
    #[cfg(feature = "serve")]
    Serve(ServeArgs),
    /// Fill a folder that suites of controller-runtime take for KUBEBUILDER_ASSETS.
    #[cfg(feature = "serve")]
    Envtest(EnvtestArgs),
    /// Serve a cluster in which happens again what a record tells.
    #[cfg(feature = "serve")]
    Replay(ReplayArgs),
    /// Play Gherkin features.
    #[cfg(feature = "gherkin")]
    Test(TestArgs),
    /// Write a scenario as two: what is done before an update that others make, and what is checked after.
    #[cfg(feature = "gherkin")]
    Twins(TwinsArgs),
    /// List the sentences that features may say, or tell which step a sentence is.
    #[cfg(feature = "gherkin")]
    Steps(StepsArgs),
    /// Remove what runs left behind that were killed, or told to keep it.
    #[cfg(feature = "live")]
    Clean(CleanArgs),
    /// Draft a scenario of what a record tells, to be edited.
    ScenarioFrom {
        /// A record file, of a run or of a cluster.
        record: PathBuf,
        /// The file to write; without it, the scenario is printed.
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Tell what is wrong or odd about scenarios and features, without playing them.
    Lint(LintArgs),
    /// Write a scenario or a feature to begin with; without a path, list what there is.
    New(NewArgs),
    /// Print the shape of a file as a JSON Schema, for editors.
    Schema {
        /// Of which file.
        of: SchemaOf,
    },
    /// Print what completes the commands of this program in a shell.
    Completions {
        /// For which shell.
        shell: clap_complete::Shell,
    },
}

/// `windtunnel run`.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(super) struct RunArgs {
    /// Scenario files, or folders to search for `*.yaml`.
    #[arg(default_value = "scenarios")]
    pub(super) paths: Vec<PathBuf>,
    /// Seed of everything that is drawn at random.
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    /// Take the payload of a release from a folder, as `oc adm release extract` writes it; it exists in every scenario.
    #[arg(long, value_name = "VERSION=DIR", value_parser = super::payload::argument)]
    pub(super) payload: Vec<(semver::Version, PathBuf)>,
    /// Begin with the cluster of a dump (as `serve --from` takes them) or a record, in place of the one that the scenario
    /// describes: its release and history, nodes, channel, capabilities, known updates and troubles. What is not taken is told.
    #[arg(long, value_name = "PATH")]
    pub(super) start_from: Option<PathBuf>,
    /// Write the record of the run to FILE; with several scenarios, one record each into the folder FILE.
    #[arg(long, value_name = "FILE")]
    pub(super) record: Option<PathBuf>,
    /// Play each scenario three times and fail when the records differ.
    #[arg(long)]
    pub(super) check_determinism: bool,
    /// Play each scenario again for every write of a simulated program, which dies right after it, and fail when the cluster ends
    /// otherwise then.
    #[arg(long, conflicts_with_all = ["retry", "until"])]
    pub(super) check_restarts: bool,
    /// Write the files that statuses are compared with (`matches`) instead of comparing.
    #[arg(long)]
    pub(super) update_snapshots: bool,
    /// Print no timeline, even of a single scenario.
    #[arg(long)]
    pub(super) quiet: bool,
    /// Print the timeline of every scenario; without it, several scenarios get a line each and a list of failures.
    #[arg(long, short, conflicts_with = "quiet")]
    pub(super) verbose: bool,
    #[command(flatten)]
    pub(super) selection: Selection,
    #[command(flatten)]
    pub(super) reports: Reports,
    #[command(flatten)]
    pub(super) place: PlaceArgs,
    #[command(flatten)]
    pub(super) layout: Layout,
    #[command(flatten)]
    pub(super) look: Look,
}

/// `windtunnel lint`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit codes: 0 nothing was found, 1 warnings, 2 errors or unreadable input.")]
pub(super) struct LintArgs {
    /// Scenario and feature files, or folders to search for `*.yaml` and `*.feature`; without any, the folders `scenarios` and
    /// `features`, as far as they are there.
    pub(super) paths: Vec<PathBuf>,
    /// Take the payload of a release from a folder, as `windtunnel run` does.
    #[arg(long, value_name = "VERSION=DIR", value_parser = super::payload::argument)]
    pub(super) payload: Vec<(semver::Version, PathBuf)>,
}

/// `windtunnel twins`.
#[cfg(feature = "gherkin")]
#[derive(Debug, clap::Args)]
pub(super) struct TwinsArgs {
    /// A scenario or a feature.
    pub(super) path: PathBuf,
    /// The folder to write `<name>-prepare` and `<name>-check` to, which are what the file is; without it they are printed.
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
}

/// `windtunnel new`.
#[derive(Debug, clap::Args)]
pub(super) struct NewArgs {
    /// The file to write, named *.yaml or *.feature.
    pub(super) path: Option<PathBuf>,
    /// What it begins as.
    #[arg(long, value_name = "NAME", requires = "path",
          value_parser = clap::builder::PossibleValuesParser::new(super::new::TEMPLATES.iter().map(|(name, ..)| *name)))]
    pub(super) from_template: Option<String>,
}

/// What there is a JSON Schema of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum SchemaOf {
    /// A scenario.
    Scenario,
}

/// `windtunnel report`.
#[derive(Debug, clap::Args)]
pub(super) struct ReportArgs {
    /// A record file.
    pub(super) record: PathBuf,
    /// Write the timeline as one HTML page.
    #[arg(long, value_name = "FILE")]
    pub(super) html: Option<PathBuf>,
    #[command(flatten)]
    pub(super) layout: Layout,
}

/// `windtunnel adm`.
#[cfg(feature = "live")]
#[derive(Debug, Subcommand)]
pub(super) enum AdmCommand {
    /// What `oc adm upgrade` does, with its flags, subcommands, texts and exit codes; `--kubeconfig`, `--context`,
    /// `--server`, `--token`, `--certificate-authority` and `--insecure-skip-tls-verify` lead to the cluster.
    #[command(disable_help_flag = true)]
    Upgrade {
        /// The words after `oc adm upgrade`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
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
    /// Tell which step this sentence is, and with which values; if none, which are most like it.
    #[arg(long = "match", value_name = "SENTENCE")]
    pub(super) sentence: Option<String>,
    /// Print the list as a page in Markdown.
    #[arg(long, conflicts_with = "sentence")]
    pub(super) markdown: bool,
}

/// `windtunnel test`.
#[cfg(feature = "gherkin")]
#[derive(Debug, clap::Args)]
pub(super) struct TestArgs {
    /// Feature files, or folders to search for `*.feature`.
    #[arg(default_value = "features")]
    pub(super) paths: Vec<PathBuf>,
    /// Seed of everything that is drawn at random.
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    #[command(flatten)]
    pub(super) selection: Selection,
    /// Write the record of the run to FILE; of several scenarios, one record each into the folder FILE.
    #[arg(long, value_name = "FILE")]
    pub(super) record: Option<PathBuf>,
    #[command(flatten)]
    pub(super) reports: Reports,
    /// Write results as Cucumber's JSON.
    #[arg(long, value_name = "FILE")]
    pub(super) cucumber_json: Option<PathBuf>,
    #[command(flatten)]
    pub(super) place: PlaceArgs,
    /// Write the files that statuses are compared with (`the status is as in`) instead of comparing.
    #[arg(long)]
    pub(super) update_snapshots: bool,
}
