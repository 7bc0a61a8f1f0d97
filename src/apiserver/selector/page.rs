//! Continue tokens of paged lists.

use serde_json::{Value, json};

use crate::apiserver::status::{Outcome, Refused};

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

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
        encode(text.as_bytes())
    }

    /// Reads a token; none is given where the text is empty.
    pub(crate) fn read(token: &str) -> Outcome<Option<Self>> {
        if token.is_empty() {
            return Ok(None);
        }
        let invalid = |why: String| {
            Refused::bad_request(format!("invalid continue token: continue key is not valid: {why}"))
        };
        let bytes = decode(token).map_err(|at| invalid(format!("illegal base64 data at input byte {at}")))?;
        let value: Value = serde_json::from_slice(&bytes).map_err(|error| invalid(error.to_string()))?;
        let start = value["start"].as_str().unwrap_or_default().trim_end_matches('\u{0}').to_owned();
        let revision = value["rv"].as_u64().unwrap_or(0);
        Ok(Some(Self { revision, start }))
    }
}

fn encode(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for part in 0..=chunk.len() {
            let index = bits >> (18 - 6 * part) & 63;
            out.push(char::from(LETTERS[index as usize]));
        }
    }
    out
}

/// The bytes, or the place of the first letter that is wrong.
fn decode(text: &str) -> Result<Vec<u8>, usize> {
    let mut out = Vec::new();
    let (mut bits, mut count) = (0u32, 0);
    for (at, letter) in text.bytes().enumerate() {
        let value = LETTERS.iter().position(|known| *known == letter).ok_or(at)?;
        bits = bits << 6 | u32::try_from(value).unwrap_or(0);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push(u8::try_from(bits >> count & 0xff).unwrap_or(0));
        }
    }
    // A single letter left over cannot hold a byte.
    if text.len() % 4 == 1 { Err(text.len() - 1) } else { Ok(out) }
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
