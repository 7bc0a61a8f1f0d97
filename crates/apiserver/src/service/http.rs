//! Converts between HTTP and the server's types: HTTP requests to [`Request`], [`Reply`] to HTTP responses. HTTPS and
//! in-process clients share these conversions.

use bytes::Bytes;
use http::HeaderValue;
use http::header::{
    ACCEPT, CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, IF_NONE_MATCH, RETRY_AFTER, USER_AGENT,
    WARNING,
};
use http::request::Parts;
use http_body::Body as _;
use windtunnel_core::Identity;

use super::{ReplyStream, Shared, body, clock_headers};
use crate::gotext;
#[cfg(feature = "https")]
use crate::rejection::BoxedRejection;
use crate::reply::{Reply, ReplyBody};
#[cfg(feature = "https")]
use crate::request::accept::{self, Media};
use crate::request::impersonation::Impersonate;
use crate::request::{Body, Method, Query, Request, Target, Text, Via};
use crate::verbs::LARGE;

/// Converts an HTTP request.
pub(crate) fn request<'a>(head: &'a Parts, body: Bytes, who: &'a Identity) -> Request<'a> {
    let method = match head.method {
        http::Method::GET => Method::Get,
        http::Method::POST => Method::Post,
        http::Method::PUT => Method::Put,
        http::Method::PATCH => Method::Patch,
        http::Method::DELETE => Method::Delete,
        http::Method::HEAD | http::Method::OPTIONS => Method::Options,
        _ => Method::Other,
    };
    let header =
        |name| head.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().into();
    Request {
        method,
        target: Target::parse(head.uri.path()),
        query: Query::parse(head.uri.query().unwrap_or_default()),
        content_type: header(CONTENT_TYPE),
        accept: header(ACCEPT),
        user_agent: header(USER_AGENT),
        if_none_match: header(IF_NONE_MATCH),
        upgrade: head
            .headers
            .get_all(CONNECTION)
            .iter()
            .any(|value| value.to_str().is_ok_and(|text| text.to_ascii_lowercase().contains("upgrade"))),
        user: who,
        impersonate: Impersonate::read(&head.headers).map(Box::new),
        body: if body.is_empty() && method == Method::Get {
            Body::Empty
        } else {
            Body::Bytes(text(head, body))
        },
        via: Via::Client,
    }
}

/// A body as text. JSON is parsed here already, before the request locks the server. A large one waits for its turn first,
/// because its tree takes thirty times its memory.
fn text(head: &Parts, body: Bytes) -> Text {
    let text = Text::from(body);
    let content_type = head.headers.get(CONTENT_TYPE).map_or(&[][..], HeaderValue::as_bytes);
    if (1..LARGE).contains(&text.len()) && (content_type.is_empty() || content_type.ends_with(b"json")) {
        text.parse_ahead();
    }
    text
}

/// The reply to a request that is rejected before the server sees it.
#[cfg(feature = "https")]
pub(crate) fn rejection(head: &Parts, rejection: &BoxedRejection) -> Reply {
    let who = Identity::anonymous();
    let media = accept::document_media(&request(head, Bytes::new(), &who)).unwrap_or(Media::PrettyJson);
    Reply { media, ..Reply::rejection(rejection) }
}

/// Converts a reply to an HTTP response.
pub(crate) fn response(shared: &Shared, reply: Reply) -> http::Response<ReplyStream> {
    let mut builder = http::Response::builder().status(reply.code);
    for warning in &reply.warnings {
        let text = format!("299 - {}", gotext::quote(warning));
        if let Ok(value) = http::HeaderValue::from_bytes(text.as_bytes()) {
            builder = builder.header(WARNING, value);
        }
    }
    if let Some(seconds) = reply.retry_after {
        builder = builder.header(RETRY_AFTER, seconds);
    }
    for (name, value) in &reply.headers {
        builder = builder.header(*name, value.as_str());
    }
    let body = match (reply.encode(), reply.body) {
        (_, ReplyBody::Watch(watch)) => {
            builder = builder.header(CONTENT_TYPE, reply.media.content_type());
            body::watch(shared.clone(), *watch)
        }
        (_, ReplyBody::Follow(follow)) => {
            builder = builder.header(CONTENT_TYPE, "text/plain");
            body::follow(shared.clone(), *follow)
        }
        // A caching client replaces the headers of its cached response by these, so they must not have a content type.
        (Some(_), _) if reply.code == 304 => body::full(Bytes::new()),
        (Some((content_type, bytes)), _) => {
            builder = builder.header(CONTENT_TYPE, &*content_type);
            body::full(bytes)
        }
        (None, _) => body::full(Bytes::new()),
    };
    // Building cannot fail: the code and all headers are valid.
    let response = builder.body(body).unwrap_or_else(|_| http::Response::new(body::full(Bytes::new())));
    let mut response = with_common_headers(response, shared.next_response_number());
    clock_headers::write(response.headers_mut(), shared.now(), shared.speed());
    response
}

/// The response to `HEAD`: the headers of `GET`, and no body.
pub(crate) fn without_body(mut response: http::Response<ReplyStream>) -> http::Response<ReplyStream> {
    if let Some(length) = response.body().size_hint().exact() {
        response.headers_mut().entry(CONTENT_LENGTH).or_insert(length.into());
    }
    response.map(|_| body::full(Bytes::new()))
}

/// Adds the headers of every response except those of the clock: an audit id derived from the number of the request, the
/// only flow schema and priority level, and a `Cache-Control` that forbids caching unless the response has its own.
fn with_common_headers(
    mut response: http::Response<ReplyStream>,
    request: u64,
) -> http::Response<ReplyStream> {
    const FLOW_SCHEMA: &str = "00000000-0000-4000-8000-000000000001";
    const PRIORITY_LEVEL: &str = "00000000-0000-4000-8000-000000000002";
    let headers = response.headers_mut();
    let audit = windtunnel_core::rng::Streams::new(request).stream("audit-id").uuid();
    if let Ok(id) = HeaderValue::from_str(&audit) {
        headers.insert("audit-id", id);
    }
    headers.insert("x-kubernetes-pf-flowschema-uid", HeaderValue::from_static(FLOW_SCHEMA));
    headers.insert("x-kubernetes-pf-prioritylevel-uid", HeaderValue::from_static(PRIORITY_LEVEL));
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-cache, private"));
    response
}
