//! Answers of an API server, and substitutes for missing ones.

use http::Response;
use http::header::RETRY_AFTER;
use http_body_util::BodyExt as _;
use kube::client::Body;
use serde_json::{Value, json};
use windtunnel_core::Rejection;

/// An answer that was read completely.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) code: u16,
    /// The body; `Null` if it is not JSON.
    pub(crate) body: Value,
}

impl Reply {
    /// Returns the body, or the server's rejection.
    pub(crate) fn checked(self) -> Result<Value, Rejection> {
        if self.code < 400 { Ok(self.body) } else { Err(rejection(self.code, &self.body)) }
    }
}

/// Reads an answer to its end.
pub(super) async fn read(response: Response<Body>) -> Result<Reply, String> {
    let (head, body) = response.into_parts();
    let body = body.collect().await.map_err(|error| error.to_string())?.to_bytes();
    let mut body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let seconds = head.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if let Some(seconds) = seconds.filter(|_| body["details"]["retryAfterSeconds"].is_null()) {
        body["details"]["retryAfterSeconds"] = json!(seconds);
    }
    Ok(Reply { code: head.status.as_u16(), body })
}

/// Converts a `metav1.Status` to a rejection.
fn rejection(code: u16, status: &Value) -> Rejection {
    let text = |field: &str| status[field].as_str().unwrap_or_default().to_owned();
    let message = match text("message") {
        message if message.is_empty() => format!("the server answered {code}"),
        message => message,
    };
    Rejection { code, reason: text("reason"), message, details: status["details"].clone() }
}

/// Returns the message about a server without an answer.
pub(super) fn out_of_reach(why: &str) -> String {
    format!("the API server cannot be reached: {why}")
}

/// Returns a substitute for a missing answer: clients retry after a second.
pub(super) fn unanswered(why: &str) -> Reply {
    given_up(&out_of_reach(why))
}

/// Returns a substitute for the missing answer to a request that may have been processed: no client retries
/// it automatically.
pub(super) fn unanswered_write(why: &str) -> Reply {
    let message = out_of_reach(why);
    Reply { code: 503, body: json!({ "reason": "ServiceUnavailable", "message": message }) }
}

/// Returns a substitute for the answer of a server that was given up.
pub(super) fn given_up(message: &str) -> Reply {
    let details = json!({ "retryAfterSeconds": 1 });
    Reply {
        code: 503,
        body: json!({ "reason": "ServiceUnavailable", "message": message, "details": details }),
    }
}
