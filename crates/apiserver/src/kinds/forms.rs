//! The forms of an object: stored, served, and used for writes.

use serde_json::Value;

use super::Kind;
use super::custom::has_api_version;
use crate::store::{Entry, Stored};

impl Kind {
    /// A stored object as a version of its kind serves it. The storage version shares the object with the store.
    pub(crate) fn served(&self, entry: &Entry) -> Stored {
        self.serve_stored(&entry.served())
    }

    /// A stored object in the form in which writes of this version compare and merge it: the stored form for built-in
    /// kinds, the served form for custom resources.
    pub(crate) fn written_form(&self, entry: &Entry) -> Stored {
        if self.custom.is_none() { entry.served() } else { self.served(entry) }
    }

    /// Converts an object from [`written_form`](Self::written_form) to the form that a version of its kind serves.
    pub(crate) fn served_form(&self, object: &Stored) -> Stored {
        if self.custom.is_none() { self.as_served(object) } else { object.clone() }
    }

    /// Converts an object to the storage version. A custom resource of another version gets the defaults that every read of
    /// the stored object fills in.
    pub(crate) fn to_storage(&self, object: Value) -> Value {
        match &self.custom {
            Some(custom) if !custom.version.storage => {
                let storage = &custom.family.storage;
                let mut converted = custom.convert(&object, storage, &self.resource.group);
                if has_api_version(&converted, &self.resource.group, &storage.name) {
                    storage.complete(&mut converted);
                }
                converted
            }
            _ => object,
        }
    }

    /// Converts an object from the storage version to the form that a version of its kind serves.
    pub(crate) fn serve_stored(&self, stored: &Stored) -> Stored {
        match &self.custom {
            // With a conversion webhook, the stored object may still be of an earlier storage version.
            Some(custom) if custom.family.conversion.is_some() => {
                Stored::split(self.convert(&stored.to_value()))
            }
            Some(custom) if !custom.version.storage => stored.with(self.convert(stored)),
            Some(_) => stored.clone(),
            None => self.as_served(stored),
        }
    }
}
