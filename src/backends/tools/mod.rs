//! Clusters that other programs make on this machine: kind, k3d, and Docker by itself.
//!
//! A cluster of ours is called `windtunnel-*`; no other is ever listed or deleted, and only files of our own are written.

mod commands;
mod docker;
mod k3d;
mod kind;
mod ledger;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};

use self::commands::Commands;
use self::ledger::Ledger;
use super::kubeconfig::{Existing, Use};
use super::{BackendError, Cleanups, Stop, Tell};

pub use self::docker::Recipe;

/// What the names of our clusters begin with.
const OURS: &str = "windtunnel-";

/// How long questions, a deletion, and the making of a cluster may take.
const QUESTION: Duration = Duration::from_secs(60);
const DELETION: Duration = Duration::from_secs(3 * 60);
const CREATION: Duration = Duration::from_secs(8 * 60);

/// A program that makes clusters.
trait Tool: Send + Sync {
    /// Its name on the PATH.
    fn program(&self) -> &'static str;

    /// How to get it, for who has it not.
    fn how_to_get(&self) -> &'static str;

    /// What tells its version.
    fn version(&self) -> Vec<String>;

    /// What makes a cluster, with a kubeconfig of ours where it has to write one, and waits until it is ready.
    fn create(&self, name: &str, kubeconfig: &str) -> Vec<String>;

    /// What deletes a cluster.
    fn delete(&self, name: &str, kubeconfig: &str) -> Vec<String>;

    /// What lists all clusters, and their names in what it prints.
    fn list(&self) -> Vec<String>;
    /// `None`: it printed something else.
    fn names(&self, printed: &str) -> Option<Vec<String>>;

    /// What lists the nodes of a cluster, and their names in what it prints.
    fn nodes(&self, name: &str) -> Vec<String>;
    /// `None`: it printed something else.
    fn node_names(&self, name: &str, printed: &str) -> Option<Vec<String>>;

    /// What makes an image of this machine known to a cluster; `None`: nothing does.
    fn load_image(&self, name: &str, image: &str) -> Option<Vec<String>>;

    /// The kubeconfig of a cluster; `tell` is told what is waited for.
    fn kubeconfig(&self, commands: &Commands, name: &str, tell: &Tell) -> Result<String, BackendError>;
}

/// Which program makes the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Maker {
    /// kind, with an image of its nodes if not its own.
    Kind(Option<String>),
    /// k3d, with an image of its nodes if not its own.
    K3d(Option<String>),
    /// Docker by itself.
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

    /// Whether its clusters have nodes.
    fn has_kubelets(&self) -> bool {
        match self {
            Self::Kind(_) | Self::K3d(_) => true,
            Self::Docker(recipe) => recipe.has_kubelets,
        }
    }

    /// The one that calls itself so.
    fn named(name: &str) -> Option<Self> {
        match name {
            "kind" => Some(Self::Kind(None)),
            "k3d" => Some(Self::K3d(None)),
            "docker" => Some(Self::Docker(Recipe::default())),
            _ => None,
        }
    }
}

/// The clusters that a program makes.
pub struct Clusters {
    tool: Box<dyn Tool>,
    commands: Commands,
    /// Where our kubeconfigs stand.
    folder: PathBuf,
}

impl Clusters {
    /// Those of a program; `debug` is told of every command.
    pub fn of(maker: &Maker, folder: &Path, debug: &Tell) -> Self {
        let tool = maker.tool();
        let commands = Commands::new(tool.program(), tool.how_to_get(), folder, Arc::clone(debug));
        Self { tool, commands, folder: folder.to_owned() }
    }

    fn text(&self, arguments: &[String], limit: Duration) -> Result<String, BackendError> {
        self.commands.text(&refs(arguments), limit)
    }

    /// Where the kubeconfig of a cluster stands, if its program writes one.
    fn file(&self, name: &str) -> String {
        self.folder.join(format!("{name}.kubeconfig")).display().to_string()
    }

    /// The first line of what the program says of itself.
    ///
    /// # Errors
    /// The program is not there, or fails.
    pub fn version(&self) -> Result<String, BackendError> {
        let printed = self.text(&self.tool.version(), QUESTION)?;
        Ok(printed.lines().next().unwrap_or_default().trim().to_owned())
    }

