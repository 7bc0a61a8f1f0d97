//! Base64 conversion of bytes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::Row;

pub(super) const ROWS: &[Row] = &[];

/// Decodes a text of format `byte`.
pub(crate) fn from_base64(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

/// Encodes bytes as a text of format `byte`.
pub(crate) fn to_base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}
