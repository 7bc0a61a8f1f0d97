//! Counts the requests of each user, by verb and resource.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::access::attributes::Attributes;
use crate::request::{Request, Via};

/// The most kinds of requests that are counted on their own. Later ones are counted without the name of the object, and
/// beyond twice as many not at all.
const LIMIT: usize = 20_000;

/// Separates the parts of a key. No name contains it.
const SEPARATOR: char = '\u{1f}';

/// How often a user asked for one thing.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestCount {
    /// The user.
    pub user: String,
    /// The verb, such as `get` or `deletecollection`; of a path, the method in lower case.
    pub verb: String,
    /// The API group; empty for the core group.
    pub group: String,
    /// The resource, such as `pods`; empty for a path.
    pub resource: String,
    /// The subresource, such as `status`, or empty.
    pub subresource: String,
    /// The namespace; empty for all namespaces and for cluster-scoped objects.
    pub namespace: String,
    /// The name of the object; empty for a collection.
    pub name: String,
    /// The path of a request for no resource, or empty.
    pub path: String,
    /// The number of allowed requests.
    pub allowed: u64,
    /// The number of requests that got 403.
    pub refused: u64,
}

/// The number of requests with one key.
#[derive(Debug, Clone, Copy, Default)]
struct Count {
    allowed: u64,
    refused: u64,
}

/// The requests that are counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Scope {
    #[default]
    None,
    /// Those of HTTP clients, without direct calls.
    Clients,
    All,
}

/// The requests so far; nothing unless they are counted.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counts {
    scope: Scope,
    /// The groups of each user at its first request.
    users: BTreeMap<String, Vec<String>>,
    requests: BTreeMap<String, Count>,
    /// Space for the key of a request.
    key: String,
}

impl Counts {
    /// Counts all requests from now on.
    pub(crate) fn begin(&mut self) {
        self.scope = Scope::All;
    }

    /// Counts the requests of HTTP clients from now on.
    pub(crate) fn begin_for_clients(&mut self) {
        self.scope = Scope::Clients;
    }

    fn counts(&self, via: Via) -> bool {
        match self.scope {
            Scope::None => false,
            Scope::Clients => via == Via::Client,
            Scope::All => true,
        }
    }

    /// Counts a request.
    pub(crate) fn add(&mut self, request: &Request<'_>, allowed: bool) {
        if !self.counts(request.via) {
            return;
        }
        let (who, asked) = (request.user, Attributes::from_request(request));
        let keeps_name = self.requests.len() < LIMIT;
        self.write_key(&who.user, &asked, if keeps_name { &asked.name } else { "" });
        let is_known = self.requests.contains_key(&self.key);
        if !is_known && self.requests.len() < 2 * LIMIT {
            self.requests.insert(self.key.clone(), Count::default());
            if !self.users.contains_key(&who.user) {
                let groups = who.all_groups().map(str::to_owned).collect();
                self.users.insert(who.user.clone(), groups);
            }
        }
        if let Some(count) = self.requests.get_mut(&self.key) {
            *(if allowed { &mut count.allowed } else { &mut count.refused }) += 1;
        }
    }

    fn write_key(&mut self, user: &str, asked: &Attributes<'_>, name: &str) {
        let path = asked.path.as_deref().unwrap_or_default();
        let Attributes { verb, group, resource, subresource, namespace, .. } = asked;
        self.key.clear();
        for part in [user, verb, group, resource, subresource, namespace, name, path] {
            self.key.push_str(part);
            self.key.push(SEPARATOR);
        }
    }

    /// The users that sent a request, with their groups.
    pub(super) fn users(&self) -> &BTreeMap<String, Vec<String>> {
        &self.users
    }

    /// The requests so far, by user, verb and resource.
    pub(crate) fn all(&self) -> impl Iterator<Item = RequestCount> {
        self.requests.iter().map(|(key, count)| {
            let mut parts = key.split(SEPARATOR).map(str::to_owned);
            let mut part = || parts.next().unwrap_or_default();
            RequestCount {
                user: part(),
                verb: part(),
                group: part(),
                resource: part(),
                subresource: part(),
                namespace: part(),
                name: part(),
                path: part(),
                allowed: count.allowed,
                refused: count.refused,
            }
        })
    }
}

impl RequestCount {
    /// The access that the requests need, as authorizers see it.
    pub(super) fn attributes(&self) -> Attributes<'_> {
        Attributes {
            verb: Cow::Borrowed(&self.verb),
            group: Cow::Borrowed(&self.group),
            resource: Cow::Borrowed(&self.resource),
            subresource: Cow::Borrowed(&self.subresource),
            namespace: Cow::Borrowed(&self.namespace),
            name: Cow::Borrowed(&self.name),
            path: Some(Cow::Borrowed(self.path.as_str())).filter(|path| !path.is_empty()),
        }
    }
}
