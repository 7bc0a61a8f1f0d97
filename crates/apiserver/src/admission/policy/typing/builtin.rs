//! Declarations of the built-in kinds for expressions, from their fields.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::cel::decl::{Decl, ListEquality, Shape};
use crate::cel::escape::escape;
use crate::facts::{FieldKind, Scalar, TypeId, types};

/// The declaration of a built-in kind; `None` if there are no facts about it.
pub(super) fn declare(group: &str, version: &str, kind: &str) -> Option<Arc<Decl>> {
    let mut decl = structure(types().find(group, version, kind)?, kind, &mut Vec::new());
    if let Shape::Object(fields) = &mut decl.shape {
        for field in ["apiVersion", "kind"] {
            fields.insert(field.to_owned(), simple(Shape::String));
        }
    }
    Some(Arc::new(decl))
}

/// The declaration of the metadata of a kind.
pub(super) fn metadata(kind: &str) -> Option<Arc<Decl>> {
    let id = types().find("meta", "v1", "ObjectMeta")?;
    Some(Arc::new(structure(id, &format!("{kind}.metadata"), &mut Vec::new())))
}

/// A declaration without bounds.
pub(super) fn simple(shape: Shape) -> Arc<Decl> {
    Arc::new(Decl::new(shape, 0, 0))
}

/// The declaration of a struct. `outer` are the structs around it: one in itself has no fields.
fn structure(id: TypeId, name: &str, outer: &mut Vec<TypeId>) -> Decl {
    let mut fields = BTreeMap::new();
    if !outer.contains(&id) {
        outer.push(id);
        for field in types().fields(id) {
            let declared = value(&field.kind, &format!("{name}.{}", field.name), outer);
            if let (Some(decl), Some(identifier)) = (declared, escape(field.name)) {
                fields.insert(identifier.into_owned(), decl);
            }
        }
        outer.pop();
    }
    let mut decl = Decl::new(Shape::Object(fields), 0, 0);
    name.clone_into(&mut decl.name);
    decl
}

fn value(kind: &FieldKind, name: &str, outer: &mut Vec<TypeId>) -> Option<Arc<Decl>> {
    Some(match kind {
        FieldKind::Scalar(kind) => simple(scalar(*kind)?),
        FieldKind::Struct(id) => Arc::new(structure(*id, name, outer)),
        FieldKind::List(inner) => {
            let items = value(inner, &format!("{name}.@idx"), outer)?;
            simple(Shape::List { items, equality: ListEquality::Ordered })
        }
        FieldKind::Map(inner) => {
            simple(Shape::Map { values: value(inner, &format!("{name}.@elem"), outer)?, longest_key: 0 })
        }
    })
}

/// The shape of a scalar; `None` if its schema has no type, so that expressions cannot use it.
fn scalar(kind: Scalar) -> Option<Shape> {
    Some(match kind {
        Scalar::String | Scalar::Duration => Shape::String,
        Scalar::Bool => Shape::Bool,
        Scalar::Int32 | Scalar::Int64 => Shape::Int,
        Scalar::Double => Shape::Double,
        Scalar::Bytes => Shape::Bytes,
        Scalar::IntOrString => Shape::IntOrString,
        Scalar::Time | Scalar::MicroTime => Shape::DateTime,
        Scalar::Object => Shape::Object(BTreeMap::new()),
        Scalar::Quantity
        | Scalar::Json
        | Scalar::SchemaOrBool
        | Scalar::SchemaOrArray
        | Scalar::SchemaOrStrings => return None,
    })
}
