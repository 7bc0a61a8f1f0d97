//! Reading one object.

use std::sync::Arc;

use serde_json::Value;

use crate::apiserver::call::Call;
use crate::apiserver::kinds::Kind;
use crate::apiserver::reply::Reply;
use crate::apiserver::server::ApiServer;
use crate::apiserver::status::{Outcome, Refused};
use crate::apiserver::store::Entry;

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
    pub(crate) fn served(kind: &Kind, entry: &Entry) -> Arc<Value> {
        match &kind.custom {
            Some(custom) if !custom.version.storage => {
                Arc::new(custom.version.convert(&entry.served(), &kind.resource.group))
            }
            Some(_) => entry.served(),
            None => kind.shown(&entry.served()),
        }
    }

    /// The same in the form that writes of this version are compared and merged in: built-in kinds have one of their own.
    pub(crate) fn written_form(kind: &Kind, entry: &Entry) -> Arc<Value> {
        if kind.custom.is_none() { entry.served() } else { Self::served(kind, entry) }
    }

    /// An object in the form that writes are compared in, as a version of its kind shows it.
    pub(crate) fn shown_to(kind: &Kind, object: &Arc<Value>) -> Arc<Value> {
        if kind.custom.is_none() { kind.shown(object) } else { Arc::clone(object) }
    }

    /// An object as it goes into the store: in the storage version.
    pub(crate) fn to_storage(kind: &Kind, object: Value) -> Value {
        match &kind.custom {
            Some(custom) if !custom.version.storage => {
                custom.family.storage.convert(&object, &kind.resource.group)
            }
            _ => object,
        }
    }

    /// What was just stored, as a version of its kind serves it.
    pub(crate) fn just_stored(kind: &Kind, stored: &Arc<Value>) -> Arc<Value> {
        match &kind.custom {
            Some(custom) if !custom.version.storage => {
                Arc::new(custom.version.convert(stored, &kind.resource.group))
            }
            Some(_) => Arc::clone(stored),
            None => kind.shown(stored),
        }
    }
}
