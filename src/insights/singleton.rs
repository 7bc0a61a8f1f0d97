//! The one object `UpdateStatus`: whether the cluster has it, and what must be written for it to tell what is known.

use kube::runtime::watcher::Event;
use serde_json::{Value, json};

use super::cache::{Cache, Change};
use super::informer::Informer;
use super::state::is_older;
use super::update_status::{self, ROOM};
use crate::base::clock::Time;
use crate::model::insight::Insight;
use crate::model::insight::published::UPDATE_STATUS as NAME;

/// The CustomResourceDefinition without which there is none.
pub(super) const UPDATE_STATUS_CRD: &str = "updatestatuses.update.openshift.io";

/// Where less room than this is refused as well, it is not the size.
const ROOM_MIN: usize = 8 * 1024;

/// What is remembered of an UpdateStatus.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Seen {
    /// `metadata.resourceVersion`.
    pub(super) resource_version: String,
    /// `status`.
    pub(super) status: Value,
}

/// A write that is due.
#[derive(Debug, PartialEq)]
pub(super) enum StatusWrite {
    /// The object is not there.
    Create,
    /// A merge patch of its status.
    Patch(Value),
}

/// The object, as far as it was seen.
#[derive(Debug)]
pub(super) struct Singleton {
    /// Whether the kind is served, by the name of its definition.
    definitions: Cache<bool>,
    seen: Cache<Seen>,
    /// Whether it could not be watched.
    failed: bool,
    /// The state of the informers that it was seen to tell.
    told: Option<[u64; 2]>,
    /// How many bytes its status may have; less where the API server refused more.
    room: usize,
}

impl Default for Singleton {
    fn default() -> Self {
        Self { definitions: Cache::default(), seen: Cache::default(), failed: false, told: None, room: ROOM }
    }
}

impl Singleton {
    /// Takes in what the watch of its definition tells: whether it is served.
    pub(super) fn definition(&mut self, event: Event<(String, bool)>) {
        if self.definitions.take(event) != Change::Nothing {
            self.room = ROOM;
            self.told = None;
        }
        if !self.is_served() {
            (self.seen, self.failed) = (Cache::default(), false);
        }
    }

    /// Takes in what the watch of objects tells. An event from before the last write is out of date.
    pub(super) fn object(&mut self, event: Event<(String, Seen)>) {
        if let Event::Apply((name, seen)) = &event
            && let Some(known) = self.seen.get(name)
            && is_older(&seen.resource_version, &known.resource_version)
        {
            return;
        }
        if self.seen.take(event) != Change::Nothing {
            self.told = None;
        }
    }

    /// The watch of objects failed. What is known otherwise does not wait for it.
    pub(super) fn failed(&mut self) {
        self.failed = true;
    }

    /// Whether the cluster has such objects.
    pub(super) fn is_served(&self) -> bool {
        self.definitions.get(UPDATE_STATUS_CRD) == Some(&true)
    }

    /// Whether it is known that it is there, or not.
    pub(super) fn is_synced(&self) -> bool {
        self.definitions.is_synced() && (!self.is_served() || self.failed || self.seen.is_synced())
    }

    /// The insights that it has of an informer, if it is there.
    pub(super) fn insights(&self, informer: &str) -> Option<Vec<Insight>> {
        self.seen.get(NAME).map(|seen| update_status::insights(&seen.status, informer))
    }

    /// Whether it may not tell what is known.
    pub(super) fn is_stale(&self, revisions: [u64; 2]) -> bool {
        self.is_served() && self.seen.is_synced() && self.room >= ROOM_MIN && self.told != Some(revisions)
    }

    /// What has to be written for it to tell what `informers` know, whose state is `revisions`.
    pub(super) fn write(
        &mut self,
        informers: [&Informer; 2],
        revisions: [u64; 2],
        now: Time,
    ) -> Option<StatusWrite> {
        let Some(seen) = self.seen.get(NAME) else { return Some(StatusWrite::Create) };
        let status = update_status::status(informers, &seen.status, self.room, now);
        let Some(status) = status.filter(|status| !is_same(status, &seen.status)) else {
            self.told = Some(revisions);
            return None;
        };
        // Whoever else wrote it meanwhile is not overwritten.
        let metadata = json!({"resourceVersion": seen.resource_version});
        Some(StatusWrite::Patch(json!({"metadata": metadata, "status": status})))
    }

    /// It tells what informers in this state know, as far as the API server kept what it was told.
    pub(super) fn written(&mut self, revisions: [u64; 2]) {
        self.told = Some(revisions);
    }

    /// The API server refused a write as too large, or as something that its definition does not allow. With less in it,
    /// it may do; if not, it is left alone until its definition is another.
    pub(super) fn refused(&mut self) {
        self.room /= 2;
    }

    /// Whether it is left alone.
    pub(super) fn is_given_up(&self) -> bool {
        self.is_served() && self.room < ROOM_MIN
    }
}

/// Whether a merge patch of this status changes nothing: of the control plane, it takes away what is null.
fn is_same(status: &Value, seen: &Value) -> bool {
    let agrees = |(field, told): (&String, &Value)| match field.as_str() {
        "controlPlane" => members(told).eq(members(&seen[field])),
        _ => *told == seen[field],
    };
    members(status).all(agrees) && members(status).count() == members(seen).count()
}

/// The fields of an object that hold anything.
fn members(object: &Value) -> impl Iterator<Item = (&String, &Value)> {
    object.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null())
}
