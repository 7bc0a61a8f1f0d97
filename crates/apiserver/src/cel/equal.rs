//! Equality of CEL values.

use serde_json::Value as Json;

use super::decl::{Decl, ListEquality, Shape};
use super::escape::escape;
use super::json::from_json;
use super::value::{EvalError, List, Map, Value};

/// Whether two values are equal. Numbers compare across types; other values of different types are unequal.
#[expect(clippy::float_cmp, reason = "equality of CEL is that of IEEE 754")]
pub(crate) fn equal(a: &Value<'_>, b: &Value<'_>) -> Result<bool, EvalError> {
    Ok(match (a, b) {
        (Value::Null, Value::Null) | (Value::Optional(None), Value::Optional(None)) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::String(a), Value::String(b)) | (Value::Type(a), Value::Type(b)) => a == b,
        (Value::Bytes(a), Value::Bytes(b)) => a == b,
        (Value::Timestamp(a), Value::Timestamp(b)) => a == b,
        (Value::Duration(a), Value::Duration(b)) => a == b,
        (Value::Double(a), Value::Double(b)) => a == b,
        (
            Value::Int(_) | Value::Uint(_) | Value::Double(_),
            Value::Int(_) | Value::Uint(_) | Value::Double(_),
        ) => compare_numbers(a, b) == Some(std::cmp::Ordering::Equal),
        (Value::List(a), Value::List(b)) => lists_equal(a, b)?,
        (Value::Map(a), Value::Map(b)) => maps_equal(a, b)?,
        (Value::Optional(Some(a)), Value::Optional(Some(b))) => equal(a, b)?,
        (Value::Opaque(a), Value::Opaque(b)) => a == b,
        _ => false,
    })
}

/// The order of two numbers of any type; `None` if one is NaN.
#[expect(clippy::cast_precision_loss, reason = "numbers beyond 2^53 compare as doubles with doubles only")]
pub(crate) fn compare_numbers(a: &Value<'_>, b: &Value<'_>) -> Option<std::cmp::Ordering> {
    let wide = |value: &Value<'_>| match value {
        Value::Int(number) => Some(i128::from(*number)),
        Value::Uint(number) => Some(i128::from(*number)),
        _ => None,
    };
    let float = |value: &Value<'_>| match value {
        Value::Double(number) => Some(*number),
        other => wide(other).map(|number| number as f64),
    };
    match (wide(a), wide(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => float(a)?.partial_cmp(&float(b)?),
    }
}

fn same_decl(a: Option<&Decl>, b: Option<&Decl>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => std::ptr::eq(a, b),
        (a, b) => a.is_none() && b.is_none(),
    }
}

fn lists_equal(a: &List<'_>, b: &List<'_>) -> Result<bool, EvalError> {
    if a.len() != b.len() {
        return Ok(false);
    }
    // The same JSON with the same declaration is equal without conversion.
    if let (List::Json(mine, decl), List::Json(theirs, other)) = (a, b)
        && same_decl(*decl, *other)
        && mine == theirs
    {
        return Ok(true);
    }
    match a.decl().map(|decl| &decl.shape) {
        Some(Shape::List { equality: ListEquality::Set, .. }) => equal_as_sets(a, b),
        Some(Shape::List { equality: ListEquality::Map(keys), .. }) => equal_by_keys(a, keys, b),
        _ => in_order(a, b),
    }
}

fn in_order(a: &List<'_>, b: &List<'_>) -> Result<bool, EvalError> {
    for (a, b) in a.iter().zip(b.iter()) {
        if !equal(&a?, &b?)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn equal_as_sets(a: &List<'_>, b: &List<'_>) -> Result<bool, EvalError> {
    for item in b.iter() {
        if !contains(a, &item?)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn equal_by_keys(a: &List<'_>, keys: &[String], b: &List<'_>) -> Result<bool, EvalError> {
    for other in b.iter() {
        let other = other?;
        let mut found = false;
        for item in a.iter() {
            let item = item?;
            if !have_equal_keys(&item, keys, &other)? {
                continue;
            }
            if !equal(&item, &other)? {
                return Ok(false);
            }
            found = true;
        }
        if !found {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether two elements have equal values for all `keys`.
pub(super) fn have_equal_keys(
    item: &Value<'_>,
    keys: &[String],
    other: &Value<'_>,
) -> Result<bool, EvalError> {
    let (Value::Map(mine), Value::Map(theirs)) = (item, other) else { return Ok(false) };
    for key in keys {
        let same = match escape(key) {
            Some(name) => match (mine.field(&name).transpose()?, theirs.field(&name).transpose()?) {
                (Some(mine), Some(theirs)) => equal(&mine, &theirs)?,
                (mine, theirs) => mine.is_none() && theirs.is_none(),
            },
            // Expressions cannot name this key, so compare the JSON.
            None => match (mine, theirs) {
                (Map::Json(mine, _), Map::Json(theirs, _)) => mine.get(key) == theirs.get(key),
                _ => false,
            },
        };
        if !same {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether a list contains a value. An error in one element counts only if no other element is equal.
pub(crate) fn contains(list: &List<'_>, value: &Value<'_>) -> Result<bool, EvalError> {
    let mut error = None;
    for item in list.iter() {
        match item.and_then(|item| equal(&item, value)) {
            Ok(true) => return Ok(true),
            Ok(false) => {}
            Err(fault) => error = error.or(Some(fault)),
        }
    }
    error.map_or(Ok(false), Err)
}

fn maps_equal(a: &Map<'_>, b: &Map<'_>) -> Result<bool, EvalError> {
    if a.len() != b.len() {
        return Ok(false);
    }
    if let (Map::Json(mine, decl), Map::Json(theirs, other)) = (a, b)
        && same_decl(*decl, *other)
        && mine == theirs
    {
        return Ok(true);
    }
    if let (Map::Json(mine, Some(decl)), Map::Json(theirs, _)) = (a, b)
        && let Shape::Object(fields) = &decl.shape
    {
        return objects_equal(mine, theirs, fields, b);
    }
    for key in a.keys() {
        let same = match (a.get(&key).transpose()?, b.get(&key).transpose()?) {
            (Some(mine), Some(theirs)) => equal(&mine, &theirs)?,
            _ => false,
        };
        if !same {
            return Ok(false);
        }
    }
    Ok(true)
}

type Fields = std::collections::BTreeMap<String, std::sync::Arc<Decl>>;

/// Compares objects: declared fields by their types, others as JSON.
fn objects_equal(
    mine: &serde_json::Map<String, Json>,
    theirs: &serde_json::Map<String, Json>,
    fields: &Fields,
    other: &Map<'_>,
) -> Result<bool, EvalError> {
    for (name, value) in mine {
        let declared = escape(name).and_then(|escaped| fields.get(&*escaped).map(|decl| (escaped, decl)));
        let same = match declared {
            Some(_) if value.is_null() => theirs.get(name).is_some_and(Json::is_null),
            Some((escaped, decl)) => match other.field(&escaped).transpose()? {
                Some(found) => equal(&from_json(value, Some(decl))?, &found)?,
                None => false,
            },
            None => theirs.get(name).is_none_or(|found| found == value),
        };
        if !same {
            return Ok(false);
        }
    }
    Ok(true)
}
