//! The server: its parts, and the way of a request through it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use windtunnel_core::clock::Time;
use windtunnel_core::requests::faults::RequestFault;
use windtunnel_core::rng::Stream;
use windtunnel_core::{Identity, Object, Refusal, Resource, Write};

use super::access::Access;
use super::admission::Admission;
use super::builder::Builder;
use super::call::Call;
use super::crd::DefinitionPace;
use super::documents::Documents;
use super::expiry::Expiry;
use super::hooks::{Attempt, Caller, Step};
use super::kinds::catalog::Catalog;
use super::kinds::strategy::service;
use super::log::WriteLog;
use super::paths::Metrics;
use super::profile::Profile;
use super::reply::Reply;
use super::request::{Method, Request, Target};
use super::status::{Outcome, Refused};
use super::store::{Entry, Event, Store, TableId};
use super::upstream::{Programs, Upstream};
use super::verbs::PriorityClass;

/// An in-memory Kubernetes API server. A copy goes its own way, and shares what neither changes.
#[derive(Debug, Clone)]
pub struct ApiServer {
    pub(crate) store: Store,
    pub(crate) catalog: Catalog,
    pub(crate) profile: Profile,
    /// The revision at which that came into force.
    pub(super) profile_since: u64,
    pub(super) backports: bool,
    /// Whether owners of fields are kept.
    pub(crate) managed_fields: bool,
    /// Counts replacements of CustomResourceDefinitions.
    pub(crate) epoch: u64,
    pub(crate) crd_table: TableId,
    pub(crate) namespace_table: TableId,
    pub(crate) event_table: TableId,
    /// Until when Events stay.
    pub(super) expiry: Expiry,
    pub(crate) pace: DefinitionPace,
    /// Since when the storage of kinds is being made anew, where that takes time.
    pub(crate) storage_changed: BTreeMap<TableId, Time>,
    /// What pods take from each PriorityClass, by its name.
    pub(crate) priority_classes: BTreeMap<String, PriorityClass>,
    /// Draws the uids of the server's own objects.
    pub(super) own_uids: Stream,
    /// The addresses and node ports of services.
    pub(crate) taken_by_services: service::Taken,
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
    pub(crate) log: WriteLog,
    /// Requests that are answered with trouble.
    pub(super) faults: Vec<RequestFault>,
    /// Who answers behind pods.
    pub(crate) programs: Programs,
    /// What is answered at paths that no server of its own has.
    pub(super) answers: BTreeMap<String, String>,
}

/// The history asked for is forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("events after revision {since} are forgotten")]
pub struct Forgotten {
    /// The revision asked for.
    pub since: u64,
}

impl ApiServer {
    /// A server to be built: Kubernetes 1.36, seed 0, 2,000 events of history per kind.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Has this answer what clients ask of pods through `proxy` from now on.
    pub fn set_upstream(&mut self, upstream: Arc<dyn Upstream>) {
        self.programs = Programs::new(upstream);
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
        self.expire(now);
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
            Err(missing) => return Step::Done(self.beside(request, path, &access.err().unwrap_or(missing))),
        };
        // A request that is run again has met its trouble.
        if attempt.is_new()
            && let Some(refused) = self.trouble(request, &kind, path)
        {
            access = Err(refused);
        }
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
            reply = Err(self.unconverted(&call, refused));
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
        self.check_storage(call)?;
        if !call.kind.rules.verbs.contains(&call.verb()) {
            return Err(Refused::method_not_allowed());
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
        self.write_by("", write, who, now)
    }

    /// The same for a client of this user agent.
    ///
    /// # Errors
    /// The server's refusal.
    pub fn write_by(
        &mut self,
        agent: &str,
        write: &Write,
        who: &Identity,
        now: Time,
    ) -> Result<Object, Refusal> {
        let request = Request { user_agent: Cow::Borrowed(agent), ..Request::from_write(write, who) };
        self.handle(&request, now).into_object()
    }

    /// An object as it is read in the version of `resource`.
    pub fn object(&self, resource: &Resource, namespace: &str, name: &str) -> Option<Object> {
        let kind = self.catalog.find(&resource.group, &resource.version, &resource.plural)?;
        let namespace = if resource.namespaced { namespace } else { "" };
        let entry = self.store.get(kind.table, namespace, name)?;
        Some(Object::from(Self::served(kind, entry).whole()))
    }

    /// All objects as they are read in the version that they are stored in, by kind, namespace and name.
    pub fn objects(&self) -> impl Iterator<Item = (windtunnel_core::Key, Object)> {
        let mut kinds: Vec<_> = self.catalog.stored().filter(|kind| kind.is_storage()).collect();
        kinds.dedup_by_key(|kind| kind.table);
        kinds.into_iter().flat_map(move |kind| {
            self.store.list(kind.table, "").map(move |(namespace, name, entry)| {
                (kind.resource.key(namespace, name), Object::from(entry.served().whole()))
            })
        })
    }

    /// The revision of the last write.
    pub fn revision(&self) -> u64 {
        self.store.revision()
    }

    /// The revision up to which everything is durable, and may be shown; with no storage, that of the last write.
    pub fn visible_revision(&self) -> u64 {
        self.store.visible()
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

    /// Whether an object was last written when every fault in it was refused, also one that was there before.
    pub(super) fn tolerated_nothing(&self, entry: &Entry) -> bool {
        entry.is_since(self.profile_since) && !self.profile.ratchets_objects && !self.profile.ratchets_status
    }

    /// Serves as Kubernetes 1.`minor` from now on; what is stored stays as it is.
    pub fn set_kubernetes_minor(&mut self, minor: u32) {
        self.profile_since = self.store.revision();
        self.profile = Profile::of(minor, self.backports);
        self.catalog.set_minor(minor);
    }
}
