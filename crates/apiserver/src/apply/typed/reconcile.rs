//! Adapts sets of fields to a changed schema (`ReconcileFieldSetWithSchema`).

use serde_json::Value;

use crate::apply::shape::{Form, ListMerge, Member, Shape};
use crate::field_set::element;
use crate::field_set::set::{FieldSet, Tree};

/// Replaces ownership within a map or list that has become atomic by ownership of the whole.
pub(crate) fn reconcile(set: &mut FieldSet, shape: Shape<'_>) {
    walk(&mut set.0, shape);
}

/// Whether [`reconcile`] would not change a set.
pub(crate) fn is_reconciled(tree: &Tree, shape: Shape<'_>) -> bool {
    let owned_in_part = tree.iter().filter_map(|(key, node)| Some((key, node.as_object()?)));
    owned_in_part.filter(|(_, node)| !node.is_empty()).all(|(key, node)| {
        below(shape, key).is_none_or(|inner| !is_whole(inner) && is_reconciled(node, inner))
    })
}

fn walk(tree: &mut Tree, shape: Shape<'_>) {
    for (key, node) in tree.iter_mut() {
        let (Some(inner), Value::Object(node)) = (below(shape, key), node) else { continue };
        if is_whole(inner) {
            node.clear();
        } else {
            walk(node, inner);
        }
    }
}

/// The shape at a path element, if it is in the schema.
fn below<'a>(shape: Shape<'a>, key: &str) -> Option<Shape<'a>> {
    match element::name(key) {
        Some(name) => match shape.member(name) {
            Member::Declared(inner) | Member::Key(inner) => Some(inner),
            Member::Unknown => None,
        },
        None => match shape.form(None) {
            Form::List(_, inner) if element::is_key(key) => Some(inner),
            _ => None,
        },
    }
}

/// Whether a place is atomic.
fn is_whole(shape: Shape<'_>) -> bool {
    matches!(shape.form(None), Form::List(ListMerge::Atomic, _) | Form::Map { atomic: true })
}
