//! The server behind a `tower::Service`, for kube clients in process.
//!
//! [`Shared`] is the handle that others lock for direct calls; whatever door a write came through, watchers wake. A
//! controller's test needs no more than this:
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

pub(crate) mod body;
pub mod clock_headers;
mod durable;
mod feed;
pub(crate) mod http;
mod moved;

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use http_body_util::combinators::UnsyncBoxBody;
use tokio::sync::watch;
use windtunnel_core::Identity;
use windtunnel_core::clock::{Clock, Time, WallClock};
use windtunnel_core::limits::REQUEST_LATENCY_MS;

pub use self::feed::{Feed, without_owners};
use self::moved::Moved;
use super::builder::Builder;
use super::hooks::{Attempt, HookCall, HookError, Step};
use super::reply::{Reply, ReplyBody};
use super::request::{Method, Request};
use super::server::ApiServer;
use super::status::Outcome;
use super::storage::writer::{Writer, Written, closed};
use super::store::TableId;

/// The body of an answer.
pub type ReplyStream = UnsyncBoxBody<Bytes, Infallible>;

/// How often a thread looks whether the server is free before it sleeps: some twenty microseconds.
const SPINS: u32 = 400;

/// A server that several hold.
#[derive(Clone)]
pub struct Shared {
    server: Arc<Mutex<ApiServer>>,
    /// Wakes watchers.
    moved: Arc<Moved>,
    /// Counts the requests of clients in process.
    requests: Arc<AtomicU64>,
    /// Counts answers through any door.
    answers: Arc<AtomicU64>,
    clock: Arc<dyn Clock>,
    /// Makes changes durable, if anything does.
    writer: Option<Writer>,
    /// Whether requests may have to wait.
    paced: bool,
}

impl Shared {
    /// Shares a server whose clients live by `clock`.
    pub fn new(server: ApiServer, clock: Arc<dyn Clock>) -> Self {
        let moved = Moved::new(server.revision());
        let paced = server.definitions.pace().has_delays();
        let server = Arc::new(Mutex::new(server));
        Self {
            server,
            moved: Arc::new(moved),
            requests: Arc::default(),
            answers: Arc::default(),
            clock,
            writer: None,
            paced,
        }
    }

