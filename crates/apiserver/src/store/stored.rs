//! A shared object: its tree without `metadata.managedFields`, and separately the owners of its fields.
//!
//! The tree of the owners (`metadata.managedFields`) is as large as the object itself, and most writes do not change them.
//! So successive states of an object share the owners, and only the whole object has them in its metadata.

use std::ops::Deref;
use std::sync::Arc;

use serde::ser::{Serialize, Serializer};
use serde_json::Value;

use crate::kinds::typed::go_order::GoOrder;
use crate::metadata;
use crate::request::clock_skew::ClockSkew;

/// The metadata field with the owners of fields.
const OWNERS: &str = "managedFields";

/// A shared object. It dereferences to a [`Value`] without the owners of its fields; serialized, and [as a
/// whole](Stored::whole), it has them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stored {
    object: Arc<Value>,
    owners: Option<Arc<Value>>,
}

impl Deref for Stored {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.object
    }
}

impl Stored {
    /// Combines an object without owners in its metadata with its owners.
    pub(crate) fn new(object: Value, owners: Option<Arc<Value>>) -> Self {
        Self { object: Arc::new(object), owners }
    }

    /// Separates an object from the owners in its metadata.
    pub(crate) fn split(mut object: Value) -> Self {
        let owners = Self::take_owners(&mut object).map(Arc::new);
        Self::new(object, owners)
    }

    /// Removes the owners from the metadata of a tree, and returns them.
    pub(crate) fn take_owners(object: &mut Value) -> Option<Value> {
        object.get_mut("metadata")?.as_object_mut()?.remove(OWNERS)
    }

    /// Another tree with the same owners.
    pub(crate) fn with(&self, object: Value) -> Self {
        Self::new(object, self.owners.clone())
    }

    /// A Lease as a client with a wrong clock reads it.
    pub(crate) fn skewed(&self, skew: ClockSkew) -> Self {
        let mut lease = (*self.object).clone();
        skew.skew_shown(&mut lease);
        self.with(lease)
    }

    /// The owners of its fields: the value of `metadata.managedFields`.
    pub(crate) fn owners(&self) -> Option<&Arc<Value>> {
        self.owners.as_ref()
    }

    /// The object without the owners of its fields, shared.
    pub fn tree(&self) -> Arc<Value> {
        Arc::clone(&self.object)
    }

    /// The object with the owners in its metadata. An object without owners is shared, not copied.
    pub fn whole(&self) -> Arc<Value> {
        match &self.owners {
            None => Arc::clone(&self.object),
            Some(_) => Arc::new(self.to_value()),
        }
    }

    /// A copy of the object with the owners in its metadata.
    pub fn to_value(&self) -> Value {
        joined(&self.object, self.owners.as_deref())
    }

    /// Its metadata with the owners, for serialization.
    pub(crate) fn metadata(&self) -> GoOrder<'_> {
        GoOrder::metadata(&self.object["metadata"], self.owners.as_deref())
    }

    /// The object with the owners, for serialization in the order of Go.
    pub(crate) fn in_go_order(&self) -> GoOrder<'_> {
        GoOrder::owned(&self.object, self.owners.as_deref())
    }
}

/// Copies an object and puts the owners into its metadata.
pub(crate) fn joined(object: &Value, owners: Option<&Value>) -> Value {
    let mut object = object.clone();
    if let Some(owners) = owners {
        metadata::metadata_mut(&mut object).insert(OWNERS.to_owned(), owners.clone());
    }
    object
}

impl Serialize for Stored {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.in_go_order().serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn split_object_serializes_like_the_original() {
        for metadata in
            [json!({ "labels": {}, "managedFields": [{ "manager": "m" }], "name": "n" }), json!({}), json!(1)]
        {
            let object = json!({ "kind": "K", "metadata": metadata, "spec": [1] });
            let stored = Stored::split(object.clone());
            assert!(stored["metadata"].get("managedFields").is_none());
            assert_eq!(*stored.whole(), object);
            assert_eq!(serde_json::to_value(&stored).unwrap(), object);
            assert_eq!(serde_json::to_value(stored.metadata()).unwrap(), object["metadata"]);
        }
    }
}
