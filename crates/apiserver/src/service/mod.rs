//! The server as a `tower::Service`, for in-process kube clients.
//!
//! [`Shared`] is a handle to the server, for clients and for direct calls. Every write wakes the watchers, however it
//! reached the server. The test of a controller needs only this:
//!
//! ```
//! # use k8s_openapi::api::core::v1::Namespace;
//! # use kube::api::{Api, ListParams};
//! # use windtunnel_apiserver::ApiServer;
//! # use windtunnel_core::Identity;
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> kube::Result<()> {
//! let server = ApiServer::builder().kubernetes(33).start();
//! let client = server.client(&Identity::admin());
//! let namespaces = Api::<Namespace>::all(client).list(&ListParams::default()).await?;
//! assert_eq!(namespaces.items.len(), 4);
//! # Ok(())
//! # }
//! ```
//!
//! `clock_headers.rs` gives answers the time of the cluster, `arrivals.rs` orders requests of one moment, `ahead.rs`
//! prepares large writes, and `endpoint.rs` serves paths beside the API.

#[cfg(feature = "https")]
mod ahead;
mod arrivals;
pub(crate) mod body;
pub mod clock_headers;
mod durable;
mod endpoint;
mod feed;
pub(crate) mod http;
mod notifier;

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use http_body_util::BodyExt as _;
use http_body_util::combinators::UnsyncBoxBody;
#[cfg(feature = "https")]
use tokio::sync::Semaphore;
use tokio::sync::watch;
use windtunnel_core::Identity;
use windtunnel_core::clock::{Clock, Time, WallClock};
use windtunnel_core::limits::REQUEST_LATENCY_MS;

use self::arrivals::{Arrivals, OrderKey};
pub use self::endpoint::PathEndpoint;
pub use self::feed::{Feed, without_owners};
use self::notifier::ChangeNotifier;
use super::rejection::Outcome;
use super::reply::{ConnectionDropped, Reply, ReplyBody};
use super::request::{Method, Request};
use super::server::ApiServer;
use super::storage::writer::{Writer, Written, closed};
use super::store::TableId;
use crate::call::attempt::Attempt;
use crate::outbound::hooks::{HookCall, HookError};
use crate::pipeline::Step;
use crate::server::builder::Builder;

/// The body of a response.
pub type ReplyStream = UnsyncBoxBody<Bytes, Infallible>;

/// How often a thread tries to lock the server before it sleeps: about twenty microseconds.
const SPINS: u32 = 400;

/// A shared handle to a server.
#[derive(Clone)]
pub struct Shared {
    server: Arc<Mutex<ApiServer>>,
    /// Wakes watchers.
    notifier: Arc<ChangeNotifier>,
    /// Counts the requests of in-process clients.
    requests: Arc<AtomicU64>,
    /// Counts the responses to in-process and HTTPS clients.
    responses: Arc<AtomicU64>,
    clock: Arc<dyn Clock>,
    /// Makes changes durable; `None` without a storage.
    writer: Option<Writer>,
    /// Whether the server may delay requests.
    has_delays: bool,
    /// Answer paths beside the API.
    endpoints: Vec<Arc<dyn PathEndpoint>>,
    /// The requests of named clients that wait for their turn.
    arrivals: Arc<Arrivals>,
    /// The turns of large writes; `None` if the server runs them like others.
    #[cfg(feature = "https")]
    ahead: Option<Arc<Semaphore>>,
}

impl Shared {
    /// Shares a server whose clients use `clock`.
    pub fn new(server: ApiServer, clock: Arc<dyn Clock>) -> Self {
        let notifier = ChangeNotifier::new(server.revision());
        let has_delays = server.definitions.pace().has_delays();
        let server = Arc::new(Mutex::new(server));
        Self {
            server,
            notifier: Arc::new(notifier),
            requests: Arc::default(),
            responses: Arc::default(),
            clock,
            writer: None,
            has_delays,
            endpoints: Vec::new(),
            arrivals: Arc::default(),
            #[cfg(feature = "https")]
            ahead: None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, ApiServer> {
        lock(&self.server)
    }

    /// Calls the server directly, and wakes watchers if it changed. With a storage, waits until the changes are durable. If the
    /// storage rejects the changes, they are reverted, even if the call returned success.
    pub fn with<T>(&self, call: impl FnOnce(&mut ApiServer) -> T) -> T {
        let (result, receipt) = self.call_and_submit(call, |_| false, Writer::submit_sync);
        if let Some(receipt) = receipt {
            let _ = receipt.durable();
        }
        result
    }

    /// Calls the server, and submits its changes to the storage in order. A call without changes is submitted too if
    /// `saw_pending` returns true: it read writes that are not durable yet, so the caller has to wait for them.
    fn call_and_submit<T, W>(
        &self,
        call: impl FnOnce(&mut ApiServer) -> T,
        saw_pending: impl FnOnce(&ApiServer) -> bool,
        submit: impl FnOnce(&Writer, Written) -> W,
    ) -> (T, Option<W>) {
        let mut server = self.lock();
        let epochs = |server: &ApiServer| (server.definitions.epoch(), server.faults.epoch());
        let before = (server.revision(), epochs(&server));
        let result = call(&mut server);
        let after = (server.revision(), epochs(&server));
        // Wake all watchers if a definition was replaced, if faults changed the events that watches show, or if the history no
        // longer has all writes of the call.
        let tables: Option<BTreeSet<TableId>> = if before.1 == after.1 {
            server.events_since(before.0).ok().map(|events| events.map(|event| event.table).collect())
        } else {
            None
        };
        let changes = server.store.take_changes();
        let wrote = !changes.is_empty();
        let waits = wrote || self.writer.is_some() && saw_pending(&server);
        let submitted = self.writer.as_ref().filter(|_| waits).map(|writer| {
            // The writer wakes the watchers of these tables once the changes are durable.
            submit(writer, Written { changes, changed_tables: tables.clone() })
        });
        drop(server);
        if before != after && !(wrote && submitted.is_some()) {
            self.notifier.notify(tables);
        }
        (result, submitted)
    }

    /// Answers the request of a client. Calls webhooks without holding the lock, and waits until everything that the request
    /// changed or read is durable.
    pub(crate) async fn answer(&self, request: &Request<'_>) -> Outcome<Reply> {
        self.pause(request).await;
        if let Some(answered) = self.endpoint_reply(request) {
            return answered;
        }
        // A restarted request keeps its time, so that it makes the same webhook calls and finds their answers.
        let now = self.now();
        loop {
            if let Some(answered) = self.attempt(request, now).await {
                return answered;
            }
        }
    }

    /// Answers a request; `None` if the request only read and the storage reverted what it read, so that it must restart.
    async fn attempt(&self, request: &Request<'_>, now: Time) -> Option<Outcome<Reply>> {
        let mut attempt = Attempt::default();
        #[cfg(feature = "https")]
        self.prepare(request, now, &mut attempt).await;
        loop {
            let advance = |server: &mut ApiServer| server.advance(request, now, &mut attempt);
            let saw_pending = |server: &ApiServer| durable::saw_pending(server, request);
            let (step, submitted) = self.call_and_submit(advance, saw_pending, |writer, written| {
                (!written.changes.is_empty(), writer.submit(written))
            });
            if let Some((wrote, ticket)) = submitted
                && let Err(error) = ticket.durable().await
            {
                // A read may have removed expired Events. If that write fails, a later request removes them.
                let fails = wrote && request.method != Method::Get || error == closed();
                return fails.then(|| Err(durable::storage_error(&error)));
            }
            match step {
                Step::Done(mut reply) => {
                    if let ReplyBody::Watch(watch) = &mut reply.body {
                        watch.set_speed(self.speed(), now);
                    }
                    return Some(Ok(reply));
                }
                Step::Calls(calls) => self.call_all(calls, &mut attempt).await,
            }
        }
    }

    /// Calls webhooks at the same time, and records their answers.
    async fn call_all(&self, calls: Vec<HookCall>, attempt: &mut Attempt) {
        let answers = join_all(calls.iter().map(|call| self.call(call.clone()))).await;
        for (call, answer) in calls.into_iter().zip(answers) {
            attempt.record_answer(call, answer);
        }
    }

    /// Delays a request if the server is configured to delay it ([`DefinitionPace`](crate::DefinitionPace)).
    async fn pause(&self, request: &Request<'_>) {
        if !self.has_delays {
            return;
        }
        let pause = self.lock().pause_before(request, self.now());
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
    }

    /// Calls a webhook.
    pub(super) async fn call(&self, call: HookCall) -> Result<serde_json::Value, HookError> {
        let hooks = self.lock().hooks.clone();
        hooks.start(call).await
    }

    /// The current time on the clients' clock.
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// The speed of the clients' clock: seconds per second of the wall clock.
    pub(crate) fn speed(&self) -> f64 {
        self.clock.speed()
    }

    /// The wall-clock time until the clients' clock reaches `at`.
    fn until(&self, at: Time) -> Duration {
        self.clock.until(at)
    }

    /// The number of requests of in-process clients so far.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// The number of the next response.
    pub(crate) fn next_response_number(&self) -> u64 {
        self.responses.fetch_add(1, Ordering::Relaxed)
    }

    /// A receiver whose value changes with every write.
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.notifier.subscribe()
    }

    /// A receiver whose value changes with every write to a table.
    pub(crate) fn subscribe_to(&self, table: TableId) -> watch::Receiver<u64> {
        self.notifier.subscribe_to(table)
    }

    /// A handle to the same server for clients that use another clock.
    #[must_use]
    pub fn with_clock(&self, clock: Arc<dyn Clock>) -> Self {
        Self { clock, ..self.clone() }
    }

    /// A handle to the same server whose clients also reach this program beside the API.
    #[must_use]
    pub fn with_endpoint(&self, endpoint: Arc<dyn PathEndpoint>) -> Self {
        let mut shared = self.clone();
        shared.endpoints.push(endpoint);
        shared
    }

    /// Wakes all subscribers and watchers without a write.
    pub fn wake(&self) {
        self.notifier.notify_all();
    }

    /// A service that acts as `who`.
    pub fn service(&self, who: &Identity) -> Service {
        Service { shared: self.clone(), who: Arc::new(who.clone()), agent: None }
    }

    /// A kube client that acts as `who`. Call it on a tokio runtime; the client works as long as that runtime runs.
    #[cfg(feature = "client")]
    pub fn client(&self, who: &Identity) -> kube::Client {
        kube::Client::new(self.service(who), "default")
    }

    /// As [`Shared::client`], with this user agent, unless the client sets another one. Requests of such clients that
    /// arrive at one moment of the runtime's time are answered in a fixed order, so that a client that makes several of
    /// them at once in a random order gets the same answers in each run.
    #[cfg(feature = "client")]
    pub fn named_client(&self, who: &Identity, agent: &str) -> kube::Client {
        let agent = ::http::HeaderValue::from_str(agent);
        let agent = agent.unwrap_or_else(|_| ::http::HeaderValue::from_static("program"));
        kube::Client::new(Service { agent: Some(agent), ..self.service(who) }, "default")
    }
}

impl Builder {
    /// Builds the server with the wall clock, and shares it with clients.
    pub fn start(self) -> Shared {
        Shared::new(self.build(WallClock.now()), Arc::new(WallClock))
    }
}

fn lock(server: &Mutex<ApiServer>) -> MutexGuard<'_, ApiServer> {
    // The lock is held for microseconds only: shorter than a thread takes to sleep and wake up.
    for _ in 0..SPINS {
        match server.try_lock() {
            Ok(server) => return server,
            Err(TryLockError::Poisoned(_)) => break,
            Err(TryLockError::WouldBlock) => std::hint::spin_loop(),
        }
    }
    // After a panic of another thread the store is consistent, because requests change it last.
    server.lock().unwrap_or_else(PoisonError::into_inner)
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

/// Answers HTTP requests as one identity. Each request takes [`REQUEST_LATENCY_MS`] of the runtime's time.
#[derive(Debug, Clone)]
pub struct Service {
    shared: Shared,
    who: Arc<Identity>,
    /// The user agent of a client whose requests are ordered.
    agent: Option<::http::HeaderValue>,
}

impl Service {
    /// Adds the user agent of a named client to its request, and waits for the turn of the request.
    async fn take_turn(&self, head: &mut ::http::request::Parts, body: &Bytes) {
        let Some(agent) = &self.agent else { return };
        let agent = head.headers.entry(::http::header::USER_AGENT).or_insert_with(|| agent.clone());
        let key = OrderKey {
            user: &self.who.user,
            agent: agent.as_bytes(),
            method: head.method.as_str(),
            path: head.uri.to_string(),
            body: body.clone(),
        };
        self.shared.arrivals.wait_for_turn(self.shared.now(), key).await;
    }
}

impl<B> tower_service::Service<::http::Request<B>> for Service
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
{
    type Response = ::http::Response<ReplyStream>;
    type Error = ConnectionDropped;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, ConnectionDropped>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectionDropped>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: ::http::Request<B>) -> Self::Future {
        let service = self.clone();
        self.shared.requests.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move {
            let (mut head, body) = request.into_parts();
            let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
            tokio::time::sleep(Duration::from_millis(REQUEST_LATENCY_MS)).await;
            service.take_turn(&mut head, &body).await;
            let Self { shared, who, .. } = service;
            let reply = shared.answer(&http::request(&head, body, &who)).await;
            let reply = reply.unwrap_or_else(|rejection| Reply::rejection(&rejection));
            if reply.is_dropped() {
                return Err(ConnectionDropped);
            }
            let response = http::response(&shared, reply);
            Ok(if head.method == ::http::Method::HEAD { http::without_body(response) } else { response })
        })
    }
}
