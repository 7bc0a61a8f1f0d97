//! Operators, `size` and indexing.

use std::cmp::Ordering;

use super::{Row, list, map};
use crate::cel::decl::{ListEquality, Shape};
use crate::cel::equal::{compare_numbers, contains, equal, have_equal_keys};
use crate::cel::library::time;
use crate::cel::value::{EvalError, List, Map, Outcome, Value};

pub(super) const ROWS: &[Row] = &[
    (0, "!_(bool) -> bool", not),
    (0, "-_(#) -> # for double int", negate),
    (0, "_+_(#, #) -> # for bytes double duration int list(T) string uint", add),
    (0, "_+_(timestamp, duration) -> timestamp", add),
    (0, "_+_(duration, timestamp) -> timestamp", add),
    (0, "_-_(#, #) -> # for double duration int uint", subtract),
    (0, "_-_(timestamp, timestamp) -> duration", subtract),
    (0, "_-_(timestamp, duration) -> timestamp", subtract),
    (0, "_*_(#, #) -> # for double int uint", multiply),
    (0, "_/_(#, #) -> # for double int uint", divide),
    (0, "_%_(#, #) -> # for int uint", modulo),
    (0, "_==_(T, T) -> bool", equals),
    (0, "_!=_(T, T) -> bool", differs),
    (0, "_<_(#, #) -> bool for bool int uint double string bytes timestamp duration", less),
    (0, "_<=_(#, #) -> bool for bool int uint double string bytes timestamp duration", less_or_equal),
    (0, "_>_(#, #) -> bool for bool int uint double string bytes timestamp duration", greater),
    (0, "_>=_(#, #) -> bool for bool int uint double string bytes timestamp duration", greater_or_equal),
    (28, "_<_(int, #) -> bool for double uint", less),
    (28, "_<_(uint, #) -> bool for double int", less),
    (28, "_<_(double, #) -> bool for int uint", less),
    (28, "_<=_(int, #) -> bool for double uint", less_or_equal),
    (28, "_<=_(uint, #) -> bool for double int", less_or_equal),
    (28, "_<=_(double, #) -> bool for int uint", less_or_equal),
    (28, "_>_(int, #) -> bool for double uint", greater),
    (28, "_>_(uint, #) -> bool for double int", greater),
    (28, "_>_(double, #) -> bool for int uint", greater),
    (28, "_>=_(int, #) -> bool for double uint", greater_or_equal),
    (28, "_>=_(uint, #) -> bool for double int", greater_or_equal),
    (28, "_>=_(double, #) -> bool for int uint", greater_or_equal),
    (0, "_[_](list(T), int) -> T", index),
    (0, "_[_](map(T, U), T) -> U", index),
    (28, "_[_](optional(list(T)), int) -> optional(T)", optional_index),
    (28, "_[_](optional(map(T, U)), T) -> optional(U)", optional_index),
    (28, "_[?_](list(T), int) -> optional(T)", optional_index),
    (28, "_[?_](map(T, U), T) -> optional(U)", optional_index),
    (28, "_[?_](optional(list(T)), int) -> optional(T)", optional_index),
    (28, "_[?_](optional(map(T, U)), T) -> optional(U)", optional_index),
    (0, "@in(T, list(T)) -> bool", is_in),
    (0, "@in(T, map(T, U)) -> bool", is_in),
    (0, "size(#) -> int for bytes list(T) map(T,U) string", size),
    (0, "#: size() -> int for bytes list(T) map(T,U) string", size),
];

const INT_OVERFLOW: &str = "integer overflow";
const UINT_OVERFLOW: &str = "unsigned integer overflow";

fn not<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [Value::Bool(flag)] => Ok(Value::Bool(!flag)),
        _ => Err(EvalError::no_overload()),
    }
}

fn negate<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [Value::Int(number)] => int(number.checked_neg()),
        [Value::Double(number)] => Ok(Value::Double(-number)),
        _ => Err(EvalError::no_overload()),
    }
}

fn int<'a>(result: Option<i64>) -> Outcome<'a> {
    result.map(Value::Int).ok_or_else(|| EvalError::new(INT_OVERFLOW))
}

fn uint<'a>(result: Option<u64>) -> Outcome<'a> {
    result.map(Value::Uint).ok_or_else(|| EvalError::new(UINT_OVERFLOW))
}

