//! The handler of requests that clients send to pods through `proxy`, and of requests for logs.

use std::fmt;
use std::sync::Arc;

use windtunnel_core::clock::Time;
use windtunnel_core::log::LogLine;
use windtunnel_core::{Object, View};

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

/// The programs in the pods of a cluster.
pub trait Upstream: Send + Sync {
    /// The response of the program that listens on the port; `None` if there is none.
    fn answer(&self, request: &PodRequest<'_>) -> Option<PodResponse>;

    /// The lines of a container, oldest first; `None` if it has no log.
    fn log(&self, _: &LogRequest<'_>) -> Option<Vec<LogLine>> {
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
