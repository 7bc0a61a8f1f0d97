//! An object as the store shares it: its tree, and beside it who owns its fields.
//!
//! The owners (`metadata.managedFields`) make a tree as large as the object itself, and most writes leave them as they are.
//! So the versions of an object share them, and they come into its metadata only where somebody looks at the whole.

use std::ops::Deref;
use std::sync::Arc;

use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::Value;

use crate::metadata;

/// The name of the owners of fields among the metadata.
const OWNERS: &str = "managedFields";

/// An object, shared. As a [`Value`] it has everything but the owners of its fields; serialized, and [as a
/// whole](Stored::whole), it has these too.
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
    /// An object whose metadata has no owners, and these beside it.
    pub(crate) fn new(object: Value, owners: Option<Arc<Value>>) -> Self {
        Self { object: Arc::new(object), owners }
    }

    /// Takes the owners out of an object's metadata.
    pub(crate) fn split(mut object: Value) -> Self {
        let owners = Self::take_owners(&mut object).map(Arc::new);
        Self::new(object, owners)
    }

    /// Takes the owners out of the metadata of a tree, if there are any.
    pub(crate) fn take_owners(object: &mut Value) -> Option<Value> {
        object.get_mut("metadata")?.as_object_mut()?.remove(OWNERS)
    }

    /// Another tree with the same owners.
    pub(crate) fn with(&self, object: Value) -> Self {
        Self::new(object, self.owners.clone())
    }

    /// The owners of its fields, as `metadata.managedFields` has them.
    pub(crate) fn owners(&self) -> Option<&Arc<Value>> {
        self.owners.as_ref()
    }

    /// The object without the owners of its fields, shared.
    pub fn tree(&self) -> Arc<Value> {
        Arc::clone(&self.object)
    }

    /// The object with the owners in its metadata. Without any it is shared.
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

    /// Its metadata with the owners, to be serialized.
    pub(crate) fn metadata(&self) -> impl Serialize {
        Metadata { metadata: &self.object["metadata"], owners: self.owners.as_deref() }
    }

    /// Serializes the object with those of its fields alone that are shown.
    pub(crate) fn serialize_fields<S: Serializer>(
        &self,
        shown: impl Fn(&str) -> bool,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let Value::Object(fields) = &*self.object else { return self.object.serialize(serializer) };
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in fields.iter().filter(|(name, _)| shown(name)) {
            if name == "metadata" {
                map.serialize_entry(name, &self.metadata())?;
            } else {
                map.serialize_entry(name, value)?;
            }
        }
        map.end()
    }
}

/// A copy of an object with these owners in its metadata.
pub(crate) fn joined(object: &Value, owners: Option<&Value>) -> Value {
    let mut object = object.clone();
    if let Some(owners) = owners {
        metadata::metadata_mut(&mut object).insert(OWNERS.to_owned(), owners.clone());
    }
    object
}

impl Serialize for Stored {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.owners {
            Some(_) => self.serialize_fields(|_| true, serializer),
            None => self.object.serialize(serializer),
        }
    }
}

/// Metadata, with owners in their place of the alphabet.
struct Metadata<'a> {
    metadata: &'a Value,
    owners: Option<&'a Value>,
}

impl Serialize for Metadata<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (Value::Object(fields), Some(owners)) = (self.metadata, self.owners) else {
            return self.metadata.serialize(serializer);
        };
        let before = fields.iter().filter(|(name, _)| name.as_str() < OWNERS);
        let after = fields.iter().filter(|(name, _)| name.as_str() > OWNERS);
        let mut map = serializer.serialize_map(Some(fields.len() + 1))?;
        before.into_iter().try_for_each(|(name, value)| map.serialize_entry(name, value))?;
        map.serialize_entry(OWNERS, owners)?;
        after.into_iter().try_for_each(|(name, value)| map.serialize_entry(name, value))?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_is_written_as_if_its_owners_had_never_left_it() {
        for metadata in
            [json!({ "labels": {}, "managedFields": [{ "manager": "m" }], "name": "n" }), json!({}), json!(1)]
        {
            let object = json!({ "kind": "K", "metadata": metadata, "spec": [1] });
            let stored = Stored::split(object.clone());
            assert!(stored["metadata"].get("managedFields").is_none());
            assert_eq!(*stored.whole(), object);
            assert_eq!(serde_json::to_string(&stored).unwrap(), object.to_string());
            assert_eq!(serde_json::to_string(&stored.metadata()).unwrap(), object["metadata"].to_string());
        }
    }
}
