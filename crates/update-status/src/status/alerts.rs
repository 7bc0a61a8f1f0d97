//! The response of Prometheus to `/api/v1/alerts`, or the reason why there is none.

use serde_json::{Value, json};
use windtunnel_core::alert::{ActiveAlert, Alert};
use windtunnel_core::clock::Time;

/// The response of Prometheus or Thanos.
#[derive(Debug, Clone, PartialEq)]
pub enum AlertsResponse {
    /// The JSON body: `{data: {alerts: [{labels, annotations, state, activeAt}]}}`.
    Answer(Value),
    /// The request failed, with the reason.
    Unfetched(String),
    /// The body is not JSON, with the parse error.
    Unreadable(String),
}

impl Default for AlertsResponse {
    /// No alerts.
    fn default() -> Self {
        Self::Answer(Value::Null)
    }
}

impl AlertsResponse {
    /// Builds a response with these alerts, each with the time since which it is active.
    pub fn from_active<'a>(alerts: impl IntoIterator<Item = (Time, &'a Alert)>) -> Self {
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

    /// Parses a response body.
    pub fn parse(body: &[u8]) -> Self {
        match serde_json::from_slice(body) {
            Ok(value) => Self::Answer(value),
            Err(error) => Self::Unreadable(parse_error(body, &error)),
        }
    }

    /// Returns the alerts in the order of the response.
    pub(super) fn list(&self) -> Vec<ActiveAlert> {
        match self {
            Self::Answer(answer) => {
                let alerts = answer["data"]["alerts"].as_array().into_iter().flatten();
                alerts.map(ActiveAlert::parse).collect()
            }
            Self::Unfetched(_) | Self::Unreadable(_) => Vec::new(),
        }
    }

    /// Returns the line that `oc` prints first when it continues without alerts.
    pub(super) fn warning(&self) -> Option<String> {
        match self {
            Self::Answer(_) => None,
            Self::Unfetched(why) => {
                Some(format!("Unable to fetch alerts, ignoring alerts in 'Update Health':  {why}\n"))
            }
            // The `%w` is a bug of the client: it prints the format verb instead of applying it.
            Self::Unreadable(why) => {
                Some(format!("Ignoring alerts in 'Update Health'. Error unmarshaling alerts: %w {why}\n"))
            }
        }
    }
}

/// Returns the parse error, worded like Go's `encoding/json` if the body ends early or starts with an invalid
/// character.
fn parse_error(body: &[u8], error: &serde_json::Error) -> String {
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
    fn reports_invalid_json_in_the_words_of_go() {
        for (body, expected) in [
            ("", "unexpected end of JSON input"),
            ("{\"data\": ", "unexpected end of JSON input"),
            ("<html>", "invalid character '<' looking for beginning of value"),
            ("  Service Unavailable", "invalid character 'S' looking for beginning of value"),
        ] {
            assert_eq!(
                AlertsResponse::parse(body.as_bytes()),
                AlertsResponse::Unreadable(expected.to_owned()),
                "{body}"
            );
        }
        assert_eq!(AlertsResponse::parse(b"{}"), AlertsResponse::Answer(json!({})));
    }
}
