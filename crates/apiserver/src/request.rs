//! A request as data: what an HTTP request to a Kubernetes API says once its syntax is taken apart.

use std::borrow::Cow;

use serde_json::Value;
use windtunnel_core::{DeleteOptions, Identity, Operation, Write};

use super::access::Impersonate;
pub use super::body::Text;
pub use super::url::{Query, ResourcePath, Target};

/// What the method asks for.
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
    /// Anything else; no path allows it.
    Other,
}

/// Through which door a request came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Via {
    /// A direct call from the process that holds the server.
    Direct,
    /// A client that speaks HTTP, be it in process.
    Client,
}

/// A request.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    /// What to do.
    pub method: Method,
    /// To what.
    pub target: Target<'a>,
    /// Query parameters.
    pub query: Query,
    /// `Content-Type` of the body; empty is JSON.
    pub content_type: Cow<'a, str>,
    /// `Accept`; empty is JSON.
    pub accept: Cow<'a, str>,
    /// `User-Agent`; empty is none. Who writes, where no field manager is named.
    pub user_agent: Cow<'a, str>,
    /// `If-None-Match`; empty is none.
    pub if_none_match: Cow<'a, str>,
    /// Whether the client wants the connection for another protocol (`Connection: Upgrade`).
    pub upgrade: bool,
    /// Who asks.
    pub user: &'a Identity,
    /// The user that they ask to act as.
    pub impersonate: Option<Box<Impersonate>>,
    /// What to write.
    pub body: Body<'a>,
    /// Which door.
    pub via: Via,
}

/// The body.
#[derive(Debug, Clone)]
pub enum Body<'a> {
    /// Nothing.
    Empty,
    /// JSON that never was text.
    Value(&'a Value),
    /// Delete options from the direct call.
    Delete(&'a DeleteOptions),
    /// Text in the request's content type.
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

    /// The same with a JSON body.
    #[must_use]
    pub fn with_body(self, body: &'a Value) -> Self {
        Self { body: Body::Value(body), ..self }
    }

    /// The same with a content type.
    #[must_use]
    pub fn with_content_type(self, content_type: &'a str) -> Self {
        Self { content_type: Cow::Borrowed(content_type), ..self }
    }

    /// The same with an `Accept` header.
    #[must_use]
    pub fn with_accept(self, accept: &'a str) -> Self {
        Self { accept: Cow::Borrowed(accept), ..self }
    }

    /// The same as another user.
    #[must_use]
    pub fn with_impersonation(self, user: Impersonate) -> Self {
        Self { impersonate: Some(Box::new(user)), ..self }
    }

    /// The request that a [`Write`] is, without HTTP in between.
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
