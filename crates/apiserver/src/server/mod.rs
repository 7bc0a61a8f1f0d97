//! The server's state, and its direct calls.
//!
//! `derived.rs` lists what follows the change of a stored object, `definitions/` what follows a
//! CustomResourceDefinition, `control_plane/` the objects that the server creates itself. `access.rs` and `programs.rs` are the
//! calls of other modules.

mod access;
pub(crate) mod builder;
pub(crate) mod change;
pub(crate) mod claims;
pub(crate) mod control_plane;
pub(crate) mod definitions;
mod derived;
pub(crate) mod devices;
pub(crate) mod draws;
pub(crate) mod expiry;
pub(crate) mod log;
pub(crate) mod programs;

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;
use windtunnel_core::clock::Time;
use windtunnel_core::requests::aggregated::Aggregated;
use windtunnel_core::requests::faults::{RandomFaults, RequestFault, RequestFilter};
use windtunnel_core::{Identity, Object, Rejection, Resource, Write};

use super::access::Access;
use super::admission::Admission;
use super::faults::{Faults, Incident, Killer};
use super::kinds::catalog::Catalog;
use super::kinds::objects::Objects;
use super::kinds::strategy::allocations::Allocations;
use super::kinds::strategy::service::ServiceNetwork;
use super::paths::Paths;
use super::profile::{Profile, Rollout};
use super::request::{Request, Via};
use super::store::{Entry, Event, Store, TableId};
use crate::admission::policy::typing;
use crate::outbound::hooks::{Caller, Hooks};
use crate::outbound::upstream::{Programs, Upstream};
use crate::reply::documents::Documents;
use crate::server::builder::Builder;
use crate::server::definitions::delays::{DefinitionPace, Definitions};
use crate::server::draws::Draws;
use crate::server::expiry::Expiry;
use crate::server::log::{ClientRead, ReadLog, WriteLog, WriteOutcome};

/// An in-memory Kubernetes API server. A clone is independent, and shares unchanged objects with the original.
///
/// [`pipeline`](super::pipeline) describes how a request passes through these parts.
#[derive(Debug, Clone)]
pub struct ApiServer {
    pub(crate) store: Store,
    pub(crate) catalog: Catalog,
    pub(crate) profile: Profile,
    rollout: Rollout,
    /// Whether the server tracks `metadata.managedFields`.
    pub(crate) managed_fields: bool,
    pub(crate) tables: OwnTables,
    pub(crate) definitions: Definitions,
    /// When Events expire.
    pub(super) expiry: Expiry,
    pub(crate) draws: Draws,
    pub(crate) allocations: Allocations,
    /// Admission plugins, webhooks and policies.
    pub(crate) admission: Admission,
    /// Calls webhooks.
    pub(super) hooks: Caller,
    /// Discovery and OpenAPI.
    pub(crate) documents: Documents,
    pub(crate) paths: Paths,
    pub(crate) access: Access,
    pub(super) log: WriteLog,
    pub(crate) reads: ReadLog,
    pub(crate) faults: Faults,
    /// Answers requests to pods.
    pub(crate) programs: Programs,
    /// The API servers beside this one.
    pub(crate) aggregated: Aggregated,
    /// When the server creates missing namespaces of its own; `None` if there are none.
    pub(super) missing_namespaces: Option<Time>,
}

/// The tables of kinds that the server itself uses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnTables {
    /// CustomResourceDefinitions.
    pub(crate) definitions: TableId,
    /// Namespaces.
    pub(crate) namespaces: TableId,
    /// Events.
    pub(crate) events: TableId,
}

/// The parts of a server that the builder creates.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) store: Store,
    pub(super) catalog: Catalog,
    pub(super) minor: u32,
    pub(super) backports: bool,
    pub(super) managed_fields: bool,
    pub(super) tables: OwnTables,
    pub(super) pace: DefinitionPace,
    pub(super) expiry: Expiry,
    pub(super) draws: Draws,
    pub(super) admission: Admission,
    pub(super) hooks: Caller,
    pub(super) paths: Paths,
    pub(super) access: Access,
    pub(super) network: ServiceNetwork,
    pub(super) aggregated: Aggregated,
}

