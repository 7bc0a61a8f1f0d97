//! The difference between an object and its update, node by node. It is computed once, and pruning, validation and
//! ownership tracking use it to skip unchanged parts.

use serde_json::{Map, Value};

/// The difference between a value and its previous value.
#[derive(Debug, PartialEq)]
pub(crate) enum Delta {
    /// The values are equal.
    Same,
    /// Both values are maps, or lists of equal length, and something in them changed.
    Within {
        /// Whether both maps have the same names; always true for lists.
        same_names: bool,
        /// The difference of each value in the new map or list, in its order.
        inner: Vec<Delta>,
    },
    /// There is no previous value, or the value was replaced.
    Other,
}

impl Delta {
    /// Compares a value with its previous value.
    pub(crate) fn between(old: &Value, new: &Value) -> Self {
        match (old, new) {
            (Value::Object(old), Value::Object(new)) => fields(old, new),
            (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
                let mut differences = Differences::with_capacity(new.len());
                old.iter().zip(new).for_each(|(old, new)| differences.compare(old, new));
                differences.delta(true)
            }
            _ if old == new => Self::Same,
            _ => Self::Other,
        }
    }

    /// Whether the values are equal.
    pub(crate) fn is_same(&self) -> bool {
        matches!(self, Self::Same)
    }

    /// The difference of the value at a position in the new map or list.
    pub(crate) fn inner(&self, place: usize) -> &Self {
        match self {
            Self::Within { inner, .. } => inner.get(place).unwrap_or(&Self::Other),
            whole => whole,
        }
    }

    /// The difference of a field of the new map.
    pub(crate) fn field(&self, map: &Value, name: &str) -> &Self {
        match self {
            Self::Within { .. } => {
                let place = map.as_object().and_then(|map| map.keys().position(|found| found == name));
                place.map_or(&Self::Other, |place| self.inner(place))
            }
            whole => whole,
        }
    }
}

/// Compares two maps. They are sorted and mostly have the same names, so a single walk through both is enough.
fn fields(old: &Map<String, Value>, new: &Map<String, Value>) -> Delta {
    let mut differences = Differences::with_capacity(new.len());
    let mut same_names = 0;
    for ((old_name, old), (name, new)) in old.iter().zip(new) {
        if old_name != name {
            break;
        }
        same_names += 1;
        // Fast path: most values are unchanged strings.
        match (old, new) {
            (Value::String(old), Value::String(new)) if old == new => differences.push_same(),
            _ => differences.compare(old, new),
        }
    }
    if same_names == old.len() && same_names == new.len() {
        return differences.delta(true);
    }
    for (name, value) in new.iter().skip(same_names) {
        match old.get(name) {
            Some(previous) => differences.compare(previous, value),
            None => differences.push(Delta::Other),
        }
    }
    differences.delta(false)
}

/// Collects the differences within a value. Most values have none, so it allocates only at the first one.
struct Differences {
    count: usize,
    same: usize,
    inner: Vec<Delta>,
}

impl Differences {
    fn with_capacity(count: usize) -> Self {
        Self { count, same: 0, inner: Vec::new() }
    }

    /// Adds the difference of two values.
    fn compare(&mut self, old: &Value, new: &Value) {
        match Delta::between(old, new) {
            Delta::Same => self.push_same(),
            delta => self.push(delta),
        }
    }

    fn push_same(&mut self) {
        if self.inner.is_empty() {
            self.same += 1;
        } else {
            self.inner.push(Delta::Same);
        }
    }

    fn push(&mut self, delta: Delta) {
        if self.inner.is_empty() {
            self.inner.reserve_exact(self.count);
            self.inner.resize_with(self.same, || Delta::Same);
        }
        self.inner.push(delta);
    }

    fn delta(mut self, same_names: bool) -> Delta {
        if same_names && self.inner.is_empty() {
            return Delta::Same;
        }
        if self.inner.is_empty() {
            self.inner.resize_with(self.same, || Delta::Same);
        }
        Delta::Within { same_names, inner: self.inner }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn within(same_names: bool, inner: impl Into<Vec<Delta>>) -> Delta {
        Delta::Within { same_names, inner: inner.into() }
    }

    #[test]
    fn between_orders_differences_like_new_values() {
        let old = json!({ "a": 1, "c": [1, 2], "d": { "x": 1 }, "e": [1] });
        assert_eq!(Delta::between(&old, &old.clone()), Delta::Same);
        let new = json!({ "a": 1, "b": 2, "c": [1, 3], "d": { "x": 1 }, "e": [1, 2] });
        let list = within(true, [Delta::Same, Delta::Other]);
        let all = within(false, [Delta::Same, Delta::Other, list, Delta::Same, Delta::Other]);
        assert_eq!(Delta::between(&old, &new), all);
        assert_eq!(all.field(&new, "d"), &Delta::Same);
        assert_eq!(all.field(&new, "z"), &Delta::Other);
    }

    #[test]
    fn map_without_an_old_name_has_other_names() {
        let same_values = within(false, [Delta::Same]);
        assert_eq!(Delta::between(&json!({ "a": 1, "b": 2 }), &json!({ "b": 2 })), same_values);
        assert_eq!(Delta::between(&json!({ "a": 1, "b": 2 }), &json!({ "a": 1 })), same_values);
        assert_eq!(Delta::between(&json!({ "a": 1 }), &json!({})), within(false, []));
        assert_eq!(Delta::between(&json!({}), &json!([])), Delta::Other);
    }
}
