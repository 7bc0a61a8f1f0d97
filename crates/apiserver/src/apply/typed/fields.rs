//! The fields that a value contains (`ToFieldSet`).

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{element_of, shape_under};
use crate::apply::shape::{Form, ListMerge, Member, Shape};
use crate::field_set::element;
use crate::field_set::set::{FieldSet, Node, Tree};

/// Returns all fields and elements of a value.
pub(crate) fn fields(value: &Value, shape: Shape<'_>) -> FieldSet {
    FieldSet(node(value, shape).below)
}

fn node(value: &Value, shape: Shape<'_>) -> Node {
    match (shape.form(Some(value)), value) {
        (Form::Scalar(_) | Form::List(ListMerge::Atomic, _) | Form::Map { atomic: true }, _) => {
            Node { member: true, below: Map::new() }
        }
        (Form::List(merge, shape), Value::Array(items)) => {
            Node { member: false, below: elements(items, merge, shape) }
        }
        (Form::Map { atomic: false }, Value::Object(map)) => {
            Node { member: false, below: members(map, shape) }
        }
        _ => Node::default(),
    }
}

fn members(map: &Map<String, Value>, shape: Shape<'_>) -> Tree {
    let mut tree = Map::new();
    for (name, value) in map {
        let mut inner = node(value, shape_under(shape, name));
        let empty = value.is_null() || value.as_object().is_some_and(Map::is_empty);
        inner.member |= empty || !matches!(shape.member(name), Member::Declared(_));
        inner.attach(element::field(name), &mut tree);
    }
    tree
}

fn elements(items: &[Value], merge: ListMerge<'_>, shape: Shape<'_>) -> Tree {
    let mut found: BTreeMap<String, Option<&Value>> = BTreeMap::new();
    for item in items {
        if let Ok(element) = element_of(item, merge) {
            // Of duplicate elements only their presence can be owned.
            found.entry(element).and_modify(|item| *item = None).or_insert(Some(item));
        }
    }
    let mut tree = Map::new();
    for (element, item) in found {
        let below = item.map(|item| node(item, shape).below).unwrap_or_default();
        Node { member: true, below }.attach(element, &mut tree);
    }
    tree
}