    /// Makes a cluster and waits until it is ready.
    ///
    /// # Errors
    /// The name is none of ours, or the program fails.
    pub fn create(&self, name: &str) -> Result<(), BackendError> {
        check_name(name)?;
        self.text(&self.tool.create(name, &self.file(name)), CREATION).map(drop)
    }

    /// Deletes a cluster of ours.
    ///
    /// # Errors
    /// The name is none of ours, or the program fails.
    pub fn delete(&self, name: &str) -> Result<(), BackendError> {
        check_name(name)?;
        let deleted = self.text(&self.tool.delete(name, &self.file(name)), DELETION).map(drop);
        // kind leaves an empty one.
        let _ = std::fs::remove_file(self.file(name));
        deleted
    }

    /// Our clusters; those of others are not told.
    ///
    /// # Errors
    /// The program fails, or nobody understands what it prints.
    pub fn list(&self) -> Result<Vec<String>, BackendError> {
        let arguments = self.tool.list();
        let printed = self.text(&arguments, QUESTION)?;
        let names = self.tool.names(&printed);
        let names = names.ok_or_else(|| self.commands.garbage(&refs(&arguments), "no list of clusters"))?;
        Ok(names.into_iter().filter(|name| name.starts_with(OURS)).collect())
    }

    /// The nodes of a cluster.
    ///
    /// # Errors
    /// As [`Clusters::list`].
    pub fn nodes(&self, name: &str) -> Result<Vec<String>, BackendError> {
        check_name(name)?;
        let arguments = self.tool.nodes(name);
        let printed = self.text(&arguments, QUESTION)?;
        let names = self.tool.node_names(name, &printed);
        names.ok_or_else(|| self.commands.garbage(&refs(&arguments), "no list of nodes"))
    }

    /// Makes an image of this machine known to a cluster.
    ///
    /// # Errors
    /// The program fails.
    pub fn load_image(&self, name: &str, image: &str) -> Result<(), BackendError> {
        check_name(name)?;
        let arguments = self.tool.load_image(name, image);
        let why =
            || BackendError::Missing(format!("clusters that {} makes take no images", self.tool.program()));
        self.text(&arguments.ok_or_else(why)?, CREATION).map(drop)
    }

    /// The kubeconfig of a cluster.
    ///
    /// # Errors
    /// The program fails, or prints none.
    pub fn kubeconfig(&self, name: &str) -> Result<String, BackendError> {
        let nobody: Tell = Arc::new(|_| {});
        self.kubeconfig_telling(name, &nobody)
    }

    /// The same, and tells what it waits for.
    fn kubeconfig_telling(&self, name: &str, tell: &Tell) -> Result<String, BackendError> {
        check_name(name)?;
        let text = self.tool.kubeconfig(&self.commands, name, tell)?;
        match Kubeconfig::from_yaml(&text) {
            Ok(config) if !config.clusters.is_empty() => Ok(text),
            // Not what it is: there may be secrets in it.
            _ => Err(self.commands.garbage(&["... kubeconfig"], "no kubeconfig")),
        }
    }
}

fn words(line: &[&str]) -> Vec<String> {
    line.iter().map(|word| (*word).to_owned()).collect()
}

/// The lines of what is printed, if they are names.
fn lines(printed: &str) -> Option<Vec<String>> {
    let lines = printed.lines().map(str::trim).filter(|line| !line.is_empty());
    let is_name =
        |line: &str| line.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
    lines.map(|line| is_name(line).then(|| line.to_owned())).collect()
}

fn refs(arguments: &[String]) -> Vec<&str> {
    arguments.iter().map(String::as_str).collect()
}

/// No other cluster is touched, whoever asks.
fn check_name(name: &str) -> Result<(), BackendError> {
    if name.starts_with(OURS) {
        return Ok(());
    }
    Err(BackendError::Refused(format!("the cluster `{name}` is none of ours: those are called `{OURS}*`")))
}

/// How a cluster is made and used.
#[derive(Clone)]
pub struct Make {
    /// Who makes it.
    pub maker: Maker,
    /// Where it is noted what is to be deleted, and where our kubeconfigs stand.
    pub folder: PathBuf,
    /// As [`Use::speed`].
    pub speed: f64,
    /// As [`Use::writes_per_second`].
    pub writes_per_second: u32,
    /// Whether the cluster stays.
    pub keep: bool,
    /// As [`Use::stop`].
    pub stop: Stop,
}

