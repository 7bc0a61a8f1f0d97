//! Arguments of the commands that watch clusters and serve them.

use std::path::PathBuf;

#[cfg(feature = "serve")]
use crate::cli::serve::controllers::Controller;

/// `windtunnel record`.
#[cfg(feature = "live")]
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Secrets, tokens and what looks like a credential are not written, nor who owns which field.
Nothing is changed in the cluster: it is only listed and watched.

Examples:
  windtunnel record --kubeconfig prod.kubeconfig -o flight.jsonl
  windtunnel record --kubeconfig prod.kubeconfig --for 2h --name INC-42 -o flight.jsonl

Exit codes: 0 recorded, 2 wrong usage, or a cluster that does not answer."
)]
pub(in crate::cli) struct RecordArgs {
    /// The kubeconfig of the cluster.
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) kubeconfig: PathBuf,
    /// Its context, if not the current one.
    #[arg(long)]
    pub(in crate::cli) context: Option<String>,
    /// End after this time, such as `2h`; without it, at a signal.
    #[arg(long = "for", value_name = "SPAN")]
    pub(in crate::cli) span: Option<String>,
    /// The record.
    #[arg(long, short, value_name = "FILE")]
    pub(in crate::cli) output: PathBuf,
    /// What the record is called.
    #[arg(long, default_value = "recorded cluster")]
    pub(in crate::cli) name: String,
    /// All kinds that can be watched, but Leases, Events and OAuth tokens; by default those that simulated components have.
    #[arg(long)]
    pub(in crate::cli) all: bool,
}

/// `windtunnel serve`.
#[cfg(feature = "serve")]
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct ServeArgs {
    /// The API server alone, with nothing but its own namespaces in it. That is what is served if nothing else is said.
    #[arg(long, conflicts_with_all = ["version", "scenario", "release", "speed", "from"])]
    pub(in crate::cli) bare: bool,
    /// A cluster as it was: what a folder, a tar archive or a file of YAML or JSON holds (a must-gather, what `oc adm
    /// inspect` or `oc get -o yaml` wrote), or a record; what cannot be served is told.
    #[arg(long, value_name = "PATH",
          conflicts_with_all = ["version", "scenario", "release", "payload", "speed", "data_dir"])]
    pub(in crate::cli) from: Option<PathBuf>,
    /// The moment of the record, counted from the start of its run, such as `1h30m`; without it, the end. The cluster's clock
    /// stands still there.
    #[arg(long, value_name = "TIME", requires = "from")]
    pub(in crate::cli) at: Option<String>,
    /// A simulated cluster of this OpenShift release, with its operators, nodes and cluster-version operator at work.
    #[arg(long, value_name = "4.N.Z", conflicts_with_all = ["scenario", "data_dir"])]
    pub(in crate::cli) version: Option<semver::Version>,
    /// A release that exists beside it, to update to; by default the next patch and the next minor.
    #[arg(long, value_name = "4.N.Z", requires = "version")]
    pub(in crate::cli) release: Vec<semver::Version>,
    /// Take the payload of a release from a folder, as `oc adm release extract` writes it, and have that release exist.
    #[arg(long, value_name = "VERSION=DIR", value_parser = crate::cli::payload::argument, conflicts_with = "bare")]
    pub(in crate::cli) payload: Vec<(semver::Version, PathBuf)>,
    /// The cluster and the releases of a scenario; its timeline is not played.
    #[arg(long, value_name = "FILE", conflicts_with = "data_dir")]
    pub(in crate::cli) scenario: Option<PathBuf>,
    /// How fast time passes in a simulated cluster, such as `60x`: an hour of its life in a minute. Above `1x` the cluster starts in
    /// the past, so that its clock is behind yours for eight hours; answers carry its time as `Date`.
    #[arg(long, value_name = "FACTOR", default_value = "1x", value_parser = speed)]
    pub(in crate::cli) speed: f64,
    /// Kubernetes minor to serve as, for good: 1.36 alone, and what its release has and its updates bring for a simulated
    /// cluster.
    #[arg(long, value_name = "1.N", value_parser = kubernetes_minor)]
    pub(in crate::cli) kubernetes: Option<u32>,
    /// Controllers to have work beside the API server alone, by their names in kube-controller-manager.
    #[arg(long, value_name = "NAME", value_delimiter = ',', conflicts_with_all = ["version", "scenario", "from"])]
    pub(in crate::cli) controllers: Vec<Controller>,
    #[command(flatten)]
    pub(in crate::cli) listening: Listening,
    /// Seed of everything that is drawn at random in the cluster.
    #[arg(long, default_value_t = 1)]
    pub(in crate::cli) seed: u64,
    /// Keep everything in DIR, so that it is there again the next time: objects, the token and the certificate authority. While
    /// the disk refuses writes, they are answered with 500, and /readyz fails.
    #[arg(long, value_name = "DIR")]
    pub(in crate::cli) data_dir: Option<PathBuf>,
}

