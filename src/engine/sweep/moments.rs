//! The moments of a run from which a sweep goes elsewhere.

use jiff::SignedDuration;
use semver::Version;
use serde_json::Value;
use windtunnel_core::Object;
use windtunnel_core::clock::{Time, after};

use super::routine::is_routine;
use crate::engine::runtime::Simulation;
use crate::record::{Entry, Event, WriteEvent};

/// Which moments of an update to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moments {
    /// Each moment with a write. Writes at the same virtual time are one moment, and those of a cluster's routine are none:
    /// Events, insights, and renewals of Leases.
    EveryWrite,
    /// As `EveryWrite`, after the first of these times since the start of the run, and up to the second.
    Within(SignedDuration, SignedDuration),
    /// The moments in this distance from each other, counted from the start of the run.
    Every(SignedDuration),
    /// The moments at which a ClusterOperator reports other versions.
    EachOperator,
    /// These times since the start of the run.
    At(Vec<SignedDuration>),
}

/// A moment of the update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moment {
    /// The time since the start of the run.
    pub at: SignedDuration,
    /// The number of writes of the run before it, with those of the moment itself.
    pub writes: usize,
    /// The last write that is not routine, in one line; empty before the first one.
    pub last_write: String,
    /// The index of the step that is running, in the timeline of the plan.
    pub step: usize,
}

/// Finds the moments of a run while it continues.
pub(in crate::engine) struct Finder {
    moments: Moments,
    /// The release that the copies are asked for. When the plan itself asks for it, the update is over.
    target: Option<Version>,
    /// The number of entries in the record that were looked at.
    seen: usize,
    writes: usize,
    steps: usize,
    last_write: String,
    /// The next time of interest, for moments that are times.
    next: Option<Time>,
}

impl Finder {
    pub(in crate::engine) fn new(moments: Moments, target: Option<Version>) -> Self {
        let last_write = String::new();
        Self { moments, target, seen: 0, writes: 0, steps: 0, last_write, next: None }
    }

    /// Looks at the settled cluster. Returns the moment, if it is one of an update.
    pub(in crate::engine) fn look(&mut self, simulation: &Simulation) -> Option<Moment> {
        let entries = simulation.record.entries.get(self.seen..).unwrap_or_default();
        self.seen = simulation.record.entries.len();
        let new: Vec<&WriteEvent> =
            entries.iter().filter(|entry| !simulation.record.is_set_up(entry)).filter_map(write_of).collect();
        self.writes += new.len();
        self.steps += entries.iter().filter(|entry| matches!(entry.event, Event::Step { .. })).count();
        if let Some(last) = new.iter().rfind(|write| !is_routine(write)).or(new.last()) {
            self.last_write = one_line(last);
        }
        let (epoch, now) = (simulation.record.header.epoch, simulation.now());
        let is_due = self.is_due(epoch, now);
        let is_meant = match &self.moments {
            Moments::EveryWrite => new.iter().any(|write| !is_routine(write)),
            Moments::Within(from, to) => {
                let at = now.duration_since(epoch);
                *from < at && at <= *to && new.iter().any(|write| !is_routine(write))
            }
            Moments::EachOperator => new.iter().any(|write| changes_versions(write)),
            Moments::Every(_) | Moments::At(_) => is_due,
        };
        (is_meant && self.is_updating(simulation)).then(|| Moment {
            at: now.duration_since(epoch),
            writes: self.writes,
            last_write: self.last_write.clone(),
            step: self.steps.saturating_sub(1),
        })
    }

    /// Whether an update was requested that leads elsewhere.
    fn is_updating(&self, simulation: &Simulation) -> bool {
        let version = simulation.view.cluster_version();
        let update = version.and_then(|version| version.pointer("/spec/desiredUpdate"));
        let target = self.target.as_ref().map(ToString::to_string).unwrap_or_default();
        update.is_some_and(|update| !update.is_null() && update["version"] != *target)
    }

    /// When to look even if nothing happens.
    pub(super) fn next(&self) -> Option<Time> {
        self.next
    }

    /// Whether a time of interest has come. Finds the next one.
    fn is_due(&mut self, epoch: Time, now: Time) -> bool {
        let is_due = self.next.is_some_and(|next| next <= now);
        if self.next.is_none_or(|next| next <= now) {
            let elapsed = now.duration_since(epoch);
            self.next = match &self.moments {
                Moments::EveryWrite | Moments::EachOperator | Moments::Within(..) => None,
                Moments::Every(span) => {
                    let passed = elapsed.as_millis().max(0) / span.as_millis().max(1);
                    let next = i64::try_from((passed + 1) * span.as_millis().max(1)).unwrap_or(i64::MAX);
                    Some(after(epoch, SignedDuration::from_millis(next)))
                }
                Moments::At(times) => {
                    times.iter().find(|time| **time > elapsed).map(|time| after(epoch, *time))
                }
            };
        }
        is_due
    }
}

fn write_of(entry: &Entry) -> Option<&WriteEvent> {
    match &entry.event {
        Event::Write(write) => Some(write),
        _ => None,
    }
}

/// A write in one line, such as `operator/etcd update ClusterOperator/etcd status`.
pub(super) fn one_line(write: &WriteEvent) -> String {
    let WriteEvent { by, verb, kind, key, subresource, code, .. } = write;
    let name =
        if key.namespace.is_empty() { key.name.clone() } else { format!("{}/{}", key.namespace, key.name) };
    let subresource = if subresource.is_empty() { String::new() } else { format!(" {subresource}") };
    let rejected = if *code < 400 { String::new() } else { format!(", rejected with {code}") };
    format!("{by} {verb} {kind}/{name}{subresource}{rejected}")
}

fn changes_versions(write: &WriteEvent) -> bool {
    let versions = |object: &Option<Object>| -> Option<Value> {
        object.as_ref().and_then(|object| object.pointer("/status/versions").cloned())
    };
    write.kind == "ClusterOperator" && write.code < 400 && versions(&write.before) != versions(&write.after)
}
