//! Compares two values field by field, in one walk (`Compare`).

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{element_of, is_blank, shape_under};
use crate::apply::shape::{Form, ListMerge, Shape};
use crate::field_set::element;
use crate::field_set::set::{FieldSet, Node};

/// The difference between two values. The sets are disjoint.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    pub(crate) added: FieldSet,
    pub(crate) modified: FieldSet,
    pub(crate) removed: FieldSet,
    /// Whether a list has elements that its keys do not identify. Then a real server cannot compare the values.
    pub(crate) is_undefined: bool,
}

impl Comparison {
    /// The difference without these fields and everything below them.
    pub(crate) fn without(mut self, fields: &FieldSet) -> Self {
        for set in [&mut self.added, &mut self.modified, &mut self.removed] {
            set.subtract_with_children(fields);
        }
        self
    }

    /// The modified and the added fields.
    pub(crate) fn changed(&self) -> FieldSet {
        let mut changed = self.added.clone();
        changed.add(self.modified.clone());
        changed
    }
}

/// Compares two values of one shape.
pub(crate) fn compare(old: &Value, new: &Value, shape: Shape<'_>) -> Comparison {
    let difference = walk(Some(old), Some(new), shape);
    Comparison {
        added: FieldSet(difference.added.below),
        modified: FieldSet(difference.modified.below),
        removed: FieldSet(difference.removed.below),
        is_undefined: difference.is_undefined,
    }
}

/// The difference at a place and below it.
#[derive(Default)]
struct Difference {
    added: Node,
    modified: Node,
    removed: Node,
    is_undefined: bool,
}

impl Difference {
    /// Adds the difference below a path element.
    fn take(&mut self, element: impl Fn() -> String, inner: Self) {
        self.is_undefined |= inner.is_undefined;
        for (node, inner) in [
            (&mut self.added, inner.added),
            (&mut self.modified, inner.modified),
            (&mut self.removed, inner.removed),
        ] {
            if inner.member || !inner.below.is_empty() {
                inner.attach(element(), &mut node.below);
            }
        }
    }

    /// The difference of atomic values.
    fn leaf(old: Option<&Value>, new: Option<&Value>) -> Self {
        let mut difference = Self::default();
        match (old, new) {
            (None, _) => difference.added.member = true,
            (_, None) => difference.removed.member = true,
            (old, new) => difference.modified.member = old != new,
        }
        difference
    }
}

fn walk(old: Option<&Value>, new: Option<&Value>, shape: Shape<'_>) -> Difference {
    let some = |value: Option<&Value>| value.is_some_and(|value| !value.is_null());
    let form = shape.form(if some(new) { new } else { old });
    // Without a schema a value may change its type. Then the fields of the old value are removed one by one.
    let before = shape.form(if some(old) { old } else { new });
    match (before, form) {
        (Form::Map { .. }, Form::Scalar(_) | Form::List(..)) => {
            let mut difference = members(old, None, shape);
            difference.modified.member = true;
            difference
        }
        (Form::Scalar(_) | Form::List(..), Form::Map { .. }) => {
            let mut difference = members(None, new, shape);
            difference.modified.member = true;
            difference
        }
        (_, Form::Scalar(_) | Form::List(ListMerge::Atomic, _) | Form::Map { atomic: true }) => {
            Difference::leaf(old, new)
        }
        (_, _) if is_blank(old) && is_blank(new) => Difference::leaf(old, new),
        (_, form) => {
            let mut difference = match form {
                Form::List(merge, shape) => elements(old, new, merge, shape),
                _ => members(old, new, shape),
            };
            difference.added.member |= old.is_none();
            difference.removed.member |= new.is_none();
            difference
        }
    }
}

fn members(old: Option<&Value>, new: Option<&Value>, shape: Shape<'_>) -> Difference {
    let mut difference = Difference::default();
    let (old, new) = (old.and_then(Value::as_object), new.and_then(Value::as_object));
    let empty = Map::new();
    let (old, new) = (old.unwrap_or(&empty), new.unwrap_or(&empty));
    for (name, value) in old {
        let inner = walk(Some(value), new.get(name), shape_under(shape, name));
        difference.take(|| element::field(name), inner);
    }
    for (name, value) in new.iter().filter(|(name, _)| !old.contains_key(*name)) {
        let inner = walk(None, Some(value), shape_under(shape, name));
        difference.take(|| element::field(name), inner);
    }
    difference
}

/// The old and new list elements with the same path element.
type Pair<'a> = (Vec<&'a Value>, Vec<&'a Value>);

fn elements(old: Option<&Value>, new: Option<&Value>, merge: ListMerge<'_>, shape: Shape<'_>) -> Difference {
    let mut difference = Difference::default();
    if old == new {
        return difference;
    }
    let mut pairs: BTreeMap<String, Pair<'_>> = BTreeMap::new();
    for item in old.and_then(Value::as_array).into_iter().flatten() {
        match element_of(item, merge) {
            Ok(element) => pairs.entry(element).or_default().0.push(item),
            Err(_) => difference.is_undefined = true,
        }
    }
    for item in new.and_then(Value::as_array).into_iter().flatten() {
        match element_of(item, merge) {
            Ok(element) => pairs.entry(element).or_default().1.push(item),
            Err(_) => difference.is_undefined = true,
        }
    }
    for (element, (old, new)) in pairs {
        let inner = match (old.as_slice(), new.as_slice()) {
            ([] | [_], [] | [_]) => walk(old.first().copied(), new.first().copied(), shape),
            // Elements with the same path element count as one, and their fields have no owners.
            ([_, _, ..], [_, _, ..]) => {
                let mut inner = Difference::default();
                inner.modified.member = old != new;
                inner
            }
            ([_, _, ..], _) => {
                let mut inner = new.first().map(|item| walk(None, Some(*item), shape)).unwrap_or_default();
                inner.removed.member = true;
                inner
            }
            (_, _) => {
                let mut inner = old.first().map(|item| walk(Some(*item), None, shape)).unwrap_or_default();
                inner.added.member = true;
                inner
            }
        };
        difference.take(|| element.clone(), inner);
    }
    difference
}