fn add<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [Value::Int(a), Value::Int(b)] => int(a.checked_add(*b)),
        [Value::Uint(a), Value::Uint(b)] => uint(a.checked_add(*b)),
        [Value::Double(a), Value::Double(b)] => Ok(Value::Double(a + b)),
        [Value::String(a), Value::String(b)] => Ok(Value::text(format!("{a}{b}"))),
        [Value::Bytes(a), Value::Bytes(b)] => Ok(Value::Bytes([&**a, &**b].concat().into())),
        [Value::List(a), Value::List(b)] => concat(a, b),
        [Value::Duration(a), Value::Duration(b)] => {
            a.checked_add(*b).map(Value::Duration).ok_or_else(|| EvalError::new("duration overflow"))
        }
        [Value::Timestamp(at), Value::Duration(by)] | [Value::Duration(by), Value::Timestamp(at)] => {
            time::shift(*at, *by)
        }
        _ => Err(EvalError::no_overload()),
    }
}

/// Concatenates two lists. Sets and lists with keys are merged.
fn concat<'a>(a: &List<'a>, b: &List<'a>) -> Outcome<'a> {
    let mut items = a.values()?.to_vec();
    let equality = match a.decl().map(|decl| &decl.shape) {
        Some(Shape::List { equality, .. }) => equality,
        _ => &ListEquality::Ordered,
    };
    for item in b.iter() {
        let item = item?;
        match equality {
            ListEquality::Set if contains(a, &item)? => {}
            ListEquality::Map(keys) => {
                match index_by_keys(&items, keys, &item)?.and_then(|at| items.get_mut(at)) {
                    Some(place) => *place = item,
                    None => items.push(item),
                }
            }
            _ => items.push(item),
        }
    }
    Ok(Value::List(List::Made(std::rc::Rc::new(items), a.decl())))
}

/// The index of the element that has the same keys as `other`.
fn index_by_keys(
    items: &[Value<'_>],
    keys: &[String],
    other: &Value<'_>,
) -> Result<Option<usize>, EvalError> {
    for (at, item) in items.iter().enumerate() {
        if have_equal_keys(item, keys, other)? {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

fn subtract<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [Value::Int(a), Value::Int(b)] => int(a.checked_sub(*b)),
        [Value::Uint(a), Value::Uint(b)] => uint(a.checked_sub(*b)),
        [Value::Double(a), Value::Double(b)] => Ok(Value::Double(a - b)),
        [Value::Duration(a), Value::Duration(b)] => {
            a.checked_sub(*b).map(Value::Duration).ok_or_else(|| EvalError::new("duration overflow"))
        }
        [Value::Timestamp(at), Value::Duration(by)] => time::shift(*at, by.saturating_neg()),
        [Value::Timestamp(a), Value::Timestamp(b)] => i64::try_from(a.as_nanosecond() - b.as_nanosecond())
            .map(Value::Duration)
            .map_err(|_| EvalError::new(INT_OVERFLOW)),
        _ => Err(EvalError::no_overload()),
    }
}

fn multiply<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [Value::Int(a), Value::Int(b)] => int(a.checked_mul(*b)),
        [Value::Uint(a), Value::Uint(b)] => uint(a.checked_mul(*b)),
        [Value::Double(a), Value::Double(b)] => Ok(Value::Double(a * b)),
        _ => Err(EvalError::no_overload()),
    }
}

fn divide<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [Value::Int(_), Value::Int(0)] | [Value::Uint(_), Value::Uint(0)] => {
            Err(EvalError::new("division by zero"))
        }
        [Value::Int(a), Value::Int(b)] => int(a.checked_div(*b)),
        [Value::Uint(a), Value::Uint(b)] => uint(a.checked_div(*b)),
        [Value::Double(a), Value::Double(b)] => Ok(Value::Double(a / b)),
        _ => Err(EvalError::no_overload()),
    }
}

fn modulo<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [Value::Int(_), Value::Int(0)] | [Value::Uint(_), Value::Uint(0)] => {
            Err(EvalError::new("modulus by zero"))
        }
        [Value::Int(a), Value::Int(b)] => int(a.checked_rem(*b)),
        [Value::Uint(a), Value::Uint(b)] => uint(a.checked_rem(*b)),
        _ => Err(EvalError::no_overload()),
    }
}

fn equals<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [a, b] => equal(a, b).map(Value::Bool),
        _ => Err(EvalError::no_overload()),
    }
}

