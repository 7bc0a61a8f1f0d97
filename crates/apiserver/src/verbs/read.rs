//! The verb `get`.

use crate::call::RequestInfo;
use crate::gotext::quote;
use crate::names::path_segment;
use crate::rejection::{BoxedRejection, Outcome};
use crate::reply::Reply;
use crate::request::options;
use crate::store::{Entry, Store, Stored};
use crate::watch::lines::convert_event_object;

/// Rejects a path with an empty namespace.
pub(super) fn check_namespace(info: &RequestInfo<'_>) -> Outcome<()> {
    if info.path.has_empty_namespace {
        return Err(BoxedRejection::bad_request("Namespace parameter required."));
    }
    Ok(())
}

/// Answers a get.
pub(crate) fn get(store: &Store, info: &RequestInfo<'_>) -> Outcome<Reply> {
    info.check_subresource()?;
    check_version(store, info.request.query.get("resourceVersion"))?;
    if let Some(past) = object_in_the_past(store, info) {
        return past.map(|object| Reply::object(200, object));
    }
    Ok(Reply::object(200, info.kind.served(info.entry(store)?)))
}

/// The object that a read of the cache shows a client that sees the past, or 404 if it did not exist; `None` if the
/// object is as in the present.
fn object_in_the_past(store: &Store, info: &RequestInfo<'_>) -> Option<Outcome<Stored>> {
    let mut later = store.table(info.kind.table).history.since(info.past?).ok()?;
    let (namespace, name) = (&*info.path.namespace, &*info.path.name);
    let event = later.find(|event| event.key.namespace == namespace && event.key.name == name)?;
    let old = event.old.as_ref().map(|old| convert_event_object(&info.kind, event, old));
    Some(old.ok_or_else(|| BoxedRejection::not_found(&info.kind.named_in_errors(), name)))
}

/// Rejects a get of an object at a resource version in the future.
fn check_version(store: &Store, text: &str) -> Outcome<()> {
    let asked = options::version(text).map_err(|why| {
        BoxedRejection::internal(format!("resourceVersion: Invalid value: {}: {why}", quote(text)))
    })?;
    match asked.filter(|asked| *asked > store.revision()) {
        Some(asked) => Err(BoxedRejection::too_large_version(asked, store.revision())),
        None => Ok(()),
    }
}

impl RequestInfo<'_> {
    /// The stored object that a request is for.
    pub(crate) fn entry<'s>(&self, store: &'s Store) -> Outcome<&'s Entry> {
        check_namespace(self)?;
        let found = store.get(self.kind.table, &self.path.namespace, &self.path.name);
        if found.is_none() {
            let problems = path_segment(&self.path.name);
            if !problems.is_empty() {
                let (name, why) = (quote(&self.path.name), problems.join(";"));
                return Err(BoxedRejection::bad_request(format!("Name parameter invalid: {name}: {why}")));
            }
        }
        let entry =
            found.ok_or_else(|| BoxedRejection::not_found(&self.kind.named_in_errors(), &self.path.name))?;
        if let Some(custom) = &self.kind.custom {
            custom.family.check_readable(entry)?;
        }
        Ok(entry)
    }
}
