//! Encodes answers as bytes.

mod yaml;

use bytes::Bytes;
use serde::Serialize;

use crate::gotext;
use crate::request::accept::Media;

/// The initial buffer size, enough for most objects.
const INITIAL_CAPACITY: usize = 2048;

impl Media {
    /// The `Content-Type`.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Json | Self::PrettyJson => "application/json",
            Self::Yaml => "application/yaml",
        }
    }

    /// Encodes a value. Compact JSON ends with a newline, as Go's encoder writes it; indented JSON does not.
    pub(crate) fn encode(self, value: &impl Serialize) -> Bytes {
        match self {
            Self::Json => compact(value, b"\n"),
            Self::PrettyJson => {
                gotext::escape_html_bytes(serde_json::to_vec_pretty(value).unwrap_or_default()).into()
            }
            Self::Yaml => yaml::document(&serde_json::to_value(value).unwrap_or_default()).into(),
        }
    }
}

/// A document in compact JSON without a newline, as handlers write it that do not negotiate its format.
pub(crate) fn document(value: &impl Serialize) -> Bytes {
    compact(value, b"")
}

fn compact(value: &impl Serialize, end: &[u8]) -> Bytes {
    let mut text = Vec::with_capacity(INITIAL_CAPACITY);
    // Writing JSON to memory cannot fail.
    let _ = serde_json::to_writer(&mut text, value);
    text.extend(end);
    gotext::escape_html_bytes(text).into()
}
