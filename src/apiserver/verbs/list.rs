//! Lists: selectors, pages and resource versions.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::apiserver::call::Call;
use crate::apiserver::options;
use crate::apiserver::reply::{List, Reply, ReplyBody};
use crate::apiserver::selector::{Continue, Selector};
use crate::apiserver::server::ApiServer;
use crate::apiserver::status::{Outcome, Refused};

const PAGE_EXPIRED: &str = "The provided continue parameter is too old to display a consistent list result. You can \
    start a new list without the continue parameter, or use the continue token in this response to retrieve the \
    remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were \
    created, modified, or deleted between the time the first chunk was returned and now may show up in the list.";

impl ApiServer {
    pub(crate) fn list(&self, call: &Call<'_>) -> Outcome<Reply> {
        let query = &call.request.query;
        let kind = &call.kind;
        options::check_list(query, false, &self.profile)?;
        let selector = Selector::read(kind, query)?;
        let limit = usize::try_from(options::integer(query, "limit")?).unwrap_or(0);
        let asked = self.asked_version(query.get("resourceVersion"))?;
        let page = Continue::read(query.get("continue"))?;
        if page.is_some() && !matches!(asked, None | Some(0)) {
            return Err(Refused::bad_request(
                "specifying resource version is not allowed when using continue",
            ));
        }
        if let Some(page) = &page {
            self.check_page(page)?;
        }
        // A list from the cache does not know pages.
        let limit = if asked == Some(0) { 0 } else { limit };
        let after = page.as_ref().map(|page| page.start.as_str());
        let mut rest = self
            .store
            .list(kind.table, &call.path.namespace)
            .filter(|(namespace, name, _)| after.is_none_or(|after| place(namespace, name).as_str() > after))
            .map(|(namespace, name, entry)| ((namespace, name), Self::served(kind, entry)))
            .filter(|(_, object)| selector.matches(object));
        let taken: Vec<((&str, &str), Arc<Value>)> = match limit {
            0 => rest.by_ref().collect(),
            limit => rest.by_ref().take(limit).collect(),
        };
        let remaining = rest.count();
        let revision = page.as_ref().map_or(self.store.revision(), |page| page.revision);
        let mut metadata = json!({ "resourceVersion": revision.to_string() });
        if kind.custom.is_some() {
            metadata["continue"] = json!("");
        }
        if let Some(((namespace, name), _)) = taken.last().filter(|_| remaining > 0) {
            metadata["continue"] = json!(Continue { revision, start: place(namespace, name) }.token());
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
            }),
        ))
    }

    /// The resource version asked for; the future is refused.
    fn asked_version(&self, text: &str) -> Outcome<Option<u64>> {
        let asked = options::version(text).map_err(|why| {
            let value = crate::apiserver::gotext::quote(text);
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

    /// A page must be from a revision that history still holds. What changed since the first page shows all the same:
    /// there are no snapshots.
    fn check_page(&self, page: &Continue) -> Outcome<()> {
        if self.store.all().since(page.revision).is_err() {
            return Err(Refused::expired(PAGE_EXPIRED));
        }
        Ok(())
    }
}

/// Where an object stands in the order of a list.
fn place(namespace: &str, name: &str) -> String {
    if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") }
}
