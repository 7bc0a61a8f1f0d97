//! The meaning of a webhook's response, as the REST client of Kubernetes takes it.

use std::io::Read as _;

use bytes::Bytes;
use flate2::read::GzDecoder;
use http::HeaderValue;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderName};
use http::response::Parts;
use serde_json::Value;
use tokio::time::Instant;

use super::connection::{Incomplete, RESPONSE_MAX};
use super::review;
use crate::gotext::quote;
use crate::outbound::hooks::HookError;
use crate::request::media_type;

/// The most bytes of a response in a message.
const SHOWN: usize = 2048;

/// Reads the review in a response.
///
/// # Errors
/// The message of the REST client, or of its decoder.
pub(super) async fn review(
    response: Incomplete,
    deadline: Instant,
    asked: &Value,
) -> Result<Value, HookError> {
    let head = response.head.clone();
    let body = response.read(deadline).await.and_then(|body| decompressed(&head, body));
    let body = body.map_err(|why| {
        let what = "unexpected error when reading response body. Please retry. Original error";
        HookError(format!("{what}: {why}"))
    })?;
    interpret(&head, &body, asked).map_err(HookError)
}

/// Decompresses a body that the webhook compressed.
fn decompressed(head: &Parts, body: Bytes) -> Result<Bytes, String> {
    if body.is_empty() || !header(head, &CONTENT_ENCODING).eq_ignore_ascii_case("gzip") {
        return Ok(body);
    }
    let mut whole = Vec::new();
    let limit = u64::try_from(RESPONSE_MAX).unwrap_or(u64::MAX);
    let read = GzDecoder::new(&*body).take(limit).read_to_end(&mut whole);
    read.map(|_| whole.into()).map_err(|error| match error.kind() {
        std::io::ErrorKind::UnexpectedEof => "unexpected EOF".to_owned(),
        _ if whole_is_no_gzip(&body) => "gzip: invalid header".to_owned(),
        _ => "gzip: invalid checksum".to_owned(),
    })
}

fn whole_is_no_gzip(body: &[u8]) -> bool {
    !body.starts_with(&[0x1f, 0x8b, 8])
}

/// The review in a response (`transformResponse` and `Into` of the REST client).
fn interpret(head: &Parts, body: &[u8], asked: &Value) -> Result<Value, String> {
    let content_type = match header(head, &CONTENT_TYPE) {
        "" => "application/json",
        given => given,
    };
    if media_type::parse(content_type).is_none() {
        return Err(format!("Internal error occurred: {}", media_type_error(content_type)));
    }
    let code = head.status.as_u16();
    if code != 101 && !(200..=206).contains(&code) {
        return Err(review::failure(body).unwrap_or_else(|| rejection(code, text(head, body).as_deref())));
    }
    if body.is_empty() {
        return Err(format!("0-length response with status code: {code} and content type: {content_type}"));
    }
    review::decode(body, asked)
}

/// The body in messages, if it is text.
fn text(head: &Parts, body: &[u8]) -> Option<String> {
    let is_text = match header(head, &CONTENT_TYPE) {
        "" => true,
        given => media_type::parse(given).is_some_and(|name| name.starts_with("text/")),
    };
    let shown = body.get(..SHOWN).unwrap_or(body);
    is_text.then(|| String::from_utf8_lossy(shown).trim().to_owned())
}

/// The message for an error without a `Status` (`NewGenericServerResponse`).
fn rejection(code: u16, text: Option<&str>) -> String {
    let text = text.unwrap_or("unknown");
    let known = match code {
        409 => "the server reported a conflict",
        404 => "the server could not find the requested resource",
        400 => "the server rejected our request for an unknown reason",
        401 => "the server has asked for the client to provide credentials",
        406 if matches!(text, "" | "unknown") => {
            "the server was unable to respond with a content type that the client supports"
        }
        403 | 406 | 415 => text,
        405 => "the server does not allow this method on the requested resource",
        422 => "the server rejected our request due to an error in our request",
        503 => "the server is currently unable to handle the request",
        504 => {
            "the server was unable to return a response in the time allotted, but may still be processing the request"
        }
        429 => "the server has received too many requests and has asked us to try again later",
        500.. => {
            let text = quote(text);
            return format!("an error on the server ({text}) has prevented the request from succeeding");
        }
        _ => {
            return format!(
                "the server responded with the status code {code} but did not return more information"
            );
        }
    };
    known.to_owned()
}

/// Go's message for a malformed media type (`mime.ParseMediaType`).
fn media_type_error(header: &str) -> &'static str {
    let name = header.split(';').next().unwrap_or_default().trim();
    let is_token = |text: &str| media_type::parse(text).is_some_and(|_| !text.contains('/'));
    match name.split_once('/') {
        _ if media_type::parse(name).is_some() && !name.is_empty() => "mime: invalid media parameter",
        _ if name.is_empty() || name.starts_with('/') => "mime: no media type",
        None => "mime: expected slash after first token",
        Some((main, _)) if !is_token(main) => "mime: expected slash after first token",
        Some((_, "")) => "mime: expected token after slash",
        Some(_) => "mime: unexpected content after media subtype",
    }
}

fn header<'a>(head: &'a Parts, name: &HeaderName) -> &'a str {
    head.headers.get(name).map(HeaderValue::to_str).and_then(Result::ok).unwrap_or_default()
}
