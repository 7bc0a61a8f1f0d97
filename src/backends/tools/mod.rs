//! Clusters that other programs create on this machine: kind, k3d and plain Docker.
//!
//! windtunnel's clusters are named `windtunnel-*`; it never lists or deletes others, and writes only its own
//! files.

mod commands;
mod docker;
mod k3d;
mod kind;
mod ledger;
#[cfg(target_os = "linux")]
mod orphans;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};

use self::commands::Commands;
use self::ledger::{Entry, Ledger};
use super::kubeconfig::{ClusterSettings, Existing};
use super::{BackendError, Cleanups, ReportProgress, Stop};

pub use self::docker::Recipe;

/// The prefix of windtunnel's cluster names.
const OURS: &str = "windtunnel-";

/// The time limits of queries, of a deletion, and of the creation of a cluster.
const QUESTION: Duration = Duration::from_secs(60);
const DELETION: Duration = Duration::from_secs(3 * 60);
const CREATION: Duration = Duration::from_secs(8 * 60);

/// How often a cluster is deleted that is still listed, and the time between.
const DELETIONS: u32 = 5;
const PAUSE: Duration = Duration::from_millis(300);

trait Tool: Send + Sync {
    /// Returns its name on the PATH.
    fn program(&self) -> &'static str;

    /// Returns how to install it.
    fn how_to_get(&self) -> &'static str;

    /// Returns the arguments that print its version.
    fn version(&self) -> Vec<String>;

    /// Returns the arguments that create a cluster and wait until it is ready. `kubeconfig` is the file for a
    /// program that must write one.
    fn create(&self, name: &str, kubeconfig: &str) -> Vec<String>;

    /// Returns the arguments that delete a cluster.
    fn delete(&self, name: &str, kubeconfig: &str) -> Vec<String>;

    /// Returns the arguments that list all clusters.
    fn list(&self) -> Vec<String>;
    /// Parses the output of `list`; `None` for unexpected output.
    fn names(&self, printed: &str) -> Option<Vec<String>>;

    /// Returns the arguments that list the nodes of a cluster.
    fn nodes(&self, name: &str) -> Vec<String>;
    /// Parses the output of `nodes`; `None` for unexpected output.
    fn node_names(&self, name: &str, printed: &str) -> Option<Vec<String>>;

    /// Returns the arguments that load a local image into a cluster; `None` if that is not supported.
    fn load_image(&self, name: &str, image: &str) -> Option<Vec<String>>;

    /// Returns the kubeconfig of a cluster; reports to `report` what it waits for.
    fn kubeconfig(
        &self,
        commands: &Commands,
        name: &str,
        report: &ReportProgress,
    ) -> Result<String, BackendError>;
}

/// The program that creates the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Maker {
    /// kind, with an image of its nodes if not the default.
    Kind(Option<String>),
    /// k3d, with an image of its nodes if not the default.
    K3d(Option<String>),
    /// Plain Docker.
    Docker(Recipe),
}

impl Maker {
    fn tool(&self) -> Box<dyn Tool> {
        match self {
            Self::Kind(image) => Box::new(kind::Kind { image: image.clone() }),
            Self::K3d(image) => Box::new(k3d::K3d { image: image.clone() }),
            Self::Docker(recipe) => Box::new(docker::Docker(recipe.clone())),
        }
    }

    fn has_kubelets(&self) -> bool {
        match self {
            Self::Kind(_) | Self::K3d(_) => true,
            Self::Docker(recipe) => recipe.has_kubelets,
        }
    }

    fn named(name: &str) -> Option<Self> {
        match name {
            "kind" => Some(Self::Kind(None)),
            "k3d" => Some(Self::K3d(None)),
            "docker" => Some(Self::Docker(Recipe::default())),
            _ => None,
        }
    }
}

/// The clusters of a program.
pub struct Clusters {
    tool: Box<dyn Tool>,
    commands: Commands,
    /// The folder of windtunnel's kubeconfigs.
    folder: PathBuf,
}

impl Clusters {
    /// Returns the clusters of a program; `debug` gets every command line.
    pub fn of(maker: &Maker, folder: &Path, debug: &ReportProgress) -> Self {
        let tool = maker.tool();
        let commands = Commands::new(tool.program(), tool.how_to_get(), folder, Arc::clone(debug));
        Self { tool, commands, folder: folder.to_owned() }
    }

    fn text(&self, arguments: &[String], limit: Duration) -> Result<String, BackendError> {
        self.commands.text(&refs(arguments), limit)
    }

    /// Returns the path of a cluster's kubeconfig, for a program that writes one.
    fn file(&self, name: &str) -> String {
        self.folder.join(format!("{name}.kubeconfig")).display().to_string()
    }

    /// Returns the first line of the program's version.
    ///
    /// # Errors
    /// The program is missing, or fails.
    pub fn version(&self) -> Result<String, BackendError> {
        let printed = self.text(&self.tool.version(), QUESTION)?;
        Ok(printed.lines().next().unwrap_or_default().trim().to_owned())
    }

