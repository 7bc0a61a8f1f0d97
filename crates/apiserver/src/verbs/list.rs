//! Lists: selectors, pages and resource versions.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use crate::call::Call;
use crate::held::Held;
use crate::options;
use crate::reply::{List, Reply, ReplyBody};
use crate::request::Query;
use crate::selector::{Continue, Selector};
use crate::server::ApiServer;
use crate::status::{Outcome, Refused};
use crate::store::Entry;
use crate::watch::read_anew;

const EXPIRED: &str = "The resourceVersion for the provided list is too old.";
const PAGE_EXPIRED: &str = "The provided continue parameter is too old to display a consistent list result. You can \
    start a new list without the continue parameter, or use the continue token in this response to retrieve the \
    remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were \
    created, modified, or deleted between the time the first chunk was returned and now may show up in the list.";

/// An object under its namespace and name.
type Named<'a> = ((&'a str, &'a str), Held);

impl ApiServer {
    pub(crate) fn list(&self, call: &Call<'_>) -> Outcome<Reply> {
        let query = &call.request.query;
        let kind = &call.kind;
        options::list::check(query, false, &self.profile)?;
        let selector = Selector::parse(kind, query)?;
        let limit = usize::try_from(options::integer(query, "limit")?).unwrap_or(0);
        options::integer(query, "timeoutSeconds")?;
        let page = Continue::parse(query.get("continue"))?;
        // Pages come from behind the cache, where the token is looked at first and the version is not read.
        if page.is_some() && !matches!(query.get("resourceVersion"), "" | "0") {
            return Err(Refused::bad_request(
                "specifying resource version is not allowed when using continue",
            ));
        }
        let asked = self.asked_version(query.get("resourceVersion"))?;
        // A list from the cache does not know pages.
        let limit = if asked == Some(0) { 0 } else { limit };
        let past = match (&page, asked) {
            (Some(page), _) => page.revision,
            (None, Some(asked)) if asked > 0 && is_exact(query, limit) => Some(asked),
            _ => None,
        };
        let mut objects = match past {
            Some(revision) => self.objects_at(call, revision, page.as_ref())?,
            None => self.objects_now(call, selector.name()),
        };
        objects.sort_by(|(one, _), (other, _)| by_storage_key(*one, *other));
        let after = page.as_ref().map(|page| page.start.split_once('/').unwrap_or(("", &page.start)));
        let mut rest = objects
            .into_iter()
            .filter(|(place, _)| after.is_none_or(|after| by_storage_key(*place, after).is_gt()))
            .filter(|(_, object)| selector.is_everything() || selector.matches(&object.tree()));
        let taken: Vec<Named<'_>> = match limit {
            0 => rest.by_ref().collect(),
            limit => rest.by_ref().take(limit).collect(),
        };
        // Nobody is told how many more a selector would choose, only whether there are any.
        let remaining =
            if selector.is_everything() { rest.count() } else { usize::from(rest.next().is_some()) };
        let revision = past.unwrap_or(self.store.shown(call.kind.table));
        let mut metadata = json!({ "resourceVersion": revision.to_string() });
        if kind.custom.is_some() {
            metadata["continue"] = json!("");
        }
        if let Some(((namespace, name), _)) = taken.last().filter(|_| remaining > 0) {
            metadata["continue"] =
                json!(Continue { revision: Some(revision), start: place(namespace, name) }.token());
            if selector.is_everything() {
                metadata["remainingItemCount"] = json!(remaining);
            }
        }
        Ok(Reply::new(
            200,
            ReplyBody::List(List {
                api_version: kind.resource.api_version(),
                kind: kind.list_kind.clone(),
                metadata,
                items: taken.into_iter().map(|(_, object)| object).collect(),
                typed_items: kind.custom.is_some(),
                metadata_only: None,
            }),
        ))
    }

    /// The resource version asked for; the future is refused.
    fn asked_version(&self, text: &str) -> Outcome<Option<u64>> {
        let asked = options::version(text).map_err(|why| {
            let value = crate::gotext::quote(text);
            Refused::bad_request(format!(
                "invalid resource version: resourceVersion: Invalid value: {value}: {why}"
            ))
        })?;
        match asked {
            Some(asked) if asked > self.store.revision() => {
                Err(Refused::too_large_version(asked, self.store.revision()))
            }
            _ => Ok(asked),
        }
    }

    /// The objects as they are; only those of a name, if there is one.
    pub(super) fn objects_now<'a>(&'a self, call: &'a Call<'_>, name: Option<&'a str>) -> Vec<Named<'a>> {
        let (table, namespace) = (call.kind.table, &*call.path.namespace);
        let shown = |(namespace, name, entry): (&'a str, &'a str, &'a Entry)| {
            ((namespace, name), Held::of(&call.kind, entry))
        };
        match name {
            Some(name) => self.store.named(table, namespace, name).map(shown).collect(),
            None => self.store.list(table, namespace).map(shown).collect(),
        }
    }

    /// The objects as they were at a revision: those of now, with what happened since taken back.
    fn objects_at<'a>(
        &'a self,
        call: &'a Call<'_>,
        revision: u64,
        page: Option<&Continue>,
    ) -> Outcome<Vec<Named<'a>>> {
        let (kind, namespace) = (&call.kind, &*call.path.namespace);
        let events = self.store.table(kind.table).history.since(revision).map_err(|_| expired(page))?;
        let mut objects: BTreeMap<_, _> = self.objects_now(call, None).into_iter().collect();
        let mut seen = BTreeSet::new();
        for event in events.filter(|event| namespace.is_empty() || event.key.namespace == namespace) {
            let key = (&*event.key.namespace, &*event.key.name);
            // The first event after the revision knows what was there before it.
            if !seen.insert(key) {
                continue;
            }
            match &event.old {
                Some(old) => objects.insert(key, Held::Shown(read_anew(kind, event, old))),
                None => objects.remove(&key),
            };
        }
        Ok(objects.into_iter().collect())
    }
}

/// 410 of a list. Who was reading pages gets a token with which to go on, though what follows may not fit what was read.
fn expired(page: Option<&Continue>) -> Refused {
    let Some(page) = page else { return Refused::expired(EXPIRED) };
    let mut refused = Refused::expired(PAGE_EXPIRED);
    refused.resume = Some(Continue { revision: None, start: page.start.clone() }.token());
    refused
}

/// Whether a list with a resource version wants the state of exactly that.
fn is_exact(query: &Query, limit: usize) -> bool {
    match query.get("resourceVersionMatch") {
        "" => limit > 0,
        matching => matching == "Exact",
    }
}

/// The order of `namespace/name`, which is not that of namespaces: `a-b/x` comes before `a/x`.
fn by_storage_key(one: (&str, &str), other: (&str, &str)) -> Ordering {
    fn key<'a>((namespace, name): (&'a str, &'a str)) -> impl Iterator<Item = u8> + 'a {
        namespace.bytes().chain([b'/']).chain(name.bytes())
    }
    if one.0 == other.0 { one.1.cmp(other.1) } else { key(one).cmp(key(other)) }
}

/// Where an object stands in the order of a list.
fn place(namespace: &str, name: &str) -> String {
    if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") }
}
