//! The server: its parts, and the way of a request through it.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;

use super::access::{self, Access, AuthorizationMode};
use super::admission::Admission;
use super::call::Call;
use super::documents::Documents;
use super::hooks::{Attempt, Caller, Hooks, Step};
use super::kinds::builtin;
use super::kinds::catalog::Catalog;
use super::log::{WriteLog, WriteOutcome};
use super::paths::Metrics;
use super::profile::Profile;
use super::reply::Reply;
use super::request::{Method, Request, Target, Via};
use super::status::{Outcome, Refused};
use super::storage::Saved;
use super::store::{Event, Store, TableId};
use super::verbs::PriorityClass;
use crate::base::clock::Time;
use crate::base::rng::{Stream, Streams};
use crate::model::{Identity, Object, Refusal, Resource, Write, resources};

/// Namespaces that every cluster has.
const NAMESPACES: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];

/// An in-memory Kubernetes API server.
#[derive(Debug)]
pub struct ApiServer {
    pub(crate) store: Store,
    pub(crate) catalog: Catalog,
    pub(crate) profile: Profile,
    backports: bool,
    /// Whether owners of fields are kept.
    pub(crate) managed_fields: bool,
    /// Counts replacements of CustomResourceDefinitions.
    pub(crate) epoch: u64,
    pub(crate) crd_table: TableId,
    pub(crate) namespace_table: TableId,
    /// What pods take from each PriorityClass, by its name.
    pub(crate) priority_classes: BTreeMap<String, PriorityClass>,
    /// Tables of custom resources by group and plural. They outlive their definitions.
    pub(crate) custom_tables: BTreeMap<(String, String), TableId>,
    pub(crate) uids: Stream,
    pub(crate) suffixes: Stream,
    /// Draws how long watches last.
    pub(crate) timeouts: Stream,
    /// Who admits writes beside the server itself.
    pub(crate) admission: Admission,
    /// Who calls webhooks.
    pub(crate) hooks: Caller,
    /// Discovery and OpenAPI.
    pub(crate) documents: Documents,
    pub(crate) metrics: Metrics,
    /// The version in full, if it is not made of the minor.
    pub(crate) git_version: Option<String>,
    pub(crate) access: Access,
    log: WriteLog,
}

/// Settings of a server to be built.
#[derive(Debug, Clone)]
pub struct Builder {
    minor: u32,
    seed: u64,
    history: usize,
    backports: bool,
    managed_fields: bool,
    hooks: Caller,
    saved: Option<Saved>,
    git_version: Option<String>,
    authorization: AuthorizationMode,
    pub(crate) service_accounts: bool,
}

/// The history asked for is forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("events after revision {since} are forgotten")]
pub struct Forgotten {
    /// The revision asked for.
    pub since: u64,
}

impl Builder {
    /// Serves as Kubernetes 1.`minor`.
    #[must_use]
    pub fn kubernetes_minor(self, minor: u32) -> Self {
        Self { minor, ..self }
    }

    /// What `/version` says in full, such as `v1.31.4`; must be a semantic version, for clients read it. By default it is
    /// made of the minor.
    #[must_use]
    pub fn git_version(self, version: impl Into<String>) -> Self {
        Self { git_version: Some(version.into()), ..self }
    }

    /// Draws uids and generated names from streams of this seed.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Remembers this many events of each kind for watches, and as many of all kinds together. What was written before
    /// those is kept as text, which takes a tenth of the memory and some microseconds more to read.
    #[must_use]
    pub fn history(self, events: usize) -> Self {
        Self { history: events, ..self }
    }

    /// Whether 1.31 and 1.32 ratchet status writes, as in distributions that carry the later fix.
    #[must_use]
    pub fn status_ratcheting_backports(self, backports: bool) -> Self {
        Self { backports, ..self }
    }

    /// Whether `metadata.managedFields` is kept, as every real server does and server-side apply needs. Without, writes
    /// cost less.
    #[must_use]
    pub fn managed_fields(self, managed_fields: bool) -> Self {
        Self { managed_fields, ..self }
    }

    /// Calls admission and conversion webhooks by these. Without, no webhook is reached.
    #[must_use]
    pub fn hooks(self, hooks: impl Hooks + 'static) -> Self {
        Self { hooks: Caller::new(Arc::new(hooks)), ..self }
    }

    /// Begins with what a storage held, and keeps its own changes for [`Shared::stored`](super::service::Shared::stored).
    #[must_use]
    pub fn saved(self, saved: Saved) -> Self {
        Self { saved: Some(saved), ..self }
    }

    /// Who decides what users may do; RBAC unless told otherwise.
    #[must_use]
    pub fn authorization_mode(self, authorization: AuthorizationMode) -> Self {
        Self { authorization, ..self }
    }

