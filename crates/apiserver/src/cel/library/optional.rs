//! Optional values.

use super::time::FIRST_SECOND;
use super::{Row, list};
use crate::cel::value::{EvalError, Outcome, Value};

pub(super) const ROWS: &[Row] = &[
    (28, "optional.of(T) -> optional(T)", optional_of),
    (28, "optional.ofNonZeroValue(T) -> optional(T)", of_non_zero),
    (28, "optional.none() -> optional(T)", none),
    (28, "optional(T): hasValue() -> bool", has_value),
    (28, "optional(T): value() -> T", value),
    (28, "optional(T): or(optional(T)) -> optional(T)", or),
    (28, "optional(T): orValue(T) -> T", or_value),
    (34, "list(T): first() -> optional(T)", first),
    (34, "list(T): last() -> optional(T)", last),
    (34, "optional.unwrap(list(optional(T))) -> list(T)", unwrap),
    (34, "list(optional(T)): unwrapOpt() -> list(T)", unwrap),
];

fn optional_of<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    args.first().cloned().map(Value::some).ok_or_else(EvalError::no_overload)
}

fn of_non_zero<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let zero = match args.first() {
        None | Some(Value::Null | Value::Bool(false) | Value::Optional(None)) => true,
        Some(Value::Int(number) | Value::Duration(number)) => *number == 0,
        Some(Value::Uint(number)) => *number == 0,
        Some(Value::Double(number)) => *number == 0.0,
        Some(Value::Timestamp(at)) => at.as_second() == FIRST_SECOND && at.subsec_nanosecond() == 0,
        Some(sized) => sized.size() == Some(0),
    };
    if zero { none(&[]) } else { optional_of(args) }
}

fn none<'a>(_: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Optional(None))
}

fn has_value<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Bool(matches!(args, [Value::Optional(Some(_))])))
}

fn value<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [Value::Optional(Some(inner))] => Ok((**inner).clone()),
        _ => Err(EvalError::new("optional.none() dereference")),
    }
}

fn or<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [Value::Optional(None), other] => Ok(other.clone()),
        [first, _] => Ok(first.clone()),
        _ => Err(EvalError::no_overload()),
    }
}

fn or_value<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [Value::Optional(Some(inner)), _] => Ok((**inner).clone()),
        [_, other] => Ok(other.clone()),
        _ => Err(EvalError::no_overload()),
    }
}

fn first<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    Ok(list(args, 0).get(0).transpose()?.map_or(Value::Optional(None), Value::some))
}

fn last<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let list = list(args, 0);
    let last = list.len().checked_sub(1).and_then(|at| list.get(at));
    Ok(last.transpose()?.map_or(Value::Optional(None), Value::some))
}

fn unwrap<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let mut out = Vec::new();
    for item in list(args, 0).iter() {
        if let Value::Optional(Some(inner)) = item? {
            out.push((*inner).clone());
        }
    }
    Ok(Value::list(out))
}
