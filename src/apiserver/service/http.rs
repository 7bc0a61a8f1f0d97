//! Between HTTP and the server: a request as data, an answer as an HTTP response. Every door uses these two.

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER, WARNING};
use http::request::Parts;

use super::{ReplyStream, Shared, body};
use crate::apiserver::gotext;
use crate::apiserver::reply::{Reply, ReplyBody};
use crate::apiserver::request::{Body, Method, Query, Request, Target, Via};
use crate::model::Identity;

/// The request that an HTTP request is.
pub(crate) fn request<'a>(head: &'a Parts, body: Bytes, who: &'a Identity) -> Request<'a> {
    let method = match head.method {
        http::Method::GET => Method::Get,
        http::Method::POST => Method::Post,
        http::Method::PUT => Method::Put,
        http::Method::PATCH => Method::Patch,
        http::Method::DELETE => Method::Delete,
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
        user: who,
        body: if body.is_empty() && method == Method::Get { Body::Empty } else { Body::Bytes(body) },
        via: Via::Client,
    }
}

/// The HTTP response that an answer is.
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
    let plain = matches!(reply.body, ReplyBody::Text(_));
    let content_type = if plain { "text/plain; charset=utf-8" } else { "application/json" };
    builder = builder.header(CONTENT_TYPE, content_type);
    let body = match reply.body {
        ReplyBody::Object(object) => body::full(encode(&*object)),
        ReplyBody::Value(value) => body::full(encode(&value)),
        ReplyBody::List(list) => body::full(encode(&list)),
        ReplyBody::Text(text) => body::full(text.into()),
        ReplyBody::Watch(watch) => body::watch(shared.clone(), *watch),
    };
    // Code and headers are all valid here.
    builder.body(body).unwrap_or_else(|_| http::Response::new(body::full(Bytes::new())))
}

fn encode(value: &impl serde::Serialize) -> Bytes {
    serde_json::to_vec(value).unwrap_or_default().into()
}
