//! Values that Go's converter turns into fields of structs, where it differs from the JSON decoder: it takes whole numbers
//! with a point, and its messages have no path (`runtime.DefaultUnstructuredConverter`).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Number, Value};

use super::plan::Shape;
use super::scalar::{self, ScalarError};
use crate::facts::Scalar;

/// Converts a value to the form that Go writes. The value is no null, and no list, map or struct of that shape.
///
/// # Errors
/// Go's message for a value that does not fit.
pub(super) fn value(shape: &Shape, value: &mut Value) -> Result<(), String> {
    match shape {
        Shape::Struct(_) => Err(format!("cannot restore struct from: {}", go_kind(value))),
        Shape::List(_) => Err(format!("cannot restore slice from {}", go_kind(value))),
        Shape::Map(_) => Err(format!("cannot restore map from {}", go_kind(value))),
        Shape::Named(name) => Err(mismatch(value, name)),
        Shape::Scalar(scalar) => convert_scalar(*scalar, value),
    }
}

fn convert_scalar(scalar: Scalar, value: &mut Value) -> Result<(), String> {
    match (scalar, &*value) {
        (Scalar::String, Value::String(_))
        | (Scalar::Bool, Value::Bool(_))
        | (Scalar::Double, Value::Number(_)) => Ok(()),
        (Scalar::String, found) => Err(mismatch(found, "string")),
        (Scalar::Bool, _) => Err("unrecognized type: bool".to_owned()),
        (Scalar::Double, _) => Err("unrecognized type: float64".to_owned()),
        (Scalar::Int32, Value::Number(number)) => {
            #[expect(clippy::cast_possible_truncation, reason = "Go drops the upper half as well")]
            let whole = whole(number).ok_or("cannot convert float64 to int32")? as i32;
            *value = Value::from(whole);
            Ok(())
        }
        (Scalar::Int64, Value::Number(number)) => {
            *value = Value::from(whole(number).ok_or("cannot convert float64 to int64")?);
            Ok(())
        }
        (Scalar::Int32, _) => Err("unrecognized type: int32".to_owned()),
        (Scalar::Int64, _) => Err("unrecognized type: int64".to_owned()),
        (Scalar::Bytes, Value::String(_)) => {
            own_decoder(scalar, value).map_err(|why| format!("error decoding from json: {why}"))
        }
        (Scalar::Bytes, Value::Array(items)) => {
            let bytes: Result<Vec<u8>, String> = items.iter().map(byte).collect();
            *value = Value::from(STANDARD.encode(bytes?));
            Ok(())
        }
        (Scalar::Bytes, found) => Err(format!("cannot restore slice from {}", go_kind(found))),
        _ => own_decoder(scalar, value),
    }
}

/// Converts an element of a list to a byte. Go drops the other bits of a number.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "Go does so as well")]
fn byte(value: &Value) -> Result<u8, String> {
    match value {
        Value::Null => Ok(0),
        Value::Number(number) => {
            Ok(whole(number).ok_or_else(|| "cannot convert float64 to uint8".to_owned())? as u8)
        }
        _ => Err("unrecognized type: uint8".to_owned()),
    }
}

/// Converts a value whose type has a decoder of its own, which gets the value as JSON.
fn own_decoder(scalar: Scalar, value: &mut Value) -> Result<(), String> {
    if let Value::Number(number) = value
        && number.as_i64().is_none()
        && let Some(float) = number.as_f64()
    {
        match whole(number) {
            // Go writes a `float64` without an exponent unless it is very large or small.
            _ if scalar == Scalar::Quantity && (1e-6..1e21).contains(&float.abs()) => {
                *value = Value::from(float.to_string());
            }
            Some(whole) => *value = Value::from(whole),
            None => {}
        }
    }
    scalar::read(scalar, value).map_err(|wrong| match wrong {
        ScalarError::Type(found) => format!("json: cannot unmarshal {found} into Go value of type string"),
        ScalarError::Inner(found, expected) => {
            format!("json: cannot unmarshal {found} into Go value of type {expected}")
        }
        ScalarError::Text(text) => text,
    })
}

/// A number as Go converts it to an `int64`; `None` if it has a fraction. Numbers that do not fit become the lowest one.
fn whole(number: &Number) -> Option<i64> {
    const BEYOND: f64 = 9_223_372_036_854_775_808.0;
    if let Some(whole) = number.as_i64() {
        return Some(whole);
    }
    let float = number.as_f64()?;
    #[expect(clippy::cast_possible_truncation, reason = "the number is within the bounds")]
    let within = || if (-BEYOND..BEYOND).contains(&float) { float as i64 } else { i64::MIN };
    (float.fract() == 0.0).then(within)
}

/// The message for a value that is not a text. In Go an integer is convertible to a text, but not in this converter.
fn mismatch(value: &Value, expected: &str) -> String {
    match go_kind(value) {
        "int64" => format!("cannot convert int64 to {expected}"),
        _ => "unrecognized type: string".to_owned(),
    }
}

/// The kind of a value in Go (`reflect.Kind`).
fn go_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "invalid",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.as_i64().is_some() => "int64",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "slice",
        Value::Object(_) => "map",
    }
}
