//! Who answers behind pods: what clients ask of them through `proxy` is passed on.

use std::fmt;
use std::sync::Arc;

use windtunnel_core::clock::Time;
use windtunnel_core::{Object, View};

/// A request that is passed on to a pod.
#[derive(Debug)]
pub struct Asked<'a> {
    /// The pod.
    pub pod: &'a Object,
    /// `http` or `https`.
    pub scheme: &'a str,
    /// The port.
    pub port: u16,
    /// The path, with the slash that it begins with.
    pub path: &'a str,
    /// All objects of the cluster.
    pub view: View,
    /// The moment.
    pub now: Time,
}

/// What the pod answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// The status code of HTTP.
    pub code: u16,
    /// The `Content-Type`.
    pub content_type: &'static str,
    /// The body.
    pub body: String,
}

impl Answered {
    /// Plain text with this status code.
    pub fn text(code: u16, body: impl Into<String>) -> Self {
        Self { code, content_type: "text/plain; charset=utf-8", body: body.into() }
    }
}

/// The programs in the pods of a cluster.
pub trait Upstream: Send + Sync {
    /// What the program answers that listens there; `None` where none does.
    fn answer(&self, asked: &Asked<'_>) -> Option<Answered>;
}

/// The programs that a server knows of: none, unless it is told.
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
