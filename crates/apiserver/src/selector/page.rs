//! Continue tokens of paged lists.

use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use base64::{DecodeError, Engine as _};
use serde_json::{Value, json};

use crate::gotext::json_syntax::syntax_error;
use crate::gotext::{json_type, quote};
use crate::profile::since;
use crate::rejection::{BoxedRejection, Outcome};

/// The position at which a list continues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Continue {
    /// The revision of the first page; `None` continues with the current objects.
    pub(crate) revision: Option<u64>,
    /// The key at which it continues, without the prefix of the list: after the last object returned.
    pub(crate) start: String,
}

/// The version of tokens.
const VERSION: &str = "meta.k8s.io/v1";

impl Continue {
    /// The token: JSON in base64url without padding.
    pub(crate) fn token(&self) -> String {
        let revision = self.revision.map_or_else(|| json!(-1), |revision| json!(revision));
        URL_SAFE_NO_PAD.encode(json!({ "v": VERSION, "rv": revision, "start": self.start }).to_string())
    }

    /// Parses a token; `None` if the text is empty.
    pub(crate) fn parse(token: &str, minor: u32) -> Outcome<Option<Self>> {
        if token.is_empty() {
            return Ok(None);
        }
        let invalid = |why: String| {
            BoxedRejection::bad_request(format!("invalid continue token: continue key is not valid: {why}"))
        };
        let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|error| {
            invalid(format!("illegal base64 data at input byte {}", illegal_byte(token, &error)))
        })?;
        let value: Value = serde_json::from_slice(&bytes)
            .map_err(|error| invalid(syntax_error(&bytes).unwrap_or_else(|| error.to_string())))?;
        let token = TokenFields::decode(&value).map_err(invalid)?;
        let version = token.version;
        if version != VERSION {
            let shown = if minor < since::PLAIN_TOKEN_VERSION { quote(version) } else { version.to_owned() };
            return Err(invalid(format!("server does not recognize this encoded version {shown}")));
        }
        let key = token.start;
        let revision = match token.revision {
            0 => {
                return Err(invalid(format!("incorrect encoded start resourceVersion (version {VERSION})")));
            }
            past => u64::try_from(past).ok(),
        };
        if key.is_empty() {
            return Err(invalid(format!("encoded start key empty (version {VERSION})")));
        }
        let start = key.strip_prefix('/').unwrap_or(key);
        if !is_clean(start) {
            return Err(invalid(key.to_owned()));
        }
        Ok(Some(Self { revision, start: start.to_owned() }))
    }
}

/// The fields of a token. Missing ones are zero, as in Go.
struct TokenFields<'a> {
    version: &'a str,
    revision: i64,
    start: &'a str,
}

impl<'a> TokenFields<'a> {
    /// Decodes a token.
    ///
    /// # Errors
    /// The message of Go's JSON decoder about a wrong type.
    fn decode(value: &'a Value) -> Result<Self, String> {
        if !value.is_object() && !value.is_null() {
            let found = json_type(value);
            return Err(format!(
                "json: cannot unmarshal {found} into Go value of type storage.continueToken"
            ));
        }
        let wrong = |found: &str, field: &str, expected: &str| {
            format!(
                "json: cannot unmarshal {found} into Go struct field continueToken.{field} of type {expected}"
            )
        };
        let text = |field: &str| match &value[field] {
            Value::Null => Ok(""),
            Value::String(text) => Ok(text.as_str()),
            other => Err(wrong(json_type(other), field, "string")),
        };
        let revision = match &value["rv"] {
            Value::Null => 0,
            Value::Number(number) => {
                number.as_i64().ok_or_else(|| wrong(&format!("number {number}"), "rv", "int64"))?
            }
            other => return Err(wrong(json_type(other), "rv", "int64")),
        };
        Ok(Self { version: text("v")?, revision, start: text("start")? })
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
            let page = Continue { revision, start: "ns/name\u{0}".into() };
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
            (encoded("null"), "server does not recognize this encoded version "),
            (encoded("[]"), "json: cannot unmarshal array into Go value of type storage.continueToken"),
            (
                encoded(r#"{"v":1}"#),
                "json: cannot unmarshal number into Go struct field continueToken.v of type string",
            ),
            (
                encoded(r#"{"v":"meta.k8s.io/v1","rv":"1","start":"a"}"#),
                "json: cannot unmarshal string into Go struct field continueToken.rv of type int64",
            ),
            (
                encoded(r#"{"v":"meta.k8s.io/v1","rv":1.5,"start":"a"}"#),
                "json: cannot unmarshal number 1.5 into Go struct field continueToken.rv of type int64",
            ),
        ] {
            let rejection = Continue::parse(&token, 36).unwrap_err();
            assert_eq!(
                rejection.message,
                format!("invalid continue token: continue key is not valid: {why}")
            );
        }
    }

    #[test]
    fn a_start_key_does_not_leave_its_list() {
        for (start, parsed) in [
            ("a", Some("a")),
            ("/a/b\u{0}", Some("a/b\u{0}")),
            ("../a", None),
            ("a/../../b", None),
            ("a/..", None),
            ("./a", None),
            ("//a", None),
            ("a//b", None),
            ("a/", None),
            ("..", None),
        ] {
            let token = json!({ "v": VERSION, "rv": 1, "start": start }).to_string();
            let found = Continue::parse(&URL_SAFE_NO_PAD.encode(token), 36);
            match parsed {
                Some(expected) => assert_eq!(found.unwrap().unwrap().start, expected),
                None => {
                    let rejection = found.unwrap_err();
                    let expected = format!("invalid continue token: continue key is not valid: {start}");
                    assert_eq!((rejection.code, &*rejection.message), (400, &*expected));
                }
            }
        }
    }
}
