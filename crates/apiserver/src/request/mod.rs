//! Parsed requests to the Kubernetes API.

pub(crate) mod accept;
pub(crate) mod body;
pub(crate) mod clock_skew;
pub(crate) mod duplicates;
pub(crate) mod impersonation;
pub(crate) mod media_type;
pub(crate) mod options;
pub(crate) mod protobuf;
pub(crate) mod url;
pub(crate) mod view;
pub(crate) mod yaml;

use std::borrow::Cow;

use serde_json::Value;
use windtunnel_core::{DeleteOptions, Identity, Operation, Write};

pub use crate::request::body::Text;
pub use crate::request::impersonation::Impersonate;
pub use crate::request::url::{Query, ResourcePath, Target};

/// The method of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Read, list or watch.
    Get,
    /// Create.
    Post,
    /// Replace.
    Put,
    /// Change in part.
    Patch,
    /// Remove.
    Delete,
    /// The methods `HEAD` and `OPTIONS`, which only proxies support.
    Options,
    /// Any other method; no path supports it.
    Other,
}

/// How a request reached the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Via {
    /// As a direct call from the process of the server.
    Direct,
    /// From an HTTP client, in-process or over HTTPS.
    Client,
}

/// A request.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    /// The method.
    pub method: Method,
    /// The path.
    pub target: Target<'a>,
    /// The query parameters.
    pub query: Query,
    /// The `Content-Type` of the body; empty means JSON.
    pub content_type: Cow<'a, str>,
    /// The `Accept` header; empty means JSON.
    pub accept: Cow<'a, str>,
    /// The `User-Agent` header; empty if missing. It is the default field manager of writes.
    pub user_agent: Cow<'a, str>,
    /// The `If-None-Match` header; empty if missing.
    pub if_none_match: Cow<'a, str>,
    /// Whether the client wants to switch the connection to another protocol (`Connection: Upgrade`).
    pub upgrade: bool,
    /// The authenticated user.
    pub user: &'a Identity,
    /// The user to impersonate.
    pub impersonate: Option<Box<Impersonate>>,
    /// The body.
    pub body: Body<'a>,
    /// How the request reached the server.
    pub via: Via,
}

/// The body of a request.
#[derive(Debug, Clone)]
pub enum Body<'a> {
    /// No body.
    Empty,
    /// A JSON value.
    Value(&'a Value),
    /// The delete options of a direct call.
    Delete(&'a DeleteOptions),
    /// Text in the content type of the request.
    Bytes(Text),
}

impl<'a> Request<'a> {
    /// A request for a path such as `/api/v1/pods?watch=true`, without a body.
    pub fn new(method: Method, path_and_query: &'a str, user: &'a Identity) -> Self {
        let (path, query) = path_and_query.split_once('?').unwrap_or((path_and_query, ""));
        Self {
            method,
            target: Target::parse(path),
            query: Query::parse(query),
            content_type: Cow::Borrowed(""),
            accept: Cow::Borrowed(""),
            user_agent: Cow::Borrowed(""),
            if_none_match: Cow::Borrowed(""),
            upgrade: false,
            user,
            impersonate: None,
            body: Body::Empty,
            via: Via::Client,
        }
    }

    /// Sets a JSON body.
    #[must_use]
    pub fn with_body(self, body: &'a Value) -> Self {
        Self { body: Body::Value(body), ..self }
    }

    /// Sets the content type.
    #[must_use]
    pub fn with_content_type(self, content_type: &'a str) -> Self {
        Self { content_type: Cow::Borrowed(content_type), ..self }
    }

    /// Sets the `Accept` header.
    #[must_use]
    pub fn with_accept(self, accept: &'a str) -> Self {
        Self { accept: Cow::Borrowed(accept), ..self }
    }

    /// Impersonates another user.
    #[must_use]
    pub fn with_impersonation(self, user: Impersonate) -> Self {
        Self { impersonate: Some(Box::new(user)), ..self }
    }

    /// The request of a [`Write`], as a direct call.
    pub fn from_write(write: &'a Write, who: &'a Identity) -> Self {
        let (method, content_type, body) = match &write.operation {
            Operation::Create(object) => (Method::Post, "", Body::Value(object)),
            Operation::Update(object) => (Method::Put, "", Body::Value(object)),
            Operation::MergePatch(patch) => (Method::Patch, MERGE_PATCH, Body::Value(patch)),
            Operation::JsonPatch(patch) => (Method::Patch, JSON_PATCH, Body::Value(patch)),
            Operation::Delete(options) => (Method::Delete, "", Body::Delete(options)),
        };
        let named = method != Method::Post || write.subresource.is_some();
        let target = Target::Resource(ResourcePath {
            group: Cow::Borrowed(&write.resource.group),
            version: Cow::Borrowed(&write.resource.version),
            namespace: Cow::Borrowed(&write.namespace),
            resource: Cow::Borrowed(&write.resource.plural),
            name: Cow::Borrowed(if named { &write.name } else { "" }),
            subresource: Cow::Borrowed(write.subresource.unwrap_or("")),
            watch: false,
            has_empty_namespace: false,
        });
        Self {
            method,
            target,
            query: Query::default(),
            content_type: Cow::Borrowed(content_type),
            accept: Cow::Borrowed(""),
            user_agent: Cow::Borrowed(""),
            if_none_match: Cow::Borrowed(""),
            upgrade: false,
            user: who,
            impersonate: None,
            body,
            via: Via::Direct,
        }
    }
}

pub(crate) const MERGE_PATCH: &str = "application/merge-patch+json";
pub(crate) const JSON_PATCH: &str = "application/json-patch+json";
pub(crate) const STRATEGIC_PATCH: &str = "application/strategic-merge-patch+json";
