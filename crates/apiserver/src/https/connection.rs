//! Serves the requests of a connection: limits, authentication and the server's response.

use std::borrow::Cow;
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::request::Parts;
use http::{Method, Request, Response};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use tokio::sync::watch;
use tokio::time::Instant;
use windtunnel_core::Identity;

use super::gate::Gate;
use super::gzip;
use super::limits::{self, InFlight};
use crate::ApiServer;
use crate::access::bearer_token;
use crate::rejection::{BoxedRejection, Outcome};
use crate::reply::{ConnectionDropped, Reply};
use crate::service::{ReplyStream, Shared, http as convert};

/// The identity in the client certificate of a connection, `None` without certificate, or an error if the certificate
/// is not trusted.
pub(super) type Peer = Result<Option<Identity>, ()>;

/// The state that all connections share.
#[derive(Debug)]
pub(super) struct ConnectionState {
    pub(super) server: Shared,
    /// The token and identity of the administrator, who needs no lookup.
    admin: (String, Identity),
    in_flight: InFlight,
    gate: Option<Arc<dyn Gate>>,
}

impl ConnectionState {
    pub(super) fn new(server: Shared, token: &str, gate: Option<Arc<dyn Gate>>) -> Self {
        let admin = (token.to_owned(), Identity::admin());
        server.with(|server| server.accept_token(token, admin.1.clone()));
        Self { server: server.preparing_large_writes(), admin, in_flight: InFlight::new(), gate }
    }

    /// Serves a request. A watch ends when `stopping` becomes true. An error closes the connection.
    pub(super) async fn answer(
        self: Arc<Self>,
        peer: Arc<Peer>,
        request: Request<Incoming>,
        stopping: watch::Receiver<bool>,
    ) -> Result<Response<ReplyStream>, ConnectionDropped> {
        let (head, body) = request.into_parts();
        let _pass = match &self.gate {
            Some(gate) => Some(gate.enter().await),
            None => None,
        };
        let reply = self.reply(&head, &peer, body).await;
        let reply = reply.unwrap_or_else(|rejection| convert::rejection(&head, &rejection));
        if reply.is_dropped() {
            return Err(ConnectionDropped);
        }
        let response = convert::response(&self.server, reply);
        if head.method == Method::HEAD {
            return Ok(convert::without_body(response));
        }
        if response.body().size_hint().exact().is_none() {
            return Ok(response.map(|body| self.stream(body, stopping)));
        }
        Ok(if gzip::is_accepted(&head) { gzip::compressed(response).await } else { response })
    }

    /// The body of a watch, which ends when `stopping` becomes true.
    fn stream(&self, body: ReplyStream, stopping: watch::Receiver<bool>) -> ReplyStream {
        let body = match &self.gate {
            Some(gate) => gate.stream(body),
            None => body,
        };
        Stoppable::new(body, stopping).boxed_unsync()
    }

    /// Authenticates a request.
    fn authenticate(&self, head: &Parts, peer: &Peer) -> Outcome<Cow<'_, Identity>> {
        let certificate = peer.as_ref().map(Option::as_ref).map_err(|&()| ());
        let (token, admin) = &self.admin;
        if !matches!(certificate, Ok(Some(_))) && bearer_token(&head.headers) == Some(token) {
            return Ok(Cow::Borrowed(admin));
        }
        let identify =
            |server: &mut ApiServer| server.identify(&head.headers, certificate, self.server.now());
        self.server.with(identify).map(Cow::Owned)
    }

    async fn reply(&self, head: &Parts, peer: &Peer, body: Incoming) -> Outcome<Reply> {
        let (started, limit) = (Instant::now(), limits::timeout(head)?);
        let _turn = self.in_flight.turn(head).await?;
        let identity = self.authenticate(head, peer)?;
        let body = match tokio::time::timeout(limit.unwrap_or(limits::REQUEST), limits::read(body)).await {
            Ok(Ok(body)) => body,
            // The client is gone and will not read this.
            Ok(Err(_)) => return Err(BoxedRejection::bad_request("unexpected EOF")),
            Err(_) => return Err(BoxedRejection::timed_out()),
        };
        let request = convert::request(head, body, &identity);
        let answer = self.server.answer(&request);
        match limit {
            // Webhooks may take longer than the request. Without an answer nothing is written.
            Some(limit) => tokio::time::timeout_at(started + limit, answer)
                .await
                .unwrap_or_else(|_| Err(BoxedRejection::deadline_exceeded())),
            None => answer.await,
        }
    }
}

/// An endless body that ends when the server stops.
struct Stoppable {
    body: ReplyStream,
    stopped: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl Stoppable {
    fn new(body: ReplyStream, mut stopping: watch::Receiver<bool>) -> Self {
        let stopped = async move {
            // A dropped sender counts as stopped too.
            let _ = stopping.wait_for(|stopping| *stopping).await;
        };
        Self { body, stopped: Box::pin(stopped) }
    }
}

impl Body for Stoppable {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.stopped.as_mut().poll(cx).is_ready() {
            return Poll::Ready(None);
        }
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
