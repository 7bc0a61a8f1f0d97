//! Removes fields from a value (`RemoveItems`).

use serde_json::{Map, Value};

use super::{element_of, shape_under};
use crate::apply::shape::{Form, ListMerge, Member, Shape};
use crate::field_set::element;
use crate::field_set::set::{FieldSet, Node, Tree, child, children, is_member};

/// Returns the value without these fields and elements. A map or list that loses its last member becomes
/// null.
pub(crate) fn remove(value: &Value, removed: &FieldSet, shape: Shape<'_>) -> Value {
    walk(value, &removed.0, shape)
}

fn walk(value: &Value, removed: &Tree, shape: Shape<'_>) -> Value {
    match (shape.form(Some(value)), value) {
        (Form::List(ListMerge::Atomic, _) | Form::Map { atomic: true }, _) => Value::Null,
        (Form::List(merge, shape), Value::Array(items)) => {
            let rest = items.iter().filter_map(|item| walk_item(item, removed, merge, shape));
            let rest: Vec<Value> = rest.collect();
            if rest.is_empty() { Value::Null } else { Value::Array(rest) }
        }
        (Form::Map { .. }, Value::Object(map)) => {
            let mut rest = Map::new();
            for (name, value) in map {
                let value = match child(removed, &element::field(name)) {
                    Some(node) if is_member(node) => continue,
                    Some(node) => walk(value, node, shape_under(shape, name)),
                    None => value.clone(),
                };
                rest.insert(name.clone(), value);
            }
            if rest.is_empty() { Value::Null } else { Value::Object(rest) }
        }
        (_, value) => value.clone(),
    }
}

fn walk_item(item: &Value, removed: &Tree, merge: ListMerge<'_>, shape: Shape<'_>) -> Option<Value> {
    let node = element_of(item, merge).ok().and_then(|element| child(removed, &element));
    match node {
        Some(node) if is_member(node) => None,
        Some(node) => Some(walk(item, node, shape)),
        None => Some(item.clone()),
    }
}

/// Adds all struct fields that lead to the members of a set (`EnsureNamedFieldsAreMembers`): the owner of
/// everything in a struct may remove the struct as well.
pub(crate) fn with_named_fields(set: &FieldSet, shape: Shape<'_>) -> FieldSet {
    FieldSet(named(&set.0, Some(shape)))
}

fn named(tree: &Tree, shape: Option<Shape<'_>>) -> Tree {
    let mut out = Map::new();
    for (key, node) in children(tree) {
        let (declared, inner) = match (element::name(key), shape) {
            (Some(name), Some(shape)) => match shape.member(name) {
                Member::Declared(inner) => (true, Some(inner)),
                Member::Key(inner) => (false, Some(inner)),
                Member::Unknown => (false, None),
            },
            (None, Some(shape)) if element::is_key(key) => match shape.form(None) {
                Form::List(_, inner) => (false, Some(inner)),
                _ => (false, None),
            },
            _ => (false, None),
        };
        let member = is_member(node) || declared;
        Node { member, below: named(node, inner) }.attach(key.clone(), &mut out);
    }
    out
}
