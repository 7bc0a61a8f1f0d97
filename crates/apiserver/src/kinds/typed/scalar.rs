//! Scalar values: which of them Go's decoder accepts for each type, and the form that Go writes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::time;
use crate::facts::Scalar;
use crate::gotext::json_type;
use crate::kinds::quantity;

/// The time that Go writes as null, in both forms.
const ZERO_TIMES: [&str; 2] = ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000000Z"];
/// The digits of base64.
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The reason why a value cannot be decoded.
pub(super) enum ScalarError {
    /// It has another JSON type: Go's name for that.
    Type(String),
    /// It has another JSON type than the type's own decoder expects: Go's names for both.
    Inner(String, &'static str),
    /// The message of the type's own decoder, which does not know the path.
    Text(String),
}

/// Checks a value and changes it to the form that Go writes. The value is not null.
pub(super) fn read(scalar: Scalar, value: &mut Value) -> Result<(), ScalarError> {
    let other = |value: &Value| Err(ScalarError::Type(json_type(value).to_owned()));
    match (scalar, &*value) {
        (Scalar::String | Scalar::IntOrString | Scalar::Duration, Value::String(_))
        | (Scalar::Bool, Value::Bool(_))
        | (Scalar::Double, Value::Number(_))
        | (Scalar::SchemaOrBool, Value::Bool(_) | Value::Object(_))
        | (Scalar::Json | Scalar::Object | Scalar::SchemaOrArray | Scalar::SchemaOrStrings, _) => Ok(()),
        (Scalar::SchemaOrBool, _) => Err(ScalarError::Text("boolean or JSON schema expected".to_owned())),
        (Scalar::Int32 | Scalar::Int64, Value::Number(number)) => {
            let fits = |n: i64| scalar == Scalar::Int64 || i32::try_from(n).is_ok();
            if number.as_i64().is_some_and(fits) {
                Ok(())
            } else {
                Err(ScalarError::Type(format!("number {number}")))
            }
        }
        (Scalar::Bytes, Value::String(text)) => match check_base64(text) {
            None => {
                let canonical = canonical_base64(text);
                if canonical != *text {
                    *value = json!(canonical);
                }
                Ok(())
            }
            Some(at) => Err(ScalarError::Text(format!("illegal base64 data at input byte {at}"))),
        },
        // Go decodes a list of numbers to bytes as well.
        (Scalar::Bytes, Value::Array(items)) if items.iter().all(is_byte) => {
            let bytes: Vec<u8> = items.iter().filter_map(byte).collect();
            *value = json!(STANDARD.encode(bytes));
            Ok(())
        }
        (Scalar::Quantity, found) => {
            let text = match found {
                Value::String(text) => text.trim().to_owned(),
                other => other.to_string(),
            };
            let canonical = quantity::canonical(&text).map_err(ScalarError::Text)?;
            if found.as_str() != Some(&canonical) {
                *value = json!(canonical);
            }
            Ok(())
        }
        (Scalar::IntOrString, Value::Number(number)) => match number.as_i64().map(i32::try_from) {
            Some(Ok(_)) => Ok(()),
            _ => Err(ScalarError::Inner(format!("number {number}"), "int32")),
        },
        (Scalar::IntOrString, found) => Err(ScalarError::Inner(json_type(found).to_owned(), "int32")),
        (Scalar::Time | Scalar::MicroTime, Value::String(text)) => {
            let canonical = time::canonical(text, scalar == Scalar::MicroTime).map_err(ScalarError::Text)?;
            if ZERO_TIMES.contains(&&*canonical) {
                *value = Value::Null;
            } else if canonical != *text {
                *value = json!(canonical);
            }
            Ok(())
        }
        (Scalar::Time | Scalar::MicroTime | Scalar::Duration, found) => {
            Err(ScalarError::Inner(json_type(found).to_owned(), "string"))
        }
        (_, found) => other(found),
    }
}

/// The byte of an element of a list: Go leaves that of a null 0.
fn byte(value: &Value) -> Option<u8> {
    if value.is_null() {
        return Some(0);
    }
    u8::try_from(value.as_u64()?).ok()
}

fn is_byte(value: &Value) -> bool {
    byte(value).is_some()
}

/// The offset at which base64 (with padding) is invalid, as Go's `base64.CorruptInputError` counts it.
pub(crate) fn check_base64(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut in_quantum = 0;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'\n' | b'\r' => {}
            b'=' => return check_padding(bytes, at, in_quantum),
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' => in_quantum = (in_quantum + 1) % 4,
            _ => return Some(at - 1),
        }
    }
    (in_quantum != 0).then(|| at - in_quantum)
}

/// Valid base64 as Go writes it again: without line breaks, and with zeros in the bits beyond the last byte.
fn canonical_base64(text: &str) -> String {
    let mut canonical: String = text.chars().filter(|letter| !matches!(letter, '\n' | '\r')).collect();
    let padding = canonical.bytes().rev().take_while(|byte| *byte == b'=').count();
    let at = canonical.len() - padding;
    let spare = 2 * u32::try_from(padding).unwrap_or_default();
    if let Some(last) = at.checked_sub(1).filter(|_| padding > 0)
        && let Some(place) = ALPHABET.iter().position(|letter| *letter == canonical.as_bytes()[last])
    {
        let letter = char::from(ALPHABET[place >> spare << spare]);
        canonical.replace_range(last..at, letter.encode_utf8(&mut [0; 4]));
    }
    canonical
}

/// Checks the text after the first padding character, which is at `at - 1`.
fn check_padding(bytes: &[u8], mut at: usize, in_quantum: usize) -> Option<usize> {
    let skip = |mut at: usize| {
        while matches!(bytes.get(at), Some(b'\n' | b'\r')) {
            at += 1;
        }
        at
    };
    match in_quantum {
        0 | 1 => return Some(at - 1),
        2 => {
            at = skip(at);
            match bytes.get(at) {
                None => return Some(bytes.len()),
                Some(b'=') => at += 1,
                Some(_) => return Some(at - 1),
            }
        }
        _ => {}
    }
    at = skip(at);
    (at < bytes.len()).then_some(at)
}
