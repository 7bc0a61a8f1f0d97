//! One HTTP request to a webhook, on a connection of its own.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, HOST, REFERER, USER_AGENT};
use http::{Method, Request, Response};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use super::super::trust;
use super::failure;
use super::recorder::{Log, Recorder};
use crate::gotext::quote;
use crate::gotext::url::Url;
use crate::outbound::hooks::HookTarget;

/// The name by which webhooks know the server.
const AGENT: &str = "kube-apiserver-admission";
/// The most time for the handshake of TLS.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// The most bytes of a response.
pub(super) const RESPONSE_MAX: usize = 256 * 1024 * 1024;

/// A request: the first one of a call, or one after a redirect.
#[derive(Debug, Clone)]
pub(super) struct Outgoing {
    pub(super) method: Method,
    pub(super) url: Url,
    /// The review; `None` if a redirect dropped it.
    pub(super) body: Option<Bytes>,
    /// The URL that redirected here.
    pub(super) referer: Option<String>,
    /// The URL as the redirect has it.
    pub(super) location: String,
}

/// The response to a request, whose body is still to be read.
pub(super) struct Incomplete {
    pub(super) head: http::response::Parts,
    body: Incoming,
    log: Log,
    /// The connection may close without its sender.
    _sender: http1::SendRequest<Full<Bytes>>,
}

impl Incomplete {
    /// Reads the body.
    ///
    /// # Errors
    /// Go's message.
    pub(super) async fn read(self, deadline: Instant) -> Result<Bytes, String> {
        let body = Limited::new(self.body, RESPONSE_MAX).collect();
        let body = timeout_at(deadline, body).await.map_err(|_| "context deadline exceeded".to_owned())?;
        body.map(http_body_util::Collected::to_bytes).map_err(|error| {
            let invalid = error.downcast_ref::<hyper::Error>().is_some_and(is_malformed);
            let other = if invalid { "invalid byte in chunk length" } else { "unexpected EOF" };
            self.log.failure().unwrap_or_else(|| other.to_owned())
        })
    }
}

/// Whether a body is malformed, and not only incomplete.
fn is_malformed(error: &hyper::Error) -> bool {
    let cause = std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<io::Error>());
    cause
        .is_some_and(|cause| matches!(cause.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData))
}

/// Sends a request and waits for the head of the response.
///
/// # Errors
/// Go's message, without the method and the URL.
pub(super) async fn send(
    target: &HookTarget,
    outgoing: &Outgoing,
    deadline: Instant,
) -> Result<Incomplete, String> {
    let sent = timeout_at(deadline, exchange(target, outgoing)).await;
    sent.unwrap_or_else(|_| Err("context deadline exceeded".to_owned()))
}

async fn exchange(target: &HookTarget, outgoing: &Outgoing) -> Result<Incomplete, String> {
    let url = &outgoing.url;
    let secure = match url.scheme.as_str() {
        "https" => true,
        "http" => false,
        other => return Err(format!("unsupported protocol scheme {}", quote(other))),
    };
    let (host, port) = url.host_and_port();
    if host.is_empty() {
        return Err("http: no Host in request URL".to_owned());
    }
    let port = port.parse().unwrap_or(if secure { 443 } else { 80 });
    let (stream, log) = match &target.service {
        Some(service)
            if url.host == format!("{}.{}.svc:{}", service.name, service.namespace, service.port) =>
        {
            let endpoint = service.endpoint.clone()?;
            let (host, port) = endpoint.rsplit_once(':').unwrap_or((&endpoint, ""));
            connect(host.trim_matches(['[', ']']), port.parse().unwrap_or(443)).await?
        }
        _ => connect(host, port).await?,
    };
    if !secure {
        return talk(Recorder::new(stream, log.clone()), log, outgoing).await;
    }
    let stream = secured(stream, &log, target, host).await?;
    let log = log.of_next_layer();
    talk(Recorder::new(stream, log.clone()), log, outgoing).await
}

