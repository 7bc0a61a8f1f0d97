//! Calls admission and conversion webhooks over HTTPS, for a served cluster.
//!
//! A webhook with a service reference is called at the address of its Service. There is no cluster network
//! here, so only services with an external name can be reached.

use std::sync::{Arc, LazyLock, mpsc};
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http::header::{ACCEPT, CONTENT_TYPE, HOST};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{CertificateError, Error};

use super::trust;
use crate::outbound::hooks::{HookCall, HookError, HookResponse, Hooks};

/// Maximum size of a response, in bytes; longer ones are not reviews.
const ANSWER_MAX: usize = 8 * 1024 * 1024;

/// Calls webhooks at their URLs. Their configured CA bundle must have signed their certificates.
#[derive(Debug, Clone, Copy, Default)]
pub struct Webhooks;

/// The runtime of all calls, with one thread. The caller's own runtime may have a paused clock, or no IO.
static BACKGROUND: LazyLock<Option<Runtime>> =
    LazyLock::new(|| Builder::new_multi_thread().worker_threads(1).enable_all().build().ok());

impl Hooks for Webhooks {
    /// Waits for the response on the caller's thread, which may belong to an async runtime; the call itself runs on another one.
    fn call(&self, call: &HookCall) -> Result<Value, HookError> {
        let runtime = background()?;
        let (sender, response) = mpsc::channel();
        let call = call.clone();
        runtime.spawn(async move { sender.send(post_in_time(&call).await) });
        response.recv().unwrap_or_else(|_| Err(aborted()))
    }

    fn start(self: Arc<Self>, call: HookCall) -> HookResponse {
        Box::pin(async move {
            let response = background()?.spawn(async move { post_in_time(&call).await }).await;
            response.unwrap_or_else(|_| Err(aborted()))
        })
    }
}

fn background() -> Result<&'static Runtime, HookError> {
    BACKGROUND.as_ref().ok_or_else(|| HookError("no thread for the call".to_owned()))
}

fn aborted() -> HookError {
    HookError("the call was aborted".to_owned())
}

/// Posts a review; fails when the webhook's timeout is over.
async fn post_in_time(call: &HookCall) -> Result<Value, HookError> {
    let response = tokio::time::timeout(call.timeout.max(Duration::from_secs(1)), post(call)).await;
    response.map_err(|_| HookError("context deadline exceeded".to_owned()))?
}

async fn post(call: &HookCall) -> Result<Value, HookError> {
    let url: http::Uri = call.url().parse().map_err(|error| HookError(format!("parse: {error}")))?;
    let host = url.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    let port = url.port_u16().unwrap_or(443);
    let stream = match &call.target.service {
        Some(service) => {
            let leads = service.endpoint.clone().map_err(HookError)?;
            let (host, port) = leads.rsplit_once(':').unwrap_or((&leads, ""));
            connect(host.trim_matches(['[', ']']), port.parse().unwrap_or(443)).await?
        }
        None => connect(&host, port).await?,
    };
    let name = ServerName::try_from(host.clone()).map_err(|_| HookError(format!("invalid host {host:?}")))?;
    let connector =
        TlsConnector::from(Arc::new(trust::in_bundle(&call.target.ca_bundle).map_err(HookError)?));
    let stream = connector.connect(name, stream).await.map_err(|error| HookError(handshake(&error)))?;
    let failed = |error: &dyn std::fmt::Display| HookError(error.to_string());
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|error| failed(&error))?;
    tokio::spawn(connection);
    let path = url.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    let body = serde_json::to_vec(&call.review).map_err(|error| failed(&error))?;
    let request = Request::post(path)
        .header(HOST, url.authority().map_or(host.as_str(), http::uri::Authority::as_str))
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, "application/json, */*")
        .body(Full::new(Bytes::from(body)))
        .map_err(|error| failed(&error))?;
    let answer = sender.send_request(request).await.map_err(|_| HookError("EOF".to_owned()))?;
    let status = answer.status();
    let body = Limited::new(answer.into_body(), ANSWER_MAX).collect().await;
    let body = body.map_err(|error| HookError(error.to_string()))?.to_bytes();
    if !status.is_success() {
        let text = String::from_utf8_lossy(&body);
        return Err(HookError(format!(
            "an error on the server ({:?}) has prevented the request from succeeding",
            text.trim()
        )));
    }
    serde_json::from_slice(&body).map_err(|error| failed(&error))
}

async fn connect(host: &str, port: u16) -> Result<TcpStream, HookError> {
    let addresses: Vec<_> = match tokio::net::lookup_host((host, port)).await {
        Ok(addresses) => addresses.collect(),
        Err(_) => return Err(HookError(format!("dial tcp: lookup {host}: no such host"))),
    };
    let mut why = format!("dial tcp: lookup {host}: no such host");
    for address in addresses {
        match TcpStream::connect(address).await {
            Ok(stream) => return Ok(stream),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
                why = format!("dial tcp {address}: connect: connection refused");
            }
            Err(error) => why = format!("dial tcp {address}: {error}"),
        }
    }
    Err(HookError(why))
}

/// Go's message about a failed handshake.
fn handshake(error: &std::io::Error) -> String {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
    match inner {
        // An authority with the same name and another key is another authority.
        Some(Error::InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::BadSignature)) => {
            "tls: failed to verify certificate: x509: certificate signed by unknown authority".to_owned()
        }
        Some(Error::InvalidCertificate(CertificateError::NotValidForNameContext { expected, presented })) => {
            format!("tls: failed to verify certificate: x509: {}", other_name(&expected.to_str(), presented))
        }
        Some(Error::InvalidCertificate(
            CertificateError::Expired | CertificateError::ExpiredContext { .. },
        )) => {
            "tls: failed to verify certificate: x509: certificate has expired or is not yet valid".to_owned()
        }
        Some(other) => format!("tls: {other}"),
        None => "EOF".to_owned(),
    }
}

/// Go's message about a certificate for other names (`x509.HostnameError`).
fn other_name(wanted: &str, presented: &[String]) -> String {
    // Names have the forms `DnsName("a.b")` and `IpAddress(127.0.0.1)`.
    let names_of = |kind: &str| -> Vec<&str> {
        let inner = presented.iter().filter_map(|name| name.strip_prefix(kind)?.strip_prefix('('));
        inner.map(|name| name.trim_end_matches(')').trim_matches('"')).collect()
    };
    let by_address = wanted.parse::<std::net::IpAddr>().is_ok();
    let names = names_of(if by_address { "IpAddress" } else { "DnsName" });
    match (names.as_slice(), by_address) {
        ([], true) => {
            format!("cannot validate certificate for {wanted} because it doesn't contain any IP SANs")
        }
        ([], false) => format!("certificate is not valid for any names, but wanted to match {wanted}"),
        (names, _) => format!("certificate is valid for {}, not {wanted}", names.join(", ")),
    }
}
