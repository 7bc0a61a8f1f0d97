//! Arguments for the cluster to run scenarios in.

#[cfg(feature = "live")]
use std::path::PathBuf;

/// The default number of writes per second to a shared cluster: about as many as the Kubernetes controllers
/// make.
#[cfg(feature = "live")]
pub(in crate::cli) const WRITES_PER_SECOND: u32 = 50;

/// The default speed of time in a cluster outside this process.
#[cfg(feature = "live")]
pub(in crate::cli) const SPEED: f64 = 60.0;

/// The cluster to run scenarios in.
#[derive(Debug, Clone, clap::Args)]
pub(in crate::cli) struct PlaceArgs {
    /// Kind of cluster to run scenarios in.
    #[arg(long, value_enum, default_value_t = BackendKind::InProcess)]
    pub(in crate::cli) backend: BackendKind,
    /// Show the values of Secrets in all output and records, instead of REDACTED; only in clusters that windtunnel
    /// simulates in this process.
    #[arg(long)]
    pub(in crate::cli) show_secrets: bool,
    /// Kubeconfig for `--backend kubeconfig` [default: KUBECONFIG, or the one in the home folder].
    #[cfg(feature = "live")]
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) kubeconfig: Option<PathBuf>,
    /// Context for `--backend kubeconfig`; required, no other cluster is touched.
    #[cfg(feature = "live")]
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) context: Option<String>,
    /// Speed of time, such as `60x`, an hour in a minute: in a cluster outside this process [default: 60x], or in that of
    /// `run --serve` [default: its clock is stopped].
    #[cfg(any(feature = "live", feature = "serve"))]
    #[arg(long, value_name = "FACTOR", value_parser = super::speed)]
    pub(in crate::cli) speed: Option<f64>,
    /// Maximum number of writes per second to a cluster outside this process.
    #[cfg(feature = "live")]
    #[arg(long, value_name = "N", default_value_t = WRITES_PER_SECOND, value_parser = super::numbers::count)]
    pub(in crate::cli) writes_per_second: u32,
    /// Image to run (container, k3s), or image of the nodes (kind, k3d).
    #[cfg(feature = "live")]
    #[arg(long, value_name = "IMAGE")]
    pub(in crate::cli) image: Option<String>,
    /// Print the commands of other programs, and their results.
    #[cfg(feature = "live")]
    #[arg(long)]
    pub(in crate::cli) debug: bool,
    /// Keep the cluster at the end, and print how to reach and remove it.
    #[cfg(feature = "live")]
    #[arg(long)]
    pub(in crate::cli) keep: bool,
}

impl PlaceArgs {
    /// Rejects flags of other backends.
    ///
    /// # Errors
    /// A flag does not apply to this backend.
    #[cfg(feature = "live")]
    pub(in crate::cli) fn check(&self) -> Result<(), String> {
        let is_named = self.backend == BackendKind::Kubeconfig;
        let flags = [
            ("--kubeconfig", self.kubeconfig.is_some() && !is_named, "requires `--backend kubeconfig`"),
            ("--context", self.context.is_some() && !is_named, "requires `--backend kubeconfig`"),
            (
                "--image",
                self.image.is_some() && (is_named || !self.can_outlive_process()),
                "requires a backend that creates a cluster: container, k3s, kind or k3d",
            ),
            (
                "--keep",
                self.keep && !self.can_outlive_process(),
                "requires a backend other than in-process and served",
            ),
            (
                "--show-secrets",
                self.show_secrets && self.can_outlive_process(),
                "requires `--backend in-process` or `--backend served`: other clusters have Secrets that are not of the run",
            ),
        ];
        match flags.into_iter().find(|(_, is_misplaced, _)| *is_misplaced) {
            Some((flag, _, why)) => Err(format!("{flag} {why}")),
            None => Ok(()),
        }
    }

    /// Accepts all flags: none depends on the backend.
    #[cfg(not(feature = "live"))]
    #[expect(clippy::unnecessary_wraps, reason = "same signature with the feature `live`")]
    pub(in crate::cli) fn check(&self) -> Result<(), String> {
        Ok(())
    }

    /// Returns whether the cluster can outlive this process.
    pub(in crate::cli) fn can_outlive_process(&self) -> bool {
        match self.backend {
            BackendKind::InProcess => false,
            #[cfg(all(feature = "live", feature = "serve"))]
            BackendKind::Served => false,
            #[cfg(feature = "live")]
            _ => true,
        }
    }
}

/// The flag `--backend`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(in crate::cli) enum BackendKind {
    /// Simulated API server in this process, in virtual time.
    InProcess,
    /// Simulated API server behind HTTPS, in virtual time.
    #[cfg(all(feature = "live", feature = "serve"))]
    Served,
    /// Simulated API server in a Docker container.
    #[cfg(feature = "live")]
    Container,
    /// k3s in a Docker container.
    #[cfg(feature = "live")]
    K3s,
    /// Kubernetes in containers, created with kind.
    #[cfg(feature = "live")]
    Kind,
    /// k3s in containers, created with k3d.
    #[cfg(feature = "live")]
    K3d,
    /// Existing cluster.
    #[cfg(feature = "live")]
    Kubeconfig,
}

/// `windtunnel clean`.
#[cfg(feature = "live")]
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct CleanArgs {
    /// Kubeconfig of the cluster [default: KUBECONFIG, or the one in the home folder].
    #[arg(long, value_name = "FILE", requires = "context")]
    pub(in crate::cli) kubeconfig: Option<PathBuf>,
    /// Context of the cluster to remove objects from; without it, delete the clusters of kind, k3d and Docker.
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) context: Option<String>,
}
