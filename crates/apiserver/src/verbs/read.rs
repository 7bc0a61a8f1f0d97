//! The verb `get`, and the forms of an object: stored, served, and used for writes.

use std::sync::Arc;

use serde_json::Value;

use crate::kinds::Kind;
use crate::pipeline::call::Call;
use crate::reply::Reply;
use crate::server::ApiServer;
use crate::status::{Outcome, Refused};
use crate::store::{Entry, Stored, joined};

impl ApiServer {
    pub(crate) fn get(&self, call: &Call<'_>) -> Outcome<Reply> {
        call.check_subresource()?;
        let entry = self.entry(call)?;
        Ok(Reply::object(200, Self::served(&call.kind, entry)))
    }

    /// The stored object that a call is for.
    pub(crate) fn entry(&self, call: &Call<'_>) -> Outcome<&Entry> {
        let found = self.store.get(call.kind.table, &call.path.namespace, &call.path.name);
        found.ok_or_else(|| Refused::not_found(&call.kind.resource, &call.path.name))
    }

    /// A stored object as a version of its kind serves it. The storage version shares the object with the store.
    pub(crate) fn served(kind: &Kind, entry: &Entry) -> Stored {
        Self::from_storage(kind, &entry.served())
    }

    /// A stored object in the form in which writes of this version compare and merge it: the stored form for built-in
    /// kinds, the served form for custom resources.
    pub(crate) fn written_form(kind: &Kind, entry: &Entry) -> Stored {
        if kind.custom.is_none() { entry.served() } else { Self::served(kind, entry) }
    }

    /// Converts an object from [`written_form`](Self::written_form) to the form that a version of its kind serves.
    pub(crate) fn served_form(kind: &Kind, object: &Stored) -> Stored {
        if kind.custom.is_none() { kind.as_served(object) } else { object.clone() }
    }

    /// Converts an object to the storage version.
    pub(crate) fn to_storage(kind: &Kind, object: Value) -> Value {
        match &kind.custom {
            Some(custom) if !custom.version.storage => {
                custom.convert(&object, &custom.family.storage, &kind.resource.group)
            }
            _ => object,
        }
    }

    /// Converts an object from the storage version to the form that a version of its kind serves.
    pub(crate) fn from_storage(kind: &Kind, stored: &Stored) -> Stored {
        match &kind.custom {
            // With a conversion webhook, the stored object may still be of an earlier storage version.
            Some(custom) if custom.family.conversion.is_some() => {
                Stored::split(kind.convert(&stored.to_value()))
            }
            Some(custom) if !custom.version.storage => stored.with(kind.convert(stored)),
            Some(_) => stored.clone(),
            None => kind.as_served(stored),
        }
    }

    /// Converts an object to the storage version, and runs all conversions that storing and returning it needs. Conversion
    /// webhooks also see the owners of its fields.
    pub(crate) fn convert_for_storage(
        &self,
        call: &mut Call<'_>,
        object: Value,
        owners: Option<&Value>,
    ) -> Outcome<Value> {
        let kind = Arc::clone(&call.kind);
        if kind.conversion().is_none() {
            return Ok(Self::to_storage(&kind, object));
        }
        let mut object = Self::to_storage(&kind, joined(&object, owners));
        let _ = kind.convert(&object);
        self.run_wanted_conversions(call)?;
        Stored::take_owners(&mut object);
        Ok(object)
    }
}
