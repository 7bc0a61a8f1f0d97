//! Regular expressions, in the syntax of Go.

use regex::Regex;

use super::{Row, int, text};
use crate::cel::value::{EvalError, Outcome, Value};
use crate::gotext::regexp;

pub(super) const ROWS: &[Row] = &[
    (0, "matches(string, string) -> bool", matches),
    (0, "string: matches(string) -> bool", matches),
    (0, "string: find(string) -> string", find),
    (0, "string: findAll(string) -> list(string)", find_all),
    (0, "string: findAll(string, int) -> list(string)", find_all),
];

fn pattern(args: &[Value<'_>]) -> Result<Regex, EvalError> {
    regexp::compile(text(args, 1)).map_err(EvalError::new)
}

fn matches<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Bool(pattern(args)?.is_match(text(args, 0))))
}

fn find<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let found = pattern(args)?.find(text(args, 0)).map_or("", |found| found.as_str()).to_owned();
    Ok(Value::text(found))
}

fn find_all<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let limit = if args.len() > 2 { usize::try_from(int(args, 2)).unwrap_or(usize::MAX) } else { usize::MAX };
    let pattern = pattern(args)?;
    let found = pattern.find_iter(text(args, 0)).take(limit).map(|found| Value::text(found.as_str()));
    Ok(Value::list(found.collect()))
}
