//! A plain HTTP server for a few paths.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// The time limit for a client to send a request, also on a kept-alive connection.
const READ_TIMEOUT: Duration = Duration::from_secs(60);
/// The pause after a failure to accept a connection, because the process has too many open files.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// The content type of plain text.
pub(super) const PLAIN: &str = "text/plain; charset=utf-8";

/// The response to a request; `None` ends the connection without one.
pub(super) type Answer = dyn Fn(&Request<Incoming>) -> Option<Response<Full<Bytes>>> + Send + Sync;

/// A server that runs until it is dropped.
pub(super) struct Endpoint {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Endpoint {
    /// Starts to listen. `flag` is the user's setting of the address, for errors.
    ///
    /// # Errors
    /// It cannot listen on the address.
    pub(super) async fn listen(flag: &str, address: SocketAddr, answer: Arc<Answer>) -> Result<Self, String> {
        let failed = |error| format!("{flag} {address}: {error}");
        let socket = TcpListener::bind(address).await.map_err(failed)?;
        let address = socket.local_addr().map_err(failed)?;
        Ok(Self { address, task: tokio::spawn(accept(socket, answer)) })
    }

    /// Returns its address with the actual port.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(socket: TcpListener, answer: Arc<Answer>) {
    loop {
        let Ok((stream, _)) = socket.accept().await else {
            tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
            continue;
        };
        let answer = Arc::clone(&answer);
        let service = service_fn(move |request: Request<Incoming>| {
            let response = answer(&request);
            async move { response.ok_or(NoAnswer) }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(READ_TIMEOUT)
            .serve_connection(TokioIo::new(stream), service);
        // A client may disconnect during an answer.
        tokio::spawn(async move { drop(connection.await) });
    }
}

/// The end of a connection without a response.
#[derive(Debug)]
struct NoAnswer;

impl std::fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("no answer")
    }
}

impl std::error::Error for NoAnswer {}

/// Builds a response.
pub(super) fn response(
    status: StatusCode,
    content_type: &'static str,
    body: String,
) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, http::HeaderValue::from_static(content_type));
    response
}
