//! Calls admission and conversion webhooks over HTTPS, for a served cluster: as Go's HTTP client and the REST client of
//! Kubernetes do it, with their messages.
//!
//! A webhook with a service reference is called at the address of its Service. There is no cluster network
//! here, so only services with an external name can be reached.

mod connection;
mod failure;
mod fields;
mod recorder;
mod redirect;
mod response;
mod review;

use std::sync::{Arc, LazyLock, mpsc};
use std::time::Duration;

use http::header::RETRY_AFTER;
use http::{Method, StatusCode};
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};
use tokio::time::{Instant, sleep_until};

use crate::gotext::url::Url;
use crate::outbound::hooks::{HookCall, HookError, HookResponse, HookTarget, Hooks};
use connection::{Incomplete, Outgoing};

/// The most requests of a call that are redirected.
const REDIRECTS_MAX: usize = 10;
/// How often a call is repeated because the webhook asks for it.
const RETRIES_MAX: usize = 10;

/// Calls webhooks at their URLs. Their configured CA bundle must have signed their certificates.
#[derive(Debug, Clone, Copy, Default)]
pub struct Webhooks;

/// The runtime of all calls, with one thread. The caller's own runtime may have a paused clock, or no IO.
static BACKGROUND: LazyLock<Option<Runtime>> =
    LazyLock::new(|| Builder::new_multi_thread().worker_threads(1).enable_all().build().ok());

impl Hooks for Webhooks {
    /// Waits for the response on the caller's thread, which may belong to an async runtime; the call itself runs on another one.
    fn call(&self, call: &HookCall) -> Result<Value, HookError> {
        let runtime = background()?;
        let (sender, response) = mpsc::channel();
        let call = call.clone();
        runtime.spawn(async move { sender.send(post(&call).await) });
        response.recv().unwrap_or_else(|_| Err(aborted()))
    }

    fn start(self: Arc<Self>, call: HookCall) -> HookResponse {
        Box::pin(async move {
            let response = background()?.spawn(async move { post(&call).await }).await;
            response.unwrap_or_else(|_| Err(aborted()))
        })
    }
}

fn background() -> Result<&'static Runtime, HookError> {
    BACKGROUND.as_ref().ok_or_else(|| HookError("no thread for the call".to_owned()))
}

fn aborted() -> HookError {
    HookError("the call was aborted".to_owned())
}

/// Posts a review, again while the webhook asks for it; fails when the webhook's timeout is over.
async fn post(call: &HookCall) -> Result<Value, HookError> {
    let deadline = Instant::now() + call.timeout.max(Duration::from_secs(1));
    let body = serde_json::to_vec(&call.review).map_err(|error| HookError(error.to_string()))?;
    let first = Outgoing {
        method: Method::POST,
        url: Url::parse(&call.url()).map_err(HookError)?,
        body: Some(body.into()),
        referer: None,
        location: String::new(),
    };
    let mut retries = 0;
    loop {
        let response = follow(&call.target, first.clone(), deadline).await?;
        match retry_after(&response) {
            Some(wait) if retries < RETRIES_MAX => {
                let end = Instant::now().checked_add(wait).unwrap_or(deadline);
                sleep_until(end.min(deadline)).await;
            }
            _ => return response::review(response, deadline, &call.review).await,
        }
        retries += 1;
    }
}

/// Sends a request, and those to which it is redirected.
async fn follow(
    target: &HookTarget,
    mut outgoing: Outgoing,
    deadline: Instant,
) -> Result<Incomplete, HookError> {
    for _ in 0..REDIRECTS_MAX {
        let url = outgoing.url.to_string();
        let response = connection::send(target, &outgoing, deadline).await;
        let response = response.map_err(|why| HookError::no_response(&url, &why))?;
        match redirect::next(&outgoing, &response)? {
            Some(next) => outgoing = next,
            None => return Ok(response),
        }
    }
    Err(HookError::no_response(&outgoing.location, "stopped after 10 redirects"))
}

/// How long to wait before the next try, if the webhook is overloaded and says so.
fn retry_after(response: &Incomplete) -> Option<Duration> {
    let status = response.head.status;
    let is_overloaded = status == StatusCode::TOO_MANY_REQUESTS || status.as_u16() >= 500;
    let seconds = response.head.headers.get(RETRY_AFTER).filter(|_| is_overloaded)?.to_str().ok()?;
    // A negative number means no wait.
    seconds.parse::<i64>().ok().map(|seconds| Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
}
