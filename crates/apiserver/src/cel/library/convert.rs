//! Conversions between types.

use std::borrow::Cow;

use windtunnel_core::text::go_float::format_g;

use crate::cel::library::kubernetes::net;
use crate::cel::library::{Row, text};
use crate::cel::time;
use crate::cel::value::{EvalError, Outcome, Value};

pub(super) const ROWS: &[Row] = &[
    (0, "type(T) -> type(T)", type_of),
    (0, "dyn(T) -> dyn", same),
    (0, "bool(bool) -> bool", same),
    (0, "bool(string) -> bool", to_bool),
    (0, "bytes(bytes) -> bytes", same),
    (0, "bytes(string) -> bytes", to_bytes),
    (0, "double(#) -> double for double int string uint", to_double),
    (0, "duration(#) -> duration for duration int string", to_duration),
    (0, "int(#) -> int for int double duration string timestamp uint", to_int),
    (0, "string(#) -> string for string bool bytes double duration int timestamp uint", to_string),
    (0, "timestamp(#) -> timestamp for timestamp int string", to_timestamp),
    (0, "uint(#) -> uint for uint double int string", to_uint),
    (net::OPENSHIFT, "string(#) -> string for net.IP net.CIDR", address_to_string),
];

fn same<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    args.first().cloned().ok_or_else(EvalError::no_overload)
}

fn type_of<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let name = args.first().map_or("", Value::type_name);
    Ok(Value::Type(Cow::Borrowed(name)))
}

fn failed<'a>(from: &str, to: &str) -> Outcome<'a> {
    Err(EvalError::new(format!("type conversion error from '{from}' to '{to}'")))
}

fn to_bool<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    match text(args, 0) {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Value::Bool(true)),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Value::Bool(false)),
        _ => failed("string", "bool"),
    }
}

fn to_bytes<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Bytes(text(args, 0).as_bytes().into()))
}

#[expect(clippy::cast_precision_loss, reason = "CEL converts so")]
fn to_double<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [Value::Int(number)] => Ok(Value::Double(*number as f64)),
        [Value::Uint(number)] => Ok(Value::Double(*number as f64)),
        [Value::String(text)] => match text.parse::<f64>() {
            Ok(number) => Ok(Value::Double(number)),
            Err(_) => failed("string", "double"),
        },
        _ => same(args),
    }
}

fn to_duration<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [Value::Int(number)] => Ok(Value::Duration(*number)),
        [Value::String(text)] => match time::go_duration(text) {
            Some(duration) => Ok(Value::Duration(duration)),
            None => failed("string", "google.protobuf.Duration"),
        },
        _ => same(args),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
fn to_int<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [Value::Uint(number)] => {
            i64::try_from(*number).map(Value::Int).map_err(|_| EvalError::new("integer overflow"))
        }
        [Value::Double(number)] if number.abs() < 9_223_372_036_854_775_808.0 => {
            Ok(Value::Int(*number as i64))
        }
        [Value::Double(_)] => Err(EvalError::new("integer overflow")),
        [Value::Duration(nanoseconds)] => Ok(Value::Int(*nanoseconds)),
        [Value::Timestamp(at)] => Ok(Value::Int(at.as_second())),
        [Value::String(text)] => match text.parse::<i64>() {
            Ok(number) => Ok(Value::Int(number)),
            Err(_) => failed("string", "int"),
        },
        _ => same(args),
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
fn to_uint<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let overflow = || EvalError::new("unsigned integer overflow");
    match args {
        [Value::Int(number)] => u64::try_from(*number).map(Value::Uint).map_err(|_| overflow()),
        [Value::Double(number)] if (0.0..18_446_744_073_709_551_616.0).contains(number) => {
            Ok(Value::Uint(*number as u64))
        }
        [Value::Double(_)] => Err(overflow()),
        [Value::String(text)] => match text.parse::<u64>() {
            Ok(number) => Ok(Value::Uint(number)),
            Err(_) => failed("string", "uint"),
        },
        _ => same(args),
    }
}

fn to_string<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::text(match args {
        [Value::Bool(flag)] => flag.to_string(),
        [Value::Int(number)] => number.to_string(),
        [Value::Uint(number)] => number.to_string(),
        [Value::Double(number)] => double_text(*number),
        [Value::Duration(nanoseconds)] => time::show_duration(*nanoseconds),
        [Value::Timestamp(at)] => time::show_timestamp(*at),
        [Value::Bytes(bytes)] => match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => return Err(EvalError::new("invalid UTF-8 in bytes, cannot convert to string")),
        },
        _ => return same(args),
    }))
}

/// Formats a double with as few digits as possible.
pub(super) fn double_text(number: f64) -> String {
    match number {
        number if number.is_nan() => "NaN".to_owned(),
        number if number.is_infinite() => if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned(),
        number => format_g(number),
    }
}

fn to_timestamp<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [Value::Int(seconds)] => jiff::Timestamp::from_second(*seconds)
            .map(Value::Timestamp)
            .map_err(|_| EvalError::new("timestamp overflow")),
        [Value::String(text)] => match time::parse_timestamp(text) {
            Some(at) => Ok(Value::Timestamp(at)),
            None => failed("string", "google.protobuf.Timestamp"),
        },
        _ => same(args),
    }
}

fn address_to_string<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    use crate::cel::value::opaque::Opaque;
    match args {
        [Value::Opaque(opaque)] => match &**opaque {
            Opaque::Ip(address) => Ok(Value::text(address.to_string())),
            Opaque::Cidr(cidr) => Ok(Value::text(cidr.to_string())),
            _ => Err(EvalError::no_overload()),
        },
        _ => Err(EvalError::no_overload()),
    }
}
