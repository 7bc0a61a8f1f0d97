//! The append-only history of a run, and its file form. Every report can be made again from the file alone.

mod lines;
mod parse;
mod patch;
#[cfg(test)]
mod tests;

pub use parse::RecordError;

use crate::base::clock::Time;
use crate::model::{Key, Object};

/// Who writes what stands in a cluster before its components start ([`WriteEvent::by`]).
pub const INSTALLER: &str = "installer";

/// Who does what the scenario does ([`WriteEvent::by`]).
pub const ADMINISTRATOR: &str = "administrator";

/// The history of one run.
#[derive(Debug, Clone)]
pub struct Record {
    /// What was run.
    pub header: Header,
    /// What happened, oldest first.
    pub entries: Vec<Entry>,
}

impl Record {
    /// Whether an entry belongs to the set-up: the installation, and what the components did until they had settled.
    /// The run is what came after.
    pub fn is_set_up(&self, entry: &Entry) -> bool {
        entry.at < self.header.epoch
    }
}

/// What was run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Name of the scenario.
    pub scenario: String,
    /// Issue and test-case ids.
    pub ids: Vec<String>,
    /// The seed.
    pub seed: u64,
    /// When the run's clock started; what came before is the set-up.
    pub epoch: Time,
    /// Version of windtunnel.
    pub windtunnel: String,
}

/// Something that happened at one moment.
#[derive(Debug, Clone)]
pub struct Entry {
    /// When.
    pub at: Time,
    /// What.
    pub event: Event,
}

/// What happened.
#[derive(Debug, Clone)]
pub enum Event {
    /// Someone asked the API server to change something.
    Write(Box<WriteEvent>),
    /// A step of the scenario began.
    Step {
        /// The step in one line.
        text: String,
    },
    /// A step of the scenario ended.
    Outcome {
        /// The step in one line.
        text: String,
        /// Why it failed; `None`: it passed.
        failure: Option<String>,
    },
    /// The kube-apiserver was rolled to Kubernetes 1.`minor`.
    Kubernetes {
        /// The minor.
        minor: u32,
    },
    /// A simulated program started or ended in a pod.
    Process {
        /// Its name.
        program: String,
        /// The pod.
        pod: String,
        /// Whether it started (or ended).
        started: bool,
    },
}

/// One request to change something, and its answer.
#[derive(Debug, Clone)]
pub struct WriteEvent {
    /// Who asked: an actor's or a program's name, [`ADMINISTRATOR`] or [`INSTALLER`].
    pub by: String,
    /// `create`, `update`, `patch` or `delete`.
    pub verb: String,
    /// Kind of the object, such as `ClusterVersion`.
    pub kind: String,
    /// Which object; after a `generateName`, with the name that was made.
    pub key: Key,
    /// `status`, ... or empty.
    pub subresource: String,
    /// HTTP status code of the answer.
    pub code: u16,
    /// The refusal's message; empty for success.
    pub message: String,
    /// The object before; `None` if it was not there.
    pub before: Option<Object>,
    /// The object after; `None` if it is gone, or the write was refused.
    pub after: Option<Object>,
}
