//! The verb `list`: selectors, pages and resource versions.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::call::RequestInfo;
use crate::profile::{Profile, since};
use crate::rejection::{BoxedRejection, Outcome};
use crate::reply::lazy_object::LazyObject;
use crate::reply::{List, Reply, ReplyBody};
use crate::request::Query;
use crate::request::options;
use crate::selector::{Continue, Selector};
use crate::server::ApiServer;
use crate::store::{Entry, Store, TableId};
use crate::watch::lines::convert_event_object;

const EXPIRED: &str = "The resourceVersion for the provided list is too old.";
const PAGE_EXPIRED: &str = "The provided continue parameter is too old to display a consistent list result. You can \
    start a new list without the continue parameter, or use the continue token in this response to retrieve the \
    remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were \
    created, modified, or deleted between the time the first chunk was returned and now may show up in the list.";

/// An object under its namespace and name.
type Named<'a> = ((&'a str, &'a str), LazyObject);

/// A page of objects.
pub(super) struct Listed<'a> {
    pub(super) objects: Vec<Named<'a>>,
    /// The metadata of the list.
    pub(super) metadata: Value,
}

impl<'a> Listed<'a> {
    /// Takes the first matching objects of a list in a namespace or in all, and describes how to continue. A limit of 0 is none.
    fn take(
        objects: Vec<Named<'a>>,
        limit: usize,
        selector: &Selector,
        info: &RequestInfo<'_>,
        revision: u64,
    ) -> Self {
        let mut rest = objects.into_iter();
        let matching =
            rest.by_ref().filter(|(_, object)| selector.is_everything() || selector.matches(&object.load()));
        let taken: Vec<Named<'_>> = matching.take(if limit == 0 { usize::MAX } else { limit }).collect();
        // A list also continues if none of the other objects matches.
        let remaining = rest.count();
        let mut metadata = json!({ "resourceVersion": revision.to_string() });
        if info.kind.custom.is_some() {
            metadata["continue"] = json!("");
        }
        if let Some((last, _)) = taken.last().filter(|_| remaining > 0) {
            let start = start_after(&info.path.namespace, *last);
            metadata["continue"] = json!(Continue { revision: Some(revision), start }.token());
            if selector.is_everything() {
                metadata["remainingItemCount"] = json!(remaining);
            }
        }
        Self { objects: taken, metadata }
    }
}

/// The parts of a server that lists read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lister<'a> {
    store: &'a Store,
    profile: &'a Profile,
    /// The table of Events.
    events: TableId,
}

impl<'a> Lister<'a> {
    pub(crate) fn of(server: &'a ApiServer) -> Self {
        Self { store: &server.store, profile: &server.profile, events: server.tables.events }
    }

    /// Answers a list.
    pub(crate) fn list(self, info: &RequestInfo<'_>) -> Outcome<Reply> {
        let kind = &info.kind;
        let mut selector = Selector::of_options(kind, &info.request.query, false, self.profile)?;
        selector.only_visible(info.visible.as_ref());
        let listed = self.listed(info, &selector, 0)?;
        Ok(Reply::new(
            200,
            ReplyBody::List(List {
                api_version: kind.resource.api_version(),
                kind: kind.list_kind.clone(),
                metadata: listed.metadata,
                items: listed.objects.into_iter().map(|(_, object)| object).collect(),
                typed_items: kind.custom.is_some(),
                metadata_only: None,
            }),
        ))
    }

