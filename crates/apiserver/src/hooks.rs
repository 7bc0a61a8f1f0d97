//! Calls that the server makes itself: to admission and conversion webhooks.
//!
//! The server does no IO. A request that needs a webhook's word comes back from [`ApiServer::advance`] as a
//! [`Step::Call`]; whoever drives the server makes that call, tells the [`Attempt`] the answer and advances the same
//! request again. It then runs from its start once more, with the answers that it has by then, so that nothing is locked
//! while a webhook thinks, a webhook may itself make requests, and what changed meanwhile is seen: a review that reads
//! otherwise than the one that was answered is asked anew.

use std::fmt::{self, Write as _};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use windtunnel_core::clock::Time;

use super::reply::Reply;
use super::status::Refused;

/// The most calls that one request may make; one whose reviews never settle ends there.
const MOST_CALLS: usize = 256;

/// Where a webhook is reached (`WebhookClientConfig`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookTarget {
    /// The URL that the call goes to, without the query. For a service it is made of the service's DNS name.
    pub url: String,
    /// The service that it stands for, if it is none by URL.
    pub service: Option<HookService>,
    /// Certificates that the webhook's own must be signed by: PEM, in base64 as in the configuration; empty for those
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
    /// The port of the service, 443 unless told otherwise.
    pub port: u16,
    /// Where the Service leads when the call is made, as `host:port`, or why it leads nowhere.
    pub endpoint: Result<String, String>,
}

impl HookService {
    /// A service that leads nowhere yet.
    pub(crate) fn new(namespace: &str, name: &str, port: u16) -> Self {
        let endpoint = Err("not looked for".to_owned());
        Self { namespace: namespace.to_owned(), name: name.to_owned(), port, endpoint }
    }
}

/// A call to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct HookCall {
    /// To whom.
    pub target: HookTarget,
    /// The body: an `AdmissionReview` or a `ConversionReview`.
    pub review: Value,
    /// How long the webhook may take.
    pub timeout: Duration,
}

impl HookCall {
    /// The URL with the query that the server adds.
    pub fn url(&self) -> String {
        format!("{}?timeout={}s", self.target.url, self.timeout.as_secs())
    }
}

/// Why a call came to nothing: what follows `Post "https://...": ` in the server's text, such as
/// `dial tcp 127.0.0.1:9: connect: connection refused`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HookError(pub String);

/// Who makes the calls.
pub trait Hooks: Send + Sync {
    /// Posts a review and gives the webhook's answer, which is a review too.
    ///
    /// # Errors
    /// The webhook was not reached, or what it said was no JSON.
    fn call(&self, call: &HookCall) -> Result<Value, HookError>;

    /// Posts a review for a caller that must not block. By default [`Hooks::call`] runs on a thread of the tokio runtime that may
    /// block.
    fn start(self: Arc<Self>, call: HookCall) -> HookResponse
    where
        Self: 'static,
    {
        Box::pin(async move {
            let response = tokio::task::spawn_blocking(move || self.call(&call)).await;
            response.unwrap_or_else(|_| Err(HookError("the call was given up".to_owned())))
        })
    }
}

/// The response of a webhook, once it is there.
pub type HookResponse = Pin<Box<dyn Future<Output = Result<Value, HookError>> + Send>>;

impl<F> Hooks for F
where
    F: Fn(&HookCall) -> Result<Value, HookError> + Send + Sync,
{
    fn call(&self, call: &HookCall) -> Result<Value, HookError> {
        self(call)
    }
}

/// The hooks of a server that was given none: no webhook is reached.
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

/// The error where no webhook can be reached.
fn unreached(call: &HookCall) -> HookError {
    HookError(match call.target.service.as_ref().map(|service| &service.endpoint) {
        Some(Err(why)) => why.clone(),
        _ => format!("dial tcp: lookup {}: no such host", host(&call.target.url)),
    })
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

/// What one request was told so far, and what it drew: a request that is run again gets the same again.
#[derive(Debug, Default)]
pub struct Attempt {
    answers: Vec<(HookCall, Result<Value, HookError>)>,
    /// The call that stopped the last run.
    pending: Option<HookCall>,
    /// Whether the last run learnt something that it could not know at its start.
    again: bool,
    /// The uid of the object that the request creates.
    pub(crate) uid: Option<String>,
    /// The names that were made of its `generateName`.
    pub(crate) names: Vec<String>,
    /// The name of the volume with the token that a pod was given.
    pub(crate) token_volume: Option<String>,
}

impl Attempt {
    /// Whether nothing was asked for it yet.
    pub(crate) fn is_new(&self) -> bool {
        self.answers.is_empty()
    }

    /// The answer to a call, the last one made or not.
    pub fn answered(&mut self, call: HookCall, answer: Result<Value, HookError>) {
        self.answers.push((call, answer));
    }

    /// The answer to this call if there is one; else the request stops here until there is.
    ///
    /// # Errors
    /// The request stops; what the error says is never seen.
    pub(crate) fn ask(&mut self, call: HookCall) -> Result<Result<Value, HookError>, Refused> {
        if let Some((_, answer)) = self.answers.iter().find(|(asked, _)| *asked == call) {
            return Ok(answer.clone());
        }
        if self.answers.len() >= MOST_CALLS {
            return Err(Refused::timed_out());
        }
        self.pending = Some(call);
        Err(Refused::internal("waiting for a webhook"))
    }

    /// Has the request run from its start once more.
    pub(crate) fn run_again(&mut self) {
        self.again = true;
    }

    /// Whether the request is to run from its start once more.
    pub(crate) fn take_again(&mut self) -> bool {
        std::mem::take(&mut self.again)
    }

    /// Whether the request has stopped for a call, or is to run again.
    pub(crate) fn is_unfinished(&self) -> bool {
        self.again || self.pending.is_some()
    }

    /// Whether the request has stopped for a call.
    pub(crate) fn is_waiting(&self) -> bool {
        self.pending.is_some()
    }

    /// The call that stopped the request, if one did.
    pub(crate) fn take_pending(&mut self) -> Option<HookCall> {
        self.pending.take()
    }
}

/// How far a request came.
#[derive(Debug)]
pub enum Step {
    /// It is answered.
    Done(Reply),
    /// It needs a webhook's word first.
    Call(HookCall),
}

/// A uid for a review: the same review at the same time has the same one, so that a request that is run again finds
/// the answer to it.
pub(crate) fn uid(review: &Value, now: Time) -> String {
    let digest = Sha256::digest(format!("{now}{review}"));
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
