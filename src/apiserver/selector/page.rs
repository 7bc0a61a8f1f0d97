//! Continue tokens of paged lists.

use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use base64::{DecodeError, Engine as _};
use serde_json::{Value, json};

use crate::apiserver::status::{Outcome, Refused};

/// Where a list goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Continue {
    /// The revision of the first page.
    pub(crate) revision: u64,
    /// The place of the last object given.
    pub(crate) start: String,
}

impl Continue {
    /// The token: base64url without padding of a small JSON.
    pub(crate) fn token(&self) -> String {
        let start = format!("{}\u{0}", self.start);
        let text = json!({ "v": "meta.k8s.io/v1", "rv": self.revision, "start": start }).to_string();
        URL_SAFE_NO_PAD.encode(text)
    }

    /// Reads a token; none is given where the text is empty.
    pub(crate) fn read(token: &str) -> Outcome<Option<Self>> {
        if token.is_empty() {
            return Ok(None);
        }
        let invalid = |why: String| {
            Refused::bad_request(format!("invalid continue token: continue key is not valid: {why}"))
        };
        let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|error| {
            invalid(format!("illegal base64 data at input byte {}", illegal_byte(token, &error)))
        })?;
        let value: Value = serde_json::from_slice(&bytes).map_err(|error| invalid(error.to_string()))?;
        let start = value["start"].as_str().unwrap_or_default().trim_end_matches('\u{0}').to_owned();
        let revision = value["rv"].as_u64().unwrap_or(0);
        Ok(Some(Self { revision, start }))
    }
}

/// Where a token is wrong, as Go counts it.
fn illegal_byte(token: &str, error: &DecodeError) -> usize {
    match error {
        DecodeError::InvalidByte(at, _) | DecodeError::InvalidLastSymbol { offset: at, .. } => *at,
        // A single letter left over cannot hold a byte.
        DecodeError::InvalidLength(_) | DecodeError::InvalidPadding => token.len().saturating_sub(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_reads_back_and_nonsense_is_refused() {
        let page = Continue { revision: 356, start: "ns/name".into() };
        assert_eq!(Continue::read(&page.token()).unwrap(), Some(page));
        let refused = Continue::read("bogus").unwrap_err();
        assert_eq!(
            refused.message,
            "invalid continue token: continue key is not valid: illegal base64 data at input byte 4"
        );
    }
}
