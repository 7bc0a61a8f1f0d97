//! Functions of strings.

use std::fmt::Write as _;

use super::convert::double_text;
use super::localized;
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
    let found = within.windows(wanted.len()).skip(from).position(|window| window == wanted);
    Ok(found.map_or(Value::Int(-1), |at| number(at + from)))
}

fn last_index_of<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let (within, wanted) = (chars(args, 0), chars(args, 1));
    let last = if args.len() > 2 {
        let last = int(args, 2);
        if wanted.is_empty() {
            return Ok(Value::Int(last));
        }
        let last = usize::try_from(last).map_err(|_| out_of_range(last))?;
        if last >= within.len() {
            return Ok(Value::Int(-1));
        }
        last
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

fn clause(out: &mut String, verb: char, precision: usize, value: &Value<'_>) -> Result<(), EvalError> {
    let wrong = || wrong_clause(verb, value);
    let float = match value {
        Value::Double(number) => Some(*number),
        Value::String(text) => match &**text {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    };
    match (verb, value) {
        ('s', value) => out.push_str(&show(value)?),
        ('d', Value::Int(number)) => out.push_str(&number.to_string()),
        ('d', Value::Uint(number)) => out.push_str(&number.to_string()),
        ('f', _) => out.push_str(&localized::fixed(float.ok_or_else(wrong)?, precision)),
        ('e', _) => out.push_str(&localized::scientific(float.ok_or_else(wrong)?, precision)),
        ('b', Value::Bool(flag)) => out.push(if *flag { '1' } else { '0' }),
        ('b', Value::Int(number)) => signed(out, *number, |n| format!("{n:b}")),
        ('b', Value::Uint(number)) => out.push_str(&format!("{number:b}")),
        ('o', Value::Int(number)) => signed(out, *number, |n| format!("{n:o}")),
        ('o', Value::Uint(number)) => out.push_str(&format!("{number:o}")),
        ('x', Value::Int(number)) => signed(out, *number, |n| format!("{n:x}")),
        ('X', Value::Int(number)) => signed(out, *number, |n| format!("{n:X}")),
        ('x', Value::Uint(number)) => out.push_str(&format!("{number:x}")),
        ('X', Value::Uint(number)) => out.push_str(&format!("{number:X}")),
        ('x' | 'X', Value::String(text)) => hexadecimal(out, text.as_bytes(), verb),
        ('x' | 'X', Value::Bytes(bytes)) => hexadecimal(out, bytes, verb),
        _ => return Err(wrong()),
    }
    Ok(())
}

fn hexadecimal(out: &mut String, bytes: &[u8], verb: char) {
    for byte in bytes {
        let _ = if verb == 'x' { write!(out, "{byte:02x}") } else { write!(out, "{byte:02X}") };
    }
}

/// The error for a value that a clause cannot format.
fn wrong_clause(verb: char, value: &Value<'_>) -> EvalError {
    let given = value.type_name();
    let why = match verb {
        'd' => format!("decimal clause can only be used on integers, was given {given}"),
        'f' => format!("fixed-point clause can only be used on doubles, was given {given}"),
        'e' => format!("scientific clause can only be used on doubles, was given {given}"),
        'b' => format!("only integers and bools can be formatted as binary, was given {given}"),
        'o' => format!("octal clause can only be used on integers, was given {given}"),
        'x' | 'X' => {
            format!("only integers, byte buffers, and strings can be formatted as hex, was given {given}")
        }
        other => {
            return EvalError::new(format!(
                "could not parse formatting clause: unrecognized formatting clause \"{other}\""
            ));
        }
    };
    EvalError::new(format!("error during formatting: {why}"))
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

/// Formats a value inside of a list or map, as a literal of the language.
fn show_inside(value: &Value<'_>) -> Result<String, EvalError> {
    Ok(match value {
        Value::String(text) => quoted(text),
        Value::Bytes(bytes) => format!("b{}", quoted(&String::from_utf8_lossy(bytes))),
        Value::Double(number) if number.is_finite() => format!("{number:.6}"),
        Value::Double(number) => quoted(&double_text(*number)),
        Value::Timestamp(_) => format!("timestamp({})", quoted(&show(value)?)),
        Value::Duration(_) => format!("duration({})", quoted(&show(value)?)),
        Value::Type(name) => format!("type({name})"),
        other => show(other)?,
    })
}

fn quoted(text: &str) -> String {
    crate::gotext::quote(text)
}

fn show_list(items: &List<'_>) -> Result<String, EvalError> {
    let texts = items.iter().map(|item| show_inside(&item?)).collect::<Result<Vec<_>, EvalError>>()?;
    Ok(format!("[{}]", texts.join(", ")))
}

fn show_map(map: &Map<'_>) -> Result<String, EvalError> {
    let mut texts = Vec::new();
    for key in map.keys() {
        let value = map.get(&key).transpose()?.unwrap_or(Value::Null);
        texts.push((show_inside(&key)?, show_inside(&value)?));
    }
    texts.sort();
    let texts: Vec<String> = texts.into_iter().map(|(key, value)| format!("{key}:{value}")).collect();
    Ok(format!("{{{}}}", texts.join(", ")))
}