    /// Makes the server, with the roles, bindings and namespaces that every cluster has, created at `now`.
    pub fn build(self, now: Time) -> ApiServer {
        let mut store = Store::new(self.history);
        let mut catalog = Catalog::new(self.minor);
        for kind in builtin::all(|| store.add_table()) {
            catalog.add_builtin(kind);
        }
        let table = |resource: &Resource| {
            catalog.find(&resource.group, &resource.version, &resource.plural).map_or(0, |kind| kind.table)
        };
        let streams = Streams::new(self.seed);
        // What was drawn before a restart must not be drawn again.
        let stream = |name: &str| match self.saved.as_ref().map_or(0, |saved| saved.starts) {
            0 => streams.stream(name),
            starts => streams.stream(&format!("{name}/{starts}")),
        };
        let tables = access::Tables {
            roles: table(&resources::ROLES),
            bindings: table(&resources::ROLE_BINDINGS),
            cluster_roles: table(&resources::CLUSTER_ROLES),
            cluster_bindings: table(&resources::CLUSTER_ROLE_BINDINGS),
        };
        // Tokens from before a restart stay good.
        let key = streams.stream("apiserver/service-account-key");
        let access = Access::new(self.authorization, tables, key, stream("apiserver/token-id"));
        let mut server = ApiServer {
            crd_table: table(&resources::CUSTOM_RESOURCE_DEFINITIONS),
            namespace_table: table(&resources::NAMESPACES),
            store,
            catalog,
            profile: Profile::of(self.minor, self.backports),
            backports: self.backports,
            managed_fields: self.managed_fields,
            epoch: 0,
            priority_classes: BTreeMap::new(),
            custom_tables: BTreeMap::new(),
            uids: stream("apiserver/uid"),
            suffixes: stream("apiserver/generate-name"),
            timeouts: stream("apiserver/watch-timeout"),
            admission: Admission::new(self.service_accounts),
            hooks: self.hooks,
            documents: Documents::default(),
            metrics: Metrics::default(),
            git_version: self.git_version,
            access,
            log: WriteLog::default(),
        };
        if let Some(saved) = self.saved {
            server.restore(saved);
            server.store.keep_changes();
        }
        server.bootstrap_access(now);
        let admin = Identity::admin();
        for name in NAMESPACES {
            let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
            let write = Write::create(&resources::NAMESPACES, namespace);
            server.handle(&Request::from_write(&write, &admin), now);
        }
        server.create_system_priority_classes(now);
        server
    }
}

impl ApiServer {
    /// A server to be built: Kubernetes 1.36, seed 0, 2,000 events of history per kind.
    pub fn builder() -> Builder {
        Builder {
            minor: 36,
            seed: 0,
            history: 2_000,
            backports: false,
            managed_fields: true,
            hooks: Caller::default(),
            saved: None,
            git_version: None,
            authorization: AuthorizationMode::default(),
            service_accounts: false,
        }
    }

    /// Takes a request as far as it goes: to its answer, or to the next call of a webhook. The attempt is the request's
    /// own, empty at first.
    pub fn advance(&mut self, request: &Request<'_>, now: Time, attempt: &mut Attempt) -> Step {
        let Some(wanted) = &request.impersonate else { return self.advance_as(request, now, attempt) };
        match self.impersonated(request, wanted) {
            Ok(who) => {
                let request = Request { user: &who, impersonate: None, ..request.clone() };
                self.advance_as(&request, now, attempt)
            }
            Err(refused) => Step::Done(Reply::refused(&refused)),
        }
    }

    /// The same for the user that the request names.
    fn advance_as(&mut self, request: &Request<'_>, now: Time, attempt: &mut Attempt) -> Step {
        let mut access = self.check_access(request);
        let path = match &request.target {
            Target::Path(path) => {
                let answer = access.and_then(|()| self.path(request, path, now));
                return Step::Done(answer.unwrap_or_else(|refused| Reply::refused(&refused)));
            }
            Target::Resource(path) => path,
        };
        let kind = match self.catalog.resolve(path) {
            Ok(kind) => kind,
            Err(missing) => return Step::Done(Reply::refused(&access.err().unwrap_or(missing))),
        };
        loop {
            // Whoever may not ask ends in the first round.
            let access = std::mem::replace(&mut access, Ok(()));
            let call = Call::new(Arc::clone(&kind), path, request, now, attempt);
            let reply = self.run(call, access);
            if let Some(hook) = attempt.take_pending() {
                return Step::Call(hook);
            }
            if !attempt.take_again() {
                return Step::Done(reply);
            }
        }
    }

    /// Runs a call from its start. What the answer says is not seen if the attempt is not at its end.
    fn run(&mut self, mut call: Call<'_>, access: Outcome<()>) -> Reply {
        let (request, now) = (call.request, call.now);
        let reply = access.and_then(|()| self.verb(&mut call));
        let mut reply = reply.and_then(|reply| call.view.apply(reply, &call.kind, now));
        // Nothing was stored, or all was known that storing takes.
        if let Err(refused) = self.settle(&mut call) {
            reply = Err(refused);
        }
        if call.attempt.is_unfinished() {
            return Reply::refused(&Refused::internal(""));
        }
        let mut reply = reply.unwrap_or_else(|refused| Reply::refused(&refused));
        reply.warnings.append(&mut call.warnings);
        reply.media = call.media;
        self.metrics.count(&call, reply.code);
        if !matches!(request.method, Method::Get) && !call.dry_run {
            self.log.add(&call, &reply);
            self.keep_quotas(&call.path.namespace, call.now);
            if call.kind.table == self.access.policy.tables().cluster_roles {
                self.aggregate_roles();
            }
        }
        reply
    }

