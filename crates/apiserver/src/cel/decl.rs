//! Declarations of data from outside of expressions: their types, how large they may be, and how JSON is read as them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::types::Type;

/// A declared type with its bounds (`DeclType`).
#[derive(Debug, Clone)]
pub(crate) struct Decl {
    /// The name of an object type.
    pub(crate) name: String,
    pub(crate) shape: Shape,
    /// Whether null is a value of it.
    pub(crate) nullable: bool,
    /// The most elements, characters or bytes that a value may have.
    pub(crate) max_elements: u64,
    /// The fewest bytes that a value takes as JSON.
    pub(crate) min_size: u64,
}

/// What JSON of a declaration is read as.
#[derive(Debug, Clone)]
pub(crate) enum Shape {
    /// int-or-string.
    IntOrString,
    Bool,
    Int,
    Double,
    String,
    Bytes,
    Duration,
    Date,
    DateTime,
    List {
        items: Arc<Decl>,
        equality: ListEquality,
    },
    Map(Arc<Decl>),
    /// Fields by their escaped names.
    Object(BTreeMap<String, Arc<Decl>>),
}

/// What makes two lists equal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ListEquality {
    /// The same elements in the same order.
    Ordered,
    /// The same elements.
    Set,
    /// The same elements by their keys.
    Map(Vec<String>),
}

impl Decl {
    pub(crate) fn new(shape: Shape, max_elements: u64, min_size: u64) -> Self {
        Self { name: String::new(), shape, nullable: false, max_elements, min_size }
    }

    /// The type of expressions that have this declaration.
    pub(crate) fn as_type(self: &Arc<Self>) -> Type {
        match &self.shape {
            Shape::IntOrString => Type::Dyn,
            Shape::Bool => Type::Bool,
            Shape::Int => Type::Int,
            Shape::Double => Type::Double,
            Shape::String => Type::String,
            Shape::Bytes => Type::Bytes,
            Shape::Duration => Type::Duration,
            Shape::Date | Shape::DateTime => Type::Timestamp,
            Shape::List { items, .. } => Type::list(items.as_type()),
            Shape::Map(values) => Type::map(Type::String, values.as_type()),
            Shape::Object(_) => Type::Object(Arc::clone(self)),
        }
    }

    /// The declaration of a field by its escaped name.
    pub(crate) fn field(&self, escaped: &str) -> Option<&Arc<Self>> {
        match &self.shape {
            Shape::Object(fields) => fields.get(escaped),
            _ => None,
        }
    }

    /// The declaration of elements of a list or values of a map.
    pub(crate) fn element(&self) -> Option<&Arc<Self>> {
        match &self.shape {
            Shape::List { items, .. } => Some(items),
            Shape::Map(values) => Some(values),
            _ => None,
        }
    }
}
