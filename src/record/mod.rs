//! The append-only history of a run, and its file form. Every report can be made again from the file alone.

mod fold;
mod lines;
mod parse;
mod redact;
mod secrets;
#[cfg(test)]
mod tests;
mod writer;

use windtunnel_core::alert::{Alert, AlertState};
use windtunnel_core::clock::Time;
use windtunnel_core::{Change, ChangeKind, Key, Object, View};

pub(crate) use fold::Folding;
pub use parse::RecordError;
pub use redact::redact;
pub use secrets::{Secrets, redact_secrets};
pub use writer::Writer;

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
    /// The cluster as it was at a moment, by the writes up to then.
    pub fn view_at(&self, at: Time) -> View {
        let mut view = View::default();
        for entry in self.entries.iter().filter(|entry| entry.at <= at) {
            if let Event::Write(write) = &entry.event
                && let Some(change) = write.change()
            {
                view.apply(&change);
            }
        }
        view
    }

    /// The alerts at a moment, pending ones included, each with the moment since when it holds (Prometheus' `activeAt`);
    /// longest first.
    pub fn alerts_at(&self, at: Time) -> Vec<(Time, &Alert)> {
        let mut active: Vec<(Time, &Alert)> = Vec::new();
        for entry in self.entries.iter().filter(|entry| entry.at <= at) {
            let Event::Alert(alert) = &entry.event else { continue };
            let known = active.iter().position(|(_, other)| other.labels == alert.labels);
            match (known, alert.state) {
                (Some(index), AlertState::Inactive) => drop(active.remove(index)),
                (Some(index), _) => active[index].1 = alert,
                (None, AlertState::Inactive) => {}
                (None, _) => active.push((entry.at, alert)),
            }
        }
        active
    }

    /// The moment of the last entry; the start for an empty record.
    pub fn end(&self) -> Time {
        self.entries.last().map_or(self.header.epoch, |entry| entry.at)
    }

    /// Whether an entry belongs to the set-up: the installation, and what the components did until they had settled.
    /// The run is what came after.
    pub fn is_set_up(&self, entry: &Entry) -> bool {
        entry.at < self.header.epoch
    }
}

/// What was run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
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
    /// A step ran a command.
    Command {
        /// The command as it was written.
        line: String,
        /// Its exit code.
        code: u8,
        /// What it wrote to standard output.
        stdout: String,
        /// What it wrote to standard error.
        stderr: String,
    },
    /// The kube-apiserver was rolled to Kubernetes 1.`minor`.
    Kubernetes {
        /// The minor.
        minor: u32,
    },
    /// An alert is pending now, or fires, or does so no longer.
    Alert(Box<Alert>),
    /// A simulated program started or ended in a pod.
    Process {
        /// Its name.
        program: String,
        /// The pod.
        pod: String,
        /// Whether it started (or ended).
        started: bool,
    },
    /// A fault began, struck or ended at another moment than a step's.
    Fault {
        /// What, in one line.
        text: String,
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

impl WriteEvent {
    /// Whether the object is gone by this write.
    pub fn removes(&self) -> bool {
        self.code < 400 && self.before.is_some() && self.after.is_none()
    }

    /// The state that stands after its line in a record.
    fn leaves(&self) -> Option<&Object> {
        let gone = self.after.is_none() && self.code < 400;
        self.after.as_ref().or(self.before.as_ref().filter(|_| !gone))
    }

    /// What the write changed; `None` where it was refused, or there was nothing to delete.
    pub fn change(&self) -> Option<Change> {
        let (kind, object) = match (&self.before, &self.after) {
            _ if self.code >= 400 => return None,
            (None, Some(after)) => (ChangeKind::Added, after),
            (Some(_), Some(after)) => (ChangeKind::Modified, after),
            (Some(before), None) => (ChangeKind::Deleted, before),
            (None, None) => return None,
        };
        Some(Change { key: self.key.clone(), kind, object: object.clone(), old: self.before.clone() })
    }
}
