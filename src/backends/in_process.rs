//! A cluster in this process: the in-memory API server, called directly.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::watch;
use windtunnel_apiserver::service::{Feed, Shared, without_owners};
use windtunnel_apiserver::{ApiServer, HookCall, HookError, WriteOutcome};
use windtunnel_core::clock::{Clock, Time};
use windtunnel_core::requests::faults::{RequestFault, RequestFilter};
use windtunnel_core::resources::EVENT_TTL;
use windtunnel_core::{Change, Identity, Object, Rejection, View, Write};
use windtunnel_openshift::SERVICE_NETWORK;
use windtunnel_openshift::admission::{
    ClusterConfiguration, CompatibilityRequirements, FaultAnnotations, SecurityContextConstraints,
};
use windtunnel_openshift::aggregated::OpenShiftServers;

use super::{
    Backend, BackendError, Capabilities, ClientRead, ClusterConnection, Order, Stop, Upstream, rights,
};
use crate::record::{UserRights, WriteEvent};

/// The maximum number of client writes that the server keeps for the engine, which takes them at each moment.
const LOG_LIMIT: usize = 100_000;

/// The length of the watch history per kind, in events: more than a cluster writes in one moment. A
/// controller that lags further must list the objects anew.
const HISTORY: usize = 4_000;

/// A backend with a cluster in this process for each run.
#[derive(Debug, Clone, Copy, Default)]
pub struct InProcessBackend;

impl Backend for InProcessBackend {
    fn open(&self, order: &Order) -> Result<Box<dyn ClusterConnection>, BackendError> {
        Ok(Box::new(InProcess::new(order.minor, order.seed, order.clock.clone())))
    }

    fn is_always_the_same(&self) -> bool {
        true
    }
}

/// As [`InProcessBackend`]. The flag ends runs that follow the clock of this machine; others are at their end soon.
#[derive(Debug, Clone, Default)]
pub struct StoppableInProcess(pub Stop);

impl Backend for StoppableInProcess {
    fn open(&self, order: &Order) -> Result<Box<dyn ClusterConnection>, BackendError> {
        InProcessBackend.open(order)
    }

    fn stop(&self) -> Stop {
        self.0.clone()
    }

    fn is_always_the_same(&self) -> bool {
        InProcessBackend.is_always_the_same()
    }
}

/// A backend with a cluster in this process for each run, whose API server other clients use as well.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ClientsBackend;

impl Backend for ClientsBackend {
    fn open(&self, order: &Order) -> Result<Box<dyn ClusterConnection>, BackendError> {
        Ok(Box::new(InProcess::served(order.minor, order.seed, order.clock.clone())))
    }
}

/// The kinds of clients of a simulated cluster's API server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Clients {
    /// Simulated components only. None of them uses server-side apply.
    Inside,
    /// Other clients as well, which may use server-side apply.
    Any,
    /// Other clients, and programs in pods, which need the token of their ServiceAccount.
    Programs,
}

/// Returns an API server for a simulated cluster.
pub(super) fn server(minor: u32, seed: u64, now: Time, clients: Clients) -> ApiServer {
    let builder = ApiServer::builder();
    // Components use none of these kinds.
    let builder = if clients == Clients::Inside { builder } else { builder.aggregated(OpenShiftServers) };
    builder
        .kubernetes(minor)
        .seed(seed)
        .history(HISTORY)
        .status_ratcheting_backports(true)
        .admission_plugin(ClusterConfiguration)
        .admission_plugin(CompatibilityRequirements)
        .admission_plugin(FaultAnnotations)
        .admission_plugin(SecurityContextConstraints::default())
        .event_ttl(EVENT_TTL)
        .service_network(SERVICE_NETWORK.parse().unwrap_or_default())
        // Server-side apply needs managed fields; writes are cheaper without them.
        .managed_fields(clients != Clients::Inside)
        .service_account_admission(clients == Clients::Programs)
        .build(now)
}

/// The connection to the API of a simulated cluster.
#[derive(Debug)]
pub struct InProcess {
    feed: Feed,
}

impl InProcess {
    /// Creates a cluster for simulated components only, which serves Kubernetes 1.`minor`. The clock is that
    /// of its clients, and gives the time of the first objects.
    pub fn new(minor: u32, seed: u64, clock: Arc<dyn Clock>) -> Self {
        Self::with_clients(minor, seed, clock, Clients::Inside)
    }

    /// Creates a cluster whose API server has other clients: it keeps `metadata.managedFields`. This
    /// connection removes them from all objects, so that the run and its record do not change.
    pub fn served(minor: u32, seed: u64, clock: Arc<dyn Clock>) -> Self {
        Self::with_clients(minor, seed, clock, Clients::Any)
    }

    /// As [`InProcess::served`], for programs in pods.
    #[cfg(all(unix, feature = "serve"))]
    pub(super) fn for_programs(minor: u32, seed: u64, clock: Arc<dyn Clock>) -> Self {
        Self::with_clients(minor, seed, clock, Clients::Programs)
    }

    fn with_clients(minor: u32, seed: u64, clock: Arc<dyn Clock>, clients: Clients) -> Self {
        let mut server = server(minor, seed, clock.now(), clients);
        server.keep_client_log(LOG_LIMIT);
        server.keep_client_reads(LOG_LIMIT);
        Self { feed: Feed::from_oldest(Shared::new(server, clock)) }
    }

