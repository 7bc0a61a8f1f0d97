//! Programs of this machine as parts of a simulated cluster: they reach its API server over HTTPS, while the clock of the
//! cluster waits for them.
//!
//! Time passes in two alternating phases. In the first one the simulation works and the gate (`gate.rs`) is closed: no
//! program is served. In the second one the gate is open, and the simulation waits until the programs are done
//! (`pace.rs`). So the order of events depends on the programs alone, not on the speed of the machine.
//!
//! * `host.rs`: the processes: start, signals, kill at a write
//! * `probes/`: probes of kubelets, when `src/engine/programs/probes.rs` orders them
//! * `folder.rs`: the volumes of their pods as files
//! * `on_serve.rs`: programs of a served cluster, whose clock waits for none
//!
//! A program is done when no request is in flight, every watch is served, every socket is read, and all threads are
//! asleep.

#[cfg(all(unix, feature = "serve"))]
mod asleep;
#[cfg(all(unix, feature = "serve"))]
mod folder;
#[cfg(all(unix, feature = "serve"))]
mod gate;
#[cfg(all(unix, feature = "serve"))]
mod host;
#[cfg(all(unix, feature = "serve"))]
mod hosted;
#[cfg(all(unix, feature = "serve"))]
mod late_clock;
#[cfg(all(unix, feature = "serve"))]
mod namespace;
#[cfg(all(unix, feature = "serve"))]
mod on_serve;
#[cfg(all(unix, feature = "serve"))]
mod pace;
#[cfg(all(unix, feature = "serve"))]
mod ports;
#[cfg(all(unix, feature = "serve"))]
mod probes;
#[cfg(all(unix, feature = "serve"))]
mod process;
#[cfg(all(unix, feature = "serve"))]
mod volume_files;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use windtunnel_core::Identity;
use windtunnel_core::probe::ProbeKind;

use super::Backend;
#[cfg(all(unix, feature = "serve"))]
pub use on_serve::ServedPrograms;

/// The backend for clusters in this process with programs; `None` if this build or system cannot have them.
pub fn backend() -> Option<&'static dyn Backend> {
    #[cfg(all(unix, feature = "serve"))]
    return Some(&hosted::Hosting);
    #[cfg(not(all(unix, feature = "serve")))]
    None
}

/// Runs the programs of one cluster. Dropping it kills all of them.
pub trait Programs: Send + Sync {
    /// Starts a program.
    ///
    /// # Errors
    /// The reason why it cannot be started, for the user.
    fn start(&self, order: &ProgramOrder) -> Result<(), String>;

    /// Sends SIGTERM to a program. Its end is an event.
    fn terminate(&self, id: &str);

    /// Kills a program and all that it started. Returns the lines that it has printed. Its end is no event.
    fn kill(&self, id: &str) -> Vec<ProgramEvent>;

    /// Begins a probe of a program. Its result is an event, unless the program ends before.
    fn probe(&self, id: &str, order: ProbeOrder);

    /// Replaces the files of the volumes of a program, where they differ.
    fn refresh(&self, id: &str, files: &BTreeMap<String, Vec<u8>>);

    /// Stops all processes of the program with this name, or lets them continue. Returns whether there are any.
    fn pause(&self, name: &str, is_paused: bool) -> bool;

    /// Takes the lines and the ends of programs since the last call.
    fn take_events(&self) -> Vec<ProgramEvent>;

    /// Whether programs in lockstep have something to do at this moment of the cluster's clock.
    fn have_work(&self) -> bool;

    /// How long a program has been running, in wall time; zero if it is unknown.
    fn age(&self, id: &str) -> Duration;

    /// Waits until a program does something, at most for a millisecond of wall time.
    fn wait(&self);

    /// The address of the API server for programs.
    fn endpoint(&self) -> Endpoint;

    /// How long the run has waited for its programs.
    fn waited(&self) -> Waited;
}

/// The address of the API server for programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The host, an address of the loopback.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The certificate of the authority that signed the server's, as PEM.
    pub authority: String,
}

/// How long a run has waited for its programs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Waited {
    /// The number of moments at which programs worked.
    pub moments: u64,
    /// The number of moments at which they were still at work when the clock went on.
    pub unfinished: u64,
    /// The programs that were.
    pub unfinished_programs: BTreeSet<String>,
    /// The wall time.
    pub time: Duration,
}

