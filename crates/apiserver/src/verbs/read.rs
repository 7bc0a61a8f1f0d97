//! Reading one object.

use std::sync::Arc;

use serde_json::Value;

use crate::call::Call;
use crate::kinds::Kind;
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

    /// A stored object as a version of its kind serves it. The storage version shares what the store holds.
    pub(crate) fn served(kind: &Kind, entry: &Entry) -> Stored {
        Self::just_stored(kind, &entry.served())
    }

    /// The same in the form that writes of this version are compared and merged in: built-in kinds have one of their own.
    pub(crate) fn written_form(kind: &Kind, entry: &Entry) -> Stored {
        if kind.custom.is_none() { entry.served() } else { Self::served(kind, entry) }
    }

    /// An object in the form that writes are compared in, as a version of its kind shows it.
    pub(crate) fn shown_to(kind: &Kind, object: &Stored) -> Stored {
        if kind.custom.is_none() { kind.as_served(object) } else { object.clone() }
    }

    /// An object as it goes into the store: in the storage version.
    pub(crate) fn to_storage(kind: &Kind, object: Value) -> Value {
        match &kind.custom {
            Some(custom) if !custom.version.storage => {
                custom.convert(&object, &custom.family.storage, &kind.resource.group)
            }
            _ => object,
        }
    }

    /// What was just stored, as a version of its kind serves it.
    pub(crate) fn just_stored(kind: &Kind, stored: &Stored) -> Stored {
        match &kind.custom {
            // With a webhook, what was stored before the storage version changed waits for its conversion.
            Some(custom) if custom.family.conversion.is_some() => {
                Stored::split(kind.convert(&stored.to_value()))
            }
            Some(custom) if !custom.version.storage => stored.with(kind.convert(stored)),
            Some(_) => stored.clone(),
            None => kind.as_served(stored),
        }
    }

    /// An object in its storage version, once all conversions that storing and answering it takes are known. Webhooks see
    /// the owners of its fields, too.
    pub(crate) fn settled(
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