fn differs<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [a, b] => equal(a, b).map(|same| Value::Bool(!same)),
        _ => Err(EvalError::no_overload()),
    }
}

/// The order of two values of one kind; `None` if one is NaN.
pub(super) fn compare(a: &Value<'_>, b: &Value<'_>) -> Result<Option<Ordering>, EvalError> {
    Ok(match (a, b) {
        (Value::Bool(a), Value::Bool(b)) => Some(a.cmp(b)),
        (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
        (Value::Bytes(a), Value::Bytes(b)) => Some(a.cmp(b)),
        (Value::Timestamp(a), Value::Timestamp(b)) => Some(a.cmp(b)),
        (Value::Duration(a), Value::Duration(b)) => Some(a.cmp(b)),
        (
            Value::Int(_) | Value::Uint(_) | Value::Double(_),
            Value::Int(_) | Value::Uint(_) | Value::Double(_),
        ) => compare_numbers(a, b),
        _ => return Err(EvalError::no_overload()),
    })
}

fn ordered<'a>(args: &[Value<'a>], fits: fn(Ordering) -> bool) -> Outcome<'a> {
    let [a, b] = args else { return Err(EvalError::no_overload()) };
    match compare(a, b)? {
        Some(order) => Ok(Value::Bool(fits(order))),
        None => Err(EvalError::new("NaN values cannot be ordered")),
    }
}

fn less<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    ordered(args, Ordering::is_lt)
}

fn less_or_equal<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    ordered(args, Ordering::is_le)
}

fn greater<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    ordered(args, Ordering::is_gt)
}

fn greater_or_equal<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    ordered(args, Ordering::is_ge)
}

/// Formats a key for error messages.
pub(crate) fn show_key(key: &Value<'_>) -> String {
    match key {
        Value::String(text) => text.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Uint(number) => number.to_string(),
        Value::Double(number) => crate::gotext::float(*number),
        Value::Bool(flag) => flag.to_string(),
        other => other.type_name().to_owned(),
    }
}

pub(in crate::cel) fn index<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let [container, key] = args else { return Err(EvalError::no_overload()) };
    match (qualify(container, key)?, container) {
        (Some(found), _) => Ok(found),
        (None, Value::List(_)) => Err(EvalError::new(format!("index out of bounds: {}", show_key(key)))),
        (None, _) => Err(EvalError::new(format!("no such key: {}", show_key(key)))),
    }
}

pub(in crate::cel) fn optional_index<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let [container, key] = args else { return Err(EvalError::no_overload()) };
    let found = match container {
        Value::Optional(None) => None,
        Value::Optional(Some(inner)) => qualify(inner, key)?,
        container => qualify(container, key)?,
    };
    Ok(found.map_or(Value::Optional(None), Value::some))
}

/// The element or member of a value of any type: one without members has none (`refQualify`).
fn qualify<'a>(container: &Value<'a>, key: &Value<'a>) -> Result<Option<Value<'a>>, EvalError> {
    match container {
        Value::List(list) => position(key)?.and_then(|at| list.get(at)).transpose(),
        Value::Map(map) => map.get(key).transpose(),
        _ => Ok(None),
    }
}

/// The position that a key names in a list; `None` if no list has it.
fn position(key: &Value<'_>) -> Result<Option<usize>, EvalError> {
    match key {
        Value::Int(at) => Ok(usize::try_from(*at).ok()),
        Value::Uint(at) => Ok(usize::try_from(*at).ok()),
        #[expect(clippy::cast_possible_truncation, reason = "a whole number that fits")]
        Value::Double(at) if at.fract() == 0.0 && at.abs() < 9e15 => Ok(usize::try_from(*at as i64).ok()),
        other => Err(EvalError::new(format!("unsupported index type '{}' in list", other.type_name()))),
    }
}

fn is_in<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [value, Value::List(list)] => contains(list, value).map(Value::Bool),
        [key, Value::Map(map)] => Ok(Value::Bool(map.get(key).is_some())),
        _ => Err(EvalError::no_overload()),
    }
}

fn size<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let size = match args {
        [Value::List(_)] => list(args, 0).len(),
        [Value::Map(_)] => map(args, 0).map_or(0, Map::len),
        [value] => value.size().ok_or_else(EvalError::no_overload)?,
        _ => return Err(EvalError::no_overload()),
    };
    Ok(Value::Int(i64::try_from(size).unwrap_or(i64::MAX)))
}
