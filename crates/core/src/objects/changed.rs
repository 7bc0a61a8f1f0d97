//! The state of an object as a merge patch on an earlier state. A parsed JSON tree takes fifty times the
//! memory.

use std::sync::OnceLock;

use serde_json::Value;

use crate::Object;

/// The maximum number of patches between a state and the complete state that it is based on.
const CHAIN_MAX: u32 = 32;

/// A state that is stored as a patch.
#[derive(Debug)]
pub(super) struct Delta {
    before: Object,
    /// The merge patch, as text.
    patch: Box<str>,
    /// The number of patches since a complete state.
    distance: u32,
    /// The complete state, computed on first access.
    whole: OnceLock<Value>,
}

impl Delta {
    /// The state that a merge patch makes of `before`; `None` if the chain of patches would get too long.
    pub(super) fn from_patch(before: &Object, patch: &Value) -> Option<Self> {
        let distance = before.changed().map_or(0, |changed| changed.distance) + 1;
        let patch = patch.to_string().into_boxed_str();
        (distance < CHAIN_MAX).then(|| Self {
            before: before.clone(),
            patch,
            distance,
            whole: OnceLock::new(),
        })
    }

    /// The merge patch, if it is based on exactly this state.
    pub(super) fn patch_of(&self, before: &Object) -> Option<Value> {
        self.before.is_same(before).then(|| read(&self.patch))
    }

    /// The complete state.
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

/// Parses a patch that serde_json wrote, so it cannot fail.
fn read(patch: &str) -> Value {
    serde_json::from_str(patch).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::patch;

    #[test]
    fn states_stored_as_patches_equal_the_original_states() {
        let states: Vec<Value> =
            (0..100).map(|n| json!({"a": {"n": n, "b": "x"}, "l": [n], "k": null})).collect();
        let mut state = Object::new(states[0].clone());
        let mut all = vec![state.clone()];
        for pair in states.windows(2) {
            let patch = patch::between(&pair[0], &pair[1]).unwrap();
            let before = state;
            state = before.with_patch(&patch).unwrap_or_else(|| Object::new(pair[1].clone()));
            assert_eq!(state.patch_since(&before).unwrap_or_else(|| patch.clone()), patch);
            all.push(state.clone());
        }
        assert_eq!(*all[99], states[99]);
        assert!(all.iter().zip(&states).all(|(object, state)| **object == *state));
        assert!(all.iter().filter(|state| state.changed().is_none()).count() < 5);
    }
}
