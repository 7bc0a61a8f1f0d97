//! A cluster in this process: the in-memory API server, called directly.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::watch;
use windtunnel_apiserver::service::Shared;
use windtunnel_apiserver::{ApiServer, Event, EventKind, WriteOutcome};
use windtunnel_core::clock::{Clock, Time};
use windtunnel_core::requests::faults::{RequestFault, Requests};
use windtunnel_core::resources::EVENT_TTL;
use windtunnel_core::{Change, ChangeKind, Identity, Key, Object, Refusal, View, Write};
use windtunnel_openshift::admission::{ClusterConfiguration, SecurityContextConstraints};

use super::{Backend, BackendError, Capabilities, Door, Order, Upstream};
use crate::record::WriteEvent;

/// Outcomes of writes that are kept until the engine takes them, which it does at each moment.
const LOG_LIMIT: usize = 100_000;

/// Events of each kind that a controller may lag behind: more than a cluster writes in one moment. Who lags further lists anew.
const HISTORY: usize = 4_000;

/// Clusters in this process, one for each run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Here;

impl Backend for Here {
    fn open(&self, order: &Order) -> Result<Box<dyn Door>, BackendError> {
        Ok(Box::new(InProcess::new(order.minor, order.seed, order.clock.clone())))
    }

    fn is_always_the_same(&self) -> bool {
        true
    }
}

/// Which clients the API server of a simulated cluster has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Clients {
    /// Simulated components alone. None of them applies on the server's side.
    Inside,
    /// Others as well, who may apply on the server's side.
    Any,
}

/// An API server for a simulated cluster.
pub(super) fn server(minor: u32, seed: u64, now: Time, clients: Clients) -> ApiServer {
    ApiServer::builder()
        .kubernetes_minor(minor)
        .seed(seed)
        .history(HISTORY)
        .status_ratcheting_backports(true)
        .admission_plugin(ClusterConfiguration)
        .admission_plugin(SecurityContextConstraints::default())
        .event_ttl(EVENT_TTL)
        // Server-side apply needs the owners of fields. Without them writes cost less.
        .managed_fields(clients == Clients::Any)
        .build(now)
}

/// A simulated cluster's API.
#[derive(Debug)]
pub struct InProcess {
    shared: Shared,
    /// Everything up to this revision was given by [`Door::changes`].
    seen: u64,
}

impl InProcess {
    /// A new cluster for simulated components alone, which serves Kubernetes 1.`minor`. The clock is that of its clients; it
    /// gives the time of the first objects as well.
    pub fn new(minor: u32, seed: u64, clock: Arc<dyn Clock>) -> Self {
        Self::with_clients(minor, seed, clock, Clients::Inside)
    }

    /// The same for a cluster whose API server is served to other clients: it keeps `metadata.managedFields`. The door
    /// leaves them out of all objects, so the run and its record are the same.
    pub fn served(minor: u32, seed: u64, clock: Arc<dyn Clock>) -> Self {
        Self::with_clients(minor, seed, clock, Clients::Any)
    }

    fn with_clients(minor: u32, seed: u64, clock: Arc<dyn Clock>, clients: Clients) -> Self {
        let mut server = server(minor, seed, clock.now(), clients);
        server.keep_client_log(LOG_LIMIT);
        let seen = server.oldest_revision();
        Self { shared: Shared::new(server, clock), seen }
    }

    /// The door into a server that others share: everything that is there is new.
    pub fn of(shared: Shared) -> Self {
        Self { shared, seen: 0 }
    }

    /// The server, for direct calls and for clients beside the engine.
    pub fn shared(&self) -> &Shared {
        &self.shared
    }
}

impl Door for InProcess {
    fn write(&mut self, by: &str, who: &Identity, write: &Write, now: Time) -> Result<Object, Refusal> {
        self.shared.write_by(by, write, who, now).map(without_owners)
    }

    fn fail(&mut self, fault: RequestFault) {
        self.shared.with(|server| server.fail(fault));
    }

