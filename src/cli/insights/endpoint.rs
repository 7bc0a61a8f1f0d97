//! Serves `/healthz`, `/readyz` and `/metrics` over HTTP, for kubelets and Prometheus.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::monitor::Monitor;

/// The time limit for a client to send a request, also on a kept-alive connection.
const READ_TIMEOUT: Duration = Duration::from_secs(60);
/// The pause after a failure to accept a connection, because the process has too many open files.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PLAIN: &str = "text/plain; charset=utf-8";

/// A server that runs until it is dropped.
pub(super) struct Endpoint {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Endpoint {
    /// Starts to listen.
    ///
    /// # Errors
    /// It cannot listen on the address.
    pub(super) async fn listen(address: SocketAddr, monitor: Arc<Monitor>) -> Result<Self, String> {
        let failed = |error| format!("--listen {address}: {error}");
        let socket = TcpListener::bind(address).await.map_err(failed)?;
        let address = socket.local_addr().map_err(failed)?;
        Ok(Self { address, task: tokio::spawn(accept(socket, monitor)) })
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

async fn accept(socket: TcpListener, monitor: Arc<Monitor>) {
    loop {
        let Ok((stream, _)) = socket.accept().await else {
            tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
            continue;
        };
        let monitor = Arc::clone(&monitor);
        let answer = service_fn(move |request: Request<Incoming>| {
            let response = answer(request.method(), request.uri().path(), &monitor);
            async move { Ok::<_, Infallible>(response) }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(READ_TIMEOUT)
            .serve_connection(TokioIo::new(stream), answer);
        // A client may disconnect during an answer.
        tokio::spawn(async move { drop(connection.await) });
    }
}

fn answer(method: &Method, path: &str, monitor: &Monitor) -> Response<Full<Bytes>> {
    if !matches!(*method, Method::GET | Method::HEAD) {
        return response(StatusCode::METHOD_NOT_ALLOWED, PLAIN, "expected GET\n".to_owned());
    }
    match path {
        "/healthz" | "/livez" => checked(monitor.healthy()),
        "/readyz" => checked(monitor.ready()),
        "/metrics" => response(StatusCode::OK, OPEN_METRICS, monitor.metrics()),
        _ => response(StatusCode::NOT_FOUND, PLAIN, "expected /healthz, /readyz or /metrics\n".to_owned()),
    }
}

fn checked(check: Result<(), String>) -> Response<Full<Bytes>> {
    match check {
        Ok(()) => response(StatusCode::OK, PLAIN, "ok".to_owned()),
        Err(why) => response(StatusCode::INTERNAL_SERVER_ERROR, PLAIN, why + "\n"),
    }
}

fn response(status: StatusCode, content_type: &'static str, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, http::HeaderValue::from_static(content_type));
    response
}
