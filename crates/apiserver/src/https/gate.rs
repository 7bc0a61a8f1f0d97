//! Control over when clients of the HTTPS server are served.

use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;

use crate::service::ReplyStream;

/// Decides when requests over HTTPS are served, and learns when they have been.
///
/// A simulation whose time stands still while programs work uses it to alternate between its own components and the
/// programs. See [`Settings::gate`](super::Settings::gate).
pub trait Gate: Debug + Send + Sync {
    /// Waits until a request may be served. The result is dropped when the response is ready.
    fn enter(&self) -> Pin<Box<dyn Future<Output = Pass> + Send>>;

    /// Wraps the endless body of a watch or of a followed log.
    fn stream(&self, body: ReplyStream) -> ReplyStream;
}

/// The permission to serve one request, which ends when it is dropped.
pub type Pass = Box<dyn Send + Sync>;
