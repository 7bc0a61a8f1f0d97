//! Continue tokens of paged lists.

use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use base64::{DecodeError, Engine as _};
use serde_json::{Value, json};

use crate::gotext::json_syntax::syntax_error;
use crate::gotext::quote;
use crate::profile::since;
use crate::status::{Outcome, Refused};

/// The position at which a list continues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Continue {
    /// The revision of the first page; `None` continues with the current objects.
    pub(crate) revision: Option<u64>,
    /// The key of the last object returned.
    pub(crate) start: String,
}

/// The version of tokens.
const VERSION: &str = "meta.k8s.io/v1";

impl Continue {
    /// The token: JSON in base64url without padding.
    pub(crate) fn token(&self) -> String {
        let start = format!("{}\u{0}", self.start);
        let revision = self.revision.map_or_else(|| json!(-1), |revision| json!(revision));
        URL_SAFE_NO_PAD.encode(json!({ "v": VERSION, "rv": revision, "start": start }).to_string())
    }

    /// Parses a token; `None` if the text is empty.
    pub(crate) fn parse(token: &str, minor: u32) -> Outcome<Option<Self>> {
        if token.is_empty() {
            return Ok(None);
        }
        let invalid = |why: String| {
            Refused::bad_request(format!("invalid continue token: continue key is not valid: {why}"))
        };
        let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|error| {
            invalid(format!("illegal base64 data at input byte {}", illegal_byte(token, &error)))
        })?;
        let value: Value = serde_json::from_slice(&bytes)
            .map_err(|error| invalid(syntax_error(&bytes).unwrap_or_else(|| error.to_string())))?;
        let version = value["v"].as_str().unwrap_or_default();
        if version != VERSION {
            let shown = if minor < since::PLAIN_TOKEN_VERSION { quote(version) } else { version.to_owned() };
            return Err(invalid(format!("server does not recognize this encoded version {shown}")));
        }
        let key = value["start"].as_str().unwrap_or_default();
        let revision = match value["rv"].as_i64().unwrap_or_default() {
            0 => {
                return Err(invalid(format!("incorrect encoded start resourceVersion (version {VERSION})")));
            }
            past => u64::try_from(past).ok(),
        };
        if key.is_empty() {
            return Err(invalid(format!("encoded start key empty (version {VERSION})")));
        }
        if !is_clean(key.strip_prefix('/').unwrap_or(key)) {
            return Err(invalid(key.to_owned()));
        }
        let start = key.trim_start_matches('/').trim_end_matches('\u{0}').to_owned();
        Ok(Some(Self { revision, start }))
    }
}

/// Whether a path has no part that another path is shorter without (`path.Clean`).
fn is_clean(path: &str) -> bool {
    path.is_empty() || path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

/// The offset of the first invalid byte of a token, as Go counts it.
fn illegal_byte(token: &str, error: &DecodeError) -> usize {
    match error {
        DecodeError::InvalidByte(at, _) | DecodeError::InvalidLastSymbol { offset: at, .. } => *at,
        // A single remaining character cannot hold a byte.
        DecodeError::InvalidLength(_) | DecodeError::InvalidPadding => token.len().saturating_sub(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_round_trips() {
        for revision in [Some(356), None] {
            let page = Continue { revision, start: "ns/name".into() };
            assert_eq!(Continue::parse(&page.token(), 36).unwrap(), Some(page));
        }
    }

    #[test]
    fn rejects_invalid_tokens() {
        let encoded = |text: &str| URL_SAFE_NO_PAD.encode(text);
        for (token, why) in [
            ("bogus".to_owned(), "illegal base64 data at input byte 4"),
            (
                encoded(r#"{"v":"v0","rv":1,"start":"a"}"#),
                "server does not recognize this encoded version v0",
            ),
            (
                encoded(r#"{"v":"meta.k8s.io/v1","start":"a"}"#),
                "incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
            ),
            (encoded(r#"{"v":"meta.k8s.io/v1","rv":1}"#), "encoded start key empty (version meta.k8s.io/v1)"),
        ] {
            let refused = Continue::parse(&token, 36).unwrap_err();
            assert_eq!(refused.message, format!("invalid continue token: continue key is not valid: {why}"));
        }
    }
}
