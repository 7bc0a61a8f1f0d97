//! Values that are scalars in JSON: numbers, strings, and messages that represent one of them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Number, Value, json};
use windtunnel_core::clock::{Time, rfc3339, rfc3339_micro};

use super::wire::{Raw, Reader};
use crate::facts::{FieldKind, Scalar};
use crate::gotext::{duration, quote};

/// Decodes text. Go accepts invalid UTF-8, and its JSON replaces it.
pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The wire value of a map entry without value.
pub(super) fn zero(kind: &FieldKind) -> Raw<'static> {
    match kind {
        FieldKind::Scalar(Scalar::Bool | Scalar::Int32 | Scalar::Int64) => Raw::Varint(0),
        FieldKind::Scalar(Scalar::Double) => Raw::Fixed64(0),
        _ => Raw::Bytes(&[]),
    }
}

/// Decodes a value; null if JSON has none.
pub(super) fn value(kind: Scalar, name: &str, raw: Raw<'_>) -> Result<Value, String> {
    Ok(match (kind, raw) {
        (Scalar::Bool, Raw::Varint(flag)) => Value::Bool(flag != 0),
        (Scalar::Int32, Raw::Varint(number)) => json!(int32(number)),
        (Scalar::Int64, Raw::Varint(number)) => json!(number.cast_signed()),
        (Scalar::Double, Raw::Fixed64(bits)) => double(f64::from_bits(bits))?,
        (Scalar::String, Raw::Bytes(bytes)) => Value::String(text(bytes)),
        (Scalar::Bytes, Raw::Bytes(bytes)) => Value::String(STANDARD.encode(bytes)),
        (Scalar::Quantity, Raw::Bytes(bytes)) => quantity(bytes)?,
        (Scalar::IntOrString, Raw::Bytes(bytes)) => int_or_string(bytes)?,
        (Scalar::Time, Raw::Bytes(bytes)) => time(bytes, rfc3339)?,
        (Scalar::MicroTime, Raw::Bytes(bytes)) => time(bytes, rfc3339_micro)?,
        (Scalar::Duration, Raw::Bytes(bytes)) => {
            let nanoseconds = numbers::<1>(bytes, "Duration")?[0];
            Value::String(duration::format(nanoseconds))
        }
        (Scalar::Object | Scalar::Json, Raw::Bytes(bytes)) => embedded(bytes)?,
        (_, other) => return Err(other.unexpected(name)),
    })
}

#[expect(clippy::cast_possible_truncation, reason = "Go keeps the low 32 bits as well")]
fn int32(number: u64) -> i32 {
    number as i32
}

fn double(number: f64) -> Result<Value, String> {
    #[expect(clippy::cast_possible_truncation, reason = "a whole number that an f64 holds exactly")]
    if number.fract() == 0.0 && number.abs() < 9e15 {
        // Go writes integers without a decimal point.
        return Ok(json!(number as i64));
    }
    Number::from_f64(number)
        .map(Value::Number)
        .ok_or_else(|| format!("json: unsupported value: {}", crate::gotext::float(number)))
}

/// The first field of a message, as bytes.
fn first<'a>(bytes: &'a [u8], message: &'a str) -> Result<Option<&'a [u8]>, String> {
    let (mut found, mut fields) = (None, Reader::new(bytes, message));
    while let Some((number, raw)) = fields.next()? {
        match (number, raw) {
            (1, Raw::Bytes(bytes)) => found = Some(bytes),
            (1, other) => return Err(other.unexpected("value")),
            _ => {}
        }
    }
    Ok(found)
}

/// The first N fields of a message, as numbers.
fn numbers<const N: usize>(bytes: &[u8], message: &str) -> Result<[i64; N], String> {
    let (mut found, mut fields) = ([0; N], Reader::new(bytes, message));
    while let Some((number, raw)) = fields.next()? {
        let Some(place) = usize::try_from(number).ok().and_then(|at| found.get_mut(at - 1)) else { continue };
        match raw {
            Raw::Varint(value) => *place = value.cast_signed(),
            other => return Err(other.unexpected(message)),
        }
    }
    Ok(found)
}

fn quantity(bytes: &[u8]) -> Result<Value, String> {
    let text = first(bytes, "Quantity")?.map(text).unwrap_or_default();
    Ok(Value::String(if text.is_empty() { "0".to_owned() } else { text }))
}

fn int_or_string(bytes: &[u8]) -> Result<Value, String> {
    let (mut is_string, mut number, mut string) = (false, 0, String::new());
    let mut fields = Reader::new(bytes, "IntOrString");
    while let Some((field, raw)) = fields.next()? {
        match (field, raw) {
            (1, Raw::Varint(kind)) => is_string = kind == 1,
            (2, Raw::Varint(value)) => number = int32(value),
            (3, Raw::Bytes(bytes)) => string = text(bytes),
            (1, other) => return Err(other.unexpected("type")),
            (2, other) => return Err(other.unexpected("intVal")),
            (3, other) => return Err(other.unexpected("strVal")),
            _ => {}
        }
    }
    Ok(if is_string { Value::String(string) } else { json!(number) })
}

/// Decodes a timestamp; an empty message is null.
fn time(bytes: &[u8], write: fn(Time) -> String) -> Result<Value, String> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    let [seconds, nanoseconds] = numbers::<2>(bytes, "Timestamp")?;
    let nanoseconds = i32::try_from(nanoseconds).unwrap_or_default().clamp(0, 999_999_999);
    // Go's JSON rejects years that RFC 3339 cannot represent.
    let time = Time::new(seconds, nanoseconds)
        .map_err(|_| "Time.MarshalJSON: year outside of range [0,9999]".to_owned())?;
    Ok(Value::String(write(time)))
}

/// Decodes `RawExtension`, `FieldsV1` and `JSON`, which contain JSON as bytes.
fn embedded(bytes: &[u8]) -> Result<Value, String> {
    let Some(raw) = first(bytes, "RawExtension")?.filter(|raw| !raw.is_empty()) else {
        return Ok(Value::Null);
    };
    serde_json::from_slice(raw).map_err(|_| {
        let shown = String::from_utf8_lossy(raw.get(..30).unwrap_or(raw)).into_owned();
        format!(
            "json: error calling MarshalJSON for type runtime.RawExtension: invalid JSON in {}",
            quote(&shown)
        )
    })
}
