//! Arguments as data.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

/// A wind tunnel for OpenShift updates: plays updates and rollbacks in a simulated cluster, in virtual time.
#[derive(Debug, Parser)]
#[command(
    version,
    after_help = "Exit codes: 0 all passed (serve: ended by a signal), 1 a scenario failed, 2 wrong usage, unreadable \
                  input, or a server that cannot be served."
)]
pub(super) struct Args {
    /// What to do.
    #[command(subcommand)]
    pub(super) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Play scenarios and print their timelines.
    Run(RunArgs),
    /// Print the timeline of a record that `run --record` wrote.
    Report(ReportArgs),
    /// Print what `oc adm upgrade status` prints, for a record, the files of a cluster, or a cluster.
    Status(StatusArgs),
    /// Talk to any cluster as `oc adm` does.
    #[cfg(feature = "live")]
    #[command(subcommand)]
    Adm(AdmCommand),
    /// Serve a Kubernetes API over HTTPS until SIGTERM or SIGINT.
    #[cfg(feature = "serve")]
    Serve(ServeArgs),
    /// Play Gherkin features.
    #[cfg(feature = "gherkin")]
    Test(TestArgs),
    /// List the sentences that features may say, or tell which step a sentence is.
    #[cfg(feature = "gherkin")]
    Steps(StepsArgs),
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
    /// Write the record of the run to FILE; with several scenarios, one record each into the folder FILE.
    #[arg(long, value_name = "FILE")]
    pub(super) record: Option<PathBuf>,
    /// Write results as JUnit XML.
    #[arg(long, value_name = "FILE")]
    pub(super) junit: Option<PathBuf>,
    /// Play each scenario twice and fail when the two records differ.
    #[arg(long)]
    pub(super) check_determinism: bool,
    /// Write the files that statuses are compared with (`matches`) instead of comparing.
    #[arg(long)]
    pub(super) update_snapshots: bool,
    /// Leave the timelines out.
    #[arg(long)]
    pub(super) quiet: bool,
    #[command(flatten)]
    pub(super) selection: Selection,
    #[command(flatten)]
    pub(super) layout: Layout,
}

/// `windtunnel lint`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit codes: 0 nothing was found, 1 warnings, 2 errors or unreadable input.")]
pub(super) struct LintArgs {
    /// Scenario and feature files, or folders to search for `*.yaml` and `*.feature`.
    #[arg(default_values = ["scenarios", "features"])]
    pub(super) paths: Vec<PathBuf>,
    /// Take the payload of a release from a folder, as `windtunnel run` does.
    #[arg(long, value_name = "VERSION=DIR", value_parser = super::payload::argument)]
    pub(super) payload: Vec<(semver::Version, PathBuf)>,
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

/// A part of all scenarios, for machines that share the work: `2/3`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shard {
    /// Which part, from 1.
    index: usize,
    /// How many parts there are.
    count: usize,
}

impl Shard {
    /// Whether the scenario of this number, from 0, is in it.
    pub(super) fn has(self, number: usize) -> bool {
        number % self.count == self.index - 1
    }
}

/// Reads `2/3`.
fn shard(text: &str) -> Result<Shard, String> {
    let parts =
        text.split_once('/').and_then(|(index, count)| Some((index.parse().ok()?, count.parse().ok()?)));
    let found = parts.map(|(index, count)| Shard { index, count });
    found
        .filter(|shard| (1..=shard.count).contains(&shard.index))
        .ok_or_else(|| "expected a part of all, such as 2/3".to_owned())
}

/// Which scenarios are played.
#[derive(Debug, clap::Args)]
pub(super) struct Selection {
    /// Play only this part of the scenarios, such as `2/3`: every third, beginning with the second.
    #[arg(long, value_name = "I/N", value_parser = shard)]
    pub(super) shard: Option<Shard>,
    /// Begin no other scenario when one has failed; those that were not begun are told of as skipped.
    #[arg(long)]
    pub(super) fail_fast: bool,
}

impl Selection {
    /// Whether the scenario of this number, from 0, is to be played.
    pub(super) fn has(&self, number: usize) -> bool {
        self.shard.is_none_or(|shard| shard.has(number))
    }
}

/// `windtunnel report`.
#[derive(Debug, clap::Args)]
pub(super) struct ReportArgs {
    /// A record file.
    pub(super) record: PathBuf,
    #[command(flatten)]
    pub(super) layout: Layout,
}

/// `windtunnel status`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  windtunnel status flight.jsonl --at 30m           half an hour into a run
  windtunnel status --from must-gather.local.42     what a must-gather tells
  windtunnel status --from dump.tar.gz --details health
  windtunnel status --kubeconfig wind.kubeconfig    a cluster, simulated or not

Exit codes: 0 printed; 1 `oc` or the cluster refuses; 2 wrong usage,
unreadable input, or input on which `oc` crashes.")]
pub(super) struct StatusArgs {
    #[command(flatten)]
    pub(super) source: StatusSource,
    /// The moment, counted from the start of the run, such as `1h30m`; without it, the end.
    #[arg(long, value_name = "TIME", requires = "record")]
    pub(super) at: Option<String>,
    /// The context of the kubeconfig, if not the current one.
    #[cfg(feature = "live")]
    #[arg(long, requires = "kubeconfig")]
    pub(super) context: Option<String>,
    /// The moment, such as `2024-05-01T12:00:00Z`; without it, now for a cluster, and right after the last change of a
    /// ClusterVersion or ClusterOperator condition for a dump, as `oc` has it.
    #[arg(long, value_name = "TIME", conflicts_with = "record")]
    pub(super) as_of: Option<String>,
    /// Which sections to show in detail.
    #[arg(long, value_enum, default_value_t = Details::None)]
    pub(super) details: Details,
}

