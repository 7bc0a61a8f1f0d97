//! Functions of lists.

use std::cmp::Ordering;

use super::operators::compare;
use super::{Row, int, list};
use crate::cel::equal::equal;
use crate::cel::value::{EvalError, Outcome, Value};

pub(super) const ROWS: &[Row] = &[
    (0, "list(#): isSorted() -> bool for int uint double bool duration timestamp string bytes", is_sorted),
    (0, "list(#): sum() -> # for int uint double duration", sum),
    (0, "list(#): min() -> # for int uint double bool duration timestamp string bytes", min),
    (0, "list(#): max() -> # for int uint double bool duration timestamp string bytes", max),
    (0, "list(T): indexOf(T) -> int", index_of),
    (0, "list(T): lastIndexOf(T) -> int", last_index_of),
    (34, "list(T): slice(int, int) -> list(T)", slice),
    (34, "list(list(T)): flatten() -> list(T)", flatten),
    (34, "list(dyn): flatten(int) -> list(dyn)", flatten),
    (34, "lists.range(int) -> list(int)", range),
    (34, "list(T): distinct() -> list(T)", distinct),
    (34, "list(T): reverse() -> list(T)", reverse),
    (34, "list(#): sort() -> list(#) for int uint double bool duration timestamp string bytes", sort),
];

fn is_sorted<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let items = list(args, 0).values()?;
    for pair in items.windows(2) {
        if let [a, b] = pair
            && compare(a, b)? == Some(Ordering::Greater)
        {
            return Ok(Value::Bool(false));
        }
    }
    Ok(Value::Bool(true))
}

fn sum<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let items = list(args, 0).values()?;
    let overflow = || EvalError::new("integer overflow");
    let mut total: Option<Value<'a>> = None;
    for item in items.iter() {
        total = Some(match (total.take(), item) {
            (None, first) => first.clone(),
            (Some(Value::Int(a)), Value::Int(b)) => Value::Int(a.checked_add(*b).ok_or_else(overflow)?),
            (Some(Value::Uint(a)), Value::Uint(b)) => {
                let sum = a.checked_add(*b);
                Value::Uint(sum.ok_or_else(|| EvalError::new("unsigned integer overflow"))?)
            }
            (Some(Value::Double(a)), Value::Double(b)) => Value::Double(a + b),
            (Some(Value::Duration(a)), Value::Duration(b)) => {
                Value::Duration(a.checked_add(*b).ok_or_else(overflow)?)
            }
            _ => return Err(EvalError::no_overload()),
        });
    }
    // The element type of an empty list is unknown here. The integer 0 equals the zero of any number type.
    Ok(total.unwrap_or(Value::Int(0)))
}

fn extreme<'a>(args: &[Value<'a>], name: &str, wanted: Ordering) -> Outcome<'a> {
    let items = list(args, 0).values()?;
    let mut best: Option<&Value<'a>> = None;
    for item in items.iter() {
        if match best {
            None => true,
            Some(best) => compare(item, best)? == Some(wanted),
        } {
            best = Some(item);
        }
    }
    best.cloned().ok_or_else(|| EvalError::new(format!("{name} called on empty list")))
}

fn min<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    extreme(args, "min", Ordering::Less)
}

fn max<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    extreme(args, "max", Ordering::Greater)
}

fn places(args: &[Value<'_>]) -> Result<Vec<usize>, EvalError> {
    let wanted = args.get(1).cloned().unwrap_or(Value::Null);
    let mut places = Vec::new();
    for (at, item) in list(args, 0).iter().enumerate() {
        if equal(&item?, &wanted)? {
            places.push(at);
        }
    }
    Ok(places)
}

fn place<'a>(at: Option<&usize>) -> Outcome<'a> {
    Ok(Value::Int(at.and_then(|at| i64::try_from(*at).ok()).unwrap_or(-1)))
}

fn index_of<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    place(places(args)?.first())
}

fn last_index_of<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    place(places(args)?.last())
}

fn slice<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let (items, start, end) = (list(args, 0).values()?, int(args, 1), int(args, 2));
    if start < 0 || end < 0 {
        return Err(EvalError::new(format!("cannot slice({start}, {end}), negative indexes not supported")));
    }
    if start > end {
        let why = "start index must be less than or equal to end index";
        return Err(EvalError::new(format!("cannot slice({start}, {end}), {why}")));
    }
    let range = usize::try_from(start).unwrap_or(usize::MAX)..usize::try_from(end).unwrap_or(usize::MAX);
    match items.get(range) {
        Some(part) => Ok(Value::list(part.to_vec())),
        None => Err(EvalError::new(format!("cannot slice({start}, {end}), list is length {}", items.len()))),
    }
}

fn flatten<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let depth = if args.len() > 1 { int(args, 1) } else { 1 };
    if depth < 0 {
        return Err(EvalError::new("level must be non-negative"));
    }
    let mut out = Vec::new();
    flatten_into(&mut out, &Value::List(list(args, 0)), depth.min(64) + 1)?;
    Ok(Value::list(out))
}

fn flatten_into<'a>(out: &mut Vec<Value<'a>>, value: &Value<'a>, depth: i64) -> Result<(), EvalError> {
    match value {
        Value::List(items) if depth > 0 => {
            for item in items.iter() {
                flatten_into(out, &item?, depth - 1)?;
            }
        }
        other => out.push(other.clone()),
    }
    Ok(())
}

/// Maximum number of elements that `lists.range` creates.
const RANGE_LIMIT: i64 = 1_000_000;

fn range<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let count = int(args, 0);
    if count > RANGE_LIMIT {
        return Err(EvalError::Cost);
    }
    Ok(Value::list((0..count).map(Value::Int).collect()))
}

fn distinct<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let mut out: Vec<Value<'a>> = Vec::new();
    for item in list(args, 0).iter() {
        let item = item?;
        let mut known = false;
        for other in &out {
            known = known || equal(other, &item)?;
        }
        if !known {
            out.push(item);
        }
    }
    Ok(Value::list(out))
}

fn reverse<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::list(list(args, 0).values()?.iter().rev().cloned().collect()))
}

fn sort<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let items = list(args, 0).values()?.to_vec();
    let keyed = items.into_iter().map(|item| (item.clone(), item)).collect();
    sort_by_keys(keyed)
}

/// Sorts values by their keys.
pub(crate) fn sort_by_keys<'a>(mut keyed: Vec<(Value<'a>, Value<'a>)>) -> Outcome<'a> {
    let mut error = None;
    keyed.sort_by(|(a, _), (b, _)| match compare(a, b) {
        Ok(order) => order.unwrap_or(Ordering::Equal),
        Err(fault) => {
            error = Some(fault);
            Ordering::Equal
        }
    });
    match error {
        Some(_) => Err(EvalError::new("list elements must have the same type")),
        None => Ok(Value::list(keyed.into_iter().map(|(_, value)| value).collect())),
    }
}
