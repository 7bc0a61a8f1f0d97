//! Arguments that name the place where scenarios are played.

#[cfg(feature = "live")]
use std::path::PathBuf;

/// Where scenarios are played.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Where")]
pub(in crate::cli) struct PlaceArgs {
    /// Kind of cluster to play in.
    #[arg(long, value_enum, default_value_t = BackendKind::InProcess)]
    pub(in crate::cli) backend: BackendKind,
    /// The kubeconfig of the cluster (`--backend kubeconfig`); otherwise those that KUBECONFIG names, or the one in the home
    /// folder.
    #[cfg(feature = "live")]
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) kubeconfig: Option<PathBuf>,
    /// Its context. No cluster is touched that is not named.
    #[cfg(feature = "live")]
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) context: Option<String>,
    /// How fast time passes in a cluster that is not simulated, such as `60x`: an hour in a minute.
    #[cfg(feature = "live")]
    #[arg(long, value_name = "FACTOR", default_value = "60x", value_parser = super::speed)]
    pub(in crate::cli) speed: f64,
    /// Writes that are made in a second at most, in a cluster that is not simulated.
    #[cfg(feature = "live")]
    #[arg(long, value_name = "N", default_value_t = crate::cli::backend::WRITES_PER_SECOND, value_parser = clap::value_parser!(u32).range(1..))]
    pub(in crate::cli) writes_per_second: u32,
    /// Image of the cluster: the one that is run (container, k3s), or that of the nodes (kind, k3d).
    #[cfg(feature = "live")]
    #[arg(long, value_name = "IMAGE")]
    pub(in crate::cli) image: Option<String>,
    /// Tell which commands of other programs are run, and how they end.
    #[cfg(feature = "live")]
    #[arg(long)]
    pub(in crate::cli) debug: bool,
    /// Leave the cluster as it is at the end, and tell how to reach and to remove it.
    #[cfg(feature = "live")]
    #[arg(long)]
    pub(in crate::cli) keep: bool,
}

impl PlaceArgs {
    /// Refuses flags that mean nothing for this backend.
    ///
    /// # Errors
    /// Which one, and for which backend it is.
    #[cfg(feature = "live")]
    pub(in crate::cli) fn check(&self) -> Result<(), String> {
        let is_named = self.backend == BackendKind::Kubeconfig;
        let flags = [
            ("--kubeconfig", self.kubeconfig.is_some() && !is_named, "is for `--backend kubeconfig`"),
            ("--context", self.context.is_some() && !is_named, "is for `--backend kubeconfig`"),
            (
                "--image",
                self.image.is_some() && (is_named || !self.is_far()),
                "is for backends that make a cluster",
            ),
            (
                "--keep",
                self.keep && !self.is_far(),
                "is for clusters that are there when this process has ended",
            ),
        ];
        match flags.into_iter().find(|(_, is_odd, _)| *is_odd) {
            Some((flag, _, why)) => Err(format!("{flag} {why}")),
            None => Ok(()),
        }
    }

    /// There are none.
    #[cfg(not(feature = "live"))]
    #[expect(clippy::unnecessary_wraps, reason = "as where there are some")]
    pub(in crate::cli) fn check(&self) -> Result<(), String> {
        Ok(())
    }

    /// Whether what is played goes on in a cluster when this process is gone.
    pub(in crate::cli) fn is_far(&self) -> bool {
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
    /// A simulated API server in this process, in virtual time.
    InProcess,
    /// The same behind HTTPS.
    #[cfg(all(feature = "live", feature = "serve"))]
    Served,
    /// The same in a container, by Docker.
    #[cfg(feature = "live")]
    Container,
    /// k3s in a container, by Docker.
    #[cfg(feature = "live")]
    K3s,
    /// Kubernetes in containers, by kind.
    #[cfg(feature = "live")]
    Kind,
    /// k3s in containers, by k3d.
    #[cfg(feature = "live")]
    K3d,
    /// A cluster that is there.
    #[cfg(feature = "live")]
    Kubeconfig,
}

/// `windtunnel clean`.
#[cfg(feature = "live")]
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct CleanArgs {
    /// The kubeconfig of the cluster; otherwise those that KUBECONFIG names, or the one in the home folder.
    #[arg(long, value_name = "FILE", requires = "context")]
    pub(in crate::cli) kubeconfig: Option<PathBuf>,
    /// The context of the cluster to remove objects from; without it, clusters are deleted that kind, k3d and Docker made.
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) context: Option<String>,
}