/// Makes a cluster and gives it as a place for runs; `cleanups` deletes it. Clusters that a killed process left are deleted
/// first.
///
/// # Errors
/// The program is not there, or makes none.
pub fn make(make: &Make, cleanups: &Cleanups, tell: &Tell, debug: &Tell) -> Result<Existing, BackendError> {
    let clusters = Arc::new(Clusters::of(&make.maker, &make.folder, debug));
    let version = clusters.version()?;
    let ledger = Ledger::open(&make.folder)?;
    remove_remains(&ledger, tell, debug)?;
    let name = format!("{OURS}{}", super::remote::runs::new_id());
    let entry = ledger.begin(&name, clusters.tool.program())?;
    clusters.commands.hold(entry.held()?);
    tell(&format!("making cluster {name} by {version}"));
    let undo = {
        let (clusters, name, tell, keep) = (Arc::clone(&clusters), name.clone(), Arc::clone(tell), make.keep);
        let (file, program) = (clusters.file(&name), clusters.tool.program());
        cleanups.add(move || {
            if keep
                && let Ok(text) = clusters.kubeconfig(&name)
                && ledger::write_private(Path::new(&file), &text).is_ok()
            {
                let delete = clusters.tool.delete(&name, &file);
                let delete = shlex::try_join(std::iter::once(program).chain(refs(&delete))).unwrap_or_default();
                let quoted = shlex::try_quote(&file).unwrap_or_default();
                tell(&format!(
                    "cluster {name} was left as it is; to reach it: kubectl --kubeconfig {quoted} get nodes; to \
                     remove it: {delete}"
                ));
                return entry.forget();
            }
            clusters.commands.stop();
            match clusters.delete(&name) {
                Ok(()) => {
                    tell(&format!("deleted cluster {name}"));
                    entry.forget();
                }
                // The next start tries again.
                Err(error) => tell(&error.to_string()),
            }
        })
    };
    clusters.create(&name)?;
    let kubeconfig = clusters.kubeconfig_telling(&name, tell)?;
    let config = config(&kubeconfig)?;
    let cluster = Use {
        config,
        speed: make.speed,
        writes_per_second: make.writes_per_second,
        keep: make.keep,
        removal: "it goes with its cluster".to_owned(),
        has_kubelets: make.maker.has_kubelets(),
        stop: make.stop.clone(),
    };
    let place = Existing::reach(cluster, cleanups, Arc::clone(tell))?;
    // From here on it is `cleanups` that undoes it.
    undo.leave();
    Ok(place)
}

/// Deletes the clusters that killed processes left.
///
/// # Errors
/// The folder cannot be read.
pub fn remove_remains_in(folder: &Path, tell: &Tell, debug: &Tell) -> Result<(), BackendError> {
    remove_remains(&Ledger::open(folder)?, tell, debug)
}

fn remove_remains(ledger: &Ledger, tell: &Tell, debug: &Tell) -> Result<(), BackendError> {
    for entry in ledger.abandoned(CREATION, tell)? {
        let Some(maker) = Maker::named(entry.program()) else { continue };
        tell(&format!("cluster {} was left by a process that ended without cleaning up", entry.name()));
        let clusters = Clusters::of(&maker, ledger.folder(), debug);
        match clusters.delete(entry.name()) {
            Ok(()) => {
                tell(&format!("deleted cluster {}", entry.name()));
                entry.forget();
            }
            Err(error) => tell(&error.to_string()),
        }
    }
    Ok(())
}

/// How a kubeconfig leads to its cluster.
fn config(kubeconfig: &str) -> Result<Config, BackendError> {
    let failed = |error: &dyn std::fmt::Display| BackendError::Failed(error.to_string());
    let kubeconfig = Kubeconfig::from_yaml(kubeconfig).map_err(|error| failed(&error))?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| failed(&error))?;
    let options = KubeConfigOptions::default();
    runtime.block_on(Config::from_custom_kubeconfig(kubeconfig, &options)).map_err(|error| failed(&error))
}
