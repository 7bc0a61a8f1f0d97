//! The backend that `--backend` names: created before anything runs, and always cleaned up.

#[cfg(feature = "live")]
use std::path::PathBuf;
use std::sync::Arc;

use super::args::{BackendKind, PlaceArgs};
#[cfg(feature = "live")]
use super::args::{CleanArgs, SPEED, WRITES_PER_SECOND};
use super::terminal::interrupt::Interrupt;
#[cfg(feature = "live")]
use super::{
    Exit,
    live::{self, connection::Connection},
    print_notice,
};
use crate::backends::Backend;
use crate::backends::in_process::StoppableInProcess;
#[cfg(feature = "live")]
use crate::backends::{
    ReportProgress, Stop,
    kubeconfig::{self, ClusterSettings, Existing},
    tools::{self, Make, Maker, Recipe},
};

/// A backend; dropping it removes everything that was created for it.
pub(super) struct Place {
    backend: Arc<dyn Backend>,
    interrupt: Interrupt,
}

impl Place {
    pub(super) fn backend(&self) -> &dyn Backend {
        &*self.backend
    }

    #[cfg(feature = "gherkin")]
    pub(super) fn shared(&self) -> Arc<dyn Backend> {
        Arc::clone(&self.backend)
    }

    /// Returns the maximum number of concurrent runs.
    pub(super) fn runs_at_a_time(&self) -> usize {
        self.backend.runs_at_a_time()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.interrupt.cleanups().run();
        self.interrupt.end_soon(false);
    }
}

/// Creates the backend that the arguments name, after [`PlaceArgs::check`]. On an interrupt during the creation,
/// `interrupt` cleans up.
pub(super) fn make(args: &PlaceArgs, interrupt: &Interrupt) -> Result<Place, String> {
    if args.can_outlive_process() {
        interrupt.end_at_once();
    }
    match backend(args, interrupt) {
        Ok(backend) => {
            interrupt.end_soon(args.can_outlive_process());
            Ok(Place { backend, interrupt: interrupt.clone() })
        }
        Err(error) => {
            // A failed creation may have left something to clean up.
            interrupt.cleanups().run();
            Err(error)
        }
    }
}

fn backend(args: &PlaceArgs, interrupt: &Interrupt) -> Result<Arc<dyn Backend>, String> {
    match args.backend {
        BackendKind::InProcess => Ok(Arc::new(StoppableInProcess(interrupt.stop().clone()))),
        #[cfg(all(feature = "live", feature = "serve"))]
        BackendKind::Served => Ok(Arc::new(crate::backends::served::Served)),
        #[cfg(feature = "live")]
        BackendKind::Container | BackendKind::K3s | BackendKind::Kind | BackendKind::K3d => {
            let make = Make {
                maker: maker(args),
                folder: state_folder()?,
                speed: args.speed.unwrap_or(SPEED),
                writes_per_second: args.writes_per_second,
                keep: args.keep,
                stop: interrupt.stop().clone(),
            };
            let debug: ReportProgress = if args.debug { Arc::new(print_notice) } else { Arc::new(|_| {}) };
            let notify: ReportProgress = Arc::new(print_notice);
            let place = tools::make(&make, interrupt.cleanups(), &notify, &debug);
            Ok(Arc::new(place.map_err(|error| error.to_string())?))
        }
        #[cfg(feature = "live")]
        BackendKind::Kubeconfig => {
            let place = Existing::reach(
                existing(args, interrupt.stop())?,
                interrupt.cleanups(),
                Arc::new(print_notice),
            );
            Ok(Arc::new(place.map_err(|error| error.to_string())?))
        }
    }
}

/// Returns the program that creates the cluster, with its image.
#[cfg(feature = "live")]
fn maker(args: &PlaceArgs) -> Maker {
    let image = |default: &str| args.image.clone().unwrap_or_else(|| default.to_owned());
    match args.backend {
        BackendKind::Kind => Maker::Kind(args.image.clone()),
        BackendKind::K3d => Maker::K3d(args.image.clone()),
        BackendKind::K3s => Maker::Docker(Recipe::k3s(&image("docker.io/rancher/k3s:v1.35.0-k3s1"))),
        _ => Maker::Docker(Recipe::windtunnel(&image("windtunnel:latest"))),
    }
}

/// Returns the folder of the ledger of clusters to delete.
#[cfg(feature = "live")]
fn state_folder() -> Result<PathBuf, String> {
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    let state =
        state.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/state")));
    let state = state.ok_or(
        "expected XDG_STATE_HOME or HOME to be set: windtunnel records its clusters there, to delete them later",
    )?;
    Ok(state.join("windtunnel/clusters"))
}

/// Removes the remains of runs: in a cluster, or whole clusters.
#[cfg(feature = "live")]
pub(super) fn clean(args: &CleanArgs) -> Result<Exit, String> {
    let notify: ReportProgress = Arc::new(print_notice);
    let Some(context) = &args.context else {
        let left = tools::remove_remains_in(&state_folder()?, &notify, &notify);
        let left = left.map_err(|error| error.to_string())?;
        return Ok(if left == 0 { Exit::Passed } else { Exit::Failed });
    };
    let connection = Connection::new(args.kubeconfig.as_deref(), Some(context));
    let config = live::block_on(connection.config())?.map_err(|output| live::error_message(&output))?;
    let cluster = ClusterSettings {
        config,
        speed: 1.0,
        writes_per_second: WRITES_PER_SECOND,
        keep: false,
        removal: String::new(),
        has_kubelets: false,
        stop: Stop::default(),
    };
    kubeconfig::clean(&cluster, &notify).map_err(|error| error.to_string())?;
    Ok(Exit::Passed)
}

/// Returns the settings for the cluster that the arguments name.
#[cfg(feature = "live")]
fn existing(args: &PlaceArgs, stop: &Stop) -> Result<ClusterSettings, String> {
    let connection = Connection::new(args.kubeconfig.as_deref(), args.context.as_deref());
    if args.context.is_none() {
        let contexts = connection.contexts().map_err(|output| live::error_message(&output))?;
        return Err(format!(
            "--backend kubeconfig requires --context, so that no other cluster is touched; found {}",
            match contexts.as_slice() {
                [] => "no context".to_owned(),
                [context] => format!("the context `{context}`"),
                all => format!("the contexts `{}`", all.join("`, `")),
            }
        ));
    }
    let config = live::block_on(connection.config())?.map_err(|output| live::error_message(&output))?;
    let file = args.kubeconfig.as_ref().map(|path| path.display().to_string());
    let cluster_flags = file.iter().flat_map(|file| ["--kubeconfig", file]);
    let context = args.context.as_deref().unwrap_or_default();
    let cluster_flags: Vec<_> = cluster_flags.chain(["--context", context]).collect();
    let line = |words: &[&str], rest: &[&str]| {
        let words = [words, &cluster_flags[..], rest].concat();
        shlex::try_join(words).map_err(|error| error.to_string())
    };
    let removal = format!(
        "to reach it: {}; to remove it: {}",
        line(&["kubectl"], &["get", "clusterversion"])?,
        line(&["windtunnel", "clean"], &[])?
    );
    Ok(ClusterSettings {
        config,
        speed: args.speed.unwrap_or(SPEED),
        writes_per_second: args.writes_per_second,
        keep: args.keep,
        removal,
        has_kubelets: false,
        stop: stop.clone(),
    })
}