    /// Creates a cluster and waits until it is ready.
    ///
    /// # Errors
    /// The name has no `windtunnel-` prefix, or the program fails.
    pub fn create(&self, name: &str) -> Result<(), BackendError> {
        check_name(name)?;
        self.text(&self.tool.create(name, &self.file(name)), CREATION).map(drop)
    }

    /// Deletes one of windtunnel's clusters, and checks that the program no longer lists it: its exit code says too
    /// little.
    ///
    /// # Errors
    /// The name has no `windtunnel-` prefix, the program fails, or the cluster is still there.
    #[expect(clippy::disallowed_methods, reason = "the program lives in wall time")]
    pub fn delete(&self, name: &str) -> Result<(), BackendError> {
        check_name(name)?;
        let arguments = self.tool.delete(name, &self.file(name));
        // A program that was killed while it created the cluster may have left that work to its engine, which finishes it later.
        for attempt in 1..=DELETIONS {
            let deleted = self.text(&arguments, DELETION).map(drop);
            // kind leaves an empty file.
            let _ = std::fs::remove_file(self.file(name));
            deleted?;
            if !self.list()?.iter().any(|listed| listed == name) {
                return Ok(());
            }
            if attempt < DELETIONS {
                std::thread::sleep(PAUSE);
            }
        }
        let line = self.command_line(&arguments);
        Err(BackendError::Failed(format!("`{line}` succeeded, but the cluster still exists")))
    }

    /// Returns a command of the program, as a user would type it.
    fn command_line(&self, arguments: &[String]) -> String {
        shlex::try_join(std::iter::once(self.tool.program()).chain(refs(arguments))).unwrap_or_default()
    }

    /// Lists windtunnel's clusters, and no others.
    ///
    /// # Errors
    /// The program fails, or its output is unexpected.
    pub fn list(&self) -> Result<Vec<String>, BackendError> {
        let arguments = self.tool.list();
        let printed = self.text(&arguments, QUESTION)?;
        let names = self.tool.names(&printed);
        let names =
            names.ok_or_else(|| self.commands.unexpected_output(&refs(&arguments), "no list of clusters"))?;
        Ok(names.into_iter().filter(|name| name.starts_with(OURS)).collect())
    }

    /// Lists the nodes of a cluster.
    ///
    /// # Errors
    /// As [`Clusters::list`].
    pub fn nodes(&self, name: &str) -> Result<Vec<String>, BackendError> {
        check_name(name)?;
        let arguments = self.tool.nodes(name);
        let printed = self.text(&arguments, QUESTION)?;
        let names = self.tool.node_names(name, &printed);
        names.ok_or_else(|| self.commands.unexpected_output(&refs(&arguments), "no list of nodes"))
    }

    /// Loads a local image into a cluster.
    ///
    /// # Errors
    /// The program fails, or does not support it.
    pub fn load_image(&self, name: &str, image: &str) -> Result<(), BackendError> {
        check_name(name)?;
        let arguments = self.tool.load_image(name, image);
        let why =
            || BackendError::Missing(format!("{} cannot load images into its clusters", self.tool.program()));
        self.text(&arguments.ok_or_else(why)?, CREATION).map(drop)
    }

    /// Returns the kubeconfig of a cluster.
    ///
    /// # Errors
    /// The program fails, or its output is not a kubeconfig.
    pub fn kubeconfig(&self, name: &str) -> Result<String, BackendError> {
        let silent: ReportProgress = Arc::new(|_| {});
        self.kubeconfig_with_progress(name, &silent)
    }

    /// As [`Clusters::kubeconfig`], and reports what it waits for.
    fn kubeconfig_with_progress(&self, name: &str, report: &ReportProgress) -> Result<String, BackendError> {
        check_name(name)?;
        let text = self.tool.kubeconfig(&self.commands, name, report)?;
        match Kubeconfig::from_yaml(&text) {
            Ok(config) if !config.clusters.is_empty() => Ok(text),
            // The message omits the output, which may contain secrets.
            _ => Err(self.commands.unexpected_output(&["... kubeconfig"], "no kubeconfig")),
        }
    }
}

fn words(line: &[&str]) -> Vec<String> {
    line.iter().map(|word| (*word).to_owned()).collect()
}

/// Returns the lines of an output, if all are names.
fn lines(printed: &str) -> Option<Vec<String>> {
    let lines = printed.lines().map(str::trim).filter(|line| !line.is_empty());
    let is_name =
        |line: &str| line.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
    lines.map(|line| is_name(line).then(|| line.to_owned())).collect()
}

fn refs(arguments: &[String]) -> Vec<&str> {
    arguments.iter().map(String::as_str).collect()
}

/// Rejects the name of any other cluster.
fn check_name(name: &str) -> Result<(), BackendError> {
    if name.starts_with(OURS) {
        return Ok(());
    }
    Err(BackendError::Refused(format!(
        "windtunnel did not create cluster `{name}`: its clusters are named `{OURS}*`"
    )))
}

