//! Arguments of `windtunnel envtest`.

use std::ffi::OsString;
use std::path::PathBuf;

use super::controllers::{Selected, SelectedParser};
use super::{FaultArgs, kubernetes_minor};

/// `windtunnel envtest`.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "windtunnel envtest [OPTIONS] -- COMMAND...\n       windtunnel envtest [OPTIONS] DIR",
    after_help = "The programs are `kube-apiserver` and `etcd`, both this program under another name, and the `kubectl` of the PATH,
if any. COMMAND finds them through KUBEBUILDER_ASSETS and TEST_ASSET_*; they are removed when it ends. With DIR, they stay
in that folder:

  windtunnel envtest -- go test ./...
  windtunnel envtest --perturb stale,conflict,disconnect -- go test ./...
  windtunnel envtest DIR && KUBEBUILDER_ASSETS=DIR go test ./...

Exit codes: that of COMMAND, 128+N if signal N ended it, 127 if it does not exist; 2 wrong usage, or a folder that cannot be
written."
)]
pub(in crate::cli) struct EnvtestArgs {
    /// Folder to fill; created if it does not exist.
    #[arg(value_name = "DIR", required_unless_present = "command", conflicts_with = "command")]
    pub(in crate::cli) folder: Option<PathBuf>,
    /// Command to run with the programs, with its arguments.
    #[arg(value_name = "COMMAND", last = true)]
    pub(in crate::cli) command: Vec<OsString>,
    /// Kubernetes minor of kube-apiserver [default: 1.36].
    #[arg(long, value_name = "1.N", value_parser = kubernetes_minor)]
    pub(in crate::cli) kubernetes: Option<u32>,
    /// Controllers to run beside kube-apiserver, by their names in kube-controller-manager, and simulated components
    /// such as `kubelet` [default: none, as in envtest].
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = SelectedParser)]
    pub(in crate::cli) controllers: Vec<Selected>,
    /// Copy the program instead of linking to it, to move the folder to another machine.
    #[arg(long, conflicts_with = "command")]
    pub(in crate::cli) copy: bool,
    #[command(flatten)]
    pub(in crate::cli) faults: FaultArgs,
}
