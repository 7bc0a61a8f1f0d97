//! A change of an object with the difference of its conditions, which is computed once for all rules.

use std::cell::OnceCell;

use serde_json::Value;
use windtunnel_core::{Change, ChangeKind, Object, condition, text_of};

/// A change, with the difference of its states.
pub(in crate::monitoring) struct Compared<'a> {
    pub(super) change: &'a Change,
    conditions: OnceCell<[Vec<&'a Value>; 2]>,
}

impl<'a> Compared<'a> {
    /// A change whose difference is not computed yet.
    pub(in crate::monitoring) fn of(change: &'a Change) -> Self {
        Self { change, conditions: OnceCell::new() }
    }

    /// The previous state, if the object was modified.
    pub(super) fn before(&self) -> Option<&'a Object> {
        self.change.old.as_ref().filter(|_| self.change.kind == ChangeKind::Modified)
    }

    /// The conditions that only the previous state has, and those that only the new state has, by type,
    /// status and reason.
    pub(super) fn conditions(&self) -> &[Vec<&'a Value>; 2] {
        self.conditions.get_or_init(|| {
            let before = self.before().map_or(&[][..], Object::conditions);
            let now = self.change.object.conditions();
            [without(before, now), without(now, before)]
        })
    }
}

/// The conditions of a list that are missing in another list. Most of them have the same position in both.
fn without<'a>(conditions: &'a [Value], others: &[Value]) -> Vec<&'a Value> {
    let is_there = |place: usize, condition: &Value| {
        others.get(place).is_some_and(|other| are_equal(condition, other))
            || others.iter().any(|other| are_equal(condition, other))
    };
    let left = conditions.iter().enumerate().filter(|(place, condition)| !is_there(*place, condition));
    left.map(|(_, condition)| condition).collect()
}

fn are_equal(one: &Value, other: &Value) -> bool {
    condition::type_of(one) == condition::type_of(other)
        && ["status", "reason"].into_iter().all(|field| text_of(one, field) == text_of(other, field))
}