    fn heal(&mut self, requests: Option<&Requests>) {
        self.shared.with(|server| server.heal(requests));
    }

    fn changes(&mut self, known: &View) -> Vec<Change> {
        let seen = self.seen;
        let told = self.shared.with(|server| {
            let revision = server.visible_revision();
            let events = server.events_since(seen).ok()?;
            Some((
                revision,
                events.take_while(|event| event.revision <= revision).map(|event| change(event)).collect(),
            ))
        });
        let all = || self.shared.with_durable(|server| (server.revision(), difference(server, known)));
        let (revision, changes) = told.unwrap_or_else(all);
        self.seen = revision;
        changes
    }

    fn serve_kubernetes(&mut self, minor: u32) -> Result<(), String> {
        self.shared.with(|server| server.set_kubernetes_minor(minor));
        Ok(())
    }

    fn answer_behind(&mut self, upstream: Arc<dyn Upstream>) {
        self.shared.with(|server| server.set_upstream(upstream));
    }

    fn client_writes(&mut self) -> Vec<(Time, WriteEvent)> {
        let log = self.shared.with(ApiServer::take_log);
        log.into_iter().map(event).collect()
    }

    fn client_requests(&self) -> u64 {
        self.shared.requests()
    }

    fn subscribe(&self) -> watch::Receiver<u64> {
        self.shared.subscribe()
    }

    fn client(&self, who: &Identity) -> kube::Client {
        self.shared.client(who)
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::OURS
    }

    fn copied(&self, clock: Arc<dyn Clock>) -> Option<Box<dyn Door>> {
        let server = self.shared.with(|server| server.clone());
        Some(Box::new(Self { shared: Shared::new(server, clock), seen: self.seen }))
    }
}

/// An object without `metadata.managedFields`, which neither components nor records know.
fn without_owners(object: Object) -> Object {
    if object["metadata"]["managedFields"].is_null() {
        return object;
    }
    let mut value = object.to_value();
    if let Some(metadata) = value["metadata"].as_object_mut() {
        metadata.remove("managedFields");
    }
    Object::new(value)
}

/// What the record tells of a client's write; a ServiceAccount is called by its own name.
fn event(outcome: WriteOutcome) -> (Time, WriteEvent) {
    let by = outcome.user.rsplit(':').next().unwrap_or_default().to_owned();
    let event = WriteEvent {
        by,
        verb: outcome.verb.to_owned(),
        kind: outcome.kind,
        key: outcome.key,
        subresource: outcome.subresource,
        code: outcome.code,
        message: outcome.message,
        before: outcome.before.map(without_owners),
        after: outcome.after.map(without_owners),
    };
    (outcome.at, event)
}

fn change(event: &Event) -> Change {
    let kind = match event.kind {
        EventKind::Added => ChangeKind::Added,
        EventKind::Modified | EventKind::Reread => ChangeKind::Modified,
        EventKind::Deleted => ChangeKind::Deleted,
    };
    Change {
        key: event.key.clone(),
        kind,
        object: Object::from(event.object.tree()),
        old: event.old.as_ref().map(|old| Object::from(old.tree())),
    }
}

/// What differs between the objects that are there and those that were known.
fn difference(server: &ApiServer, known: &View) -> Vec<Change> {
    let now: BTreeMap<Key, Object> =
        server.objects().map(|(key, object)| (key, without_owners(object))).collect();
    let gone = known.objects().filter(|(key, _)| !now.contains_key(key)).map(|(key, old)| Change {
        key,
        kind: ChangeKind::Deleted,
        object: old.clone(),
        old: Some(old.clone()),
    });
    let mut changes: Vec<Change> = gone.collect();
    for (key, object) in now {
        let old = known.get_key(&key).cloned();
        let kind = match &old {
            None => ChangeKind::Added,
            Some(old) if *old != object => ChangeKind::Modified,
            Some(_) => continue,
        };
        changes.push(Change { key, kind, object, old });
    }
    changes
}