async fn connect(host: &str, port: u16) -> Result<(TcpStream, Log), String> {
    let unknown = || format!("dial tcp: lookup {host}{}: no such host", nameserver());
    let addresses = tokio::net::lookup_host((host, port)).await.map_err(|_| unknown())?;
    let mut first = None;
    for address in addresses {
        match TcpStream::connect(address).await {
            Ok(stream) => {
                let log = Log::new(stream.local_addr().ok(), address);
                return Ok((stream, log));
            }
            Err(error) => {
                let why = match error.kind() {
                    io::ErrorKind::ConnectionRefused => "connection refused".to_owned(),
                    io::ErrorKind::NetworkUnreachable => "network is unreachable".to_owned(),
                    io::ErrorKind::HostUnreachable => "no route to host".to_owned(),
                    io::ErrorKind::TimedOut => "connection timed out".to_owned(),
                    _ => error.to_string(),
                };
                first.get_or_insert(format!("dial tcp {address}: connect: {why}"));
            }
        }
    }
    Err(first.unwrap_or_else(unknown))
}

/// The server of names in messages, as `" on 10.0.0.1:53"`; empty if there is none.
fn nameserver() -> String {
    let file = std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
    let mut servers = file.lines().filter_map(|line| line.strip_prefix("nameserver"));
    let address: Option<std::net::IpAddr> = servers.find_map(|server| server.trim().parse().ok());
    address.map(|address| format!(" on {}", std::net::SocketAddr::new(address, 53))).unwrap_or_default()
}

type Secured = tokio_rustls::client::TlsStream<Recorder<TcpStream>>;

/// Runs the handshake of TLS.
async fn secured(stream: TcpStream, log: &Log, target: &HookTarget, host: &str) -> Result<Secured, String> {
    // The certificate of a service is for its name, whatever redirects there are.
    let name = match &target.service {
        Some(service) => format!("{}.{}.svc", service.name, service.namespace),
        None => host.to_owned(),
    };
    let name = ServerName::try_from(name.clone()).map_err(|_| format!("invalid host {}", quote(&name)))?;
    let config = trust::client(&target.ca_bundle)?;
    let stream = Recorder::new(stream, log.clone());
    let connected = TlsConnector::from(Arc::new(config)).connect(name, stream);
    match tokio::time::timeout(HANDSHAKE, connected).await {
        Ok(Ok(stream)) => Ok(stream),
        Ok(Err(error)) => {
            let message = log.failure().unwrap_or_else(|| log.message(&error, "read"));
            Err(failure::of_handshake(message, &error, &log.received(), log.ends_within_frame()))
        }
        Err(_) => Err("net/http: TLS handshake timeout".to_owned()),
    }
}

/// Sends a request on a connection.
async fn talk<S>(stream: Recorder<S>, log: Log, outgoing: &Outgoing) -> Result<Incomplete, String>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let broken = |error: &dyn std::fmt::Display| error.to_string();
    // Go accepts such headers; `of_head` rejects what Go rejects.
    let mut builder = http1::Builder::new();
    builder.ignore_invalid_headers_in_responses(true).title_case_headers(true);
    let (mut sender, connection) =
        builder.handshake(TokioIo::new(stream)).await.map_err(|error| broken(&error))?;
    tokio::spawn(connection);
    let request = request(outgoing).map_err(|error| broken(&error))?;
    let response = sender.send_request(request).await;
    let failed = log.failure().filter(|_| response.is_err());
    if let Some(message) = failed.or_else(|| failure::of_head(&log.received())) {
        return Err(message);
    }
    let response: Response<Incoming> =
        response.map_err(|_| "net/http: HTTP/1.x transport connection broken: unexpected EOF".to_owned())?;
    let (head, body) = response.into_parts();
    Ok(Incomplete { head, body, log, _sender: sender })
}

fn request(outgoing: &Outgoing) -> http::Result<Request<Full<Bytes>>> {
    let url = &outgoing.url;
    let (path, query) = (if url.path.is_empty() { "/" } else { &url.path }, &url.query);
    let target = if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") };
    let mut request = Request::builder()
        .method(outgoing.method.clone())
        .uri(target)
        .header(HOST, &url.host)
        .header(USER_AGENT, AGENT)
        .header(ACCEPT, "application/json, */*")
        .header(ACCEPT_ENCODING, "gzip");
    if outgoing.body.is_some() {
        request = request.header(CONTENT_TYPE, "application/json");
    }
    if let Some(referer) = &outgoing.referer {
        request = request.header(REFERER, referer);
    }
    request.body(Full::new(outgoing.body.clone().unwrap_or_default()))
}
