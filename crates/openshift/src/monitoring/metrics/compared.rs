//! A change of an object, whose states are compared once for all who ask what comes of it.

use std::cell::OnceCell;

use serde_json::Value;
use windtunnel_core::{Change, ChangeKind, Object, condition, text_of};

/// A change, with what its states say otherwise.
pub(in crate::monitoring) struct Compared<'a> {
    pub(super) change: &'a Change,
    conditions: OnceCell<[Vec<&'a Value>; 2]>,
}

impl<'a> Compared<'a> {
    /// A change that nobody has looked at yet.
    pub(in crate::monitoring) fn of(change: &'a Change) -> Self {
        Self { change, conditions: OnceCell::new() }
    }

    /// The state before, if the object was there before and is now.
    pub(super) fn before(&self) -> Option<&'a Object> {
        self.change.old.as_ref().filter(|_| self.change.kind == ChangeKind::Modified)
    }

    /// The conditions that only the state before has, and those that only the state now has, by type, status and reason.
    pub(super) fn conditions(&self) -> &[Vec<&'a Value>; 2] {
        self.conditions.get_or_init(|| {
            let before = self.before().map_or(&[][..], |old| old.list("/status/conditions"));
            let now = self.change.object.list("/status/conditions");
            [without(before, now), without(now, before)]
        })
    }
}

/// The conditions of a list that another does not have. Most stand in the same place.
fn without<'a>(conditions: &'a [Value], others: &[Value]) -> Vec<&'a Value> {
    let is_there = |place: usize, condition: &Value| {
        others.get(place).is_some_and(|other| say_the_same(condition, other))
            || others.iter().any(|other| say_the_same(condition, other))
    };
    let left = conditions.iter().enumerate().filter(|(place, condition)| !is_there(*place, condition));
    left.map(|(_, condition)| condition).collect()
}

fn say_the_same(one: &Value, other: &Value) -> bool {
    condition::type_of(one) == condition::type_of(other)
        && ["status", "reason"].into_iter().all(|field| text_of(one, field) == text_of(other, field))
}
