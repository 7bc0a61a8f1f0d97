//! Counts the requests of each user, by verb and resource, and the permissions that the server checked beside them.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use windtunnel_core::Identity;

use crate::access::attributes::Attributes;
use crate::request::{Request, Via};

/// The most kinds of requests that are counted on their own. Later ones are counted without the name of the object, and
/// beyond twice as many not at all.
const LIMIT: usize = 20_000;

/// Separates the parts of a key. No name contains it.
const SEPARATOR: char = '\u{1f}';

/// How often a user asked for one thing, by a request or by one that needed it as well.
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
    requests: Tally,
    checks: SharedChecks,
}

/// Numbers by user, verb and resource.
#[derive(Debug, Clone, Default)]
struct Tally {
    /// The groups of each user at its first request.
    users: BTreeMap<String, Vec<String>>,
    counts: BTreeMap<String, Count>,
    /// Space for a key.
    key: String,
}

/// Checks behind a lock: expressions of policies, which share the server, check permissions as well.
#[derive(Debug, Default)]
struct SharedChecks(Mutex<Checks>);

impl SharedChecks {
    /// The checks, for a caller that shares the server with nobody.
    fn get_mut(&mut self) -> &mut Checks {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, Checks> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clone for SharedChecks {
    fn clone(&self) -> Self {
        Self(Mutex::new(self.lock().clone()))
    }
}

/// The permissions that requests needed beside their own, such as `bind` or `approve`.
#[derive(Debug, Clone, Default)]
struct Checks {
    /// Whether those of the current request count.
    is_counted: bool,
    tally: Tally,
    /// Those of the current request, which each count once however often admission checks them.
    of_request: BTreeSet<String>,
    /// A permission that the current plug-in asked for and its user lacks: the user and the key.
    lacked: Option<(Identity, String)>,
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
        if self.counts(request.via) {
            self.requests.write_key(request.user, &Attributes::from_request(request));
            self.requests.count(request.user, allowed);
        }
    }

    /// Begins to count the permissions that a request needs beside its own. It `is_new` unless webhooks have answered.
    pub(crate) fn begin_checks(&mut self, request: &Request<'_>, is_new: bool) {
        let is_counted = self.counts(request.via);
        let checks = self.checks.get_mut();
        checks.is_counted = is_counted;
        if is_new {
            checks.of_request.clear();
        }
    }

    /// Counts a permission that the current request needs beside its own.
    pub(crate) fn add_check(&self, who: &Identity, asked: &Attributes<'_>, allowed: bool) {
        self.checks.lock().add(who, asked, allowed);
    }

    /// Notes a permission that a user lacks, in case that the plug-in that asks for it rejects the request.
    pub(crate) fn note_lacked(&mut self, who: &Identity, asked: &Attributes<'_>) {
        let checks = self.checks.get_mut();
        // A plug-in asks for all objects as well, before or after the one of the request.
        if checks.lacked.is_none() || !asked.name.ends_with('*') {
            checks.tally.write_key(who, asked);
            checks.lacked = Some((who.clone(), checks.tally.key.clone()));
        }
    }

    /// Forgets the permissions that the last plug-in asked for.
    pub(crate) fn begin_plugin(&mut self) {
        self.checks.get_mut().lacked = None;
    }

    /// Counts the permission whose lack made the current plug-in reject the request.
    pub(crate) fn count_lacked(&mut self) {
        let checks = self.checks.get_mut();
        if let Some((who, key)) = checks.lacked.take() {
            checks.tally.key = key;
            checks.count(&who, false);
        }
    }

    /// The users that sent a request or needed a permission for one, with their groups.
    pub(super) fn users(&self) -> BTreeMap<String, Vec<String>> {
        let mut users = self.checks.lock().tally.users.clone();
        users.extend(self.requests.users.clone());
        users
    }

    /// The requests so far, by user, verb and resource.
    pub(crate) fn all(&self) -> Vec<RequestCount> {
        self.requests.all().collect()
    }

    /// The permissions that requests needed beside their own.
    pub(super) fn all_checks(&self) -> Vec<RequestCount> {
        self.checks.lock().tally.all().collect()
    }
}

impl Checks {
    fn add(&mut self, who: &Identity, asked: &Attributes<'_>, allowed: bool) {
        self.tally.write_key(who, asked);
        self.count(who, allowed);
    }

    /// Counts what the key names, once for each request.
    fn count(&mut self, who: &Identity, allowed: bool) {
        let is_counted = self.is_counted && !who.is_privileged();
        if is_counted && self.of_request.insert(self.tally.key.clone()) {
            self.tally.count(who, allowed);
        }
    }
}

impl Tally {
    /// Counts what the key names.
    fn count(&mut self, who: &Identity, allowed: bool) {
        let is_known = self.counts.contains_key(&self.key);
        if !is_known && self.counts.len() < 2 * LIMIT {
            self.counts.insert(self.key.clone(), Count::default());
            if !self.users.contains_key(&who.user) {
                let groups = who.all_groups().map(str::to_owned).collect();
                self.users.insert(who.user.clone(), groups);
            }
        }
        if let Some(count) = self.counts.get_mut(&self.key) {
            *(if allowed { &mut count.allowed } else { &mut count.refused }) += 1;
        }
    }

    fn write_key(&mut self, who: &Identity, asked: &Attributes<'_>) {
        let path = asked.path.as_deref().unwrap_or_default();
        let Attributes { verb, group, resource, subresource, namespace, name, .. } = asked;
        let name = if self.counts.len() < LIMIT { name } else { "" };
        self.key.clear();
        for part in [&*who.user, verb, group, resource, subresource, namespace, name, path] {
            self.key.push_str(part);
            self.key.push(SEPARATOR);
        }
    }

    fn all(&self) -> impl Iterator<Item = RequestCount> {
        self.counts.iter().map(|(key, count)| {
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
