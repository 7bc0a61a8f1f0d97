//! Arguments of the commands that record and serve clusters.

#[cfg(any(feature = "live", feature = "serve"))]
use std::path::PathBuf;

#[cfg(feature = "serve")]
use windtunnel_apiserver::AuthorizationMode;
#[cfg(feature = "serve")]
use windtunnel_core::clock::Time;
#[cfg(feature = "serve")]
use windtunnel_core::text::parse_duration;

#[cfg(feature = "serve")]
use super::FaultArgs;
#[cfg(feature = "serve")]
use super::controllers::{Selected, SelectedParser};
#[cfg(feature = "serve")]
use crate::plan::FEATURE_SETS;

/// `windtunnel record`.
#[cfg(feature = "live")]
#[derive(Debug, clap::Args)]
#[command(after_help = "The record contains no Secrets, tokens, probable credentials or field managers.
The command only lists and watches; it changes nothing in the cluster.

Examples:
  windtunnel record --kubeconfig prod.kubeconfig -o flight.jsonl
  windtunnel record --kubeconfig prod.kubeconfig --for 2h --name INC-42 -o flight.jsonl

Exit codes: 0 recorded, 2 wrong usage, or no answer from the cluster.")]
pub(in crate::cli) struct RecordArgs {
    /// Kubeconfig of the cluster.
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) kubeconfig: PathBuf,
    /// Context of the kubeconfig [default: the current one].
    #[arg(long)]
    pub(in crate::cli) context: Option<String>,
    /// End after this time, such as `2h` [default: at a signal].
    #[arg(long = "for", value_name = "SPAN")]
    pub(in crate::cli) span: Option<String>,
    /// File to write the record to.
    #[arg(long, short, value_name = "FILE")]
    pub(in crate::cli) output: PathBuf,
    /// Name of the record.
    #[arg(long, default_value = "recorded cluster")]
    pub(in crate::cli) name: String,
    /// Record every watchable kind except Leases, Events, Endpoints and OAuth tokens [default: the kinds of simulated
    /// components].
    #[arg(long)]
    pub(in crate::cli) all: bool,
}