/// The settings for the creation and use of a cluster.
#[derive(Clone)]
pub struct Make {
    /// The program that creates it.
    pub maker: Maker,
    /// The folder of the ledger and of windtunnel's kubeconfigs.
    pub folder: PathBuf,
    /// As [`ClusterSettings::speed`].
    pub speed: f64,
    /// As [`ClusterSettings::writes_per_second`].
    pub writes_per_second: u32,
    /// Whether the cluster stays.
    pub keep: bool,
    /// As [`ClusterSettings::stop`].
    pub stop: Stop,
}

/// Creates a cluster and returns it as a backend; `cleanups` deletes it. First deletes the clusters of killed
/// processes.
///
/// # Errors
/// The program is missing, or cannot create a cluster.
pub fn make(
    make: &Make,
    cleanups: &Cleanups,
    report: &ReportProgress,
    debug: &ReportProgress,
) -> Result<Existing, BackendError> {
    let clusters = Arc::new(Clusters::of(&make.maker, &make.folder, debug));
    let version = clusters.version()?;
    let ledger = Ledger::open(&make.folder)?;
    remove_remains(&ledger, report, debug)?;
    let name = format!("{OURS}{}", super::remote::marks::runs::new_id());
    let entry = ledger.add(&name, clusters.tool.program())?;
    clusters.commands.keep_open(entry.locked_file()?);
    report(&format!("creating cluster {name} with {version}"));
    let undo = {
        let (clusters, name, report, keep) =
            (Arc::clone(&clusters), name.clone(), Arc::clone(report), make.keep);
        let file = clusters.file(&name);
        cleanups.add(move || {
            if keep
                && let Ok(text) = clusters.kubeconfig(&name)
                && ledger::write_private(Path::new(&file), &text).is_ok()
            {
                let delete = clusters.command_line(&clusters.tool.delete(&name, &file));
                let quoted = shlex::try_quote(&file).unwrap_or_default();
                report(&format!(
                    "cluster {name} stays; to reach it: kubectl --kubeconfig {quoted} get nodes; to \
                     remove it: {delete}"
                ));
                return entry.forget();
            }
            clusters.commands.stop();
            delete_and_forget(&clusters, entry, &report);
        })
    };
    clusters.create(&name)?;
    let kubeconfig = clusters.kubeconfig_with_progress(&name, report)?;
    let config = config(&kubeconfig)?;
    let cluster = ClusterSettings {
        config,
        speed: make.speed,
        writes_per_second: make.writes_per_second,
        keep: make.keep,
        removal: "they are deleted with their cluster".to_owned(),
        has_kubelets: make.maker.has_kubelets(),
        stop: make.stop.clone(),
    };
    let place = Existing::reach(cluster, cleanups, Arc::clone(report))?;
    // From now on, `cleanups` deletes the cluster.
    undo.leave();
    Ok(place)
}

/// Deletes the cluster of an entry. The entry stays until the cluster is gone: the next start tries again. Returns
/// whether it is gone.
fn delete_and_forget(clusters: &Clusters, entry: Entry, report: &ReportProgress) -> bool {
    match clusters.delete(entry.name()) {
        Ok(()) => {
            report(&format!("deleted cluster {}", entry.name()));
            entry.forget();
            true
        }
        Err(error) => {
            report(&format!(
                "cluster {} is not deleted: {error}; to try again: windtunnel clean",
                entry.name()
            ));
            false
        }
    }
}

/// Deletes the clusters of killed processes, and returns how many of them are left.
///
/// # Errors
/// The folder cannot be read.
pub fn remove_remains_in(
    folder: &Path,
    report: &ReportProgress,
    debug: &ReportProgress,
) -> Result<usize, BackendError> {
    remove_remains(&Ledger::open(folder)?, report, debug)
}

fn remove_remains(
    ledger: &Ledger,
    report: &ReportProgress,
    debug: &ReportProgress,
) -> Result<usize, BackendError> {
    let abandoned = ledger.abandoned(report)?;
    let mut left = abandoned.busy;
    for entry in abandoned.entries {
        let Some(maker) = Maker::named(entry.program()) else {
            report(&format!(
                "cluster {} is not deleted: this windtunnel does not know the program `{}` that created it",
                entry.name(),
                entry.program()
            ));
            left += 1;
            continue;
        };
        report(&format!("cluster {} was left by a process that ended without cleaning up", entry.name()));
        let clusters = Clusters::of(&maker, ledger.folder(), debug);
        left += usize::from(!delete_and_forget(&clusters, entry, report));
    }
    Ok(left)
}

/// Returns the connection settings in a kubeconfig.
fn config(kubeconfig: &str) -> Result<Config, BackendError> {
    let failed = |error: &dyn std::fmt::Display| BackendError::Failed(error.to_string());
    let kubeconfig = Kubeconfig::from_yaml(kubeconfig).map_err(|error| failed(&error))?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| failed(&error))?;
    let options = KubeConfigOptions::default();
    runtime.block_on(Config::from_custom_kubeconfig(kubeconfig, &options)).map_err(|error| failed(&error))
}