    /// The verb that a method and a path come to.
    fn verb(&mut self, call: &mut Call<'_>) -> Outcome<Reply> {
        call.check_options(&self.profile)?;
        if let Some(warning) = call.kind.custom.as_ref().and_then(|custom| custom.version.warning.clone()) {
            call.warnings.push(warning);
        }
        if let Some((_, text)) =
            call.kind.deprecation.as_ref().filter(|(since, _)| *since <= self.profile.minor)
        {
            let text = text.clone();
            call.warnings.push(text);
        }
        if let Some(reply) = self.subresource(call)? {
            return Ok(reply);
        }
        let named = !call.path.name.is_empty();
        match (call.request.method, named) {
            (Method::Post, false) if !call.kind.rules.stored && call.is_at_place() => self.review(call),
            _ if !call.kind.rules.stored => Err(Refused::method_not_allowed()),
            (Method::Get, _) if call.is_watch() => self.watch(call),
            (Method::Get, true) => self.get(call),
            (Method::Get, false) => self.list(call),
            (Method::Post, _) => self.create(call),
            (Method::Put, true) => self.update(call),
            (Method::Patch, true) => self.patch(call),
            (Method::Delete, true) => self.delete(call),
            (Method::Delete, false) => self.delete_collection(call),
            (Method::Put | Method::Patch, false) | (Method::Other, _) => Err(Refused::method_not_allowed()),
        }
    }

    /// Makes a write and gives the object as stored (of a deletion, its last state), or the refusal. Nothing is encoded.
    ///
    /// # Errors
    /// The server's refusal.
    pub fn write(&mut self, write: &Write, who: &Identity, now: Time) -> Result<Object, Refusal> {
        self.handle(&Request::from_write(write, who), now).into_object()
    }

    /// An object as it is read in the version of `resource`.
    pub fn object(&self, resource: &Resource, namespace: &str, name: &str) -> Option<Object> {
        let kind = self.catalog.find(&resource.group, &resource.version, &resource.plural)?;
        let namespace = if resource.namespaced { namespace } else { "" };
        let entry = self.store.get(kind.table, namespace, name)?;
        Some(Object::from(Self::served(kind, entry)))
    }

    /// All objects as they are read in the version that they are stored in, by kind, namespace and name.
    pub fn objects(&self) -> impl Iterator<Item = (crate::model::Key, Object)> {
        let mut kinds: Vec<_> = self.catalog.stored().filter(|kind| kind.is_storage()).collect();
        kinds.dedup_by_key(|kind| kind.table);
        kinds.into_iter().flat_map(move |kind| {
            self.store.list(kind.table, "").map(move |(namespace, name, entry)| {
                (kind.resource.key(namespace, name), Object::from(entry.served()))
            })
        })
    }

    /// The revision of the last write.
    pub fn revision(&self) -> u64 {
        self.store.revision()
    }

    /// The oldest revision that [`ApiServer::events_since`] still answers.
    pub fn oldest_revision(&self) -> u64 {
        self.store.all().forgotten()
    }

    /// What happened to all kinds after a revision, in order.
    ///
    /// # Errors
    /// History no longer reaches back to it; read [`ApiServer::objects`] instead.
    pub fn events_since(&self, revision: u64) -> Result<impl Iterator<Item = &Arc<Event>>, Forgotten> {
        self.store.all().since(revision).map_err(|_| Forgotten { since: revision })
    }

    /// Forgets all history, as a compaction of etcd does: older watches get 410.
    pub fn compact(&mut self) {
        self.store.compact();
    }

    /// The behaviour in force.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Serves as Kubernetes 1.`minor` from now on; what is stored stays as it is.
    pub fn set_kubernetes_minor(&mut self, minor: u32) {
        self.profile = Profile::of(minor, self.backports);
        self.catalog.set_minor(minor);
    }

    /// Keeps the last `limit` outcomes of writes for [`ApiServer::take_log`]; 0 keeps none.
    pub fn keep_log(&mut self, limit: usize) {
        self.log.keep(limit, None);
    }

    /// The same for writes of clients alone: direct calls then cost nothing more.
    pub fn keep_client_log(&mut self, limit: usize) {
        self.log.keep(limit, Some(Via::Client));
    }

    /// The outcomes of writes since the last call, refusals as well, oldest first.
    pub fn take_log(&mut self) -> Vec<WriteOutcome> {
        self.log.take()
    }
}
