//! `/windtunnel/clock`: GET reads the clock of a served cluster, PATCH and PUT change it.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use windtunnel_apiserver::Method;
use windtunnel_apiserver::service::{PathEndpoint, Shared};
use windtunnel_core::Rejection;
use windtunnel_core::clock::{Clock as _, Time, WallClock, after};
use windtunnel_core::text::parse_duration;

use super::{Change, ClusterClock};
use crate::cli::args::speed;

/// The fields of a change, for messages.
const FIELDS: &str = "expected a JSON object with some of the fields `paused` (true or false), `speed` (such as 60), `time` \
                      (such as \"2026-05-01T12:00:00Z\") and `advance` (such as \"2h\")";

/// The endpoint of a clock. It wakes the cluster and its watches after a change.
pub(in crate::cli::serve) struct ClockEndpoint {
    clock: Arc<ClusterClock>,
    shared: Shared,
}

/// A change as clients send it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    paused: Option<bool>,
    speed: Option<Speed>,
    time: Option<String>,
    advance: Option<String>,
}

/// `60` or `"60x"`.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "speed: expected a factor such as 60 or \"60x\"")]
enum Speed {
    Number(f64),
    Text(String),
}

impl ClockEndpoint {
    /// The endpoint of a clock, for the clients of a server.
    pub(in crate::cli::serve) fn new(clock: Arc<ClusterClock>, shared: Shared) -> Self {
        Self { clock, shared }
    }

    fn change(&self, body: &[u8]) -> Result<(), Rejection> {
        let request: Request =
            serde_json::from_slice(body).map_err(|error| bad_request(format!("{error}; {FIELDS}")))?;
        let change = change(request, self.clock.now()).map_err(bad_request)?;
        self.clock.change(change).map_err(|why| rejection(422, "Invalid", why))?;
        self.shared.wake();
        Ok(())
    }
}

impl PathEndpoint for ClockEndpoint {
    fn path(&self) -> &'static str {
        "/windtunnel/clock"
    }

    fn answer(&self, method: Method, body: &[u8]) -> Result<Value, Rejection> {
        match method {
            Method::Get => {}
            Method::Patch | Method::Put => self.change(body)?,
            _ => {
                let why = "the clock of the cluster supports GET, PATCH and PUT".to_owned();
                return Err(rejection(405, "MethodNotAllowed", why));
            }
        }
        Ok(state(&self.clock))
    }
}

fn rejection(code: u16, reason: &str, message: String) -> Rejection {
    Rejection { code, reason: reason.to_owned(), message, details: Value::Null }
}

fn bad_request(message: String) -> Rejection {
    rejection(400, "BadRequest", message)
}

/// Reads a change of a clock that shows `now`.
fn change(request: Request, now: Time) -> Result<Change, String> {
    let factor = match request.speed {
        None => None,
        Some(Speed::Number(factor)) => Some(factor.to_string()),
        Some(Speed::Text(text)) => Some(text),
    };
    let factor = factor.map(|text| speed(&text).map_err(|why| format!("speed: {why}"))).transpose()?;
    let target = match (request.time, request.advance) {
        (Some(_), Some(_)) => return Err("expected `time` or `advance`, found both".to_owned()),
        (Some(text), None) => Some(text.parse::<Time>().map_err(|_| {
            format!("time: expected a time such as \"2026-05-01T12:00:00Z\", found \"{text}\"")
        })?),
        (None, Some(text)) => {
            let span = parse_duration(&text)
                .ok_or_else(|| format!("advance: expected a duration such as \"2h\", found \"{text}\""))?;
            Some(after(now, span))
        }
        (None, None) => None,
    };
    Ok(Change { paused: request.paused, speed: factor, target })
}

/// The state of a clock for clients.
fn state(clock: &ClusterClock) -> Value {
    let (now, machine) = (clock.now(), WallClock.now());
    let state = clock.lock();
    let mut body = json!({
        "time": now.to_string(),
        "machineTime": machine.to_string(),
        "speed": state.speed,
        "paused": state.paused,
    });
    if let Some(target) = state.target {
        body["advancingTo"] = json!(target.to_string());
    }
    body
}

#[cfg(test)]
mod tests {
    use windtunnel_apiserver::ApiServer;

    use super::*;

    fn endpoint() -> ClockEndpoint {
        let start = "2026-05-01T12:00:00Z".parse().unwrap();
        ClockEndpoint::new(Arc::new(ClusterClock::paused_at(start)), ApiServer::builder().start())
    }

    fn patch(endpoint: &ClockEndpoint, body: &str) -> Result<Value, (u16, String)> {
        endpoint
            .answer(Method::Patch, body.as_bytes())
            .map_err(|rejection| (rejection.code, rejection.message))
    }

    #[test]
    fn reads_and_changes_the_clock() {
        let endpoint = endpoint();
        let read = |endpoint: &ClockEndpoint| endpoint.answer(Method::Get, b"").unwrap();
        let state = read(&endpoint);
        assert_eq!(state["time"], "2026-05-01T12:00:00Z");
        assert_eq!((&state["paused"], &state["speed"]), (&json!(true), &json!(1.0)));
        let state = patch(&endpoint, r#"{"advance": "2h", "speed": "60x"}"#).unwrap();
        assert_eq!((&state["advancingTo"], &state["speed"]), (&json!("2026-05-01T14:00:00Z"), &json!(60.0)));
        endpoint.clock.release(Time::MAX);
        let state = read(&endpoint);
        assert_eq!((&state["time"], state.get("advancingTo")), (&json!("2026-05-01T14:00:00Z"), None));
        let state = endpoint.answer(Method::Put, br#"{"paused": false, "speed": 0.5}"#).unwrap();
        assert_eq!((&state["paused"], &state["speed"]), (&json!(false), &json!(0.5)));
    }

    #[test]
    fn invalid_changes_say_what_is_expected() {
        let endpoint = endpoint();
        for (body, code, expected) in [
            (r#"{"pause": true}"#, 400, "unknown field `pause`"),
            ("", 400, "expected a JSON object"),
            (r#"{"speed": true}"#, 400, "speed: expected a factor such as 60"),
            (r#"{"speed": 0}"#, 400, "speed: expected a factor from 0.01x to 100000x"),
            (r#"{"time": "noon"}"#, 400, "time: expected a time such as"),
            (r#"{"advance": "-2h"}"#, 400, "advance: expected a duration such as"),
            (r#"{"advance": "2h", "time": "2026-05-01T13:00:00Z"}"#, 400, "found both"),
            (r#"{"time": "2026-05-01T11:00:00Z"}"#, 422, "the clock cannot go back"),
        ] {
            let (found, why) = patch(&endpoint, body).unwrap_err();
            assert!(found == code && why.contains(expected), "{body}: {found} {why}");
        }
        assert_eq!(endpoint.answer(Method::Delete, b"").unwrap_err().code, 405);
    }
}
