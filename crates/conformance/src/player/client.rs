//! A connection to an API server over HTTPS.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use super::trust::any_certificate;

const PATIENCE: Duration = Duration::from_secs(30);

/// Why a request got no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The address is not `https://HOST:PORT`.
    #[error("`{0}` is no address of a server: write https://HOST:PORT")]
    Address(String),
    /// The server cannot be reached.
    #[error("connect to {0}: {1}")]
    Connect(String, std::io::Error),
    /// The request is no HTTP, or the server closed the connection.
    #[error("{0}")]
    Http(#[from] http::Error),
    /// The server closed the connection, or did not answer in HTTP.
    #[error("{0}")]
    Hyper(#[from] hyper::Error),
    /// There was no answer in time.
    #[error("no answer in {} s", PATIENCE.as_secs())]
    Late,
}

/// An API server, and the token of its administrator.
#[derive(Clone)]
pub struct Server {
    authority: String,
    host: ServerName<'static>,
    token: String,
    connector: TlsConnector,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("authority", &self.authority).finish_non_exhaustive()
    }
}

/// The answer to a request.
#[derive(Debug)]
pub struct Answer {
    /// The status code, 0 if there was no answer.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The JSON of the body, or its text.
    pub body: Value,
}

impl Server {
    /// A server at `https://HOST:PORT`. Its certificate is not checked: it is a server for tests.
    pub fn new(url: &str, token: &str) -> Result<Self, ClientError> {
        let wrong = || ClientError::Address(url.to_owned());
        let authority = url.strip_prefix("https://").ok_or_else(wrong)?.trim_end_matches('/').to_owned();
        let (host, _) = authority.rsplit_once(':').ok_or_else(wrong)?;
        let host = ServerName::try_from(host.trim_matches(['[', ']']).to_owned()).map_err(|_| wrong())?;
        let connector = TlsConnector::from(Arc::new(any_certificate()));
        Ok(Self { authority, host, token: token.to_owned(), connector })
    }

    /// A new connection.
    pub fn connect(&self) -> Connection<'_> {
        Connection { server: self, sender: None }
    }

    async fn open(&self) -> Result<SendRequest<Full<Bytes>>, ClientError> {
        let failed = |error| ClientError::Connect(self.authority.clone(), error);
        let stream = TcpStream::connect(&self.authority).await.map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        let stream = self.connector.connect(self.host.clone(), stream).await.map_err(failed)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(sender)
    }

    fn request(&self, request: &Value) -> Result<Request<Full<Bytes>>, ClientError> {
        let text = |field: &str| request[field].as_str();
        let query = encode(&request["query"]);
        let path = text("path").unwrap_or("/");
        let uri = if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") };
        let mut built = Request::builder().method(text("method").unwrap_or("GET")).uri(uri);
        built = built.header("Host", &self.authority);
        let own = request["headers"].as_object();
        let has = |name: &str| own.is_some_and(|own| own.keys().any(|key| key.eq_ignore_ascii_case(name)));
        if !has("accept") {
            built = built.header("Accept", text("accept").unwrap_or("application/json"));
        }
        if request["anonymous"] != true && !has("authorization") {
            built = built.header("Authorization", format!("Bearer {}", text("token").unwrap_or(&self.token)));
        }
        let body = request.get("body").filter(|body| !body.is_null());
        if body.is_some() && !has("content-type") {
            built = built.header("Content-Type", text("type").unwrap_or("application/json"));
        }
        for (name, value) in own.into_iter().flatten() {
            built = built.header(name, value.as_str().unwrap_or_default());
        }
        let body = body
            .map_or_else(String::new, |body| body.as_str().map_or_else(|| body.to_string(), str::to_owned));
        Ok(built.body(Full::new(body.into()))?)
    }
}

fn encode(query: &Value) -> String {
    let mut encoded = form_urlencoded::Serializer::new(String::new());
    for (name, value) in query.as_object().into_iter().flatten() {
        match value {
            Value::Array(values) => values.iter().filter_map(Value::as_str).for_each(|value| {
                encoded.append_pair(name, value);
            }),
            Value::String(value) => drop(encoded.append_pair(name, value)),
            other => drop(encoded.append_pair(name, &other.to_string())),
        }
    }
    encoded.finish()
}

/// A connection that is opened when it is needed, and opened again if the server closed it.
#[derive(Debug)]
pub struct Connection<'a> {
    server: &'a Server,
    sender: Option<SendRequest<Full<Bytes>>>,
}

impl Connection<'_> {
    /// The answer to a request of the corpus. If there is none, the status is 0 and the body says why.
    pub async fn ask(&mut self, request: &Value) -> Answer {
        let failed = |error: &dyn std::fmt::Display| Answer {
            status: 0,
            headers: HeaderMap::new(),
            body: json!(format!("no answer: {error}")),
        };
        match tokio::time::timeout(PATIENCE, self.ask_once(request)).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => {
                self.sender = None;
                failed(&error)
            }
            Err(_) => {
                self.sender = None;
                failed(&ClientError::Late)
            }
        }
    }

    async fn ask_once(&mut self, request: &Value) -> Result<Answer, ClientError> {
        let response = self.send(request).await?;
        let (head, body) = response.into_parts();
        let bytes = body.collect().await?.to_bytes();
        let body = match serde_json::from_slice(&bytes) {
            Ok(body) => body,
            Err(_) if bytes.is_empty() => Value::Null,
            Err(_) => json!(String::from_utf8_lossy(&bytes)),
        };
        Ok(Answer { status: head.status.as_u16(), headers: head.headers, body })
    }

    /// Sends a request. The caller reads the body.
    pub(crate) async fn send(&mut self, request: &Value) -> Result<Response<Incoming>, ClientError> {
        let request = self.server.request(request)?;
        if let Some(sender) = &mut self.sender
            && sender.ready().await.is_ok()
        {
            return Ok(sender.send_request(request).await?);
        }
        let sender = self.sender.insert(self.server.open().await?);
        sender.ready().await?;
        Ok(sender.send_request(request).await?)
    }
}
