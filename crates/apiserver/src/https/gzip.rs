//! Compresses large responses for clients that accept it (`APIResponseCompression`).

use std::io::Write as _;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, VARY};
use http::request::Parts;
use http::{HeaderValue, Response};
use http_body::Body as _;
use http_body_util::BodyExt as _;

use crate::service::ReplyStream;
use crate::service::body::full;

/// Minimum length of compressed responses, in bytes.
const WORTH_IT: u64 = 128 * 1024;

/// Whether a client accepts gzip.
pub(super) fn is_accepted(head: &Parts) -> bool {
    let values = head.headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    let mut codings = values.flat_map(|value| value.split(','));
    codings.any(|coding| {
        let (name, quality) = coding.split_once(';').unwrap_or((coding, ""));
        let rejection = quality.trim().strip_prefix("q=").is_some_and(|q| q.parse() == Ok(0.0));
        matches!(name.trim(), "gzip" | "*") && !rejection
    })
}

/// Compresses a response if its length is known and large. Watches have no length, so their events are sent
/// at once.
pub(super) async fn compressed(response: Response<ReplyStream>) -> Response<ReplyStream> {
    if response.body().size_hint().exact().is_none_or(|length| length < WORTH_IT) {
        return response;
    }
    let (mut head, body) = response.into_parts();
    let Ok(bytes) = body.collect().await.map(http_body_util::Collected::to_bytes);
    let whole = bytes.clone();
    // Compression takes some tens of milliseconds per megabyte, so it must not block a thread that serves
    // others.
    match tokio::task::spawn_blocking(move || compress(&bytes)).await {
        Ok(Some(small)) => {
            head.headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            head.headers.append(VARY, HeaderValue::from_static("Accept-Encoding"));
            head.headers.remove(CONTENT_LENGTH);
            Response::from_parts(head, full(small))
        }
        _ => Response::from_parts(head, full(whole)),
    }
}

fn compress(bytes: &[u8]) -> Option<Bytes> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 8), Compression::fast());
    encoder.write_all(bytes).ok()?;
    encoder.finish().ok().map(Bytes::from)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    fn accepts(encoding: &str) -> bool {
        let request = http::Request::builder().header(ACCEPT_ENCODING, encoding).body(()).unwrap();
        is_accepted(&request.into_parts().0)
    }

    #[test]
    fn gzip_is_accepted_by_name_unless_its_quality_is_zero() {
        assert!(accepts("gzip") && accepts("deflate, gzip;q=0.5") && accepts("*"));
        assert!(!accepts("identity") && !accepts("gzip;q=0") && !accepts(""));
    }

    #[tokio::test]
    async fn long_answers_are_compressed_and_short_ones_are_not() {
        let text = Bytes::from("0123456789".repeat(20_000));
        let small = compressed(Response::new(full(text.slice(..1000)))).await;
        assert!(!small.headers().contains_key(CONTENT_ENCODING));
        let large = compressed(Response::new(full(text.clone()))).await;
        assert_eq!(large.headers()[CONTENT_ENCODING], "gzip");
        assert_eq!(large.headers()[VARY], "Accept-Encoding");
        let body = large.into_body().collect().await.unwrap().to_bytes();
        let mut decompressed = Vec::new();
        flate2::read::GzDecoder::new(&*body).read_to_end(&mut decompressed).unwrap();
        assert!(body.len() < 10_000 && decompressed == text);
    }
}
