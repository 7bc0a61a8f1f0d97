//! Functions of strings.

use std::fmt::Write as _;

use super::convert::double_text;
use super::{Row, int, list, text};
use crate::cel::time;
use crate::cel::value::{EvalError, List, Map, Outcome, Value};
use crate::gotext;

pub(super) const ROWS: &[Row] = &[
    (0, "string: contains(string) -> bool", contains),
    (0, "string: endsWith(string) -> bool", ends_with),
    (0, "string: startsWith(string) -> bool", starts_with),
    (0, "string: charAt(int) -> string", char_at),
    (0, "string: indexOf(string) -> int", index_of),
    (0, "string: indexOf(string, int) -> int", index_of),
    (0, "list(string): join() -> string", join),
    (0, "list(string): join(string) -> string", join),
    (0, "string: lastIndexOf(string) -> int", last_index_of),
    (0, "string: lastIndexOf(string, int) -> int", last_index_of),
    (0, "string: lowerAscii() -> string", lower),
    (0, "string: upperAscii() -> string", upper),
    (0, "string: replace(string, string) -> string", replace),
    (0, "string: replace(string, string, int) -> string", replace),
    (0, "string: split(string) -> list(string)", split),
    (0, "string: split(string, int) -> list(string)", split),
    (0, "string: substring(int) -> string", substring),
    (0, "string: substring(int, int) -> string", substring),
    (0, "string: trim() -> string", trim),
    (29, "string: format(list(dyn)) -> string", format),
    (29, "strings.quote(string) -> string", quote),
];

fn contains<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Bool(text(args, 0).contains(text(args, 1))))
}

fn ends_with<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Bool(text(args, 0).ends_with(text(args, 1))))
}

fn starts_with<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Bool(text(args, 0).starts_with(text(args, 1))))
}

fn out_of_range(index: i64) -> EvalError {
    EvalError::new(format!("index out of range: {index}"))
}

fn char_at<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let (chars, at) = (text(args, 0).chars(), int(args, 1));
    let chars: Vec<char> = chars.collect();
    match usize::try_from(at) {
        Ok(at) if at == chars.len() => Ok(Value::text("")),
        Ok(index) => chars.get(index).map(|c| Value::text(*c)).ok_or_else(|| out_of_range(at)),
        Err(_) => Err(out_of_range(at)),
    }
}

fn number<'a>(index: usize) -> Value<'a> {
    Value::Int(i64::try_from(index).unwrap_or(i64::MAX))
}

fn index_of<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let (within, wanted) = (chars(args, 0), chars(args, 1));
    let start = int(args, 2);
    if wanted.is_empty() {
        return Ok(Value::Int(start));
    }
    let from = usize::try_from(start).map_err(|_| out_of_range(start))?;
    if args.len() > 2 && from > within.len() {
        return Err(out_of_range(start));
    }
    let found = within.windows(wanted.len()).skip(from).position(|window| window == wanted);
    Ok(found.map_or(Value::Int(-1), |at| number(at + from)))
}

fn last_index_of<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let (within, wanted) = (chars(args, 0), chars(args, 1));
    let last = if args.len() > 2 {
        let last = int(args, 2);
        usize::try_from(last).ok().filter(|last| *last <= within.len()).ok_or_else(|| out_of_range(last))?
    } else {
        within.len()
    };
    if wanted.is_empty() {
        return Ok(number(last));
    }
    let found = within.windows(wanted.len()).take(last + 1).rposition(|window| window == wanted);
    Ok(found.map_or(Value::Int(-1), number))
}

fn chars(args: &[Value<'_>], index: usize) -> Vec<char> {
    text(args, index).chars().collect()
}

fn join<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let mut texts = Vec::new();
    for item in list(args, 0).iter() {
        match item? {
            Value::String(text) => texts.push(text),
            _ => return Err(EvalError::no_overload()),
        }
    }
    Ok(Value::text(texts.join(text(args, 1))))
}

fn lower<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::text(text(args, 0).to_ascii_lowercase()))
}

fn upper<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::text(text(args, 0).to_ascii_uppercase()))
}

fn replace<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let (within, from, to) = (text(args, 0), text(args, 1), text(args, 2));
    if args.len() == 3 {
        return Ok(Value::text(within.replace(from, to)));
    }
    Ok(Value::text(match usize::try_from(int(args, 3)) {
        Ok(count) => within.replacen(from, to, count),
        Err(_) => within.replace(from, to),
    }))
}

fn split<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let (within, separator) = (text(args, 0), text(args, 1));
    let limit = if args.len() > 2 { int(args, 2) } else { -1 };
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    if limit == 0 {
        return Ok(Value::list(Vec::new()));
    }
    let parts: Vec<Value<'a>> = if separator.is_empty() {
        let mut parts = Vec::new();
        let mut rest = within;
        while let Some(first) = rest.chars().next() {
            let cut = if parts.len() + 1 == limit { rest.len() } else { first.len_utf8() };
            parts.push(Value::text(&rest[..cut]));
            rest = &rest[cut..];
        }
        parts
    } else {
        within.splitn(limit, separator).map(Value::text).collect()
    };
    Ok(Value::list(parts))
}

