//! The append-only history of a run, and its file form. The file alone is enough for every report.
//!
//! * `secrets/`: hides the values that a run or a dump knows; `redact/` recognizes those of watched clusters by name
//!   and format, with `names.rs`
//! * `logs.rs`: the lines of programs
//! * `failure_kind.rs`: whose failure a failed step is
//! * `access.rs`: the rights that programs used
//! * `writer.rs`, `parse.rs`: the file

mod access;
mod failure_kind;
mod fold;
mod lines;
mod logs;
mod names;
mod parse;
mod pattern;
mod redact;
mod secrets;
#[cfg(test)]
mod tests;
mod writer;

use windtunnel_core::alert::{Alert, AlertState};
use windtunnel_core::clock::Time;
use windtunnel_core::{Change, ChangeKind, Key, Object, View};

pub use access::{RefusedRequest, RuleRights, UserRights};
pub use failure_kind::FailureKind;
pub(crate) use fold::Folding;
pub use logs::{ContainerLog, log_at};
pub use parse::RecordError;
pub use redact::redact;
pub use secrets::{Secrets, redact_secret};
pub use writer::Writer;

/// The writer of objects that exist before the components start ([`WriteEvent::by`]).
pub const INSTALLER: &str = "installer";

/// The writer of the scenario's actions ([`WriteEvent::by`]).
pub const ADMINISTRATOR: &str = "administrator";

/// The history of one run.
#[derive(Debug, Clone)]
pub struct Record {
    /// The scenario and seed of the run.
    pub header: Header,
    /// The entries, oldest first.
    pub entries: Vec<Entry>,
    /// The logs of simulated programs, in the order of their first lines.
    pub logs: Vec<ContainerLog>,
    /// The users of the programs in the run, and the rights that they needed; by name.
    pub rights: Vec<UserRights>,
}

impl Record {
    /// Creates a record without logs and rights.
    pub fn new(header: Header, entries: Vec<Entry>) -> Self {
        Self { header, entries, logs: Vec::new(), rights: Vec::new() }
    }

    /// Returns the cluster at a moment, from the writes up to then.
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

    /// Returns the pending and firing alerts at a moment, each with the time since which it is active
    /// (Prometheus' `activeAt`); oldest first. Reads the record from the start: for many moments, use [`ActiveAlerts`].
    pub fn alerts_at(&self, at: Time) -> Vec<(Time, &Alert)> {
        let mut active = ActiveAlerts::default();
        self.entries.iter().filter(|entry| entry.at <= at).for_each(|entry| active.apply(entry));
        active.0
    }

    /// Returns the moment of the last entry, or the start for an empty record.
    pub fn end(&self) -> Time {
        self.entries.last().map_or(self.header.epoch, |entry| entry.at)
    }

    /// Returns whether an entry belongs to the set-up: the installation, and the activity of components until
    /// they settled. The run comes after it.
    pub fn is_set_up(&self, entry: &Entry) -> bool {
        entry.at < self.header.epoch
    }
}

/// The pending and firing alerts after some entries of a record.
#[derive(Debug, Default)]
pub struct ActiveAlerts<'r>(Vec<(Time, &'r Alert)>);

impl<'r> ActiveAlerts<'r> {
    /// Applies the next entry.
    pub fn apply(&mut self, entry: &'r Entry) {
        let Self(active) = self;
        let Event::Alert(alert) = &entry.event else { return };
        let known = active.iter().position(|(_, other)| other.labels == alert.labels);
        match (known, alert.state) {
            (Some(index), AlertState::Inactive) => drop(active.remove(index)),
            (Some(index), _) => active[index].1 = alert,
            (None, AlertState::Inactive) => {}
            (None, _) => active.push((entry.at, alert)),
        }
    }

    /// Returns the alerts, each with the time since which it is active; oldest first.
    pub fn list(&self) -> Vec<(Time, &'r Alert)> {
        self.0.clone()
    }
}

/// The newest format of record files. It changes when an older windtunnel could not read a newer file. Format 2 added
/// logs.
pub const FORMAT: u32 = 3;

/// The format of records without rights, which format 3 added.
const FORMAT_WITHOUT_RIGHTS: u32 = 2;

/// The scenario and seed of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Header {
    /// Name of the scenario.
    pub scenario: String,
    /// Issue and test-case ids.
    pub ids: Vec<String>,
    /// The seed.
    pub seed: u64,
    /// The start of the run's clock; everything before is the set-up.
    pub epoch: Time,
    /// Version of windtunnel.
    pub windtunnel: String,
    /// The objects of a dump that can hold an update up, and that the run did not take over, for people.
    pub left_out: Vec<String>,
}

/// An event with its moment.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The moment.
    pub at: Time,
    /// The event.
    pub event: Event,
}

/// An event of a run.
#[derive(Debug, Clone)]
pub enum Event {
    /// A client sent a write request to the API server.
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
        /// The reason of a failure; `None` if the step passed.
        failure: Option<String>,
        /// What the failure is about; `None` if the step passed, or in an older record.
        kind: Option<FailureKind>,
        /// Whether it is an expectation that has held since before the last actions.
        held_before: bool,
    },
    /// A step ran a command.
    Command {
        /// The command as the user wrote it.
        line: String,
        /// Its exit code.
        code: u8,
        /// Its standard output.
        stdout: String,
        /// Its standard error.
        stderr: String,
    },
    /// The kube-apiserver was updated to Kubernetes 1.`minor`.
    Kubernetes {
        /// The minor.
        minor: u32,
    },
    /// An alert became pending, firing or inactive.
    Alert(Box<Alert>),
    /// A simulated program started or ended in a pod.
    Process {
        /// Its name.
        program: String,
        /// The pod.
        pod: String,
        /// Whether it started; otherwise it ended.
        started: bool,
    },
    /// A fault started, took effect or ended at a moment between steps.
    Fault {
        /// The fault, in one line.
        text: String,
    },
}

/// A write request and its answer.
#[derive(Debug, Clone)]
pub struct WriteEvent {
    /// The client: an actor's or a program's name, [`ADMINISTRATOR`] or [`INSTALLER`].
    pub by: String,
    /// The process of a program, which distinguishes its instances; empty for other clients. It is the program's name,
    /// or `NAMESPACE/POD/CONTAINER` in a pod.
    pub process: String,
    /// `create`, `update`, `patch` or `delete`.
    pub verb: String,
    /// Kind of the object, such as `ClusterVersion`.
    pub kind: String,
    /// The object; for a `generateName`, with the generated name.
    pub key: Key,
    /// The subresource, such as `status`, or empty.
    pub subresource: String,
    /// HTTP status code of the answer.
    pub code: u16,
    /// The message of a rejection; empty for success.
    pub message: String,
    /// The object before; `None` if it did not exist.
    pub before: Option<Object>,
    /// The object after; `None` if it was deleted, or the write was rejected.
    pub after: Option<Object>,
}

impl WriteEvent {
    /// Returns whether this write removed the object.
    pub fn removes(&self) -> bool {
        self.code < 400 && self.before.is_some() && self.after.is_none()
    }

    /// Returns the object's state after this entry.
    fn state_after(&self) -> Option<&Object> {
        let gone = self.after.is_none() && self.code < 400;
        self.after.as_ref().or(self.before.as_ref().filter(|_| !gone))
    }

    /// Returns the change; `None` if the write was rejected, or there was nothing to delete.
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
