//! What a client may ask of the server. Each limit says what goes wrong without it.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::request::Parts;
use http_body::Body;
use http_body_util::BodyExt as _;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::body;
use crate::gotext::duration;
use crate::status::{Outcome, Refused};
use crate::url::Query;

/// Bytes of headers. Without it a client that never ends its headers takes all memory.
pub(super) const HEADERS: u32 = 64 * 1024;
/// Requests of one connection at the same time (Go's default for HTTP/2).
pub(super) const STREAMS: u32 = 250;
/// Bytes of an answer that wait for a slow HTTP/2 stream.
pub(super) const SEND: usize = 64 * 1024;
/// Bytes of a body that is too long which are taken all the same: a client that still writes when the connection ends
/// may never read why.
const LINGER: usize = 16 * 1024 * 1024;
/// How long the TLS handshake and the headers of a request may take.
pub(super) const HANDSHAKE: Duration = Duration::from_secs(10);
pub(super) const READ_HEADERS: Duration = Duration::from_secs(90);
/// How often a silent HTTP/2 connection is asked whether it lives, and how long it has for its answer.
pub(super) const PING: Duration = Duration::from_secs(30);
pub(super) const PONG: Duration = Duration::from_secs(15);
/// How long a client may take nothing of what is sent to it.
pub(super) const STALL: Duration = Duration::from_secs(60);
/// How long requests may go on after the server was told to stop.
pub(super) const STOPPING: Duration = Duration::from_secs(5);

/// Reading and writing requests that are answered at the same time (`--max-requests-inflight` and
/// `--max-mutating-requests-inflight`). Without them, bodies on their way in take all memory.
const READING: usize = 400;
const MUTATING: usize = 200;
/// How long a request waits for its turn.
const TURN: Duration = Duration::from_secs(1);
/// How long a request may take that does not say (`--request-timeout`), and at most.
const REQUEST: Duration = Duration::from_secs(60);

/// The requests that are being answered.
#[derive(Debug)]
pub(super) struct InFlight {
    reading: Semaphore,
    mutating: Semaphore,
}

impl InFlight {
    pub(super) fn new() -> Self {
        Self { reading: Semaphore::new(READING), mutating: Semaphore::new(MUTATING) }
    }

    /// A turn for a request; 429 where there is none for too long.
    pub(super) async fn turn(&self, head: &Parts) -> Outcome<SemaphorePermit<'_>> {
        let reads = matches!(head.method, http::Method::GET | http::Method::HEAD | http::Method::OPTIONS);
        let turns = if reads { &self.reading } else { &self.mutating };
        match tokio::time::timeout(TURN, turns.acquire()).await {
            Ok(Ok(permit)) => Ok(permit),
            // The semaphores are never closed.
            Ok(Err(_)) | Err(_) => Err(Refused::too_many_requests()),
        }
    }
}

/// How long a request may take, by its parameter `timeout`.
pub(super) fn deadline(head: &Parts) -> Outcome<Duration> {
    let query = Query::parse(head.uri.query().unwrap_or_default());
    let text = query.get("timeout");
    if text.is_empty() || query.is_true("watch") {
        return Ok(REQUEST);
    }
    let nanoseconds = duration::parse(text).map_err(|why| {
        Refused::bad_request(format!("invalid timeout specified in the request URL - {why}"))
    })?;
    let asked = u64::try_from(nanoseconds).map(Duration::from_nanos).unwrap_or_default();
    Ok(if asked.is_zero() { REQUEST } else { asked.min(REQUEST) })
}

/// Reads a body, at most a byte more than one may be long: the server refuses that by its length.
pub(super) async fn read<B: Body<Data = Bytes> + Unpin>(mut body: B) -> Result<Bytes, B::Error> {
    let (mut all, mut thrown_away) = (BytesMut::new(), 0);
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        if all.is_empty() && body.is_end_stream() {
            return Ok(data);
        }
        thrown_away += data.len().saturating_sub(body::LIMIT + 1 - all.len());
        all.extend_from_slice(data.get(..body::LIMIT + 1 - all.len()).unwrap_or(&data));
        if thrown_away > LINGER {
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
    fn a_request_may_take_a_minute_or_less_if_it_says_so() {
        let check = |uri, seconds| assert_eq!(deadline(&head("GET", uri)), Ok(Duration::from_secs(seconds)));
        check("/api/v1/pods", 60);
        check("/api/v1/pods?timeout=5s", 5);
        check("/api/v1/pods?timeout=1h", 60);
        check("/api/v1/pods?timeout=0s", 60);
        check("/api/v1/pods?watch=true&timeout=x", 60);
        let refused = deadline(&head("GET", "/api/v1/pods?timeout=soon")).unwrap_err();
        let text = "invalid timeout specified in the request URL - time: invalid duration \"soon\"";
        assert_eq!((refused.code, refused.message.as_str()), (400, text));
    }

    #[tokio::test(start_paused = true)]
    async fn requests_wait_for_their_turn_but_not_for_ever() {
        let in_flight = InFlight::new();
        let (get, post) = (head("GET", "/api"), head("POST", "/api"));
        let mut turns = Vec::new();
        for _ in 0..MUTATING {
            turns.push(in_flight.turn(&post).await.unwrap());
        }
        let refused = in_flight.turn(&post).await.unwrap_err();
        assert_eq!((refused.code, refused.retry_after, refused.plain), (429, Some(1), true));
        assert!(in_flight.turn(&get).await.is_ok(), "reads have turns of their own");
        turns.pop();
        assert!(in_flight.turn(&post).await.is_ok());
    }

    #[tokio::test]
    async fn a_body_is_kept_until_it_is_too_long() {
        let body = http_body_util::Full::new(Bytes::from(vec![b'x'; body::LIMIT + 1000]));
        // As a body that does not come in one piece.
        let chunks = http_body_util::StreamBody::new(futures_util::stream::iter((0..5).map(|_| {
            Ok::<_, std::convert::Infallible>(http_body::Frame::data(Bytes::from(vec![b'x'; 1 << 20])))
        })));
        assert_eq!(read(chunks).await.unwrap().len(), body::LIMIT + 1);
        assert!(read(body).await.unwrap().len() > body::LIMIT);
    }
}
