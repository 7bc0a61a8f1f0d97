//! Calls of admission and conversion webhooks.
//!
//! The server does no IO. If a request needs webhooks, `ApiServer::advance` returns a `Step::Calls`. The caller of
//! `advance` makes the calls, records the answers in the [`Attempt`](crate::Attempt) and advances the same request again. The request then
//! restarts from its first stage, with all recorded answers. This has three advantages:
//!
//! - No lock is held while a webhook runs.
//! - A webhook can make requests itself.
//! - The request sees changes of other requests. If a review differs from the recorded one, the webhook is called again.

use std::fmt::{self, Write as _};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use windtunnel_core::clock::Time;

use crate::gotext::quote;

/// The address of a webhook (`WebhookClientConfig`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookTarget {
    /// The URL of the call, without the query. For a service it contains the service's DNS name.
    pub url: String,
    /// The service; `None` if the configuration has a URL.
    pub service: Option<HookService>,
    /// The certificate authorities for the webhook's certificate: PEM, in base64 as in the configuration; empty for those
    /// of the system.
    pub ca_bundle: String,
}

/// A service that serves a webhook (`ServiceReference`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookService {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The port of the service; 443 by default.
    pub port: u16,
    /// The address of the service at the time of the call, as `host:port`, or the error of resolving it.
    pub endpoint: Result<String, String>,
    /// Whether a program behind the service is ready: its Endpoints have an address, or it is of type ExternalName.
    pub has_backend: bool,
}

impl HookService {
    /// A service without a resolved address.
    pub(crate) fn new(namespace: &str, name: &str, port: u16) -> Self {
        let endpoint = Err("the service is not resolved yet".to_owned());
        Self { namespace: namespace.to_owned(), name: name.to_owned(), port, endpoint, has_backend: false }
    }
}

/// A call of a webhook.
#[derive(Debug, Clone, PartialEq)]
pub struct HookCall {
    /// The webhook.
    pub target: HookTarget,
    /// The body: an `AdmissionReview` or a `ConversionReview`.
    pub review: Value,
    /// The time after which the call fails.
    pub timeout: Duration,
}

impl HookCall {
    /// The URL with the query that the server adds.
    pub fn url(&self) -> String {
        format!("{}?timeout={}s", self.target.url, self.timeout.as_secs())
    }
}

/// The error of a failed call, as the server's message has it: `Post "https://...": dial tcp 127.0.0.1:9: connect: connection
/// refused` for a call without a response, or the meaning of the response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HookError(pub String);

impl HookError {
    /// The error of a request without a response.
    pub fn no_response(url: &str, why: &str) -> Self {
        Self(format!("Post {}: {why}", quote(url)))
    }
}

/// Makes the calls.
pub trait Hooks: Send + Sync {
    /// Posts a review, and returns the webhook's answer, which is a review too.
    ///
    /// # Errors
    /// The webhook is not reachable, or its answer is not JSON.
    fn call(&self, call: &HookCall) -> Result<Value, HookError>;

    /// Posts a review for a caller that must not block. By default this runs [`Hooks::call`] on a blocking thread of the tokio
    /// runtime.
    fn start(self: Arc<Self>, call: HookCall) -> HookResponse
    where
        Self: 'static,
    {
        Box::pin(async move {
            let response = tokio::task::spawn_blocking(move || self.call(&call)).await;
            response.unwrap_or_else(|_| Err(HookError("the call was aborted".to_owned())))
        })
    }
}

/// The future response of a webhook.
pub type HookResponse = Pin<Box<dyn Future<Output = Result<Value, HookError>> + Send>>;

impl<F> Hooks for F
where
    F: Fn(&HookCall) -> Result<Value, HookError> + Send + Sync,
{
    fn call(&self, call: &HookCall) -> Result<Value, HookError> {
        self(call)
    }
}

/// The hooks of a server. Without hooks every call fails.
#[derive(Clone, Default)]
pub(crate) struct Caller(Option<Arc<dyn Hooks>>);

impl Caller {
    pub(crate) fn new(hooks: Arc<dyn Hooks>) -> Self {
        Self(Some(hooks))
    }

    pub(crate) fn call(&self, call: &HookCall) -> Result<Value, HookError> {
        match &self.0 {
            Some(hooks) => hooks.call(call),
            None => Err(unreached(call)),
        }
    }

    /// Makes a call without blocking a thread of the runtime.
    pub(crate) fn start(&self, call: HookCall) -> HookResponse {
        match &self.0 {
            Some(hooks) => Arc::clone(hooks).start(call),
            None => Box::pin(std::future::ready(Err(unreached(&call)))),
        }
    }
}

/// The error of a call without hooks.
fn unreached(call: &HookCall) -> HookError {
    let why = match call.target.service.as_ref().map(|service| &service.endpoint) {
        Some(Err(why)) => why.clone(),
        _ => format!("dial tcp: lookup {}: no such host", host(&call.target.url)),
    };
    HookError::no_response(&call.url(), &why)
}

fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let end = rest.find(['/', ':']).unwrap_or(rest.len());
    rest.get(..end).unwrap_or(rest)
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Caller(hooks)" } else { "Caller(none)" })
    }
}

/// The uid of a review. It depends on the webhook, the review and the time only, so that a restarted request finds the recorded
/// answer of this webhook.
pub(crate) fn uid(webhook: &str, review: &Value, now: Time) -> String {
    let digest = Sha256::digest(format!("{webhook}/{now}{review}"));
    let mut text = String::with_capacity(36);
    for (index, byte) in digest.iter().take(16).enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        // Version 4, variant 1.
        let byte = match index {
            6 => byte & 0x0f | 0x40,
            8 => byte & 0x3f | 0x80,
            _ => *byte,
        };
        let _ = write!(text, "{byte:02x}");
    }
    text
}
