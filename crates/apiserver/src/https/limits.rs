//! Limits for clients. The comments say what goes wrong without them.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::request::Parts;
use http_body::Body;
use http_body_util::BodyExt as _;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::gotext::duration;
use crate::rejection::{BoxedRejection, Outcome};
use crate::request::body;
use crate::request::url::{Query, Target};

/// Maximum size of headers, in bytes. A client could otherwise send headers until the memory is full.
pub(super) const HEADERS: u32 = 64 * 1024;
/// Maximum number of concurrent requests on a connection (Go's default for HTTP/2).
pub(super) const STREAMS: u32 = 250;
/// Maximum number of response bytes buffered for a slow HTTP/2 stream.
pub(super) const SEND: usize = 64 * 1024;
/// Number of bytes that are still read from a body that is too long. A client that is writing when the
/// connection closes may never read the error.
const LINGER: usize = 16 * 1024 * 1024;
/// Timeouts of the TLS handshake, and of the headers of a request.
pub(super) const HANDSHAKE: Duration = Duration::from_secs(10);
pub(super) const READ_HEADERS: Duration = Duration::from_secs(90);
/// Interval of pings on a silent HTTP/2 connection, and timeout of their response.
pub(super) const PING: Duration = Duration::from_secs(30);
pub(super) const PONG: Duration = Duration::from_secs(15);
/// How long a client may accept no data.
pub(super) const STALL: Duration = Duration::from_secs(60);
/// How long requests may continue after the server begins to stop.
pub(super) const STOPPING: Duration = Duration::from_secs(5);

/// Maximum numbers of concurrent reading and mutating requests (`--max-requests-inflight` and
/// `--max-mutating-requests-inflight`). Incoming bodies could otherwise fill the memory.
const READING: usize = 400;
const MUTATING: usize = 200;
/// How long a request waits for its turn.
const TURN: Duration = Duration::from_secs(1);
/// Default and maximum timeout of a request (`--request-timeout`).
pub(super) const REQUEST: Duration = Duration::from_secs(60);

/// Limits the number of concurrent requests.
#[derive(Debug)]
pub(super) struct InFlight {
    reading: Semaphore,
    mutating: Semaphore,
}

impl InFlight {
    pub(super) fn new() -> Self {
        Self { reading: Semaphore::new(READING), mutating: Semaphore::new(MUTATING) }
    }

    /// Waits for the turn of a request; 429 after too long a wait.
    pub(super) async fn turn(&self, head: &Parts) -> Outcome<SemaphorePermit<'_>> {
        let reads = matches!(head.method, http::Method::GET | http::Method::HEAD | http::Method::OPTIONS);
        let turns = if reads { &self.reading } else { &self.mutating };
        match tokio::time::timeout(TURN, turns.acquire()).await {
            Ok(Ok(permit)) => Ok(permit),
            // The semaphores are never closed.
            Ok(Err(_)) | Err(_) => Err(BoxedRejection::too_many_requests()),
        }
    }
}

/// The timeout of a request, by its parameter `timeout`; `None` for one that may run for any time.
pub(super) fn timeout(head: &Parts) -> Outcome<Option<Duration>> {
    let query = Query::parse(head.uri.query().unwrap_or_default());
    if is_long_running(head, &query) {
        return Ok(None);
    }
    let text = query.get("timeout");
    if text.is_empty() {
        return Ok(Some(REQUEST));
    }
    let nanoseconds = duration::parse(text).map_err(|why| {
        BoxedRejection::bad_request(format!("invalid timeout specified in the request URL - {why}"))
    })?;
    let requested = u64::try_from(nanoseconds).map(Duration::from_nanos).unwrap_or_default();
    Ok(Some(if requested.is_zero() { REQUEST } else { requested.min(REQUEST) }))
}

