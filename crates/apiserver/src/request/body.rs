//! Request bodies: checks their size and parses JSON, YAML and protobuf.

use std::fmt::Write as _;
use std::ops::Deref;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use serde_json::Value;

use crate::gotext::json_syntax::syntax_error;
use crate::gotext::{json_type, quote};
use crate::rejection::{BoxedRejection, Outcome};
use crate::request::{duplicates, media_type, protobuf, yaml};

/// The maximum size of a body, in bytes.
pub(crate) const LIMIT: usize = 3 * 1024 * 1024;
/// The supported media types.
const MEDIA_TYPES: [&str; 3] = ["application/json", "application/yaml", protobuf::MEDIA_TYPE];

/// The value of JSON and the paths of duplicate fields, or the parse error.
type ParsedJson = Result<(Value, Vec<String>), serde_json::Error>;

/// The bytes of a body.
#[derive(Debug, Clone, Default)]
pub struct Text {
    bytes: Bytes,
    /// The result of [`Text::parse_ahead`], which the first call of [`Text::json`] takes.
    parsed: Arc<Mutex<Option<ParsedJson>>>,
}

impl Text {
    /// Parses the body as JSON in advance, so that the server is not locked meanwhile. [`Text::json`] returns the
    /// result or the error.
    pub(crate) fn parse_ahead(&self) {
        if self.bytes.len() <= LIMIT
            && let Ok(mut parsed) = self.parsed.lock()
        {
            *parsed = Some(duplicates::parse(&self.bytes));
        }
    }

    /// Parses the body as JSON.
    pub(crate) fn json(&self) -> ParsedJson {
        let parsed = self.parsed.lock().ok().and_then(|mut parsed| parsed.take());
        parsed.unwrap_or_else(|| duplicates::parse(&self.bytes))
    }
}

/// Reads something from a body before the server handles it; `None` if the body is no JSON or protobuf.
pub(crate) fn peek<T>(
    text: &Text,
    content_type: &str,
    kind: &str,
    read: impl FnOnce(&Value) -> T,
) -> Option<T> {
    if content_type.ends_with(protobuf::MEDIA_TYPE) {
        return parse(text, content_type, kind).ok().map(|value| read(&value));
    }
    let mut parsed = text.parsed.lock().ok()?;
    let parsed = parsed.get_or_insert_with(|| duplicates::parse(&text.bytes));
    parsed.as_ref().ok().map(|(value, _)| read(value))
}

impl Deref for Text {
    type Target = Bytes;

    fn deref(&self) -> &Bytes {
        &self.bytes
    }
}

impl From<Bytes> for Text {
    fn from(bytes: Bytes) -> Self {
        Self { bytes, parsed: Arc::default() }
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

/// Parses JSON, YAML or protobuf. `kind` is for error messages.
pub(crate) fn parse(bytes: &Text, content_type: &str, kind: &str) -> Outcome<Value> {
    parse_as(bytes, content_type, "v1", kind).map(|(value, _)| value)
}

/// Parses a body like [`parse`], and returns the paths of duplicate fields as well. Protobuf bodies without a version
/// get `api_version`.
pub(crate) fn parse_as(
    bytes: &Text,
    content_type: &str,
    api_version: &str,
    kind: &str,
) -> Outcome<(Value, Vec<String>)> {
    check_size(bytes)?;
    let unrecognized = |why: String| {
        let data = summary(bytes);
        BoxedRejection::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): {why} ({data})"
        ))
    };
    match media_type::parse(content_type).as_deref() {
        Some("application/json") => bytes.json().map_err(|error| {
            unrecognized(format!(
                "couldn't get version/kind; json parse error: {}",
                json_error(&error, bytes)
            ))
        }),
        Some("application/yaml") => yaml::parse(bytes).map_err(unrecognized),
        Some(protobuf::MEDIA_TYPE) => {
            let decoded = protobuf::decode(bytes, (api_version, kind)).map(|value| (value, Vec::new()));
            decoded.map_err(|error| match error.is {
                None => unrecognized(error.why),
                Some((is, version)) => {
                    let why = error.why;
                    let version = quote(&version);
                    BoxedRejection::bad_request(format!(
                        "{is} in version {version} cannot be handled as a {kind}: {why}"
                    ))
                }
            })
        }
        _ => Err(BoxedRejection::media_type(&MEDIA_TYPES)),
    }
}

/// Go's message for a body that is not an object, and so has no type.
pub(crate) fn no_type(value: &Value) -> String {
    let found = json_type(value);
    format!(
        "json: cannot unmarshal {found} into Go value of type struct {{ APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; \
         Kind string \"json:\\\"kind,omitempty\\\"\" }}"
    )
}

/// Rejects media types that are none of an object.
pub(crate) fn check_media_type(content_type: &str) -> Outcome<()> {
    match media_type::parse(content_type) {
        Some(name) if MEDIA_TYPES.contains(&&*name) => Ok(()),
        _ => Err(BoxedRejection::media_type(&MEDIA_TYPES)),
    }
}

/// Rejects bodies that are too long.
pub(crate) fn check_size(bytes: &Bytes) -> Outcome<()> {
    if bytes.len() > LIMIT {
        return Err(BoxedRejection::too_large(format!("Request entity too large: limit is {LIMIT}")));
    }
    Ok(())
}

/// Go's message for malformed JSON. Errors that are not of the syntax have the message of `serde_json`.
pub(crate) fn json_error(error: &serde_json::Error, document: &[u8]) -> String {
    syntax_error(document).unwrap_or_else(|| error.to_string())
}

/// The start of a body for error messages: as text if it looks like JSON, else in hexadecimal.
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
