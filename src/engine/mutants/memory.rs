//! The memory of a mutant: the changed writes, the values that return, and the changes that its component has not seen.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use serde_json::Value;
use windtunnel_core::clock::{Time, after};
use windtunnel_core::{Key, Object, Write};

use super::mutant::LATE_MINUTES;
use super::place::Place;

/// The changes of one object's writes.
pub(super) struct Noted {
    pub(super) uid: String,
    /// The actor, and the write that it meant to make.
    pub(super) by: String,
    pub(super) write: Write,
    pub(super) place: Place,
    /// The value after the changed write.
    pub(super) left: Option<Value>,
    /// The value that the component meant.
    pub(super) meant: Option<Value>,
}

impl Noted {
    pub(super) fn is_about(&self, object: &Object) -> bool {
        self.uid.is_empty() || self.uid == object.uid()
    }
}

/// The old values that return, one for each object.
#[derive(Debug, Default)]
pub(in crate::engine) struct Returns(pub(super) BTreeMap<Key, Return>);

/// An old value, and how it is written.
#[derive(Debug)]
pub(super) struct Return {
    pub(super) uid: String,
    /// The actor, and the write with which it replaced the old value.
    pub(super) by: String,
    pub(super) write: Write,
    pub(super) place: Place,
    pub(super) old: Value,
    pub(super) replaced: Time,
    pub(super) is_over: bool,
}

impl Returns {
    /// When the next old value of an actor is written.
    pub(super) fn next(&self, by: &str) -> Option<Time> {
        let own = self.0.values().filter(|one| one.by == by && !one.is_over);
        own.map(|one| due(one.replaced)).min()
    }

    /// Takes the first old value of an actor that is due now.
    pub(super) fn take(&mut self, by: &str, now: Time) -> Option<(Key, Return)> {
        let is_due = |one: &Return| one.by == by && !one.is_over && due(one.replaced) <= now;
        let key = self.0.iter().find(|(_, one)| is_due(one))?.0.clone();
        self.0.remove_entry(&key)
    }
}

/// The objects whose first change the component has not seen yet.
#[derive(Debug, Default)]
pub(in crate::engine) struct Unseen {
    /// When they changed.
    pub(super) since: BTreeMap<Key, Time>,
    /// The objects whose changes are seen at once from now on.
    pub(super) known: BTreeSet<Key>,
}

/// When a mutant does what was due at `first`.
pub(super) fn due(first: Time) -> Time {
    after(first, SignedDuration::from_mins(LATE_MINUTES))
}
