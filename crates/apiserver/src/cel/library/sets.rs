//! Set functions of lists.

use super::{Row, list};
use crate::cel::equal::contains as holds;
use crate::cel::value::{EvalError, List, Outcome, Value};

pub(super) const ROWS: &[Row] = &[
    (29, "sets.contains(list(T), list(T)) -> bool", contains),
    (29, "sets.equivalent(list(T), list(T)) -> bool", equivalent),
    (29, "sets.intersects(list(T), list(T)) -> bool", intersects),
];

fn holds_all(list: &List<'_>, wanted: &List<'_>) -> Result<bool, EvalError> {
    for item in wanted.iter() {
        if !holds(list, &item?)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn contains<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Bool(holds_all(&list(args, 0), &list(args, 1))?))
}

fn equivalent<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let (a, b) = (list(args, 0), list(args, 1));
    Ok(Value::Bool(holds_all(&a, &b)? && holds_all(&b, &a)?))
}

fn intersects<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let all = list(args, 0);
    for item in list(args, 1).iter() {
        if holds(&all, &item?)? {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}
