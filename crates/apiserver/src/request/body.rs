//! Request bodies: checks their size and parses JSON, YAML and protobuf.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Deref;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use serde_json::Value;
use windtunnel_core::yaml::YamlError;

use crate::gotext::json_syntax::syntax_error;
use crate::gotext::quote;
use crate::request::{duplicates, protobuf};
use crate::status::{Outcome, Refused};

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
        Refused::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): {why} ({data})"
        ))
    };
    match &*media_type(content_type) {
        "" | "application/json" => bytes.json().map_err(|error| {
            unrecognized(format!(
                "couldn't get version/kind; json parse error: {}",
                json_error(&error, bytes)
            ))
        }),
        "application/yaml" => {
            let text = String::from_utf8_lossy(bytes);
            let text = first_document(&text);
            windtunnel_core::yaml::from_str(text)
                .map(|value| (value, Vec::new()))
                .map_err(|error| unrecognized(yaml_error(&error, text)))
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

/// Parses the options of a deletion. A real server returns the error of its decoder unchanged.
pub(crate) fn parse_options(bytes: &Text, content_type: &str) -> Outcome<Value> {
    let is_json = matches!(&*media_type(content_type), "" | "application/json");
    if bytes.len() > LIMIT || !is_json {
        return parse(bytes, content_type, "DeleteOptions");
    }
    bytes.json().map(|(value, _)| value).map_err(|error| {
        let why = json_error(&error, bytes);
        Refused::internal(format!("couldn't get version/kind; json parse error: {why}"))
    })
}

/// The first of several YAML documents. Go's parser ignores the others.
pub(crate) fn first_document(text: &str) -> &str {
    let mut at = 0;
    let mut has_content = false;
    for line in text.split_inclusive('\n') {
        let is_bare_marker = line.trim_end() == "---";
        let is_marker = is_bare_marker || line.starts_with("--- ");
        if is_marker && has_content || line.trim_end() == "..." {
            return &text[..at];
        }
        let is_comment = line.trim_start().starts_with(['#', '%']);
        has_content = has_content || !is_bare_marker && !is_comment && !line.trim().is_empty();
        at += line.len();
    }
    text
}

/// Rejects bodies that are too long.
pub(crate) fn check_size(bytes: &Bytes) -> Outcome<()> {
    if bytes.len() > LIMIT {
        return Err(Refused::too_large(format!("Request entity too large: limit is {LIMIT}")));
    }
    Ok(())
}

/// The media type of a `Content-Type` header, without parameters. Its case does not matter.
pub(crate) fn media_type(header: &str) -> Cow<'_, str> {
    let name = header.split(';').next().unwrap_or_default().trim();
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(name.to_ascii_lowercase())
    } else {
        Cow::Borrowed(name)
    }
}

/// Go's message for malformed JSON. Errors that are not of the syntax have the message of `serde_json`.
pub(crate) fn json_error(error: &serde_json::Error, document: &[u8]) -> String {
    syntax_error(document).unwrap_or_else(|| error.to_string())
}

/// Go's messages for common errors in YAML. Other errors have the message of this parser.
pub(crate) fn yaml_error(error: &YamlError, text: &str) -> String {
    let why = match error.message.as_str() {
        // If the text ends where an element must follow, Go reports the missing element first.
        "unclosed bracket '{'" | "unclosed bracket '['" if text.trim_end().ends_with(['[', '{', ',']) => {
            "did not find expected node content"
        }
        "unclosed bracket '{'" => "did not find expected ',' or '}'",
        "unclosed bracket '['" => "did not find expected ',' or ']'",
        other => other,
    };
    format!("yaml: line {}: {why}", error.line)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_document_counts() {
        for (text, first) in [
            ("a: 1\n", "a: 1\n"),
            ("---\na: 1\n---\nb: 2\n", "---\na: 1\n"),
            ("# c\n---\na: 1\n...\nb", "# c\n---\na: 1\n"),
            ("--- {a: 1}\n---\nb: 2\n", "--- {a: 1}\n"),
        ] {
            assert_eq!(first_document(text), first);
        }
    }

    #[test]
    fn the_case_and_the_parameters_of_a_media_type_do_not_matter() {
        assert_eq!(media_type("Application/JSON; charset=utf-8"), "application/json");
        assert_eq!(media_type(""), "");
    }
}
