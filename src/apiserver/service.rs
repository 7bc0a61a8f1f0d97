//! The server behind a `tower::Service`, for kube clients in process.
//!
//! [`Shared`] is the handle that others lock for direct calls; whatever door a write came through, watchers wake.

pub(crate) mod body;
pub(crate) mod http;

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use http_body_util::combinators::UnsyncBoxBody;
use tokio::sync::watch;

use super::server::ApiServer;
use crate::base::clock::{Clock, Time};
use crate::base::limits::REQUEST_LATENCY_MS;
use crate::model::{Identity, Object, Refusal, Write};

/// The body of an answer.
pub type ReplyStream = UnsyncBoxBody<Bytes, Infallible>;

/// A server that several hold.
#[derive(Clone)]
pub struct Shared {
    server: Arc<Mutex<ApiServer>>,
    /// Counts what may concern a watcher: writes, and changes of what is served.
    moved: Arc<watch::Sender<u64>>,
    /// Counts the requests of clients.
    requests: Arc<AtomicU64>,
    clock: Arc<dyn Clock>,
}

impl Shared {
    /// Shares a server whose clients live by `clock`.
    pub fn new(server: ApiServer, clock: Arc<dyn Clock>) -> Self {
        let (moved, _) = watch::channel(server.revision());
        Self { server: Arc::new(Mutex::new(server)), moved: Arc::new(moved), requests: Arc::default(), clock }
    }

    fn lock(&self) -> MutexGuard<'_, ApiServer> {
        // A panic elsewhere while the lock was held leaves the store whole: it is changed last.
        self.server.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls the server directly, and wakes watchers if it moved.
    pub fn with<T>(&self, call: impl FnOnce(&mut ApiServer) -> T) -> T {
        let mut server = self.lock();
        let before = (server.revision(), server.epoch);
        let result = call(&mut server);
        let after = (server.revision(), server.epoch);
        drop(server);
        if before != after {
            self.moved.send_modify(|count| *count += 1);
        }
        result
    }

    /// Makes a write without HTTP in between.
    ///
    /// # Errors
    /// The server's refusal.
    pub fn write(&self, write: &Write, who: &Identity, now: Time) -> Result<Object, Refusal> {
        self.with(|server| server.write(write, who, now))
    }

    /// The moment on the clock of its clients.
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// How many requests its services have been asked so far.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Tells of writes through any door: the receiver's value changes with each.
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.moved.subscribe()
    }

    /// A service that acts as `who`.
    pub fn service(&self, who: &Identity) -> Service {
        Service { shared: self.clone(), who: Arc::new(who.clone()) }
    }

    /// A kube client that acts as `who`. Must be called on a tokio runtime, and lives as long as that.
    pub fn client(&self, who: &Identity) -> kube::Client {
        kube::Client::new(self.service(who), "default")
    }
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

impl tower::Service<::http::Request<kube::client::Body>> for Service {
    type Response = ::http::Response<ReplyStream>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: ::http::Request<kube::client::Body>) -> Self::Future {
        let (shared, who) = (self.shared.clone(), Arc::clone(&self.who));
        shared.requests.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
            tokio::time::sleep(Duration::from_millis(REQUEST_LATENCY_MS)).await;
            let now = shared.now();
            let reply = shared.with(|server| server.handle(&http::request(&head, body, &who), now));
            Ok(http::response(&shared, reply))
        })
    }
}
