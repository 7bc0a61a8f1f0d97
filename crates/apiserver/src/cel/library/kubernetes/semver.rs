//! Semantic versions.

use crate::cel::library::{Row, text};
use crate::cel::value::opaque::{Opaque, Semver};
use crate::cel::value::{EvalError, Outcome, Value};

pub(in crate::cel::library) const ROWS: &[Row] = &[
    (33, "semver(string) -> kubernetes.Semver", semver),
    (33, "semver(string, bool) -> kubernetes.Semver", semver),
    (33, "isSemver(string) -> bool", is_semver),
    (33, "isSemver(string, bool) -> bool", is_semver),
    (33, "kubernetes.Semver: isGreaterThan(kubernetes.Semver) -> bool", greater),
    (33, "kubernetes.Semver: isLessThan(kubernetes.Semver) -> bool", less),
    (33, "kubernetes.Semver: compareTo(kubernetes.Semver) -> int", compare),
    (33, "kubernetes.Semver: major() -> int", major),
    (33, "kubernetes.Semver: minor() -> int", minor),
    (33, "kubernetes.Semver: patch() -> int", patch),
];

fn parse(args: &[Value<'_>]) -> Result<semver::Version, EvalError> {
    let given = text(args, 0);
    let normalise = matches!(args.get(1), Some(Value::Bool(true)));
    let normalised = if normalise { self::normalise(given) } else { given.to_owned() };
    semver::Version::parse(&normalised).map_err(|error| EvalError::new(format!("Invalid semver: {error}")))
}

/// Removes `v` and leading zeros, and adds missing numbers.
fn normalise(text: &str) -> String {
    let text = text.strip_prefix('v').unwrap_or(text);
    let end = text.find(['-', '+']).unwrap_or(text.len());
    let (numbers, rest) = text.split_at(end);
    let mut parts: Vec<&str> = numbers
        .split('.')
        .map(|part| match part.trim_start_matches('0') {
            "" if !part.is_empty() => "0",
            trimmed => trimmed,
        })
        .collect();
    while parts.len() < 3 {
        parts.push("0");
    }
    format!("{}{rest}", parts.join("."))
}

fn semver<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    parse(args).map(|version| Value::opaque(Opaque::Semver(Semver(version))))
}

fn is_semver<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Bool(parse(args).is_ok()))
}

fn version_argument(args: &[Value<'_>], index: usize) -> Result<semver::Version, EvalError> {
    match args.get(index) {
        Some(Value::Opaque(opaque)) => match &**opaque {
            Opaque::Semver(version) => Ok(version.0.clone()),
            _ => Err(EvalError::no_overload()),
        },
        _ => Err(EvalError::no_overload()),
    }
}

fn order(args: &[Value<'_>]) -> Result<std::cmp::Ordering, EvalError> {
    Ok(version_argument(args, 0)?.cmp_precedence(&version_argument(args, 1)?))
}

fn greater<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Bool(order(args)?.is_gt()))
}

fn less<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Bool(order(args)?.is_lt()))
}

fn compare<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Int(order(args)? as i64))
}

fn number<'a>(part: u64) -> Outcome<'a> {
    Ok(Value::Int(i64::try_from(part).unwrap_or(i64::MAX)))
}

fn major<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    number(version_argument(args, 0)?.major)
}

fn minor<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    number(version_argument(args, 0)?.minor)
}

fn patch<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    number(version_argument(args, 0)?.patch)
}
