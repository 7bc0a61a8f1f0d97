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
/// The bytes of the head of a TLS record.
const HEAD: usize = 5;

/// What a connection received, and how it failed.
#[derive(Debug, Default)]
struct Record {
    received: Vec<u8>,
    frames: Frames,
    failure: Option<String>,
}

/// The place in a stream of TLS records.
#[derive(Debug, Default)]
struct Frames {
    /// The bytes of an incomplete head: the type, the version and the length.
    head: Vec<u8>,
    /// The number of bytes that the current record still lacks.
    missing: usize,
}

impl Frames {
    fn add(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let count = bytes.len().min(if self.missing > 0 { self.missing } else { HEAD - self.head.len() });
            let (taken, rest) = bytes.split_at(count);
            bytes = rest;
            if self.missing > 0 {
                self.missing -= count;
                continue;
            }
            self.head.extend_from_slice(taken);
            if let [_, _, _, high, low] = *self.head {
                self.missing = usize::from(u16::from_be_bytes([high, low]));
                self.head.clear();
            }
        }
    }

    fn is_incomplete(&self) -> bool {
        self.missing > 0 || !self.head.is_empty()
    }
}

/// The record of a connection.
#[derive(Debug, Clone)]
pub(super) struct Log {
    record: Arc<Mutex<Record>>,
    /// The record of the layer below, whose bytes are those of TLS.
    below: Option<Arc<Mutex<Record>>>,
    /// Both ends of the connection, as `127.0.0.1:1->127.0.0.1:2`.
    ends: Arc<str>,
}

impl Log {
    /// An empty record of a connection between two addresses.
    pub(super) fn new(own: Option<SocketAddr>, other: SocketAddr) -> Self {
        let own = own.map(|own| own.to_string()).unwrap_or_default();
        Self { record: Arc::default(), below: None, ends: format!("{own}->{other}").into() }
    }

    /// The record of another layer of the same connection.
    pub(super) fn of_next_layer(&self) -> Self {
        let below = Some(Arc::clone(&self.record));
        Self { record: Arc::default(), below, ends: Arc::clone(&self.ends) }
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        locked(&self.record)
    }

    /// Whether the bytes so far end within a record of TLS.
    pub(super) fn ends_within_frame(&self) -> bool {
        self.record().frames.is_incomplete()
    }

    /// Whether the bytes below this layer end within a record of TLS.
    fn is_cut_below(&self) -> bool {
        self.below.as_ref().is_some_and(|below| locked(below).frames.is_incomplete())
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
        record.frames.add(bytes);
        let room = REMEMBERED.saturating_sub(record.received.len());
        record.received.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
    }

    fn fail(&self, error: io::Error, operation: &str) -> io::Error {
        let message = self.message(&error, operation);
        self.record().failure.get_or_insert(message);
        error
    }
}

fn locked(record: &Mutex<Record>) -> MutexGuard<'_, Record> {
    // A record is complete after each byte.
    record.lock().unwrap_or_else(PoisonError::into_inner)
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
            // Go accepts a connection that ends without the last message of TLS, but not within another one.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof && !self.log.is_cut_below() => Ok(()),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_of_tls_may_be_incomplete_whatever_its_parts_are() {
        for (bytes, expected) in [
            (&[22, 3, 3, 0, 2, 1, 1][..], false),
            (&[22, 3, 3, 0, 2, 1], true),
            (&[22, 3, 3, 0, 1, 1, 23, 3], true),
            (&[22, 3, 3, 0, 0, 23, 3, 3, 0, 1, 9], false),
            (&[], false),
        ] {
            for size in 1..=bytes.len().max(1) {
                let mut frames = Frames::default();
                bytes.chunks(size).for_each(|part| frames.add(part));
                assert_eq!(frames.is_incomplete(), expected, "{bytes:?} in parts of {size}");
            }
        }
    }
}
