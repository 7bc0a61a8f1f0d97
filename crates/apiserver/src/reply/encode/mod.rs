//! Encodes answers as bytes.

mod yaml;

use bytes::Bytes;
use serde::Serialize;

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

    /// Encodes a value.
    pub(crate) fn encode(self, value: &impl Serialize) -> Bytes {
        // Writing JSON to memory cannot fail.
        match self {
            Self::Json => {
                let mut text = Vec::with_capacity(INITIAL_CAPACITY);
                let _ = serde_json::to_writer(&mut text, value);
                text.into()
            }
            Self::PrettyJson => serde_json::to_vec_pretty(value).unwrap_or_default().into(),
            Self::Yaml => yaml::document(&serde_json::to_value(value).unwrap_or_default()).into(),
        }
    }
}
