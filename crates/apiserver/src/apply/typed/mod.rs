//! Operations on values with a known shape: validate, list fields, compare, merge and remove.
//!
//! The rules are those of `structured-merge-diff`, the library of the real server.

mod compare;
mod fields;
mod merge;
mod reconcile;
mod remove;
mod validate;

pub(crate) use compare::{Comparison, compare};
pub(crate) use fields::fields;
pub(crate) use merge::merge;
pub(crate) use reconcile::{is_reconciled, reconcile};
pub(crate) use remove::{remove, with_named_fields};
pub(crate) use validate::{ValidationError, validate};

use serde_json::Value;

use super::keyed::keyed_element;
use super::shape::{ListMerge, Member, Shape};
use crate::field_set::element;

/// The path element of an element of a list that is a set or a map.
///
/// # Errors
/// The reason why it has none.
fn element_of(item: &Value, merge: ListMerge<'_>) -> Result<String, String> {
    match merge {
        ListMerge::Map(keys) => keyed_element(item, keys),
        ListMerge::Set => element::set_element(item),
        ListMerge::Atomic => Err("invalid indexing of non-associative list".to_owned()),
    }
}

/// The shape of a member; a member that is not in the schema has a deduced shape.
pub(crate) fn shape_under<'a>(shape: Shape<'a>, name: &str) -> Shape<'a> {
    match shape.member(name) {
        Member::Declared(shape) | Member::Key(shape) => shape,
        Member::Unknown => Shape::Deduced,
    }
}

/// Whether a value is absent or has no members.
fn is_blank(value: Option<&Value>) -> bool {
    match value {
        Some(Value::Object(map)) => map.is_empty(),
        Some(Value::Array(items)) => items.is_empty(),
        _ => true,
    }
}

#[cfg(test)]
mod tests;