/// `windtunnel serve`.
#[cfg(feature = "serve")]
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct ServeArgs {
    /// Serve the API server alone, with only its own namespaces. This is the default.
    #[arg(long, conflicts_with_all = ["version", "scenario", "release", "speed", "from"])]
    pub(in crate::cli) bare: bool,
    /// Serve the cluster of a record or a dump: a folder, a tar archive, or a file of YAML or JSON (a must-gather, or the
    /// output of `oc adm inspect` or `oc get -o yaml`). Standard error lists unreadable, rejected and changed objects.
    #[arg(long, value_name = "PATH",
          conflicts_with_all = ["version", "scenario", "release", "payload", "speed", "data_dir"])]
    pub(in crate::cli) from: Option<PathBuf>,
    /// Moment of the record, from the start of its run, such as `1h30m` [default: the end]. The cluster's clock stops
    /// there.
    #[arg(long, value_name = "TIME", requires = "from")]
    pub(in crate::cli) at: Option<String>,
    /// Serve a simulated cluster of this OpenShift release, with running operators, nodes and cluster-version operator.
    #[arg(long, value_name = "4.N.Z", value_parser = super::version::version, conflicts_with_all = ["scenario", "data_dir"])]
    pub(in crate::cli) version: Option<semver::Version>,
    /// Feature set of the cluster: `TechPreviewNoUpgrade`, `DevPreviewNoUpgrade` or `CustomNoUpgrade` [default: the
    /// default set].
    #[arg(long, value_name = "SET", requires = "version", value_parser = FEATURE_SETS.to_vec())]
    pub(in crate::cli) feature_set: Option<String>,
    /// Release to update to [default: the next patch and the next minor].
    #[arg(long, value_name = "4.N.Z", value_parser = super::version::version, requires = "version")]
    pub(in crate::cli) release: Vec<semver::Version>,
    /// Read the payload of a release from a folder, as written by `oc adm release extract`; the release exists.
    #[arg(long, value_name = "VERSION=DIR", value_parser = super::payload::parse, conflicts_with = "bare")]
    pub(in crate::cli) payload: Vec<(semver::Version, PathBuf)>,
    /// Serve the cluster and the releases of a scenario. Its timeline runs only with --timeline.
    #[arg(long, value_name = "FILE", conflicts_with = "data_dir")]
    pub(in crate::cli) scenario: Option<PathBuf>,
    /// Run the timeline and the faults of the scenario in the time of the cluster's clock, and print each step that ends to
    /// standard error. The cluster is served on after the last step.
    #[arg(long, requires = "scenario")]
    pub(in crate::cli) timeline: bool,
    /// End after the timeline, with the exit code of the scenario.
    #[arg(long, requires = "timeline")]
    pub(in crate::cli) exit: bool,
    /// Take channels, edges and risks of a simulated cluster's update service from a folder in the layout of
    /// cincinnati-graph-data, as far as they are about its releases [default: those of the scenario].
    #[arg(long, value_name = "DIR", conflicts_with_all = ["bare", "from", "data_dir"])]
    pub(in crate::cli) graph_data: Option<PathBuf>,
    /// Port of a simulated cluster's update service, over plain HTTP on the loopback interface; 0 selects a free one.
    #[arg(long, value_name = "PORT", default_value_t = 0, value_parser = super::numbers::port)]
    pub(in crate::cli) update_service_port: u16,
    /// Speed of time in a simulated cluster, such as `60x`: an hour in a minute. `windtunnel clock` changes it later.
    #[arg(long, value_name = "FACTOR", default_value = "1x", value_parser = speed)]
    pub(in crate::cli) speed: f64,
    /// Time at which the clock of a simulated cluster starts: `now`, a distance from it such as `30d-ago`, or a time such as
    /// `2026-05-01T12:00:00Z` [default: now; above `1x` a day ago, or ten minutes times the speed if that is
    /// earlier, up to 30d-ago]. When it catches up with this machine's clock, it slows
    /// down to 1x, so that clients print no negative ages.
    #[arg(long, value_name = "TIME", value_parser = ClockStart::parse,
          conflicts_with_all = ["bare", "from", "data_dir"])]
    pub(in crate::cli) clock: Option<ClockStart>,
    /// How an API server alone authorizes: `Node,RBAC`, `RBAC`, or `AlwaysAllow`, which rejects only requests without
    /// credentials.
    #[arg(long, value_name = "MODES", default_value = "Node,RBAC", value_parser = authorization_mode,
          conflicts_with_all = ["version", "scenario", "from"])]
    pub(in crate::cli) authorization_mode: AuthorizationMode,
    /// Admission plug-ins of kube-apiserver that are off by default, to turn on in an API server alone.
    #[arg(long, value_name = "NAME,...", default_value = "", hide_default_value = true,
          conflicts_with_all = ["version", "scenario", "from"])]
    pub(in crate::cli) enable_admission_plugins: String,
    /// Admission plug-ins of kube-apiserver to turn off in an API server alone.
    #[arg(long, value_name = "NAME,...", default_value = "", hide_default_value = true,
          conflicts_with_all = ["version", "scenario", "from"])]
    pub(in crate::cli) disable_admission_plugins: String,
    /// Configuration of admission plug-ins in an API server alone (`AdmissionConfiguration`): of PodSecurity, PodNodeSelector and
    /// PodTolerationRestriction.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["version", "scenario", "from"])]
    pub(in crate::cli) admission_control_config_file: Option<PathBuf>,
    /// Kubernetes minor to serve, kept through updates [default: that of the cluster; 1.36 with --bare].
    #[arg(long, value_name = "1.N", value_parser = kubernetes_minor)]
    pub(in crate::cli) kubernetes: Option<u32>,
    /// Simulated component to leave out of the cluster, so that a program of yours can take its place, such as
    /// `cluster-version-operator` or `operator/etcd`.
    #[arg(long, value_name = "NAME", value_delimiter = ',', conflicts_with_all = ["bare", "from", "data_dir"])]
    pub(in crate::cli) without: Vec<String>,
    #[command(flatten)]
    pub(in crate::cli) programs: super::ProgramArgs,
    /// Controllers to run beside the API server alone, by their names in kube-controller-manager, and simulated
    /// components such as `kubelet` or `machine-config-operator`.
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = SelectedParser,
          conflicts_with_all = ["version", "scenario", "from"])]
    pub(in crate::cli) controllers: Vec<Selected>,
    #[command(flatten)]
    pub(in crate::cli) faults: FaultArgs,
    #[command(flatten)]
    pub(in crate::cli) listening: Listening,
    /// Seed of every random draw in the cluster.
    #[arg(long, default_value_t = 1, value_parser = super::numbers::number::<u64>)]
    pub(in crate::cli) seed: u64,
    /// Store objects, the token and the certificate authority in DIR, and reuse them at the next start. While the disk
    /// rejects writes, clients get 500 for writes, and /readyz fails.
    #[arg(long, value_name = "DIR")]
    pub(in crate::cli) data_dir: Option<PathBuf>,
}