/// The history no longer has all events after the requested revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the history no longer has all events after revision {since}")]
pub struct HistoryExpired {
    /// The requested revision.
    pub since: u64,
}

impl ApiServer {
    /// Assembles a server from its parts.
    pub(super) fn from_parts(parts: Parts) -> Self {
        Self {
            store: parts.store,
            catalog: parts.catalog,
            profile: Profile::of(parts.minor, parts.backports),
            rollout: Rollout::new(parts.backports),
            managed_fields: parts.managed_fields,
            tables: parts.tables,
            definitions: Definitions::new(parts.pace),
            expiry: parts.expiry,
            draws: parts.draws,
            allocations: Allocations::new(parts.network),
            admission: parts.admission,
            hooks: parts.hooks,
            documents: Documents::default(),
            paths: parts.paths,
            access: parts.access,
            log: WriteLog::default(),
            reads: ReadLog::default(),
            faults: Faults::default(),
            programs: Programs::default(),
            aggregated: parts.aggregated,
            missing_namespaces: None,
        }
    }

    /// The default settings: Kubernetes 1.36, seed 0, 2,000 events of history per kind.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Sets the handler of requests that clients send to pods through `proxy`, and of requests for logs.
    pub fn set_upstream(&mut self, upstream: Arc<dyn Upstream>) {
        self.programs = Programs::new(upstream);
    }

    /// Calls admission and conversion webhooks through `hooks` from now on.
    pub fn set_hooks(&mut self, hooks: impl Hooks + 'static) {
        self.hooks = Caller::new(Arc::new(hooks));
    }

    /// Makes a write and returns the stored object; for a deletion, its last state. Skips the encoding of request and response.
    ///
    /// # Errors
    /// The server rejects the write.
    pub fn write(&mut self, write: &Write, who: &Identity, now: Time) -> Result<Object, Rejection> {
        self.write_by("", write, who, now)
    }

    /// Makes a write as a client with this user agent.
    ///
    /// # Errors
    /// The server rejects the write.
    pub fn write_by(
        &mut self,
        agent: &str,
        write: &Write,
        who: &Identity,
        now: Time,
    ) -> Result<Object, Rejection> {
        let request = Request { user_agent: Cow::Borrowed(agent), ..Request::from_write(write, who) };
        self.handle(&request, now).into_object()
    }

    /// An object in the version of `resource`.
    pub fn object(&self, resource: &Resource, namespace: &str, name: &str) -> Option<Object> {
        self.stored_objects().get(resource, namespace, name)
    }

    /// The stored objects, with their kinds.
    pub(crate) fn stored_objects(&self) -> Objects<'_> {
        Objects { catalog: &self.catalog, store: &self.store }
    }

    /// All objects in their storage version, by kind, namespace and name.
    pub fn objects(&self) -> impl Iterator<Item = (windtunnel_core::Key, Object)> {
        self.stored_objects().all()
    }

    /// The revision of the last write.
    pub fn revision(&self) -> u64 {
        self.store.revision()
    }

    /// The revision up to which all writes are durable and visible to clients; without a storage, that of the last write.
    pub fn visible_revision(&self) -> u64 {
        self.store.visible()
    }

    /// The oldest revision that [`ApiServer::events_since`] accepts.
    pub fn oldest_revision(&self) -> u64 {
        self.store.history().compacted()
    }

    /// The events of all kinds after a revision, in order.
    ///
    /// # Errors
    /// The history no longer has all of them; read [`ApiServer::objects`] instead.
    pub fn events_since(&self, revision: u64) -> Result<impl Iterator<Item = &Arc<Event>>, HistoryExpired> {
        self.store.history().since(revision).map_err(|_| HistoryExpired { since: revision })
    }

    /// Drops the history, as a compaction of etcd does. Older watches get 410.
    pub fn compact(&mut self) {
        self.store.compact();
    }

    /// The current profile.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Whether the last write of an object was validated without ratcheting, so that the object has no schema errors.
    pub(super) fn tolerated_nothing(&self, entry: &Entry) -> bool {
        entry.was_written_after(self.rollout.since())
            && !self.profile.ratchets_objects
            && !self.profile.ratchets_status
    }

    /// Serves as Kubernetes 1.`minor` from now on. Stored objects do not change.
    pub fn set_kubernetes_minor(&mut self, minor: u32) {
        self.profile = self.rollout.change(minor, self.store.revision());
        self.catalog.set_minor(minor);
    }
}

