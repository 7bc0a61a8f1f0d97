//! Declarations of the data that expressions read: its types, its size limits and how its JSON is
//! interpreted.

use std::collections::BTreeMap;
use std::sync::Arc;

/// A declared type with its bounds (`DeclType`).
#[derive(Debug, Clone)]
pub(crate) struct Decl {
    /// The name of an object type.
    pub(crate) name: String,
    pub(crate) shape: Shape,
    /// Whether null is a valid value.
    pub(crate) nullable: bool,
    /// Maximum number of elements, characters or bytes of a value.
    pub(crate) max_elements: u64,
    /// Minimum size of a value as JSON, in bytes.
    pub(crate) min_size: u64,
}

/// How the JSON of a declaration is interpreted.
#[derive(Debug, Clone)]
pub(crate) enum Shape {
    /// int-or-string.
    IntOrString,
    /// A value of any type (`google.protobuf.Any`).
    Any,
    Quantity,
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
    Map {
        values: Arc<Decl>,
        /// Maximum length of a key; 0 if it is not declared.
        longest_key: u64,
    },
    /// Fields, by escaped name.
    Object(BTreeMap<String, Arc<Decl>>),
}

/// How two lists are compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ListEquality {
    /// The same elements in the same order.
    Ordered,
    /// The same elements.
    Set,
    /// The same elements, matched by their keys.
    Map(Vec<String>),
}

impl Decl {
    pub(crate) fn new(shape: Shape, max_elements: u64, min_size: u64) -> Self {
        Self { name: String::new(), shape, nullable: false, max_elements, min_size }
    }

    /// Returns the declaration of a field, given its escaped name.
    pub(crate) fn field(&self, escaped: &str) -> Option<&Arc<Self>> {
        match &self.shape {
            Shape::Object(fields) => fields.get(escaped),
            _ => None,
        }
    }

    /// Returns the declaration of what a selection of a name gets: a field, or an entry of a map to values of any type.
    pub(crate) fn selected(&self, name: &str) -> Option<&Arc<Self>> {
        match &self.shape {
            Shape::Map { values, .. } if matches!(values.shape, Shape::Any) => Some(values),
            _ => self.field(name),
        }
    }

    /// Returns the declaration of the elements of a list or the values of a map.
    pub(crate) fn element(&self) -> Option<&Arc<Self>> {
        match &self.shape {
            Shape::List { items, .. } => Some(items),
            Shape::Map { values, .. } => Some(values),
            _ => None,
        }
    }
}