    /// Returns a connection to a shared server; all existing objects are new to it.
    pub fn attached_to(shared: Shared) -> Self {
        Self { feed: Feed::from_start(shared) }
    }

    /// Returns the writes of clients since the last call. A client's name in the record is that of its program. `name` gives
    /// the short name of a user whose requests name no program; by default it is the name of the ServiceAccount.
    pub(super) fn named_client_writes(
        &self,
        name: impl Fn(&str) -> Option<String>,
    ) -> Vec<(Time, WriteEvent)> {
        let log = self.shared().with(ApiServer::take_log);
        log.into_iter().map(|outcome| event(outcome, &name)).collect()
    }

    /// Returns the server, for direct calls and for clients that the engine does not run.
    pub fn shared(&self) -> &Shared {
        self.feed.shared()
    }
}

impl ClusterConnection for InProcess {
    fn write(&mut self, by: &str, who: &Identity, write: &Write, now: Time) -> Result<Object, Rejection> {
        self.shared().write_by(by, write, who, now).map(without_owners)
    }

    fn take_over(&mut self, objects: &[Object], now: Time) -> Result<(), String> {
        self.shared().with(|server| {
            server.set_hooks(assumed_answer);
            objects.iter().try_for_each(|object| {
                let stored = server.replay(object.to_value(), now);
                stored.map_err(|why| format!("{} {}: {why}", object.text("/kind"), object.name()))
            })
        })
    }

    fn fail(&mut self, fault: RequestFault) {
        self.shared().with(|server| server.fail(fault));
    }

    fn fail_since(&mut self, fault: RequestFault, revision: u64) {
        self.shared().with(|server| server.fail_since(fault, revision));
    }

    fn set_quorum(&mut self, has_quorum: bool) {
        self.shared().with(|server| server.set_quorum(has_quorum));
    }

    fn heal(&mut self, requests: Option<&RequestFilter>) {
        self.shared().with(|server| server.heal(requests));
    }

    fn changes(&mut self, known: &View) -> Vec<Change> {
        self.feed.changes(known)
    }

    fn serve_kubernetes(&mut self, minor: u32) -> Result<(), String> {
        self.shared().with(|server| server.set_kubernetes_minor(minor));
        Ok(())
    }

    fn set_upstream(&mut self, upstream: Arc<dyn Upstream>) {
        self.shared().with(|server| server.set_upstream(upstream));
    }

    fn client_writes(&mut self) -> Vec<(Time, WriteEvent)> {
        self.named_client_writes(|_| None)
    }

    fn client_reads(&mut self) -> Vec<ClientRead> {
        self.shared().with(ApiServer::take_reads)
    }

    fn note_rights(&mut self) {
        self.shared().with(ApiServer::count_client_requests);
    }

    fn rights(&mut self) -> Vec<UserRights> {
        self.shared().with(ApiServer::access_report).into_iter().map(rights::of_user).collect()
    }

    fn client_requests(&self) -> u64 {
        self.shared().requests()
    }

    fn subscribe(&self) -> watch::Receiver<u64> {
        self.shared().subscribe()
    }

    fn client(&self, who: &Identity) -> kube::Client {
        self.shared().client(who)
    }

    fn named_client(&self, who: &Identity, name: &str) -> kube::Client {
        self.shared().named_client(who, name)
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::OURS
    }

    fn fork(&self, clock: Arc<dyn Clock>) -> Option<Box<dyn ClusterConnection>> {
        let server = self.shared().with(|server| server.clone());
        Some(Box::new(Self { feed: self.feed.of_copy(Shared::new(server, clock)) }))
    }
}

/// The answer of a webhook of another cluster, whose program is not here: an admission webhook allows the request, and a conversion
/// changes the version alone. A Service without ready endpoints cannot be reached.
fn assumed_answer(call: &HookCall) -> Result<Value, HookError> {
    if let Some(service) = &call.target.service {
        let missing = || Err(format!("no endpoints available for service {:?}", service.name));
        let reached =
            service.endpoint.clone().and_then(|_| if service.has_backend { Ok(()) } else { missing() });
        reached.map_err(|why| HookError::no_response(&call.url(), &why))?;
    }
    let request = &call.review["request"];
    let mut answer = call.review.clone();
    answer.as_object_mut().map(|answer| answer.remove("request"));
    answer["response"] = if request["objects"].is_array() {
        let mut converted = request["objects"].clone();
        for object in converted.as_array_mut().into_iter().flatten() {
            object["apiVersion"] = request["desiredAPIVersion"].clone();
        }
        json!({ "uid": request["uid"], "convertedObjects": converted, "result": { "status": "Success" } })
    } else {
        json!({ "uid": request["uid"], "allowed": true })
    };
    Ok(answer)
}

/// Returns the record's entry for a client's write.
fn event(outcome: WriteOutcome, name: impl Fn(&str) -> Option<String>) -> (Time, WriteEvent) {
    let account = || outcome.user.rsplit(':').next().unwrap_or_default().to_owned();
    let program = Some(outcome.program).filter(|program| !program.is_empty());
    let by = program.or_else(|| name(&outcome.user)).unwrap_or_else(account);
    let event = WriteEvent {
        by,
        process: outcome.process,
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