impl fmt::Display for Waited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.time.as_secs_f64();
        let moments = if self.moments == 1 { "moment" } else { "moments" };
        write!(f, "programs: waited {seconds:.1} s for their work at {} {moments}", self.moments)?;
        if self.unfinished > 0 {
            let programs: Vec<&str> = self.unfinished_programs.iter().map(String::as_str).collect();
            let who = if programs.is_empty() { "one of them".to_owned() } else { programs.join(", ") };
            write!(f, "; the clock went on {} times while {who} was still at work", self.unfinished)?;
        }
        Ok(())
    }
}

/// A program to start.
#[derive(Debug, Clone, Default)]
pub struct ProgramOrder {
    /// The name by which the engine knows the process; unique among running ones.
    pub id: String,
    /// The program and its arguments. [`Programs::start`] fills in `{kubeconfig}`, `{server}` and `{root}`.
    pub command: Vec<String>,
    /// The variables of windtunnel itself that it gets; `None` for all of them.
    pub inherited: Option<BTreeMap<String, OsString>>,
    /// Further variables, with the same placeholders.
    pub env: BTreeMap<String, String>,
    /// The folder that it starts in; by default that of windtunnel itself.
    pub folder: Option<PathBuf>,
    /// Whether it can change nothing of this machine but its own volumes: it is the command of a container.
    pub is_isolated: bool,
    /// The user of its requests.
    pub user: Identity,
    /// The short name of the user in records.
    pub name: String,
    /// The speed of the cluster's clock meanwhile, as a multiple of the wall clock; `None` if it stands still while the
    /// program is at work.
    pub speed: Option<f64>,
    /// Files, by their paths in the container. They are below `{root}`.
    pub files: BTreeMap<String, Vec<u8>>,
    /// The paths of the volumes in the container that have these files.
    pub mounts: Vec<String>,
    /// Files and folders of this machine that are copied, by their paths in the container.
    pub copies: BTreeMap<String, PathBuf>,
    /// Folders, by their paths in the container, that programs with the same name for them share.
    pub shared: BTreeMap<String, String>,
    /// The folder of the token, and of the certificate of the API server's authority.
    pub account_folder: Option<String>,
}

/// A probe of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeOrder {
    /// The kind of probe.
    pub kind: ProbeKind,
    /// The question and its address.
    pub target: ProbeTarget,
    /// How long the answer may take, in wall time.
    pub timeout: Duration,
}

/// The question of a probe, and its address. Programs listen on the loopback; `shown` is the address in messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProbeTarget {
    /// A GET request, which succeeds with a status from 200 to 399.
    Http {
        /// Whether it uses TLS. Certificates are not checked.
        is_tls: bool,
        /// The port of the container.
        port: u16,
        /// The path.
        path: String,
        /// The headers.
        headers: Vec<(String, String)>,
        /// The host.
        shown: String,
    },
    /// A connection.
    Tcp {
        /// The port of the container.
        port: u16,
        /// The host.
        shown: String,
    },
    /// A call of `grpc.health.v1.Health/Check`, which succeeds with `SERVING`.
    Grpc {
        /// The port of the container.
        port: u16,
        /// The service.
        service: String,
    },
    /// A command in the container, which succeeds with exit code 0.
    Command(Vec<String>),
}

/// Something that a program did beside its requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProgramEvent {
    /// It printed a line.
    Printed {
        /// The process.
        id: String,
        /// The line.
        line: String,
    },
    /// A fault killed it at a write. Its end is another event.
    Crashed {
        /// The process.
        id: String,
        /// The write, such as `before create ConfigMap default/a`.
        write: String,
    },
    /// It has ended.
    Exited {
        /// The process.
        id: String,
        /// The exit code; 128 and the number of the signal if one killed it.
        code: i64,
    },
    /// It has answered a probe, or has not in time.
    Probed {
        /// The process.
        id: String,
        /// The kind of probe.
        kind: ProbeKind,
        /// Success, or the reason of the failure as Events report it.
        result: Result<(), String>,
    },
}

impl ProgramEvent {
    /// The process.
    pub fn id(&self) -> &str {
        match self {
            Self::Printed { id, .. }
            | Self::Exited { id, .. }
            | Self::Probed { id, .. }
            | Self::Crashed { id, .. } => id,
        }
    }
}