/// What a status is made from.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(super) struct StatusSource {
    /// A record file that `run --record` wrote.
    pub(super) record: Option<PathBuf>,
    /// Files of a cluster: a folder with what is below it, a tar archive, or one file of YAML or JSON; a must-gather, what
    /// `oc adm inspect` or `oc get -o yaml` wrote.
    #[arg(long, value_name = "PATH")]
    pub(super) from: Option<PathBuf>,
    /// A cluster of this kubeconfig.
    #[cfg(feature = "live")]
    #[arg(long, value_name = "FILE")]
    pub(super) kubeconfig: Option<PathBuf>,
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

/// How timelines are laid out.
#[derive(Debug, clap::Args)]
pub(super) struct Layout {
    /// Columns of a timeline; 0 prints every line in full.
    #[arg(long, value_name = "COLUMNS", default_value_t = 160)]
    pub(super) width: usize,
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
    /// Play only scenarios whose tags fit, such as `@rollback and not @slow`.
    #[arg(long, value_name = "EXPRESSION")]
    pub(super) tags: Option<String>,
    /// Seed of everything that is drawn at random.
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    /// Write results as JUnit XML.
    #[arg(long, value_name = "FILE")]
    pub(super) junit: Option<PathBuf>,
    #[command(flatten)]
    pub(super) selection: Selection,
    /// Write the files that statuses are compared with (`the status is as in`) instead of comparing.
    #[arg(long)]
    pub(super) update_snapshots: bool,
}

/// `windtunnel serve`.
#[cfg(feature = "serve")]
#[derive(Debug, clap::Args)]
pub(super) struct ServeArgs {
    /// The API server alone, with nothing but its own namespaces in it. That is what is served if nothing else is said.
    #[arg(long, conflicts_with_all = ["version", "scenario", "release", "speed"])]
    pub(super) bare: bool,
    /// A simulated cluster of this OpenShift release, with its operators, nodes and cluster-version operator at work.
    #[arg(long, value_name = "4.N.Z", conflicts_with_all = ["scenario", "data_dir"])]
    pub(super) version: Option<semver::Version>,
    /// A release that exists beside it, to update to; by default the next patch and the next minor.
    #[arg(long, value_name = "4.N.Z", requires = "version")]
    pub(super) release: Vec<semver::Version>,
    /// Take the payload of a release from a folder, as `oc adm release extract` writes it, and have that release exist.
    #[arg(long, value_name = "VERSION=DIR", value_parser = super::payload::argument, conflicts_with = "bare")]
    pub(super) payload: Vec<(semver::Version, PathBuf)>,
    /// The cluster and the releases of a scenario; its timeline is not played.
    #[arg(long, value_name = "FILE", conflicts_with = "data_dir")]
    pub(super) scenario: Option<PathBuf>,
    /// How fast time passes in a simulated cluster, such as `60x`: an hour of its life in a minute.
    #[arg(long, value_name = "FACTOR", default_value = "1x", value_parser = speed)]
    pub(super) speed: f64,
    /// Kubernetes minor to serve as, for good: 1.36 alone, and what its release has and its updates bring for a simulated
    /// cluster.
    #[arg(long, value_name = "1.N", value_parser = kubernetes_minor)]
    pub(super) kubernetes: Option<u32>,
    /// Port to listen on; 0 is any that is free.
    #[arg(long, default_value_t = 6443)]
    pub(super) port: u16,
    /// Address to listen on.
    #[arg(long, default_value = "127.0.0.1", value_name = "IP")]
    pub(super) address: std::net::IpAddr,
    /// Write a kubeconfig of the administrator to FILE.
    #[arg(long, value_name = "FILE")]
    pub(super) kubeconfig: Option<PathBuf>,
    /// Keep what else is in the kubeconfig: only the cluster, user and context `windtunnel` are replaced, and chosen.
    #[arg(long, requires = "kubeconfig")]
    pub(super) merge: bool,
    /// Bearer token of the administrator; random by default.
    #[arg(long, env = "WINDTUNNEL_TOKEN", hide_env_values = true)]
    pub(super) token: Option<String>,
    /// Seed of everything that is drawn at random in the cluster.
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    /// Keep everything in DIR, so that it is there again the next time: objects, the token and the certificate authority.
    #[arg(long, value_name = "DIR")]
    pub(super) data_dir: Option<PathBuf>,
}

/// Reads `60x` or `60`.
#[cfg(feature = "serve")]
fn speed(text: &str) -> Result<f64, String> {
    let factor = text.strip_suffix('x').unwrap_or(text).parse().ok();
    let allowed = factor.filter(|factor: &f64| (0.01..=100_000.0).contains(factor));
    allowed.ok_or_else(|| "expected a factor from 0.01x to 100000x".to_owned())
}

/// Reads `1.31`.
#[cfg(feature = "serve")]
fn kubernetes_minor(text: &str) -> Result<u32, String> {
    let minor = text.strip_prefix("1.").and_then(|digits| digits.parse().ok());
    let known = crate::scenario::plan::KUBERNETES_MINORS;
    minor
        .filter(|minor| known.contains(minor))
        .ok_or_else(|| format!("expected a Kubernetes minor from 1.{} to 1.{}", known.start(), known.end()))
}