    /// The page of objects that a request asks for. Without a limit in the request, `page_size` limits it unless that is 0.
    pub(super) fn listed(
        self,
        info: &'a RequestInfo<'_>,
        selector: &Selector,
        page_size: usize,
    ) -> Outcome<Listed<'a>> {
        let query = &info.request.query;
        let limit = match usize::try_from(options::integer(query, "limit")?).unwrap_or(0) {
            0 => page_size,
            limit => limit,
        };
        let page = Continue::parse(query.get("continue"), self.profile.minor)?;
        // A real server reads pages from etcd, past its cache, and then checks the token before the version.
        if page.is_some() && !matches!(query.get("resourceVersion"), "" | "0") {
            return Err(BoxedRejection::bad_request(
                "specifying resource version is not allowed when using continue",
            ));
        }
        let requested = self.requested_version(info)?;
        // A real server serves version 0 from its cache, which ignores the limit.
        let limit = if requested == Some(0) { 0 } else { limit };
        let future =
            page.as_ref().and_then(|page| page.revision).filter(|asked| *asked > self.store.revision());
        if let Some(asked) = future {
            return Err(BoxedRejection::too_large_version(asked, self.store.revision()).without_retry());
        }
        let past = match (&page, requested) {
            (Some(page), _) => page.revision,
            (None, Some(requested)) if requested > 0 && is_exact(query, limit) => Some(requested),
            _ => None,
        };
        if let Some(custom) = &info.kind.custom {
            let entries = self.store.list(info.kind.table, &info.path.namespace);
            custom.family.check_all_readable(entries.map(|(_, _, entry)| entry))?;
        }
        let cached = if past.is_none() && page.is_none() { self.cached_objects(info) } else { None };
        let (mut objects, past) = match (past, cached) {
            (Some(revision), _) => (self.objects_at(info, revision, page.as_ref())?, Some(revision)),
            (None, Some((objects, revision))) => (objects, Some(revision)),
            (None, None) => (self.current_objects(info, selector.name()), None),
        };
        objects.sort_by(|(left, _), (right, _)| by_storage_key(*left, *right));
        if let Some(page) = &page {
            let namespace = &*info.path.namespace;
            objects.retain(|(key, _)| key_in_list(namespace, *key).cmp(page.start.bytes()).is_ge());
        }
        let revision = past.unwrap_or(self.store.table_revision(info.kind.table));
        Ok(Listed::take(objects, limit, selector, info, revision))
    }

    /// Parses the requested resource version, and rejects one in the future.
    pub(super) fn requested_version(self, info: &RequestInfo<'_>) -> Outcome<Option<u64>> {
        let text = info.request.query.get("resourceVersion");
        let requested = options::version(text).map_err(|why| {
            let value = crate::gotext::quote(text);
            let text = format!("resourceVersion: Invalid value: {value}: {why}");
            if self.profile.minor < since::LIST_VERSION_CHECKED {
                return BoxedRejection::internal(text);
            }
            BoxedRejection::bad_request(format!("invalid resource version: {text}"))
        })?;
        match requested {
            Some(requested) if requested > self.store.revision() => {
                let rejection = BoxedRejection::too_large_version(requested, self.store.revision());
                // Events have no cache, which would ask clients to retry.
                Err(if info.kind.table == self.events { rejection.without_retry() } else { rejection })
            }
            _ => Ok(requested),
        }
    }

    /// The current objects; with a name, only those of that name.
    pub(super) fn current_objects(self, info: &'a RequestInfo<'_>, name: Option<&str>) -> Vec<Named<'a>> {
        let (table, namespace) = (info.kind.table, &*info.path.namespace);
        let shown = |(namespace, name, entry): (&'a str, &'a str, &'a Entry)| {
            ((namespace, name), LazyObject::from_entry(&info.kind, entry))
        };
        match name {
            Some(name) => self.store.named(table, namespace, name).map(shown).collect(),
            None => self.store.list(table, namespace).map(shown).collect(),
        }
    }

    /// The objects that a read of the cache shows a client that sees the past, with their revision; `None` for the present,
    /// also if the history no longer has the past.
    pub(super) fn cached_objects(self, info: &'a RequestInfo<'_>) -> Option<(Vec<Named<'a>>, u64)> {
        let past = info.past?;
        Some((self.objects_at(info, past, None).ok()?, past))
    }

    /// The objects at a past revision: the current objects with all later changes reverted.
    fn objects_at(
        self,
        info: &'a RequestInfo<'_>,
        revision: u64,
        page: Option<&Continue>,
    ) -> Outcome<Vec<Named<'a>>> {
        let (kind, namespace) = (&info.kind, &*info.path.namespace);
        let events = self.store.table(kind.table).history.since(revision).map_err(|_| expired(page))?;
        let mut objects: BTreeMap<_, _> = self.current_objects(info, None).into_iter().collect();
        let mut seen = BTreeSet::new();
        for event in events.filter(|event| namespace.is_empty() || event.key.namespace == namespace) {
            let key = (&*event.key.namespace, &*event.key.name);
            // The first event after the revision has the state at the revision.
            if !seen.insert(key) {
                continue;
            }
            match &event.old {
                Some(old) => objects.insert(key, LazyObject::Loaded(convert_event_object(kind, event, old))),
                None => objects.remove(&key),
            };
        }
        Ok(objects.into_iter().collect())
    }
}

/// The 410 response of a list. For a list in pages it has a token to continue with, although the next pages may be
/// inconsistent with the previous ones.
fn expired(page: Option<&Continue>) -> BoxedRejection {
    let Some(page) = page else { return BoxedRejection::expired(EXPIRED) };
    let mut rejection = BoxedRejection::expired(PAGE_EXPIRED);
    rejection.resume = Some(Continue { revision: None, start: page.start.clone() }.token());
    rejection
}

/// Whether a list with a resource version must return the state at exactly that version.
fn is_exact(query: &Query, limit: usize) -> bool {
    match query.get("resourceVersionMatch") {
        "" => limit > 0,
        matching => matching == "Exact",
    }
}

/// Compares by `namespace/name`, as etcd does. This differs from comparing namespaces first: `a-b/x` comes before `a/x`.
fn by_storage_key(left: (&str, &str), right: (&str, &str)) -> Ordering {
    if left.0 == right.0 { left.1.cmp(right.1) } else { key_in_list("", left).cmp(key_in_list("", right)) }
}

/// The storage key of an object without the prefix of a list in a namespace, or in all.
fn key_in_list<'a>(list: &str, (namespace, name): (&'a str, &'a str)) -> impl Iterator<Item = u8> + 'a {
    let (namespace, separator) =
        if namespace.is_empty() || !list.is_empty() { ("", None) } else { (namespace, Some(b'/')) };
    namespace.bytes().chain(separator).chain(name.bytes())
}

/// The first key after that of an object, without the prefix of a list in a namespace, or in all.
fn start_after(list: &str, (namespace, name): (&str, &str)) -> String {
    let namespace = if namespace.is_empty() || !list.is_empty() { "" } else { &format!("{namespace}/") };
    format!("{namespace}{name}\u{0}")
}
