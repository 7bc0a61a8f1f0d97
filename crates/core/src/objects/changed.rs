//! The state of an object as what changed since an earlier one: a tree of JSON takes fifty times the memory.

use std::sync::OnceLock;

use serde_json::Value;

use crate::Object;

/// How many changes a state may be away from the next whole one.
const CHAIN_MAX: u32 = 32;

/// A state that is told by a change.
#[derive(Debug)]
pub(super) struct Changed {
    before: Object,
    /// The merge patch, as text.
    patch: Box<str>,
    /// How many changes away a whole state is.
    distance: u32,
    /// The state, once somebody looked at it.
    whole: OnceLock<Value>,
}

impl Changed {
    /// What `before` becomes by a merge patch; `None` where that is better told as a whole.
    pub(super) fn of(before: &Object, patch: &Value) -> Option<Self> {
        let distance = before.changed().map_or(0, |changed| changed.distance) + 1;
        let patch = patch.to_string().into_boxed_str();
        (distance < CHAIN_MAX).then(|| Self {
            before: before.clone(),
            patch,
            distance,
            whole: OnceLock::new(),
        })
    }

    /// The merge patch, if it is one of this very state.
    pub(super) fn patch_of(&self, before: &Object) -> Option<Value> {
        self.before.is_same(before).then(|| read(&self.patch))
    }

    /// The whole state.
    pub(super) fn whole(&self) -> &Value {
        self.whole.get_or_init(|| {
            let mut patches = vec![&self.patch];
            let mut before = &self.before;
            while let Some(changed) = before.changed().filter(|changed| changed.whole.get().is_none()) {
                patches.push(&changed.patch);
                before = &changed.before;
            }
            let mut value = before.to_value();
            patches.into_iter().rev().for_each(|text| json_patch::merge(&mut value, &read(text)));
            value
        })
    }
}

/// What was written by serde_json reads back.
fn read(patch: &str) -> Value {
    serde_json::from_str(patch).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::patch;

    #[test]
    fn a_state_that_is_told_by_changes_is_what_it_was() {
        let states: Vec<Value> =
            (0..100).map(|n| json!({"a": {"n": n, "b": "x"}, "l": [n], "k": null})).collect();
        let mut told = Object::new(states[0].clone());
        let mut all = vec![told.clone()];
        for pair in states.windows(2) {
            let patch = patch::between(&pair[0], &pair[1]).unwrap();
            let before = told;
            told = before.becomes(&patch).unwrap_or_else(|| Object::new(pair[1].clone()));
            assert_eq!(told.patch_since(&before).unwrap_or_else(|| patch.clone()), patch);
            all.push(told.clone());
        }
        assert_eq!(*all[99], states[99]);
        assert!(all.iter().zip(&states).all(|(told, state)| **told == *state));
        assert!(all.iter().filter(|told| told.changed().is_none()).count() < 5);
    }
}
