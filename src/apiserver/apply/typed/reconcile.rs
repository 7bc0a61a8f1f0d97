//! Sets of fields that were made under another schema (`ReconcileFieldSetWithSchema`).

use serde_json::Value;

use crate::apiserver::apply::element;
use crate::apiserver::apply::set::{FieldSet, Tree};
use crate::apiserver::apply::shape::{Form, ListMerge, Member, Shape};

/// Who owned something within a map or list that is taken as a whole now owns the whole.
pub(crate) fn reconcile(set: &mut FieldSet, shape: Shape<'_>) {
    walk(&mut set.0, shape);
}

fn walk(tree: &mut Tree, shape: Shape<'_>) {
    for (key, node) in tree.iter_mut() {
        let inner = match element::name(key) {
            Some(name) => match shape.member(name) {
                Member::Declared(inner) | Member::Key(inner) => inner,
                Member::Unknown => continue,
            },
            None => match shape.form(None) {
                Form::List(_, inner) if element::is_key(key) => inner,
                _ => continue,
            },
        };
        let Value::Object(node) = node else { continue };
        match inner.form(None) {
            Form::List(ListMerge::Atomic, _) | Form::Map { atomic: true } => node.clear(),
            _ => walk(node, inner),
        }
    }
}