    fn lock(&self) -> MutexGuard<'_, ApiServer> {
        lock(&self.server)
    }

    /// Calls the server directly, and wakes watchers if it moved. With a storage, waits until the changes are durable; what a
    /// storage does not take is taken back, whatever the call returned.
    pub fn with<T>(&self, call: impl FnOnce(&mut ApiServer) -> T) -> T {
        let (result, receipt) = self.locked(call, |_| false, Writer::submit_sync);
        if let Some(receipt) = receipt {
            let _ = receipt.durable();
        }
        result
    }

    /// Calls the server, and hands its changes over in the order in which they were made. If there are none, `saw` tells
    /// whether the call saw what is not durable yet, which is waited for then.
    fn locked<T, W>(
        &self,
        call: impl FnOnce(&mut ApiServer) -> T,
        saw: impl FnOnce(&ApiServer) -> bool,
        submit: impl FnOnce(&Writer, Written) -> W,
    ) -> (T, Option<W>) {
        let mut server = self.lock();
        let before = (server.revision(), server.definitions.epoch());
        let result = call(&mut server);
        let after = (server.revision(), server.definitions.epoch());
        // Where a definition was replaced, or more was written than is remembered, everybody looks.
        let tables: Option<BTreeSet<TableId>> = if before.1 == after.1 {
            server.events_since(before.0).ok().map(|events| events.map(|event| event.table).collect())
        } else {
            None
        };
        let changes = server.store.take_changes();
        let wrote = !changes.is_empty();
        let waits = wrote || self.writer.is_some() && saw(&server);
        let submitted = self.writer.as_ref().filter(|_| waits).map(|writer| {
            // Those who follow these tables are woken once they may see it.
            submit(writer, Written { changes, changed_tables: tables.clone() })
        });
        drop(server);
        if before != after && !(wrote && submitted.is_some()) {
            self.moved.tell(tables);
        }
        (result, submitted)
    }

    /// Answers a request of a client: calls webhooks while nothing is locked, and waits until what it changed, and what it
    /// saw, is durable.
    pub(crate) async fn answer(&self, request: &Request<'_>) -> Outcome<Reply> {
        self.pause(request).await;
        self.probe(request).await;
        // A request that is run again is the same at the same time: that is how it finds its answers.
        let now = self.now();
        loop {
            if let Some(answered) = self.attempt(request, now).await {
                return answered;
            }
        }
    }

    /// Answers a request, unless what the answer was made of is taken back before anybody sees it.
    async fn attempt(&self, request: &Request<'_>, now: Time) -> Option<Outcome<Reply>> {
        let mut attempt = Attempt::default();
        loop {
            let advance = |server: &mut ApiServer| server.advance(request, now, &mut attempt);
            let saw = |server: &ApiServer| durable::saw_pending(server, request);
            let (step, submitted) = self.locked(advance, saw, |writer, written| {
                (!written.changes.is_empty(), writer.submit(written))
            });
            if let Some((wrote, ticket)) = submitted
                && let Err(error) = ticket.durable().await
            {
                // A reader may have taken out Events whose time is over; they go another time.
                let refused = wrote && request.method != Method::Get || error == closed();
                return refused.then(|| Err(durable::refused(&error)));
            }
            match step {
                Step::Done(mut reply) => {
                    if let ReplyBody::Watch(watch) = &mut reply.body {
                        watch.pace(self.speed(), now);
                    }
                    return Some(Ok(reply));
                }
                Step::Call(call) => {
                    let answer = self.call(call.clone()).await;
                    attempt.answered(call, answer);
                }
            }
        }
    }

    /// Waits as long as the server wants a request to wait, if it ever does.
    async fn pause(&self, request: &Request<'_>) {
        if !self.paced {
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

    /// The moment on the clock of its clients.
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// The seconds that pass on that clock in one second on the wall.
    pub(crate) fn speed(&self) -> f64 {
        self.clock.speed()
    }

    /// The time on the wall until that clock shows `at`.
    fn until(&self, at: Time) -> Duration {
        self.clock.until(at)
    }

    /// How many requests its services have been asked so far.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// The number of the next answer.
    pub(crate) fn next_answer(&self) -> u64 {
        self.answers.fetch_add(1, Ordering::Relaxed)
    }

    /// Tells of writes through any door: the receiver's value changes with each.
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.moved.subscribe()
    }

    /// Tells of writes of one kind, by its table.
    pub(crate) fn subscribe_to(&self, table: TableId) -> watch::Receiver<u64> {
        self.moved.subscribe_to(table)
    }

    /// The same server for clients that live by another clock.
    #[must_use]
    pub fn with_clock(&self, clock: Arc<dyn Clock>) -> Self {
        Self { clock, ..self.clone() }
    }

    /// Wakes those who wait for a write, although there is none.
    pub fn wake(&self) {
        self.moved.tell_all();
    }

    /// A service that acts as `who`.
    pub fn service(&self, who: &Identity) -> Service {
        Service { shared: self.clone(), who: Arc::new(who.clone()) }
    }

    /// A kube client that acts as `who`. Must be called on a tokio runtime, and lives as long as that.
    #[cfg(feature = "client")]
    pub fn client(&self, who: &Identity) -> kube::Client {
        kube::Client::new(self.service(who), "default")
    }
}

impl Builder {
    /// Makes the server by the clock of this machine, ready to be shared with clients.
    pub fn start(self) -> Shared {
        Shared::new(self.build(WallClock.now()), Arc::new(WallClock))
    }
}

fn lock(server: &Mutex<ApiServer>) -> MutexGuard<'_, ApiServer> {
    // The holder is done within microseconds: sooner than a thread falls asleep and wakes up.
    for _ in 0..SPINS {
        match server.try_lock() {
            Ok(server) => return server,
            Err(TryLockError::Poisoned(_)) => break,
            Err(TryLockError::WouldBlock) => std::hint::spin_loop(),
        }
    }
    // A panic elsewhere while the lock was held leaves the store whole: it is changed last.
    server.lock().unwrap_or_else(PoisonError::into_inner)
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

/// Answers HTTP requests as one identity. Each takes [`REQUEST_LATENCY_MS`] of the runtime's time.
#[derive(Debug, Clone)]
pub struct Service {
    shared: Shared,
    who: Arc<Identity>,
}

impl<B> tower_service::Service<::http::Request<B>> for Service
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
{
    type Response = ::http::Response<ReplyStream>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: ::http::Request<B>) -> Self::Future {
        let (shared, who) = (self.shared.clone(), Arc::clone(&self.who));
        shared.requests.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
            tokio::time::sleep(Duration::from_millis(REQUEST_LATENCY_MS)).await;
            let reply = shared.answer(&http::request(&head, body, &who)).await;
            let reply = reply.unwrap_or_else(|refused| Reply::refused(&refused));
            let response = http::response(&shared, reply);
            Ok(if head.method == ::http::Method::HEAD { http::headers_alone(response) } else { response })
        })
    }
}
