//! Raw connections to a server, for bytes that no HTTP library sends.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::ServerName;
use windtunnel_conformance::player::any_certificate;

use crate::process::TOKEN;

/// The longest time that a connection may take to open.
const OPEN: Duration = Duration::from_secs(20);

/// The application protocol of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http1,
    Http2,
}

/// Opens a connection with TLS.
pub(crate) async fn open(authority: &str, protocol: Protocol) -> io::Result<TlsStream<TcpStream>> {
    let mut config = any_certificate();
    config.alpn_protocols = match protocol {
        Protocol::Http1 => vec![b"http/1.1".to_vec()],
        Protocol::Http2 => vec![b"h2".to_vec()],
    };
    let name = ServerName::try_from("127.0.0.1").map_err(io::Error::other)?;
    let connect = async {
        let stream = TcpStream::connect(authority).await?;
        TlsConnector::from(Arc::new(config)).connect(name, stream).await
    };
    tokio::time::timeout(OPEN, connect).await?
}

/// The head of a request of HTTP/1.1 by the administrator, with further header lines that end with `\r\n`.
pub(crate) fn head(method: &str, path: &str, lines: &str) -> String {
    format!("{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n{lines}\r\n")
}

/// A watch over HTTP/1.1.
#[derive(Debug)]
pub(crate) struct Watch(TlsStream<TcpStream>);

impl Watch {
    /// Opens a watch of a path, from now on.
    pub(crate) async fn open(authority: &str, path: &str) -> io::Result<Self> {
        let mut stream = open(authority, Protocol::Http1).await?;
        stream.write_all(head("GET", &format!("{path}?watch=true"), "").as_bytes()).await?;
        Ok(Self(stream))
    }

    /// Reads until a text comes. Returns whether it came before the span is over.
    pub(crate) async fn read_until(&mut self, text: &str, span: Duration) -> bool {
        let mut seen = Vec::new();
        let read = async {
            let mut buffer = [0; 4096];
            loop {
                let count = self.0.read(&mut buffer).await.unwrap_or(0);
                if count == 0 {
                    return false;
                }
                seen.extend_from_slice(&buffer[..count]);
                if seen.windows(text.len()).any(|window| window == text.as_bytes()) {
                    return true;
                }
                // Only the end may have a part of the text.
                seen.drain(..seen.len().saturating_sub(text.len()));
            }
        };
        tokio::time::timeout(span, read).await.unwrap_or(false)
    }
}
