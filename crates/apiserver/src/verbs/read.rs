//! The verb `get`.

use std::sync::Arc;

use serde_json::Value;

use crate::call::Call;
use crate::gotext::quote;
use crate::names::path_segment;
use crate::rejection::{BoxedRejection, Outcome};
use crate::reply::Reply;
use crate::reply::watch_stream::convert_event_object;
use crate::request::options;
use crate::server::ApiServer;
use crate::store::{Entry, Stored, joined};

/// Rejects a path with an empty namespace.
pub(super) fn check_namespace(call: &Call<'_>) -> Outcome<()> {
    if call.path.has_empty_namespace {
        return Err(BoxedRejection::bad_request("Namespace parameter required."));
    }
    Ok(())
}

impl ApiServer {
    pub(crate) fn get(&self, call: &Call<'_>) -> Outcome<Reply> {
        call.check_subresource()?;
        self.check_version(call.request.query.get("resourceVersion"))?;
        if let Some(past) = self.object_in_the_past(call) {
            return past.map(|object| Reply::object(200, object));
        }
        let entry = self.entry(call)?;
        Ok(Reply::object(200, call.kind.served(entry)))
    }

    /// The object that a read of the cache shows a client that sees the past, or 404 if it did not exist; `None` if the
    /// object is as in the present.
    fn object_in_the_past(&self, call: &Call<'_>) -> Option<Outcome<Stored>> {
        let mut later = self.store.table(call.kind.table).history.since(call.past?).ok()?;
        let (namespace, name) = (&*call.path.namespace, &*call.path.name);
        let event = later.find(|event| event.key.namespace == namespace && event.key.name == name)?;
        let old = event.old.as_ref().map(|old| convert_event_object(&call.kind, event, old));
        Some(old.ok_or_else(|| BoxedRejection::not_found(&call.kind.named_in_errors(), name)))
    }

    /// Rejects a get of an object at a resource version in the future.
    fn check_version(&self, text: &str) -> Outcome<()> {
        let asked = options::version(text).map_err(|why| {
            BoxedRejection::internal(format!("resourceVersion: Invalid value: {}: {why}", quote(text)))
        })?;
        match asked.filter(|asked| *asked > self.store.revision()) {
            Some(asked) => Err(BoxedRejection::too_large_version(asked, self.store.revision())),
            None => Ok(()),
        }
    }

    /// The stored object that a call is for.
    pub(crate) fn entry(&self, call: &Call<'_>) -> Outcome<&Entry> {
        check_namespace(call)?;
        let found = self.store.get(call.kind.table, &call.path.namespace, &call.path.name);
        if found.is_none() {
            let problems = path_segment(&call.path.name);
            if !problems.is_empty() {
                let (name, why) = (quote(&call.path.name), problems.join(";"));
                return Err(BoxedRejection::bad_request(format!("Name parameter invalid: {name}: {why}")));
            }
        }
        let entry =
            found.ok_or_else(|| BoxedRejection::not_found(&call.kind.named_in_errors(), &call.path.name))?;
        if let Some(custom) = &call.kind.custom {
            custom.family.check_readable(entry)?;
        }
        Ok(entry)
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
            return Ok(kind.to_storage(object));
        }
        let mut object = kind.to_storage(joined(&object, owners));
        let _ = kind.convert(&object);
        self.run_wanted_conversions(call)?;
        Stored::take_owners(&mut object);
        Ok(object)
    }
}
