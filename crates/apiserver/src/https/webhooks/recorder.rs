//! A connection that remembers what it received and how it failed, for messages that HTTP and TLS libraries do not have.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::failure;

/// The most bytes that are remembered: enough for the head of a response.
const REMEMBERED: usize = 64 * 1024;

/// What a connection received, and how it failed.
#[derive(Debug, Default)]
struct Record {
    received: Vec<u8>,
    failure: Option<String>,
}

/// The record of a connection.
#[derive(Debug, Clone)]
pub(super) struct Log {
    record: Arc<Mutex<Record>>,
    /// Both ends of the connection, as `127.0.0.1:1->127.0.0.1:2`.
    ends: Arc<str>,
}

impl Log {
    /// An empty record of a connection between two addresses.
    pub(super) fn new(own: Option<SocketAddr>, other: SocketAddr) -> Self {
        let own = own.map(|own| own.to_string()).unwrap_or_default();
        Self { record: Arc::default(), ends: format!("{own}->{other}").into() }
    }

    /// The record of another layer of the same connection.
    pub(super) fn of_next_layer(&self) -> Self {
        Self { record: Arc::default(), ends: Arc::clone(&self.ends) }
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        // A record is complete after each byte.
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first bytes that were received.
    pub(super) fn received(&self) -> Vec<u8> {
        self.record().received.clone()
    }

    /// Go's message for the failure of the connection, unless the other side closed it.
    pub(super) fn failure(&self) -> Option<String> {
        self.record().failure.clone()
    }

    /// Go's message for an error of this connection.
    pub(super) fn message(&self, error: &io::Error, operation: &str) -> String {
        failure::of_io(error, operation, &self.ends)
    }

    fn add(&self, bytes: &[u8]) {
        let mut record = self.record();
        let room = REMEMBERED.saturating_sub(record.received.len());
        record.received.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
    }

    fn fail(&self, error: io::Error, operation: &str) -> io::Error {
        let message = self.message(&error, operation);
        self.record().failure.get_or_insert(message);
        error
    }
}

/// A connection with a record.
#[derive(Debug)]
pub(super) struct Recorder<S> {
    inner: S,
    log: Log,
}

impl<S> Recorder<S> {
    pub(super) fn new(inner: S, log: Log) -> Self {
        Self { inner, log }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Recorder<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let result = ready!(Pin::new(&mut self.inner).poll_read(cx, buffer));
        self.log.add(buffer.filled().get(before..).unwrap_or_default());
        Poll::Ready(match result {
            // Go accepts a connection that ends without the last message of TLS.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(()),
            result => result.map_err(|error| self.log.fail(error, "read")),
        })
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Recorder<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let result = ready!(Pin::new(&mut self.inner).poll_write(cx, bytes));
        Poll::Ready(result.map_err(|error| self.log.fail(error, "write")))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}