/// Whether a request may run for any time: a watch, or a connection to a container or program
/// (`BasicLongRunningRequestCheck`).
fn is_long_running(head: &Parts, query: &Query) -> bool {
    const SUBRESOURCES: [&str; 5] = ["attach", "exec", "log", "portforward", "proxy"];
    let Target::Resource(path) = Target::parse(head.uri.path()) else { return false };
    let subresource = path.subresource.split('/').next().unwrap_or_default();
    let is_watch = path.name.is_empty() && head.method == http::Method::GET && query.is_true("watch");
    // `/api/v1/proxy/...` names no resource, but the verb `proxy` of old servers.
    let is_old_proxy = path.resource == "proxy" && path.namespace.is_empty() && !path.name.is_empty();
    path.watch || is_watch || is_old_proxy || SUBRESOURCES.contains(&subresource)
}

/// Reads a body, up to one byte more than the maximum; the server rejects it by that length.
pub(super) async fn read<B: Body<Data = Bytes> + Unpin>(mut body: B) -> Result<Bytes, B::Error> {
    let (mut all, mut discarded) = (BytesMut::new(), 0);
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        if all.is_empty() && body.is_end_stream() {
            return Ok(data);
        }
        discarded += data.len().saturating_sub(body::LIMIT + 1 - all.len());
        all.extend_from_slice(data.get(..body::LIMIT + 1 - all.len()).unwrap_or(&data));
        if discarded > LINGER {
            break;
        }
    }
    Ok(all.freeze())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(method: &str, uri: &str) -> Parts {
        http::Request::builder().method(method).uri(uri).body(()).unwrap().into_parts().0
    }

    #[test]
    fn requests_have_a_timeout_and_watches_have_none() {
        let limit = |uri| timeout(&head("GET", uri)).unwrap().map(|limit| limit.as_secs());
        let check = |uri, seconds| assert_eq!(limit(uri), seconds, "{uri}");
        check("/api/v1/pods", Some(60));
        check("/api/v1/pods?timeout=5s", Some(5));
        check("/api/v1/pods?timeout=1h", Some(60));
        check("/api/v1/pods?timeout=0s", Some(60));
        check("/api/v1/pods?watch=true&timeout=x", None);
        check("/api/v1/watch/pods?timeout=x", None);
        check("/api/v1/namespaces/a/pods/b/log?timeout=x", None);
        let rejection = timeout(&head("GET", "/api/v1/pods?timeout=soon")).unwrap_err();
        let text = "invalid timeout specified in the request URL - time: invalid duration \"soon\"";
        assert_eq!((rejection.code, rejection.message.as_str()), (400, text));
    }

    #[tokio::test(start_paused = true)]
    async fn requests_wait_for_their_turn_for_a_limited_time() {
        let in_flight = InFlight::new();
        let (get, post) = (head("GET", "/api"), head("POST", "/api"));
        let mut turns = Vec::new();
        for _ in 0..MUTATING {
            turns.push(in_flight.turn(&post).await.unwrap());
        }
        let rejection = in_flight.turn(&post).await.unwrap_err();
        assert_eq!((rejection.code, rejection.retry_after, rejection.plain), (429, Some(1), true));
        assert!(in_flight.turn(&get).await.is_ok(), "reads have turns of their own");
        turns.pop();
        assert!(in_flight.turn(&post).await.is_ok());
    }

    #[tokio::test]
    async fn a_body_is_read_up_to_one_byte_beyond_the_limit() {
        let body = http_body_util::Full::new(Bytes::from(vec![b'x'; body::LIMIT + 1000]));
        // A body in several chunks.
        let chunks = http_body_util::StreamBody::new(futures_util::stream::iter((0..5).map(|_| {
            Ok::<_, std::convert::Infallible>(http_body::Frame::data(Bytes::from(vec![b'x'; 1 << 20])))
        })));
        assert_eq!(read(chunks).await.unwrap().len(), body::LIMIT + 1);
        assert!(read(body).await.unwrap().len() > body::LIMIT);
    }
}