fn substring<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let within = chars(args, 0);
    let (start, end) = (int(args, 1), if args.len() > 2 { int(args, 2) } else { number_of(within.len()) });
    if args.len() > 2 && start > end {
        return Err(EvalError::new(format!("invalid substring range. start: {start}, end: {end}")));
    }
    let check = |index: i64| {
        usize::try_from(index).ok().filter(|at| *at <= within.len()).ok_or_else(|| out_of_range(index))
    };
    let (from, to) = (check(start)?, check(end)?);
    Ok(Value::text(within.get(from..to).unwrap_or_default().iter().collect::<String>()))
}

fn number_of(size: usize) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}

fn trim<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::text(text(args, 0).trim()))
}

fn quote<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::text(gotext::quote(text(args, 0))))
}

fn format<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let mut out = String::new();
    let mut rest = text(args, 0).chars().peekable();
    let values = list(args, 1);
    let mut next = 0;
    while let Some(c) = rest.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        if rest.peek() == Some(&'%') {
            rest.next();
            out.push('%');
            continue;
        }
        let mut precision = String::new();
        if rest.peek() == Some(&'.') {
            rest.next();
            while let Some(digit) = rest.next_if(char::is_ascii_digit) {
                precision.push(digit);
            }
        }
        let verb = rest.next().ok_or_else(|| EvalError::new("unexpected end of format string"))?;
        let value =
            values.get(next).ok_or_else(|| EvalError::new(format!("index {next} out of range")))??;
        next += 1;
        clause(&mut out, verb, precision.parse().unwrap_or(6), &value)?;
    }
    Ok(Value::text(out))
}

#[expect(clippy::cast_precision_loss, reason = "formats of numbers convert so")]
fn clause(out: &mut String, verb: char, precision: usize, value: &Value<'_>) -> Result<(), EvalError> {
    let wrong = || {
        EvalError::new(format!(
            "error during formatting: unrecognized formatting clause or type {} for %{verb}",
            value.type_name()
        ))
    };
    let float = match value {
        Value::Double(number) => Some(*number),
        Value::Int(number) => Some(*number as f64),
        Value::Uint(number) => Some(*number as f64),
        _ => None,
    };
    match (verb, value) {
        ('s', value) => out.push_str(&show(value)?),
        ('d', Value::Int(number)) => out.push_str(&number.to_string()),
        ('d', Value::Uint(number)) => out.push_str(&number.to_string()),
        ('f', _) => {
            let _ = write!(out, "{:.precision$}", float.ok_or_else(wrong)?);
        }
        ('e', _) => {
            let text = format!("{:.precision$e}", float.ok_or_else(wrong)?);
            let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            let exponent: i32 = exponent.parse().unwrap_or_default();
            let _ = write!(out, "{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs());
        }
        ('b', Value::Bool(flag)) => out.push(if *flag { '1' } else { '0' }),
        ('b', Value::Int(number)) => signed(out, *number, |n| format!("{n:b}")),
        ('o', Value::Int(number)) => signed(out, *number, |n| format!("{n:o}")),
        ('x', Value::Int(number)) => signed(out, *number, |n| format!("{n:x}")),
        ('X', Value::Int(number)) => signed(out, *number, |n| format!("{n:X}")),
        ('x', Value::String(text)) => text.bytes().for_each(|byte| out.push_str(&format!("{byte:02x}"))),
        ('X', Value::String(text)) => text.bytes().for_each(|byte| out.push_str(&format!("{byte:02X}"))),
        _ => return Err(wrong()),
    }
    Ok(())
}

fn signed(out: &mut String, number: i64, show: impl Fn(u64) -> String) {
    if number < 0 {
        out.push('-');
    }
    out.push_str(&show(number.unsigned_abs()));
}

/// Formats a value as `%s` prints it.
fn show(value: &Value<'_>) -> Result<String, EvalError> {
    Ok(match value {
        Value::String(text) => text.to_string(),
        Value::Type(name) => name.to_string(),
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Uint(number) => number.to_string(),
        Value::Double(number) => double_text(*number),
        Value::Timestamp(at) => time::show_timestamp(*at),
        Value::Duration(nanoseconds) => time::show_duration(*nanoseconds),
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::List(items) => show_list(items)?,
        Value::Map(map) => show_map(map)?,
        other => {
            let name = other.type_name();
            return Err(EvalError::new(format!(
                "error during formatting: string clause can not be applied to {name}"
            )));
        }
    })
}

fn show_list(items: &List<'_>) -> Result<String, EvalError> {
    let texts = items.iter().map(|item| show(&item?)).collect::<Result<Vec<_>, EvalError>>()?;
    Ok(format!("[{}]", texts.join(", ")))
}

fn show_map(map: &Map<'_>) -> Result<String, EvalError> {
    let mut texts = Vec::new();
    for key in map.keys() {
        let value = map.get(&key).transpose()?.unwrap_or(Value::Null);
        texts.push(format!("{}: {}", show(&key)?, show(&value)?));
    }
    texts.sort();
    Ok(format!("{{{}}}", texts.join(", ")))
}