/// Its own documents, and what it knows about policies.
impl ApiServer {
    /// Serves `GET path` with this JSON from now on, like [`Builder::document`](crate::Builder::document).
    pub fn set_document(&mut self, path: impl Into<String>, json: impl Into<String>) {
        self.paths.set_document(path.into(), json.into());
    }

    /// The warnings about the types of expressions in a ValidatingAdmissionPolicy (`status.typeChecking.expressionWarnings`),
    /// by the schemas of the kinds that it matches.
    pub fn policy_warnings(&self, policy: &Value) -> Vec<Value> {
        typing::warnings(&self.catalog, policy)
    }
}

/// Faults of its answers.
impl ApiServer {
    /// Injects a fault. If several faults match a request, the first one counts it.
    pub fn fail(&mut self, fault: RequestFault) {
        self.faults.inject(fault, self.store.revision());
    }

    /// Injects a fault as if it had begun at this revision of the store: watches that have not shown more stay there.
    pub fn fail_since(&mut self, fault: RequestFault, revision: u64) {
        self.faults.inject(fault, revision.min(self.store.revision()));
    }

    /// Makes all requests to stored kinds time out while etcd has no quorum.
    pub fn set_quorum(&mut self, has_quorum: bool) {
        self.faults.set_quorum(has_quorum);
    }

    /// Calls `kill` with the id of a process, and with the write in words, when a fault kills a program
    /// ([`FaultEffect::Kill`](windtunnel_core::requests::faults::FaultEffect::Kill)). The process must be dead when `kill` returns,
    /// and `kill` must not call the server.
    pub fn kill_programs_with(&mut self, kill: impl Fn(&str, &str) + Send + Sync + 'static) {
        self.faults.kill_with(Killer::new(kill));
    }

    /// Heals the faults of these requests, or all faults (`None`). Random faults continue.
    pub fn heal(&mut self, requests: Option<&RequestFilter>) {
        self.faults.heal(requests);
    }

    /// Gives random faults to clients from now on. Without a seed, the seed is 0.
    pub fn perturb(&mut self, random_faults: RandomFaults) {
        self.faults.perturb(random_faults);
    }

    /// Keeps the last `limit` incidents for [`ApiServer::take_incidents`]; 0 keeps none.
    pub fn keep_incidents(&mut self, limit: usize) {
        self.faults.incidents().keep(limit);
    }

    /// The effects of faults on clients since the last call, oldest first.
    pub fn take_incidents(&mut self) -> Vec<Incident> {
        self.faults.incidents().take()
    }
}

/// Logs of its requests.
impl ApiServer {
    /// Keeps the last `limit` reads of HTTP clients for [`ApiServer::take_reads`]; 0 keeps none.
    pub fn keep_client_reads(&mut self, limit: usize) {
        self.reads.keep(limit);
    }

    /// The reads of HTTP clients since the last call, including rejected ones, oldest first.
    pub fn take_reads(&mut self) -> Vec<ClientRead> {
        self.reads.take()
    }

    /// Keeps the last `limit` outcomes of writes for [`ApiServer::take_log`]; 0 keeps none.
    pub fn keep_log(&mut self, limit: usize) {
        self.log.configure(limit, None);
    }

    /// Keeps the last `limit` outcomes of writes by HTTP clients. Direct calls are not logged, which saves time.
    pub fn keep_client_log(&mut self, limit: usize) {
        self.log.configure(limit, Some(Via::Client));
    }

    /// The outcomes of writes since the last call, including rejected ones, oldest first.
    pub fn take_log(&mut self) -> Vec<WriteOutcome> {
        self.log.take()
    }
}
