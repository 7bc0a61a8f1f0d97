//! `/healthz`, `/readyz` and `/metrics` over HTTP, for kubelets and Prometheus.

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

/// How long a client may take to say what it wants, also on a connection that it keeps.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long to wait when no connection can be taken: the process has too many files open.
const EXHAUSTED: Duration = Duration::from_millis(50);

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PLAIN: &str = "text/plain; charset=utf-8";

/// A socket that answers as long as this lives.
pub(super) struct Endpoint {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Endpoint {
    /// Answers from now on.
    ///
    /// # Errors
    /// The address cannot be listened on.
    pub(super) async fn listen(address: SocketAddr, monitor: Arc<Monitor>) -> Result<Self, String> {
        let failed = |error| format!("--listen {address}: {error}");
        let socket = TcpListener::bind(address).await.map_err(failed)?;
        let address = socket.local_addr().map_err(failed)?;
        Ok(Self { address, task: tokio::spawn(accept(socket, monitor)) })
    }

    /// Where it listens, with the port that it got.
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
            tokio::time::sleep(EXHAUSTED).await;
            continue;
        };
        let monitor = Arc::clone(&monitor);
        let answer = service_fn(move |request: Request<Incoming>| {
            let answered = answer(request.method(), request.uri().path(), &monitor);
            async move { Ok::<_, Infallible>(answered) }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(PATIENCE)
            .serve_connection(TokioIo::new(stream), answer);
        // Whoever goes away in the middle has had enough.
        tokio::spawn(async move { drop(connection.await) });
    }
}

fn answer(method: &Method, path: &str, monitor: &Monitor) -> Response<Full<Bytes>> {
    if !matches!(*method, Method::GET | Method::HEAD) {
        return response(StatusCode::METHOD_NOT_ALLOWED, PLAIN, "only GET\n".to_owned());
    }
    match path {
        "/healthz" | "/livez" => checked(monitor.healthy()),
        "/readyz" => checked(monitor.ready()),
        "/metrics" => response(StatusCode::OK, OPEN_METRICS, monitor.metrics()),
        _ => response(StatusCode::NOT_FOUND, PLAIN, "there are /healthz, /readyz and /metrics\n".to_owned()),
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