/// The address of a server, and the credentials for it.
#[cfg(feature = "serve")]
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Listening {
    /// Port to listen on; 0 selects a free one.
    #[arg(long, default_value_t = 6443, value_parser = super::numbers::port)]
    pub(in crate::cli) port: u16,
    /// Address to listen on.
    #[arg(long, default_value = "127.0.0.1", value_name = "IP")]
    pub(in crate::cli) address: std::net::IpAddr,
    /// Write a kubeconfig of the administrator to FILE; the folder must exist.
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) kubeconfig: Option<PathBuf>,
    /// Keep other entries of the kubeconfig; replace and select only the cluster, user and context `windtunnel`.
    #[arg(long, requires = "kubeconfig")]
    pub(in crate::cli) merge: bool,
    /// Bearer token of the administrator [default: random].
    #[arg(long, env = "WINDTUNNEL_TOKEN", hide_env_values = true)]
    pub(in crate::cli) token: Option<String>,
    /// Certificates, as PEM, of the authorities whose client certificates authenticate users, besides the server's own: the
    /// common name is the user, the organizations are its groups.
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) client_ca_file: Option<PathBuf>,
}

/// `windtunnel replay`.
#[cfg(feature = "serve")]
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  windtunnel replay flight.jsonl --speed 60x --kubeconfig wind.kubeconfig
  windtunnel replay flight.jsonl --speed 100000x --until 30m --port 0 --kubeconfig wind.kubeconfig

Exit codes: 0 ended by a signal, 2 wrong usage, unreadable input, or a server that cannot start.")]
pub(in crate::cli) struct ReplayArgs {
    /// Record file of a run or a cluster.
    pub(in crate::cli) record: PathBuf,
    /// Speed of time, such as `60x`: an hour of the record in a minute. The cluster's clock is that of the record.
    #[arg(long, value_name = "FACTOR", default_value = "1x", value_parser = speed)]
    pub(in crate::cli) speed: f64,
    /// Moment to stop at, from the start of the record, such as `1h30m` [default: the end]. The cluster of that moment is
    /// served.
    #[arg(long, value_name = "TIME")]
    pub(in crate::cli) until: Option<String>,
    /// Kubernetes minor to serve [default: that of the record].
    #[arg(long, value_name = "1.N", value_parser = kubernetes_minor)]
    pub(in crate::cli) kubernetes: Option<u32>,
    #[command(flatten)]
    pub(in crate::cli) listening: Listening,
}

/// The time at which the clock of a cluster starts.
#[cfg(feature = "serve")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum ClockStart {
    /// This long before now.
    Ago(jiff::SignedDuration),
    /// At this time.
    At(Time),
}

#[cfg(feature = "serve")]
impl ClockStart {
    /// Parses `now`, `30d-ago` or `2026-05-01T12:00:00Z`.
    ///
    /// # Errors
    /// The text is none of these.
    pub(in crate::cli) fn parse(text: &str) -> Result<Self, String> {
        let start = match text.strip_suffix("-ago") {
            _ if text == "now" => Some(Self::Ago(jiff::SignedDuration::ZERO)),
            Some(span) => parse_duration(span).map(Self::Ago),
            None => text.parse().ok().map(Self::At),
        };
        start.ok_or_else(|| "expected `now`, `30d-ago`, or a time such as `2026-05-01T12:00:00Z`".to_owned())
    }
}

/// Parses `60x` or `60`.
pub(in crate::cli) fn speed(text: &str) -> Result<f64, String> {
    let factor = text.strip_suffix('x').unwrap_or(text).parse().ok();
    let allowed = factor.filter(|factor: &f64| (0.01..=100_000.0).contains(factor));
    allowed.ok_or_else(|| "expected a factor from 0.01x to 100000x".to_owned())
}

/// Parses `Node,RBAC`.
#[cfg(feature = "serve")]
fn authorization_mode(text: &str) -> Result<AuthorizationMode, String> {
    match text {
        "Node,RBAC" => Ok(AuthorizationMode::NodeRbac),
        "RBAC" => Ok(AuthorizationMode::Rbac),
        "AlwaysAllow" => Ok(AuthorizationMode::AlwaysAllow),
        _ => Err("expected `Node,RBAC`, `RBAC` or `AlwaysAllow`".to_owned()),
    }
}

/// Parses `1.31`.
#[cfg(feature = "serve")]
pub(in crate::cli) fn kubernetes_minor(text: &str) -> Result<u32, String> {
    let minor = text.strip_prefix("1.").and_then(|digits| digits.parse().ok());
    let known = crate::plan::KUBERNETES_MINORS;
    minor
        .filter(|minor| known.contains(minor))
        .ok_or_else(|| format!("expected a Kubernetes minor from 1.{} to 1.{}", known.start(), known.end()))
}
