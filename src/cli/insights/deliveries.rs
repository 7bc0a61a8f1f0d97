//! The HTTPS endpoint for deliveries of insight producers: TLS, HTTP and limits. What a producer may deliver is
//! decided by the controller's `Deliveries`.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ALLOW, AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Method, Request, Response};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use windtunnel_update_status::controller::deliveries::{BODY_MAX, Deliveries, DeliveryError};

use super::certificate::CertificateFiles;
use crate::cli::args::insights::InsightsArgs;
use crate::cli::print_notice;

/// Time limits for a client: to finish the TLS handshake, to send headers, and to send the body.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
const BODY_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of connections at a time; others wait.
const CONNECTIONS_MAX: usize = 64;
/// Maximum size of all headers, in bytes. A token of a ServiceAccount has about one KiB.
const HEADERS_MAX: usize = 16 * 1024;
/// Time limit for a connection, however many requests it has.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(120);
/// The pause after a failure to accept a connection, because the process has too many open files.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// A server that runs until it is dropped.
pub(super) struct DeliveryEndpoint {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl DeliveryEndpoint {
    /// Starts to listen, if the arguments have an address.
    ///
    /// # Errors
    /// It cannot listen on the address, or the certificate is invalid.
    pub(super) async fn listen(args: &InsightsArgs, deliveries: Deliveries) -> Result<Option<Self>, String> {
        let (Some(address), Some(chain), Some(key)) = (args.deliveries_listen, &args.tls_cert, &args.tls_key)
        else {
            return Ok(None);
        };
        let certificate = match CertificateFiles::read(chain.clone(), key.clone()) {
            Ok(certificate) => Some(certificate),
            // The folder is that of a volume: its Secret, such as one of OpenShift's service CA, may come later.
            Err(why) if !chain.exists() && !key.exists() && chain.parent().is_some_and(Path::exists) => {
                print_notice(&format!("{why}: deliveries start when the certificate and its key exist"));
                None
            }
            Err(why) => return Err(why),
        };
        let failed = |error| format!("--deliveries-listen {address}: {error}");
        let socket = TcpListener::bind(address).await.map_err(failed)?;
        let address = socket.local_addr().map_err(failed)?;
        let (chain, key, deliveries) = (chain.clone(), key.clone(), Arc::new(deliveries));
        let task = tokio::spawn(async move {
            let certificate = match certificate {
                Some(certificate) => certificate,
                None => CertificateFiles::wait(&chain, &key).await,
            };
            accept(socket, certificate, deliveries).await;
        });
        Ok(Some(Self { address, task }))
    }

    /// Returns its address with the actual port.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for DeliveryEndpoint {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(socket: TcpListener, mut certificate: CertificateFiles, deliveries: Arc<Deliveries>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let Ok((stream, peer)) = socket.accept().await else {
            tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
            continue;
        };
        // The certificate was checked when it was read.
        let Ok(acceptor) = certificate.current().acceptor() else { continue };
        let deliveries = Arc::clone(&deliveries);
        tokio::spawn(async move {
            let serve = async {
                if let Ok(Ok(stream)) = timeout(HANDSHAKE_TIMEOUT, acceptor.accept(stream)).await {
                    serve_connection(stream, peer.ip(), deliveries).await;
                }
            };
            let _ = timeout(CONNECTION_TIMEOUT, serve).await;
            drop(place);
        });
    }
}

/// Serves the requests of a connection. A client may disconnect during an answer.
async fn serve_connection<S>(stream: S, peer: IpAddr, deliveries: Arc<Deliveries>)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    let service = service_fn(move |request: Request<Incoming>| {
        let deliveries = Arc::clone(&deliveries);
        async move { Ok::<_, Infallible>(answer(request, peer, &deliveries).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_buf_size(HEADERS_MAX)
        .serve_connection(TokioIo::new(stream), service);
    drop(connection.await);
}

async fn answer(request: Request<Incoming>, peer: IpAddr, deliveries: &Deliveries) -> Response<Full<Bytes>> {
    match take(request, peer, deliveries).await {
        Ok(answer) => response(200, &answer),
        Err(error) => rejection(error),
    }
}

/// # Errors
/// The delivery is not stored.
async fn take(
    request: Request<Incoming>,
    peer: IpAddr,
    deliveries: &Deliveries,
) -> Result<Value, DeliveryError> {
    deliveries.admit_address(peer).await?;
    let (head, body) = request.into_parts();
    let informer = informer_in(head.uri.path())
        .ok_or_else(|| error(404, "expected /v1alpha1/informers/NAME/insights".to_owned()))?;
    if head.method != Method::POST {
        return Err(error(405, "expected POST".to_owned()));
    }
    if !is_json(&head.headers) {
        return Err(error(415, "expected Content-Type: application/json".to_owned()));
    }
    let body = match timeout(BODY_TIMEOUT, Limited::new(body, BODY_MAX).collect()).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(why)) if why.is::<LengthLimitError>() => {
            return Err(error(413, format!("a delivery has at most {BODY_MAX} bytes")));
        }
        Ok(Err(why)) => return Err(error(400, format!("the body cannot be read: {why}"))),
        Err(_) => return Err(error(408, format!("no body in {} s", BODY_TIMEOUT.as_secs()))),
    };
    deliveries.deliver(informer, bearer_token(&head.headers), &body).await
}

/// Returns the informer in a path.
fn informer_in(path: &str) -> Option<&str> {
    let name = path.strip_prefix("/v1alpha1/informers/")?.strip_suffix("/insights")?;
    (!name.is_empty() && !name.contains('/')).then_some(name)
}

fn is_json(headers: &HeaderMap) -> bool {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    Some(token.trim()).filter(|token| scheme.eq_ignore_ascii_case("Bearer") && !token.is_empty())
}

fn error(code: u16, message: String) -> DeliveryError {
    DeliveryError::new(code, message)
}

fn rejection(error: DeliveryError) -> Response<Full<Bytes>> {
    let DeliveryError { code, mut message, retry_after, .. } = error;
    if code == 503 {
        // The message of the API server may describe the cluster.
        print_notice(&format!("delivery: {message}"));
        "the controller cannot store the delivery now: try again later".clone_into(&mut message);
    }
    let mut response = response(code, &json!({"code": code, "message": message}));
    if let Some(wait) = retry_after {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(wait.as_secs().max(1)));
    }
    if code == 405 {
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
    }
    response
}

fn response(code: u16, body: &Value) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(format!("{body}\n"))));
    *response.status_mut() =
        http::StatusCode::from_u16(code).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_one_informer() {
        assert_eq!(informer_in("/v1alpha1/informers/storage/insights"), Some("storage"));
        for other in [
            "/",
            "/v1alpha1/informers//insights",
            "/v1alpha1/informers/a/b/insights",
            "/v1/informers/a/insights",
        ] {
            assert_eq!(informer_in(other), None, "{other}");
        }
    }

    #[test]
    fn a_token_is_a_bearer_token() {
        let token = |value: &'static str| {
            let headers = HeaderMap::from_iter([(AUTHORIZATION, HeaderValue::from_static(value))]);
            bearer_token(&headers).map(str::to_owned)
        };
        assert_eq!(token("Bearer a.b"), Some("a.b".to_owned()));
        assert_eq!(token("bearer  a.b"), Some("a.b".to_owned()));
        assert_eq!([token("Basic a"), token("Bearer "), token("a")], [None, None, None]);
    }
}