/// Where a server listens, and who may come in.
#[cfg(feature = "serve")]
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Listening {
    /// Port to listen on; 0 is any that is free.
    #[arg(long, default_value_t = 6443)]
    pub(in crate::cli) port: u16,
    /// Address to listen on.
    #[arg(long, default_value = "127.0.0.1", value_name = "IP")]
    pub(in crate::cli) address: std::net::IpAddr,
    /// Write a kubeconfig of the administrator to FILE, whose folder must exist.
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) kubeconfig: Option<PathBuf>,
    /// Keep what else is in the kubeconfig: only the cluster, user and context `windtunnel` are replaced, and chosen.
    #[arg(long, requires = "kubeconfig")]
    pub(in crate::cli) merge: bool,
    /// Bearer token of the administrator; random by default.
    #[arg(long, env = "WINDTUNNEL_TOKEN", hide_env_values = true)]
    pub(in crate::cli) token: Option<String>,
}

/// `windtunnel envtest`.
#[cfg(feature = "serve")]
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The folder then has `kube-apiserver` and `etcd`, which are this program under other names, and `kubectl`, the one
of the PATH if there is one. In any Go module with tests that use envtest:

  KUBEBUILDER_ASSETS=DIR go test ./..."
)]
pub(in crate::cli) struct EnvtestArgs {
    /// The folder; it is made if it is not there.
    #[arg(value_name = "DIR")]
    pub(in crate::cli) folder: PathBuf,
    /// Kubernetes minor that its kube-apiserver is; 1.36 unless said otherwise.
    #[arg(long, value_name = "1.N", value_parser = kubernetes_minor)]
    pub(in crate::cli) kubernetes: Option<u32>,
    /// Controllers to have work beside its kube-apiserver, by their names in kube-controller-manager; none unless asked for, as in
    /// envtest.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(in crate::cli) controllers: Vec<Controller>,
    /// Copy the program instead of linking to it, for a folder that is moved to another machine.
    #[arg(long)]
    pub(in crate::cli) copy: bool,
}

/// `windtunnel replay`.
#[cfg(feature = "serve")]
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  windtunnel replay flight.jsonl --speed 60x --kubeconfig wind.kubeconfig
  windtunnel replay flight.jsonl --speed 100000x --until 30m --port 0 --kubeconfig wind.kubeconfig

Exit codes: 0 ended by a signal, 2 wrong usage, unreadable input, or a server that cannot be served.")]
pub(in crate::cli) struct ReplayArgs {
    /// A record file, of a run or of a cluster.
    pub(in crate::cli) record: PathBuf,
    /// How fast time passes, such as `60x`: an hour of the record in a minute. The cluster's clock is that of the record.
    #[arg(long, value_name = "FACTOR", default_value = "1x", value_parser = speed)]
    pub(in crate::cli) speed: f64,
    /// The moment to stop at, counted from the start of the record, such as `1h30m`; without it, the end. The cluster is
    /// served as it is then.
    #[arg(long, value_name = "TIME")]
    pub(in crate::cli) until: Option<String>,
    /// Kubernetes minor to serve as; by default that of the record.
    #[arg(long, value_name = "1.N", value_parser = kubernetes_minor)]
    pub(in crate::cli) kubernetes: Option<u32>,
    #[command(flatten)]
    pub(in crate::cli) listening: Listening,
}

/// Reads `60x` or `60`.
#[cfg(any(feature = "live", feature = "serve"))]
pub(in crate::cli) fn speed(text: &str) -> Result<f64, String> {
    let factor = text.strip_suffix('x').unwrap_or(text).parse().ok();
    let allowed = factor.filter(|factor: &f64| (0.01..=100_000.0).contains(factor));
    allowed.ok_or_else(|| "expected a factor from 0.01x to 100000x".to_owned())
}

/// Reads `1.31`.
#[cfg(feature = "serve")]
pub(in crate::cli) fn kubernetes_minor(text: &str) -> Result<u32, String> {
    let minor = text.strip_prefix("1.").and_then(|digits| digits.parse().ok());
    let known = crate::plan::KUBERNETES_MINORS;
    minor
        .filter(|minor| known.contains(minor))
        .ok_or_else(|| format!("expected a Kubernetes minor from 1.{} to 1.{}", known.start(), known.end()))
}
