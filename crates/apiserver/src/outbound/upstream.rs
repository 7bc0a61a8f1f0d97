//! The handler of requests that clients send to pods through `proxy`, of requests for logs, and of requests to programs
//! that share the address of the server.

use std::fmt;
use std::sync::Arc;

use windtunnel_core::clock::Time;
use windtunnel_core::log::LogLine;
use windtunnel_core::{Object, View};

use crate::request::Query;

/// A request to a pod.
#[derive(Debug)]
pub struct PodRequest<'a> {
    /// The pod.
    pub pod: &'a Object,
    /// `http` or `https`.
    pub scheme: &'a str,
    /// The port.
    pub port: u16,
    /// The path, with its leading slash.
    pub path: &'a str,
    /// All objects of the cluster.
    pub view: View,
    /// The current time.
    pub now: Time,
}

/// The response of a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodResponse {
    /// The HTTP status code.
    pub code: u16,
    /// The `Content-Type`.
    pub content_type: &'static str,
    /// The body.
    pub body: String,
}

impl PodResponse {
    /// Plain text with this status code.
    pub fn text(code: u16, body: impl Into<String>) -> Self {
        Self { code, content_type: "text/plain; charset=utf-8", body: body.into() }
    }
}

/// A request for the log of a container.
#[derive(Debug)]
pub struct LogRequest<'a> {
    /// The pod.
    pub pod: &'a Object,
    /// The container's name.
    pub container: &'a str,
    /// Whether the client wants the log of the previous instance of the container.
    pub previous: bool,
}

/// A request to a program that answers at paths of the server's own address.
#[derive(Debug)]
pub struct PathRequest<'a> {
    /// The path, with its leading slash.
    pub path: &'a str,
    /// The parameters of the URL, then those of a form in the body.
    pub parameters: &'a Query,
    /// All objects of the cluster.
    pub view: View,
    /// The current time.
    pub now: Time,
}

/// The object that a user must have access to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Permission {
    /// API group of the object.
    pub group: &'static str,
    /// Its plural.
    pub resource: &'static str,
    /// Its subresource.
    pub subresource: &'static str,
    /// Its namespace.
    pub namespace: &'static str,
    /// Its name.
    pub name: &'static str,
}

/// The programs in the pods of a cluster.
pub trait Upstream: Send + Sync {
    /// The response of the program that listens on the port; `None` if there is none.
    fn answer(&self, request: &PodRequest<'_>) -> Option<PodResponse>;

    /// The lines of a container, oldest first; `None` if it has no log.
    fn log(&self, _: &LogRequest<'_>) -> Option<Vec<LogLine>> {
        None
    }

    /// The permission that a client needs for a path: the verb `get` for GET, and `create` for POST. `None` if no
    /// program answers at the path.
    fn permission(&self, _path: &str) -> Option<Permission> {
        None
    }

    /// The response of the program at a path; `None` if there is none.
    fn serve(&self, _: &PathRequest<'_>) -> Option<PodResponse> {
        None
    }
}

/// The handler of a server; `None` unless it was set.
#[derive(Clone, Default)]
pub(crate) struct Programs(Option<Arc<dyn Upstream>>);

impl Programs {
    pub(crate) fn new(upstream: Arc<dyn Upstream>) -> Self {
        Self(Some(upstream))
    }

    pub(crate) fn any(&self) -> Option<&dyn Upstream> {
        self.0.as_deref()
    }
}

impl fmt::Debug for Programs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Programs(upstream)" } else { "Programs(none)" })
    }
}
