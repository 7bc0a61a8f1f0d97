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
        Self::just_stored(kind, &entry.served())
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
                custom.convert(&object, &custom.family.storage, &kind.resource.group)
            }
            _ => object,
        }
    }

    /// What was just stored, as a version of its kind serves it.
    pub(crate) fn just_stored(kind: &Kind, stored: &Arc<Value>) -> Arc<Value> {
        match &kind.custom {
            // With a webhook, what was stored before the storage version changed waits for its conversion.
            Some(custom) if !custom.version.storage || custom.family.conversion.is_some() => {
                Arc::new(kind.convert(stored))
            }
            Some(_) => Arc::clone(stored),
            None => kind.shown(stored),
        }
    }

    /// An object in its storage version, once all conversions that storing and answering it takes are known.
    pub(crate) fn settled(&self, call: &mut Call<'_>, object: Value) -> Outcome<Value> {
        let kind = Arc::clone(&call.kind);
        let object = Self::to_storage(&kind, object);
        if kind.conversion().is_some() {
            let _ = kind.convert(&object);
            self.settle(call)?;
        }
        Ok(object)
    }
}
