//! The fate of a cluster that was asked to go back.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use semver::Version;
use windtunnel_core::clock::{Time, after};
use windtunnel_core::rejected_paths::at_paths;
use windtunnel_core::resources::{MACHINE_CONFIG_POOLS, MACHINE_CONFIGS, NODES};
use windtunnel_core::{Key, Object, View, cluster_version, condition, pool, text_of};
use windtunnel_openshift::mco::annotations;

use super::moments::one_line;
use super::routine::is_routine;
use crate::engine::runtime::Simulation;
use crate::record::{ADMINISTRATOR, Entry, Event, Record, WriteEvent};

/// How long a cluster must make no progress, while writes are rejected, until it counts as trapped.
const FROZEN: SignedDuration = SignedDuration::from_mins(30);

/// The time within which a trapped component repeats a rejected write. Back-off of controllers ends at a few minutes.
const REPEATED: SignedDuration = SignedDuration::from_hours(1);

/// The fate of a cluster that was asked to go back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It arrived: ClusterVersion reports the release as completed, and no pool is updating.
    Safe,
    /// It arrived, and is not what it was before the update. Only if the sweep asks for that.
    LeftOver,
    /// It did not arrive, and the API server rejects writes of its components.
    Trapped(Vec<RejectedWrite>),
    /// It did not arrive, and no write is rejected.
    Stuck(Vec<String>),
    /// The run broke an invariant or could not continue.
    Failed(String),
}

impl Verdict {
    /// Whether the cluster arrived.
    pub fn arrives(&self) -> bool {
        matches!(self, Self::Safe | Self::LeftOver)
    }
}

/// A write that the API server rejected, and rejected again after the last progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedWrite {
    /// The client.
    pub by: String,
    /// The object.
    pub key: Key,
    /// The write in one line: who, verb, object, subresource.
    pub write: String,
    /// HTTP status code of the last answer.
    pub code: u16,
    /// Message of the last answer.
    pub message: String,
    /// The paths that the message names, the same for all minors, as ` at PATHS`; empty if it names none.
    pub at: String,
    /// How often it was rejected.
    pub times: usize,
}

impl RejectedWrite {
    /// A rejected write, not counted yet.
    pub(super) fn of(write: &WriteEvent) -> Self {
        let WriteEvent { by, key, code, message, subresource, .. } = write;
        let at = at_paths(message, subresource);
        let (by, key, message) = (by.clone(), key.clone(), message.clone());
        Self { by, key, write: one_line(write), code: *code, message, at, times: 0 }
    }
}

/// The number of nodes by the release that their MachineConfig is from, with `, updating` for those that should have
/// another one.
pub type NodeStates = BTreeMap<String, usize>;

/// A client, an object and a subresource of it.
type Place = (String, Key, String);

/// Follows a cluster until its fate is known.
pub(super) struct Judge {
    target: Version,
    /// The number of entries in the record that were looked at.
    seen: usize,
    /// The writes that were rejected, with the time of the last rejection.
    rejected: BTreeMap<Place, (RejectedWrite, Time)>,
    /// When the API server last accepted a write that is progress.
    progress_at: Time,
}

impl Judge {
    pub(super) fn new(target: Version, now: Time) -> Self {
        Self { target, seen: 0, rejected: BTreeMap::new(), progress_at: now }
    }

    /// Looks at the settled cluster. Returns true if its fate is known.
    pub(super) fn is_decided(&mut self, simulation: &Simulation) -> bool {
        self.read(simulation);
        let is_frozen =
            after(self.progress_at, FROZEN) <= simulation.now() && self.rejected_since().next().is_some();
        is_frozen || self.has_arrived(simulation)
    }

    /// The verdict about a cluster that has not arrived.
    pub(super) fn verdict(&mut self, simulation: &Simulation) -> Verdict {
        self.read(simulation);
        let rejected: Vec<RejectedWrite> = self.rejected_since().cloned().collect();
        if !rejected.is_empty() {
            return Verdict::Trapped(rejected);
        }
        let waiting = simulation.pending();
        Verdict::Stuck(waiting.iter().map(|pending| format!("{}: {}", pending.actor, pending.why)).collect())
    }

