//! Bodies as text: their size, their media type, their syntax.

use std::fmt::Write as _;
use std::ops::Deref;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use serde_json::Value;
use windtunnel_core::yaml::YamlError;

use super::gotext::quote;
use super::status::{Outcome, Refused};
use super::{duplicates, protobuf};

/// Bodies longer than this are refused.
pub(crate) const LIMIT: usize = 3 * 1024 * 1024;
/// What a body may be.
const MEDIA_TYPES: [&str; 3] = ["application/json", "application/yaml", protobuf::MEDIA_TYPE];

/// What JSON says, with the paths of fields that stand there more than once.
type Json = Result<(Value, Vec<String>), serde_json::Error>;

/// A body as it came.
#[derive(Debug, Clone, Default)]
pub struct Text {
    bytes: Bytes,
    /// What the body says as JSON, for the first who asks.
    ahead: Arc<Mutex<Option<Json>>>,
}

impl Text {
    /// Reads the body as JSON before anybody asks: whoever does may hold the server meanwhile. That it is no JSON is told
    /// to who asks.
    pub(crate) fn read_ahead(&self) {
        if self.bytes.len() <= LIMIT
            && let Ok(mut ahead) = self.ahead.lock()
        {
            *ahead = Some(duplicates::parse(&self.bytes));
        }
    }

    /// What the body says as JSON.
    pub(crate) fn json(&self) -> Json {
        let ahead = self.ahead.lock().ok().and_then(|mut ahead| ahead.take());
        ahead.unwrap_or_else(|| duplicates::parse(&self.bytes))
    }
}

impl Deref for Text {
    type Target = Bytes;

    fn deref(&self) -> &Bytes {
        &self.bytes
    }
}

impl From<Bytes> for Text {
    fn from(bytes: Bytes) -> Self {
        Self { bytes, ahead: Arc::default() }
    }
}

impl From<Vec<u8>> for Text {
    fn from(bytes: Vec<u8>) -> Self {
        Bytes::from(bytes).into()
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Bytes::from(text).into()
    }
}

/// Reads JSON, YAML or protocol buffers; `kind` stands in errors.
pub(crate) fn parse(bytes: &Text, content_type: &str, kind: &str) -> Outcome<Value> {
    parse_as(bytes, content_type, "v1", kind).map(|(value, _)| value)
}

/// The same for bodies that may leave out of which version they are, with the paths of fields that stand there more than
/// once.
pub(crate) fn parse_as(
    bytes: &Text,
    content_type: &str,
    api_version: &str,
    kind: &str,
) -> Outcome<(Value, Vec<String>)> {
    check_size(bytes)?;
    let unrecognized = |why: String| {
        let data = summary(bytes);
        Refused::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): {why} ({data})"
        ))
    };
    match content_type.split(';').next().unwrap_or("").trim() {
        "" | "application/json" => bytes.json().map_err(|error| {
            unrecognized(format!("couldn't get version/kind; json parse error: {}", json_error(&error)))
        }),
        "application/yaml" => {
            let text = String::from_utf8_lossy(bytes);
            windtunnel_core::yaml::from_str(&text)
                .map(|value| (value, Vec::new()))
                .map_err(|error| unrecognized(yaml_error(&error, &text)))
        }
        protobuf::MEDIA_TYPE => {
            let decoded = protobuf::decode(bytes, (api_version, kind)).map(|value| (value, Vec::new()));
            decoded.map_err(|error| match error.is {
                None => unrecognized(error.why),
                Some((is, version)) => {
                    let why = error.why;
                    let version = quote(&version);
                    Refused::bad_request(format!(
                        "{is} in version {version} cannot be handled as a {kind}: {why}"
                    ))
                }
            })
        }
        _ => Err(Refused::media_type(&MEDIA_TYPES)),
    }
}

/// Refuses bodies that are too long.
pub(crate) fn check_size(bytes: &Bytes) -> Outcome<()> {
    if bytes.len() > LIMIT {
        return Err(Refused::too_large(format!("Request entity too large: limit is {LIMIT}")));
    }
    Ok(())
}

/// Go's words for JSON that ends too early; for other mistakes, those of the library in use.
pub(crate) fn json_error(error: &serde_json::Error) -> String {
    if error.is_eof() { "unexpected end of JSON input".to_owned() } else { error.to_string() }
}

/// Go's words for mistakes in YAML that are often made; for others, those of the library in use.
pub(crate) fn yaml_error(error: &YamlError, text: &str) -> String {
    let why = match error.message.as_str() {
        // Where an element is due, that is missed first.
        "unclosed bracket '{'" | "unclosed bracket '['" if text.trim_end().ends_with(['[', '{', ',']) => {
            "did not find expected node content"
        }
        "unclosed bracket '{'" => "did not find expected ',' or '}'",
        "unclosed bracket '['" => "did not find expected ',' or ']'",
        other => other,
    };
    format!("yaml: line {}: {why}", error.line)
}

/// The beginning of a body: text if it looks like JSON, else in hexadecimal.
pub(crate) fn summary(bytes: &[u8]) -> String {
    const SHOWN: usize = 30;
    let (start, more) = if bytes.len() > SHOWN { (&bytes[..SHOWN], " ...") } else { (bytes, "") };
    match bytes.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => format!("{}{more}", String::from_utf8_lossy(start)),
        Some(_) => {
            let mut text = String::with_capacity(2 * SHOWN);
            for byte in start {
                let _ = write!(text, "{byte:02x}");
            }
            text + more
        }
    }
}
