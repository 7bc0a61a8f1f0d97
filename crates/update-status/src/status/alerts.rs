//! Alerts as they are asked for: what Prometheus answers to `/api/v1/alerts`, or why there is no answer.

use serde_json::{Value, json};
use windtunnel_core::alert::Alert;
use windtunnel_core::clock::Time;

/// The answer of Prometheus or Thanos.
#[derive(Debug, Clone, PartialEq)]
pub enum Alerts {
    /// Its JSON: `{data: {alerts: [{labels, annotations, state, activeAt}]}}`.
    Answer(Value),
    /// There is none, and why.
    Unfetched(String),
    /// It is no JSON, and what is wrong with it.
    Unreadable(String),
}

impl Default for Alerts {
    /// No alerts.
    fn default() -> Self {
        Self::Answer(Value::Null)
    }
}

impl Alerts {
    /// An answer with these alerts, each with the moment since when it holds.
    pub fn of<'a>(alerts: impl IntoIterator<Item = (Time, &'a Alert)>) -> Self {
        let alert = |(since, alert): (Time, &Alert)| {
            let Alert { labels, annotations, state } = alert;
            json!({
                "labels": labels,
                "annotations": annotations,
                "state": state.as_str(),
                "activeAt": since.to_string(),
            })
        };
        let alerts: Vec<Value> = alerts.into_iter().map(alert).collect();
        Self::Answer(json!({ "status": "success", "data": { "alerts": alerts } }))
    }

    /// Reads an answer.
    pub fn read(body: &[u8]) -> Self {
        match serde_json::from_slice(body) {
            Ok(value) => Self::Answer(value),
            Err(error) => Self::Unreadable(why(body, &error)),
        }
    }

    /// The alerts, in their order.
    pub(super) fn list(&self) -> &[Value] {
        match self {
            Self::Answer(answer) => answer["data"]["alerts"].as_array().map_or(&[], Vec::as_slice),
            Self::Unfetched(_) | Self::Unreadable(_) => &[],
        }
    }

    /// What `oc` prints before everything else when it goes on without alerts.
    pub(super) fn complaint(&self) -> Option<String> {
        match self {
            Self::Answer(_) => None,
            Self::Unfetched(why) => {
                Some(format!("Unable to fetch alerts, ignoring alerts in 'Update Health':  {why}\n"))
            }
            // The `%w` is the client's: it prints the format instead of using it.
            Self::Unreadable(why) => {
                Some(format!("Ignoring alerts in 'Update Health'. Error unmarshaling alerts: %w {why}\n"))
            }
        }
    }
}

/// What is wrong, in the words of Go's `encoding/json` where the body ends early or begins as no JSON does.
fn why(body: &[u8], error: &serde_json::Error) -> String {
    let first = body.iter().copied().find(|byte| !byte.is_ascii_whitespace());
    match first {
        _ if error.is_eof() => "unexpected end of JSON input".to_owned(),
        Some(byte) if !b"{[\"-0123456789tfn".contains(&byte) && byte.is_ascii_graphic() => {
            let shown = if byte == b'\'' { "\\'".to_owned() } else { char::from(byte).to_string() };
            format!("invalid character '{shown}' looking for beginning of value")
        }
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_that_is_no_json_is_told_as_go_tells_it() {
        for (body, expected) in [
            ("", "unexpected end of JSON input"),
            ("{\"data\": ", "unexpected end of JSON input"),
            ("<html>", "invalid character '<' looking for beginning of value"),
            ("  Service Unavailable", "invalid character 'S' looking for beginning of value"),
        ] {
            assert_eq!(Alerts::read(body.as_bytes()), Alerts::Unreadable(expected.to_owned()), "{body}");
        }
        assert_eq!(Alerts::read(b"{}"), Alerts::Answer(json!({})));
    }
}
