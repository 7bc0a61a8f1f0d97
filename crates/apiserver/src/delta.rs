//! What an update changes, place by place: found once, and asked by all who hold the new object against the old one.

use serde_json::{Map, Value};

/// How a value differs from what it was.
#[derive(Debug, PartialEq)]
pub(crate) enum Delta {
    /// Not at all.
    Same,
    /// It is a map as before, or a list of as many elements, and something in it changed.
    Within {
        /// Whether a map has the names that it had. A list always has.
        same_names: bool,
        /// Of each value in it, in its order.
        inner: Vec<Delta>,
    },
    /// It was not there, or it is another value.
    Other,
}

impl Delta {
    /// Compares a value with what it was.
    pub(crate) fn between(old: &Value, new: &Value) -> Self {
        match (old, new) {
            (Value::Object(old), Value::Object(new)) => fields(old, new),
            (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
                let mut found = Found::of(new.len());
                old.iter().zip(new).for_each(|(was, is)| found.compare(was, is));
                found.delta(true)
            }
            _ if old == new => Self::Same,
            _ => Self::Other,
        }
    }

    /// Whether nothing changed.
    pub(crate) fn is_same(&self) -> bool {
        matches!(self, Self::Same)
    }

    /// That of what stands at a place of the new map or list.
    pub(crate) fn inner(&self, place: usize) -> &Self {
        match self {
            Self::Within { inner, .. } => inner.get(place).unwrap_or(&Self::Other),
            whole => whole,
        }
    }

    /// That of a field of the new map.
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

/// Both maps are sorted, and mostly have the same names: then they are walked along in step.
fn fields(old: &Map<String, Value>, new: &Map<String, Value>) -> Delta {
    let mut found = Found::of(new.len());
    let mut same_names = 0;
    for ((known, was), (name, is)) in old.iter().zip(new) {
        if known != name {
            break;
        }
        same_names += 1;
        // Most values are texts, and as they were.
        match (was, is) {
            (Value::String(was), Value::String(is)) if was == is => found.push_same(),
            _ => found.compare(was, is),
        }
    }
    if same_names == old.len() && same_names == new.len() {
        return found.delta(true);
    }
    for (name, is) in new.iter().skip(same_names) {
        match old.get(name) {
            Some(was) => found.compare(was, is),
            None => found.push(Delta::Other),
        }
    }
    found.delta(false)
}

/// The differences within a value. Of most there are none, so there is no list of them before the first one.
struct Found {
    count: usize,
    same: usize,
    inner: Vec<Delta>,
}

impl Found {
    fn of(count: usize) -> Self {
        Self { count, same: 0, inner: Vec::new() }
    }

    /// Adds a value that was there.
    fn compare(&mut self, was: &Value, is: &Value) {
        match Delta::between(was, is) {
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
    fn differences_stand_where_the_new_values_stand() {
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
    fn a_map_that_lost_a_name_is_not_the_same() {
        let same_values = within(false, [Delta::Same]);
        assert_eq!(Delta::between(&json!({ "a": 1, "b": 2 }), &json!({ "b": 2 })), same_values);
        assert_eq!(Delta::between(&json!({ "a": 1, "b": 2 }), &json!({ "a": 1 })), same_values);
        assert_eq!(Delta::between(&json!({ "a": 1 }), &json!({})), within(false, []));
        assert_eq!(Delta::between(&json!({}), &json!([])), Delta::Other);
    }
}