    /// The writes that were rejected since there was progress.
    fn rejected_since(&self) -> impl Iterator<Item = &RejectedWrite> {
        self.rejected.values().filter(|(_, at)| *at >= self.progress_at).map(|(write, _)| write)
    }

    fn read(&mut self, simulation: &Simulation) {
        let entries = simulation.record.entries.get(self.seen..).unwrap_or_default();
        self.seen = simulation.record.entries.len();
        self.read_entries(entries);
    }

    fn read_entries(&mut self, entries: &[Entry]) {
        for entry in entries {
            if let Event::Write(write) = &entry.event {
                self.read_write(write, entry.at);
            }
        }
    }

    fn read_write(&mut self, write: &WriteEvent, at: Time) {
        let place: Place = (write.by.clone(), write.key.clone(), write.subresource.clone());
        if is_rejected_for_good(write) {
            let (rejected, last) =
                self.rejected.entry(place).or_insert_with(|| (RejectedWrite::of(write), at));
            rejected.times += 1;
            rejected.message.clone_from(&write.message);
            rejected.at = at_paths(&write.message, &write.subresource);
            *last = at;
        } else if write.code < 400
            && write.by != ADMINISTRATOR
            && !is_routine(write)
            && !self.rejected.contains_key(&place)
        {
            // A writer that is rejected with one content may be accepted with another, again and again.
            self.progress_at = at;
        }
    }

    /// Whether ClusterVersion reports the target as completed, and the machines have followed.
    pub(super) fn has_arrived(&self, simulation: &Simulation) -> bool {
        let view = &simulation.view;
        let Some(version) = view.cluster_version() else { return false };
        let target = self.target.to_string();
        let newest = cluster_version::newest_entry(version);
        let is_completed = newest.is_some_and(|newest| {
            text_of(newest, "version") == target && text_of(newest, "state") == "Completed"
        });
        is_completed
            && version.number("/status/observedGeneration") == Some(version.generation())
            && !condition::is_true(version, "Progressing")
            && view.list(&MACHINE_CONFIG_POOLS).all(is_settled)
    }
}

/// Whether a pool has its configuration on all machines, or may not roll it out.
fn is_settled(pool: &Object) -> bool {
    let is_updated =
        pool::desired_config(pool) == pool::current_config(pool) && condition::is_true(pool, "Updated");
    is_updated || pool::is_paused(pool)
}

/// Returns the writes that the API server rejects for good in a record, and has rejected again within the last hour: the
/// components that make them are trapped. They may write other objects meanwhile, such as their status.
pub fn trapped_writes(record: &Record) -> Vec<RejectedWrite> {
    let mut judge = Judge::new(Version::new(0, 0, 0), record.header.epoch);
    judge.read_entries(&record.entries);
    let is_recent = |at: Time| after(at, REPEATED) >= record.end();
    let repeated = judge.rejected.into_values().filter(|(write, at)| write.times > 1 && is_recent(*at));
    repeated.map(|(write, _)| write).collect()
}

/// Whether a rejection comes from the validation of the object, so that the same write is rejected again.
fn is_rejected_for_good(write: &WriteEvent) -> bool {
    matches!(write.code, 400 | 403 | 422)
}

/// Counts the nodes by their state.
pub(super) fn node_states(view: &View) -> NodeStates {
    let mut states = NodeStates::new();
    for node in view.list(&NODES) {
        let config = |annotation: &str| node.annotation(annotation).unwrap_or_default();
        let (current, desired) = (config(annotations::CURRENT_CONFIG), config(annotations::DESIRED_CONFIG));
        let release = view.get(&MACHINE_CONFIGS, "", current);
        let release = release.and_then(|config| config.annotation(annotations::RELEASE_VERSION));
        let release = release.unwrap_or("another release");
        let state = if current == desired { release.to_owned() } else { format!("{release}, updating") };
        *states.entry(state).or_default() += 1;
    }
    states
}
